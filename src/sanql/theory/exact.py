"""Numbers: exact where they come in, rounded to the safe side where they go out.

Finite distributions are computed with `fractions.Fraction`. The privacy loss enters as gamma =
e^epsilon, which is often rational when epsilon is not. Where a float must be shown, a bound on
privacy loss is rounded up and a bound on an attacker's error is rounded down.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from sanql.theory.errors import TheoryError

Real: TypeAlias = int | float | str | Decimal | Fraction
"""Anything that can be read as an exact number; a float means exactly its binary value."""

Extended: TypeAlias = Fraction | float
"""An exact number, or `math.inf`."""

INFINITE = math.inf
_SQRT_BITS = 96
_NOISE = 1e-13
_EPSILON_MAX = 1e9
_TINIEST = math.ulp(0.0)
_FLOAT_MAX = 1e300
_TEXT_MAX = 1000
_NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?0*\d{1,3})?)", re.ASCII)
_QUOTED_MAX = 60
_SHORT_BITS = 400  # some 120 digits


def as_fraction(value: Real, name: str) -> Fraction:
    """Return the value as an exact fraction, or say why it is none.

    Texts have at most 1,000 characters and exponents of three digits: one line could otherwise name a
    number that fills the memory.

    >>> as_fraction("1/3", "mass"), as_fraction("0.1", "mass")
    (Fraction(1, 3), Fraction(1, 10))
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise _not_a_number(value, name)
    if isinstance(value, float) and not math.isfinite(value):
        raise _not_a_number(value, name)
    if isinstance(value, Decimal) and not value.is_finite():
        raise _not_a_number(value, name)
    if isinstance(value, str | Decimal):
        return _read(str(value).strip(), name)
    return Fraction(value)


def as_probability(value: Real, name: str) -> Fraction:
    """Return the value as an exact number between 0 and 1."""
    number = as_fraction(value, name)
    if not 0 <= number <= 1:
        raise TheoryError(
            "not_a_probability",
            f"{name} is {quoted(value)}, a probability lies between 0 and 1",
            f"give {name} between 0 and 1",
        )
    return number


def as_gamma(value: Real | Extended, name: str = "gamma") -> Fraction:
    """Return gamma = e^epsilon of a privacy level, at least 1."""
    number = as_fraction(value, name)
    if number < 1:
        raise TheoryError(
            "gamma_below_one",
            f"{name} is {quoted(value)}, a privacy level e^epsilon is at least 1",
            "give epsilon >= 0, that is gamma >= 1",
        )
    return number


def as_positive(value: Real, name: str) -> Fraction:
    """Return the value as an exact number above 0."""
    number = as_fraction(value, name)
    if number <= 0:
        raise TheoryError(
            "not_positive", f"{name} is {quoted(value)}, it must be above 0", f"give {name} > 0"
        )
    return number


def as_nonnegative(value: Real, name: str) -> Fraction:
    """Return the value as an exact number of at least 0, in the range of floats."""
    number = as_fraction(value, name)
    if not 0 <= number <= Fraction(_FLOAT_MAX):
        raise TheoryError(
            "negative",
            f"{name} is {quoted(value)}, it must be at least 0 and finite",
            f"give {name} >= 0",
        )
    return number


def as_epsilon(value: Real, name: str = "epsilon") -> float:
    """Return epsilon as a float that is finite and at least 0."""
    number = as_fraction(value, name)
    if number < 0:
        raise TheoryError(
            "negative_epsilon",
            f"{name} is {quoted(value)}, a privacy loss is at least 0",
            f"give {name} >= 0",
        )
    if number > _EPSILON_MAX:
        raise TheoryError(
            "epsilon_too_large",
            f"{name} is above {_EPSILON_MAX:.0e}, which promises nothing",
            f"give {name} as a privacy loss, mostly below 10",
        )
    return float_read(number)


def as_level(value: float, name: str = "gamma") -> float:
    """Return a float level of at least 1; infinity is allowed."""
    if _is_float(value) and value >= 1:
        return float(value)
    raise TheoryError(
        "gamma_below_one",
        f"{name} is {quoted(value)}, a privacy level e^epsilon is at least 1",
        "give epsilon >= 0, that is gamma >= 1",
    )


def as_rate(value: float, name: str) -> float:
    """Return a float between 0 and 1."""
    if _is_float(value) and 0 <= value <= 1:
        return float(value)
    raise TheoryError(
        "not_a_probability",
        f"{name} is {quoted(value)}, a probability lies between 0 and 1",
        f"give {name} between 0 and 1",
    )


def as_width(value: float, name: str) -> float:
    """Return a float above 0 of a size whose square is a float as well."""
    if _is_float(value) and 1e-150 <= value <= 1e150:
        return float(value)
    raise TheoryError(
        "not_positive",
        f"{name} is {quoted(value)}, it must be above 0 and finite",
        f"give {name} > 0, between 1e-150 and 1e150",
    )


def as_loss(value: float, name: str = "epsilon") -> float:
    """Return a float of at least 0; infinity is allowed."""
    if _is_float(value) and value >= 0:
        return float(value)
    raise TheoryError(
        "negative_epsilon", f"{name} is {quoted(value)}, it is at least 0", f"give {name} >= 0"
    )


def as_count(value: int, name: str, *, least: int = 1, most: int = 10**6) -> int:
    """Return a whole number within limits."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise TheoryError(
        "not_a_count",
        f"{name} is {quoted(value)}, a whole number from {least} to {most}",
        f"give {name} between {least} and {most}",
    )


def exp_upper(epsilon: float) -> float:
    """Return a float that is at least e^epsilon; exact at 0.

    >>> exp_upper(0.0), exp_upper(1.0) > 2.718281828459045
    (1.0, True)
    """
    return 1.0 if epsilon == 0 else up(_exp(epsilon))


def exp_lower(epsilon: float) -> float:
    """Return a float that is at most e^epsilon; exact at 0, and at least 1 above it."""
    lower = 1.0 if epsilon == 0 else down(_exp(epsilon))
    return max(1.0, lower) if epsilon > 0 else lower


def log_nearest(number: Extended) -> float:
    """Return ln(number), to within two units in the last place, of a positive number of any size."""
    if number == INFINITE:
        return INFINITE
    exact = Fraction(number)
    if Fraction(1, 2) < exact < 2:
        return math.log1p(float(exact - 1))
    # a power of two is split off, so that no two large logarithms cancel
    shift = exact.numerator.bit_length() - exact.denominator.bit_length()
    return math.log(exact / Fraction(2) ** shift) + shift * math.log(2)


def log_upper(number: Extended) -> float:
    """Return a float that is at least ln(number); exact at 1 and at infinity.

    >>> log_upper(Fraction(1)), log_upper(math.inf), log_upper(Fraction(3)) >= math.log(3)
    (0.0, inf, True)
    """
    return log_nearest(number) if number in (1, INFINITE) else up(log_nearest(number))


def log_lower(number: Extended) -> float:
    """Return a float that is at most ln(number)."""
    return log_nearest(number) if number in (1, INFINITE) else down(log_nearest(number))


def up(number: float, steps: int = 4) -> float:
    """Return the float a few units in the last place above."""
    for _ in range(steps):
        number = math.nextafter(number, math.inf)
    return number


def down(number: float, steps: int = 4) -> float:
    """Return the float a few units in the last place below."""
    for _ in range(steps):
        number = math.nextafter(number, -math.inf)
    return number


def float_upper(number: Extended) -> float:
    """Return the smallest convenient float that is at least the number."""
    nearest = _nearest(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def float_lower(number: Extended) -> float:
    """Return the largest convenient float that is at most the number."""
    nearest = _nearest(number)
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)


def float_read(number: Extended) -> float:
    """Return the nearest float of a number as read, except that only 0 becomes 0.

    A delta of 10^-400 is not a delta of 0: what is pure and what is not differ in kind.

    >>> float_read(Fraction(1, 10)), float_read(Fraction(1, 10**400)), float_read(Fraction(0))
    (0.1, 5e-324, 0.0)
    """
    nearest = _nearest(number)
    return nearest if nearest or not number else math.copysign(_TINIEST, number)


def shown_upper(number: float) -> str:
    """Return six digits that are at least the number; its own rounding noise is not shown.

    >>> shown_upper(math.log(3)), shown_upper(1e-6), shown_upper(2.0000000000000018)
    ('1.09862', '1e-06', '2')
    """
    return _shown(number, ROUND_CEILING)


def shown_lower(number: float) -> str:
    """Return six digits that are at most the number.

    >>> shown_lower(math.log(2)), shown_lower(math.log(3))
    ('0.693147', '1.09861')
    """
    return _shown(number, ROUND_FLOOR)


def quoted(value: object) -> str:
    """Return a value as a message shows it: what is long is cut, and digits are counted.

    >>> quoted("1/3"), quoted(10**5000), quoted("x" * 99)[-4:]
    ('1/3', 'a number of some 5001 digits', 'xxx…')
    """
    if isinstance(value, int | Fraction) and _bits(value) > _SHORT_BITS:
        return f"a number of some {_bits(value) * 30103 // 100_000 + 1} digits"
    try:
        text = str(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        text = f"a {type(value).__name__} of long numbers"
    return text if len(text) <= _QUOTED_MAX else f"{text[: _QUOTED_MAX - 1]}…"


def written(number: Fraction) -> str:
    """Return every digit of a number, however many there are.

    >>> written(Fraction(-1, 3)), len(written(Fraction(10**5000)))
    ('-1/3', 5001)
    """
    above = ("-" if number < 0 else "") + _digits(abs(number.numerator))
    return above if number.denominator == 1 else f"{above}/{_digits(number.denominator)}"


def sqrt_exact(number: Fraction) -> Fraction | None:
    """Return the rational square root, or None when it is irrational.

    >>> sqrt_exact(Fraction(25, 9)), sqrt_exact(Fraction(2))
    (Fraction(5, 3), None)
    """
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if above**2 == number.numerator and below**2 == number.denominator:
        return Fraction(above, below)
    return None


def sqrt_lower(number: Fraction) -> Fraction:
    """Return a fraction at most sqrt(number), within 2^-96 of it; exact when rational."""
    exact = sqrt_exact(number)
    if exact is not None:
        return exact
    scale = 1 << _SQRT_BITS
    product = number.numerator * number.denominator * scale**2
    return Fraction(math.isqrt(product), number.denominator * scale)


def sqrt_upper(number: Fraction) -> Fraction:
    """Return a fraction at least sqrt(number), within 2^-96 of it; exact when rational."""
    low = sqrt_lower(number)
    return low if low**2 == number else low + Fraction(1, number.denominator << _SQRT_BITS)


def sqrt_near(number: Fraction) -> Fraction:
    """Return the root when it is rational, else a short fraction near it."""
    exact = sqrt_exact(number)
    if exact is not None:
        return exact
    near = _nearest(sqrt_upper(number))
    return Fraction(near) if 0 < near < INFINITE else sqrt_upper(number)


def _shown(number: float, rounding: str) -> str:
    nearest = f"{number:.6g}"
    if not math.isfinite(number) or math.isclose(float(nearest), number, rel_tol=_NOISE):
        return nearest
    digits = Context(prec=6, rounding=rounding).create_decimal(repr(number))
    return f"{float(digits):.6g}"


def _bits(number: int | Fraction) -> int:
    return max(abs(number.numerator).bit_length(), number.denominator.bit_length())


def _digits(number: int) -> str:
    """The digits of a number, split where Python would refuse to write it."""
    if number.bit_length() <= _SHORT_BITS:
        return str(number)
    half = number.bit_length() * 3 // 20
    high, low = divmod(number, 10**half)
    return _digits(high) + _digits(low).zfill(half)


def _is_float(value: object) -> bool:
    """Whether a value can be a float: a number, not a truth value, in range."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def _nearest(number: Extended) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _exp(epsilon: float) -> float:
    try:
        return math.exp(epsilon)
    except OverflowError:
        return math.inf


def _read(text: str, name: str) -> Fraction:
    if len(text) > _TEXT_MAX or not _NUMBER.fullmatch(text):
        raise _not_a_number(text, name)
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise _not_a_number(text, name) from error


def _not_a_number(value: object, name: str) -> TheoryError:
    told = quoted(repr(value) if isinstance(value, str) else value)
    return TheoryError(
        "not_a_number",
        f"{name} is {told}, it must be a finite number of at most {_TEXT_MAX} digits",
        f'give {name} as an integer, a float or an exact string such as "1/3"',
    )
