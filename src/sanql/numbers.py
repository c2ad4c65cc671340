"""Privacy numbers, read once from what was typed into exact rationals.

A float never decides a budget: `0.5 + nan > 1` is False, and ten times 0.1 is not 1. Whatever is
typed is matched against one grammar of plain ASCII decimals and becomes a `Fraction`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from sanql.errors import Refused

EPSILON_MIN = Fraction(1, 10**9)
EPSILON_MAX = Fraction(10**4)
DELTA_MIN = Fraction(1, 10**30)
DIGITS_MAX = 40

_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?")
_RATIONAL = re.compile(r"(0|[1-9][0-9]*)/([1-9][0-9]*)")
_QUOTED_MAX = 60
_ZERO = Fraction(0)


def parse_epsilon(typed: object) -> Fraction:
    """Return the epsilon that was typed, exactly.

    >>> parse_epsilon("0.1")
    Fraction(1, 10)
    >>> parse_epsilon(0.1)
    Fraction(1, 10)
    """
    epsilon = _exact(typed)
    if epsilon is None or not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise Refused(
            "epsilon_invalid",
            f"epsilon {_quoted(typed)} is not a plain decimal number from 1e-9 to 10000",
            "write a number above 0 in plain ASCII digits with at most one point, such as 0.5",
        )
    return epsilon


def parse_delta(typed: object) -> Fraction:
    """Return the delta that was typed, exactly; zero is a delta.

    >>> parse_delta("1e-6")
    Fraction(1, 1000000)
    """
    delta = _exact(typed)
    if delta is None or not (delta == 0 or DELTA_MIN <= delta < 1):
        raise Refused(
            "delta_invalid",
            f"delta {_quoted(typed)} is neither 0 nor a plain decimal number from 1e-30 to below 1",
            "write 0 for pure privacy, or a small number in plain ASCII digits, such as 1e-6",
        )
    return delta


def exact_sum(values: Iterable[Fraction]) -> Fraction:
    """Return the sum; values of one denominator are added as whole numbers, which is quicker.

    >>> exact_sum([Fraction(1, 3), Fraction(1, 2), Fraction(1, 3)])
    Fraction(7, 6)
    """
    tops: dict[int, int] = {}
    for value in values:
        bottom = value.denominator
        tops[bottom] = tops.get(bottom, 0) + value.numerator
    first, *others = [Fraction(top, bottom) for bottom, top in tops.items()] or [_ZERO]
    return sum(others, first)


def show_upper(value: Fraction, digits: int = 6) -> str:
    """Return a short decimal that is at least the value.

    >>> show_upper(Fraction(1, 3))
    '0.333334'
    """
    return _show_upper(value, digits)


def show_lower(value: Fraction, digits: int = 6) -> str:
    """Return a short decimal that is at most the value.

    >>> show_lower(Fraction(2, 3), 2)
    '0.66'
    """
    return _show_lower(value, digits)


def number_upper(value: Fraction) -> float:
    """Return a number that, as it is printed, is not below an exact one.

    >>> number_upper(Fraction(7, 10)), number_upper(Fraction(2, 3))
    (0.7, 0.6666666666666667)
    """
    return _number_upper(value)


def number_lower(value: Fraction) -> float:
    """Return a number that, as it is printed, is not above an exact one."""
    return _number_lower(value)


def decimal_text(value: Fraction, digits: int = DIGITS_MAX) -> str | None:
    """Return a fraction written out, or None of one that is longer than so many digits on either side.

    >>> decimal_text(Fraction(-1, 8)), decimal_text(Fraction(3)), decimal_text(Fraction(1, 3))
    ('-0.125', '3', None)
    """
    for places in range(digits + 1) if abs(value) < 10**digits else ():
        scaled = value * 10**places
        if scaled.denominator == 1:
            whole = str(abs(scaled.numerator)).rjust(places + 1, "0")
            sign = "-" if value < 0 else ""
            ending = f".{whole[-places:]}" if places else ""
            return f"{sign}{whole[: len(whole) - places]}{ending}"
    return None


def rational_text(value: Fraction) -> str:
    """Return the one text of an exact rational, numerator/denominator in lowest terms.

    >>> rational_text(Fraction(10))
    '10/1'
    """
    return f"{value.numerator}/{value.denominator}"


def parse_rational(text: object) -> Fraction:
    """Return the rational that `rational_text` wrote; any other spelling is a ValueError."""
    found = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"not a rational number p/q: {text!r:.60}")
    top, bottom = int(found[1]), int(found[2])
    if math.gcd(top, bottom) != 1:
        raise ValueError(f"not in lowest terms: {text!r:.60}")
    return Fraction(top, bottom)


def sum_text(value: Fraction) -> str:
    """Return the one text of a sum of many rationals, which may be long: in base 16.

    >>> sum_text(Fraction(10, 17))
    'a/11'
    """
    return f"{value.numerator:x}/{value.denominator:x}"


def parse_sum(text: object) -> Fraction:
    """Return the rational that `sum_text` wrote; any other spelling is a ValueError."""
    top, _, bottom = text.partition("/") if isinstance(text, str) else ("", "", "")
    value = Fraction(int(top, 16), int(bottom, 16) or 1)
    if sum_text(value) != text:
        raise ValueError("not a sum p/q in base 16")
    return value


def round_down_to_digits(value: Fraction, digits: int) -> Fraction:
    """Return the largest number of so many significant decimal digits that is at most the value."""
    return _round_down(value, digits)


def _exact(typed: object) -> Fraction | None:
    match typed:
        case bool():
            return None
        case Fraction():
            small = max(typed.numerator, typed.denominator) < 10**DIGITS_MAX
            return typed if typed >= 0 and small else None
        case int():
            return Fraction(typed) if 0 <= typed < 10**DIGITS_MAX else None
        case float():
            text = float.__repr__(typed)
        case Decimal():
            text = str(typed).replace("E+", "E")
        case str():
            text = typed
        case _:
            return None
    if len(text) > DIGITS_MAX or not _DECIMAL.fullmatch(text):
        return None
    return Fraction(text)


def _quoted(typed: object) -> str:
    """Return what was typed, shortened; only types whose text is short and harmless are quoted."""
    match typed:
        case str():
            text = repr(typed[: _QUOTED_MAX + 1])
        case bool() | float() | Decimal() | None:
            text = repr(typed)
        case int() | Fraction() if abs(typed.numerator) < 10**99 and typed.denominator < 10**99:
            text = str(typed)
        case _:
            text = f"of type {type(typed).__name__}"
    return text if len(text) <= _QUOTED_MAX else text[:_QUOTED_MAX] + "…"


# the same prices are shown with every answer
@lru_cache(maxsize=1024)
def _show_upper(value: Fraction, digits: int) -> str:
    return _decimal_text(-_round_down(-value, digits))


@lru_cache(maxsize=1024)
def _show_lower(value: Fraction, digits: int) -> str:
    return _decimal_text(_round_down(value, digits))


@lru_cache(maxsize=1024)
def _number_upper(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) >= value else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=1024)  # what is left is told several times with each answer
def _number_lower(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(repr(nearest)) <= value else math.nextafter(nearest, -math.inf)


def _round_down(value: Fraction, digits: int) -> Fraction:
    """Return the largest number of so many significant digits that is at most the value."""
    if value == 0:
        return value
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    leading = size if abs(value) >= Fraction(10) ** size else size - 1
    unit = Fraction(10) ** (leading - digits + 1)
    return (value // unit) * unit


def _decimal_text(value: Fraction) -> str:
    shown = Decimal(value.numerator) / Decimal(value.denominator)
    text = f"{shown.normalize():f}" if value == 0 or abs(value) >= Fraction(1, 1000) else None
    return text if text is not None else f"{shown.normalize():e}"
