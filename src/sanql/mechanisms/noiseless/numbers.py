"""Declared numbers as exact rationals, refusals, and rounding that only ever goes up.

What an owner declares (`0.1`) is read as the decimal that was written, not as the nearest binary
float: a mass that came out a hair above the declared one would certify a hair too much.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.errors import Refused

if TYPE_CHECKING:
    from flint import arb

Number = int | float | str | Decimal | Fraction

RECORDS_MAX = 10_000_000
EPSILON_MAX = Fraction(100)
UNIT_ROUNDOFF = 2.0**-53
SMALLEST = 1e-300
"""No bound below this is reported: it would be in the range where floats lose digits."""


def exact(value: Number, what: str) -> Fraction:
    """Return a declared number as the rational that was written, or refuse it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise refusal("number", f"{what} is {value!r}, not a number", "give a number such as 0.25")
    try:
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise refusal(
            "number", f"{what} is {value!r}, not a finite number", "give a number such as 0.25"
        ) from None


def refusal(code: str, message: str, remedy: str) -> Refused:
    """Return the refusal of a declaration; every code of this package starts alike."""
    return Refused(f"certificate_{code}", message, remedy)


def checked_epsilon(value: Number, *, least_open: bool = False) -> Fraction:
    """Return epsilon, at least zero (or above, if `least_open`) and at most the cap."""
    epsilon = exact(value, "epsilon")
    if epsilon < 0 or (least_open and epsilon == 0) or epsilon > EPSILON_MAX:
        rule = "above 0" if least_open else "at least 0"
        raise refusal(
            "epsilon",
            f"epsilon is {shown(epsilon)}; it must be {rule} and at most {EPSILON_MAX}",
            "choose an epsilon around or below 1: above 10 a certificate says next to nothing",
        )
    return epsilon


def checked_delta(value: Number) -> Fraction:
    """Return delta, strictly between 0 and 1."""
    delta = exact(value, "delta")
    if not 0 < delta < 1:
        raise refusal(
            "delta",
            f"delta is {shown(delta)}; it must lie strictly between 0 and 1",
            "choose a delta well below one over the number of records, such as 1e-9",
        )
    if delta < SMALLEST:
        raise refusal(
            "delta",
            f"delta is {shown(delta)}; bounds below {SMALLEST:g} are not computed",
            f"choose a delta of at least {SMALLEST:g}",
        )
    return delta


def checked_probability(value: Number, what: str, *, most: Fraction = Fraction(1)) -> Fraction:
    """Return a probability above 0 and at most `most`."""
    probability = exact(value, what)
    if not 0 < probability <= most:
        raise refusal(
            "probability",
            f"{what} is {shown(probability)}; it must be above 0 and at most {shown(most)}",
            f"declare a value of at most {shown(most)} that you can defend",
        )
    return probability


def checked_count(value: int, what: str, *, least: int, most: int = RECORDS_MAX) -> int:
    """Return a whole number between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal("count", f"{what} is {value!r}, not a whole number", "give a whole number")
    if not least <= value <= most:
        raise refusal(
            "count",
            f"{what} is {value}; it must be at least {least} and at most {most}",
            f"declare between {least} and {most}",
        )
    return value


def checked_known(known: int, others: int) -> int:
    """Return the number of known records, fewer than there are others."""
    checked_count(known, "the number of known records", least=0)
    if known >= others:
        raise refusal(
            "known",
            f"{known} of {others} other records are known; at least one must be unknown",
            "an adversary who knows everybody else reads the last record off an exact answer: "
            "add noise instead",
        )
    return known


def shown(value: Fraction) -> str:
    """Return a rational for people: whole, or with six digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.6g}"


def as_ball(value: Fraction) -> arb:
    """Return a rational as a ball at the current precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def upper(value: arb) -> float:
    """Return a float that is at least every number of the ball."""
    if not value.is_finite():
        return math.inf
    top = float(value.upper())
    return max(math.nextafter(top, math.inf), SMALLEST) if top >= 0 else SMALLEST


def grown(value: float, operations: int) -> float:
    """Return a bound for a positive float whose computation rounded `operations` times.

    A product of n factors (1 + u) is at most 1 + 2nu while nu is below a half (Higham, lemma 3.1).
    """
    return math.nextafter(value * (1 + 2 * (operations + 4) * UNIT_ROUNDOFF), math.inf)
