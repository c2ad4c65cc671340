"""Declared numbers as exact rationals, refusals, and rounding that only ever goes up.

What an owner declares (`0.1`) is read as the decimal that was written, not as the nearest binary
float: a mass that came out a hair above the declared one would certify a hair too much.
"""

from __future__ import annotations

import math
import re
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
_DECIMAL = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE](?P<exponent>[+-]?[0-9]+))?", re.ASCII
)
_RATIO = re.compile(r"[+-]?[0-9]+/(?P<below>[0-9]+)", re.ASCII)
_EXPONENT_MAX = 1000
_TEXT_MAX = 1100
_BITS_MAX = 4 * _TEXT_MAX
_DIGITS_SHOWN = 18


def exact(value: Number, what: str) -> Fraction:
    """Return a declared number as the rational that was written, or refuse it.

    Texts are decimals or fractions of digits; numbers of more than a thousand digits, or so near 0,
    are refused before they are written out.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise refusal("number", f"{what} is {value!r}, not a number", "give a number such as 0.25")
    if isinstance(value, int | Fraction):
        number = Fraction(value)
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > _BITS_MAX:
            raise _beyond(what)
        return number
    text = str(value).strip()
    if len(text) > _TEXT_MAX:
        raise _beyond(what)
    decimal, ratio = _DECIMAL.fullmatch(text), _RATIO.fullmatch(text)
    if decimal is None and (ratio is None or not ratio["below"].strip("0")):
        raise refusal(
            "number", f"{what} is {value!r}, not a finite number", "give a number such as 0.25"
        )
    if decimal is not None and abs(int(decimal["exponent"] or 0)) > _EXPONENT_MAX:
        raise _beyond(what)
    return Fraction(text)


def _beyond(what: str) -> Refused:
    return refusal(
        "number",
        f"{what} has more than {_EXPONENT_MAX} digits, or is nearer to 0 than that",
        "give a number such as 0.25, with a few digits",
    )


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
    """Return a probability above 0 and at most `most`; floats must be able to hold it."""
    probability = exact(value, what)
    if not 0 < probability <= most:
        raise refusal(
            "probability",
            f"{what} is {shown(probability)}; it must be above 0 and at most {shown(most)}",
            f"declare a value of at most {shown(most)} that you can defend",
        )
    if probability < SMALLEST:
        raise refusal(
            "probability",
            f"{what} is {shown(probability)}; nothing is computed below {SMALLEST:g}",
            f"declare at least {SMALLEST:g}; below a thousandth it is next to certainty anyway",
        )
    return probability


def checked_count(value: int, what: str, *, least: int, most: int = RECORDS_MAX) -> int:
    """Return a whole number between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise refusal("count", f"{what} is {value!r}, not a whole number", "give a whole number")
    if not least <= value <= most:
        raise refusal(
            "count",
            f"{what} is {shown(Fraction(value))}; it must be at least {least} and at most {most}",
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
    if value.denominator == 1 and abs(value.numerator) < 10**_DIGITS_SHOWN:
        return str(value.numerator)
    if value == 0 or SMALLEST <= abs(value) <= 1 / SMALLEST:
        return f"{float(value):.6g}"
    # floats do not hold it: the power of ten from the numbers of bits, within one
    power = (value.numerator.bit_length() - value.denominator.bit_length()) * math.log10(2)
    sign = "-" if value < 0 else ""
    return f"about {sign}1e{round(power):+d}"


def rounded_up(value: Fraction) -> float:
    """Return a float that is at least a rational of at least 0."""
    if 0 < value < SMALLEST:
        return SMALLEST
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


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
