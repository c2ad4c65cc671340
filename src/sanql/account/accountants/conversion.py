"""The (epsilon, delta) that a list of events satisfies, fixed in advance and rounded up.

Three proofs are tried and the best is kept:

- *basic*: pure epsilons add, leaks add;
- *concentrated*: pure epsilons add, and the Gaussian events together are rho-zCDP, turned into
  (epsilon, delta) with what delta the leaks leave;
- *Rényi*: all divergences of one order add, and are turned with what delta the leaks leave.

The order is found by a search in floats, which need not be exact: any order gives a valid bound,
and only the bound at the order found is computed with directed rounding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from sanql.account.accountants.divergences import (
    ORDER_MIN,
    ORDERS_SHARP,
    UNIT_BITS,
    conversion_sharp_upper,
    conversion_upper,
    renyi_units_upper,
)
from sanql.account.events import Event, GaussianEvent, leak, pure_epsilon
from sanql.numbers import exact_sum

_MANTISSA_BITS = 53
_FIXED_POINT_ROUNDS = 12
_GOLDEN = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=4096)
def gaussian_rho_lower(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, such that rho-zCDP implies (epsilon, delta)-privacy.

    With the conversion of Canonne, Kamath and Steinke at its best order a,
    rho = (epsilon - conversion(a, delta)) / a. Raises ValueError unless both are positive.
    """
    if epsilon <= 0 or not 0 < delta < 1:
        raise ValueError("Gaussian noise needs a positive epsilon and a delta between 0 and 1")
    target = float(epsilon)
    order = _best_order(lambda a: -(target - conversion_upper(a, delta)) / a, excess_min=2.0**-10)
    rho = (epsilon - Fraction(conversion_upper(order, delta))) / Fraction(order)
    if rho <= 0:
        raise ValueError("no Gaussian noise that can be computed is private enough")
    return _round_down(rho)


def epsilon_upper(events: Sequence[Event], delta: Fraction) -> Fraction:
    """Return the least epsilon, rounded up, that this package proves for the events at this delta.

    Raises ValueError when no epsilon is enough: the leaks exceed delta, or nothing is left of it
    for Gaussian noise.
    """
    return _epsilon_upper(tuple(events), delta)


@lru_cache(maxsize=4096)
def _epsilon_upper(events: tuple[Event, ...], delta: Fraction) -> Fraction:
    rest = delta - leak(events)
    if rest < 0:
        raise ValueError("the events may leak with a greater probability than delta")
    pure = pure_epsilon(events)
    if rest == 0:
        if pure is None:
            raise ValueError("no delta is left for Gaussian noise")
        return pure
    proofs = [_renyi_epsilon_upper(events, rest), _concentrated_epsilon_upper(events, rest)]
    return min(proofs if pure is None else [*proofs, pure])


@lru_cache(maxsize=1024)
def proves(events: tuple[Event, ...], epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the events satisfy (epsilon, delta).

    A charge planned to the limit (`gaussian_rho_lower`) is not refused for a last digit: its claim
    is checked with less slack than it was solved with, or else with the very same numbers. It is
    remembered: a charge that was planned is read again from its own record.
    """
    leaked = leak(events)
    if leaked > delta:
        return False
    pure = pure_epsilon(events)
    if pure is not None and pure <= epsilon:
        return True
    gaussian, others = _split(events)
    rest, left = delta - leaked, epsilon - (pure_epsilon(others) or 0)
    rho = exact_sum(event.rho for event in gaussian)
    if 0 < rest < 1 and left > 0 and _concentrated(rho, left, rest):
        return True
    return rest > 0 and epsilon_upper(events, delta) <= epsilon


def _concentrated(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether rho-zCDP implies (epsilon, delta)-privacy: at one good order, or by a search."""
    order = stationary_order(float(rho), delta)
    if order is not None:
        converted = Fraction(conversion_sharp_upper(order, delta))
        if Fraction(order) * rho + converted <= epsilon:
            return True
    return rho <= gaussian_rho_lower(epsilon, delta)


def stationary_order(rho: float, delta: Fraction) -> float | None:
    """Return about the order at which rho-zCDP is converted best; None where it is out of reach.

    The derivative of a rho + conversion(a, delta) is rho + ln(a delta) / (a-1)^2, so the best order
    is a fixed point of a - 1 = sqrt((ln(1/delta) - ln a) / rho). Each round of iteration divides
    the error by at least 2 (ln(1/delta) - ln a). Floats will do: the bound holds at any order.
    """
    if rho == 0:
        return None
    logarithm = math.log(delta.denominator) - math.log(delta.numerator)
    excess = 0.0
    for _ in range(_FIXED_POINT_ROUNDS):
        left = logarithm - math.log1p(excess)
        if left <= 0:
            return None
        excess = math.sqrt(left / rho)
    low, high = ORDERS_SHARP
    return 1 + excess if low <= 1 + excess <= high else None


def _split(events: tuple[Event, ...]) -> tuple[list[GaussianEvent], list[Event]]:
    gaussian = [event for event in events if isinstance(event, GaussianEvent)]
    return gaussian, [event for event in events if not isinstance(event, GaussianEvent)]


def _concentrated_epsilon_upper(events: tuple[Event, ...], delta: Fraction) -> Fraction:
    gaussian, others = _split(events)
    rho = sum((event.rho for event in gaussian), Fraction(0))
    size = float(rho)
    order = _best_order(lambda a: a * size + conversion_upper(a, delta), excess_min=2.0**-10)
    total = Fraction(order) * rho + Fraction(conversion_upper(order, delta))
    return (pure_epsilon(others) or 0) + _round_up(max(Fraction(0), total))


def _renyi_epsilon_upper(events: tuple[Event, ...], delta: Fraction) -> Fraction:
    counted = Counter(events).items()

    def at(order: float) -> Fraction:
        units = sum(count * renyi_units_upper((event,), order) for event, count in counted)
        return Fraction(units, 1 << UNIT_BITS) + Fraction(conversion_upper(order, delta))

    order = _best_order(lambda a: float(at(a)), excess_min=ORDER_MIN - 1)
    return _round_up(max(Fraction(0), at(order)))


def _best_order(cost: Callable[[float], float], excess_min: float) -> float:
    """Return an order near the least cost: the best power of two above 1, refined around it."""

    def at(exponent: float) -> float:
        return cost(1 + math.exp2(exponent))

    lowest = math.log2(excess_min)
    coarse = [lowest + step for step in range(50)]
    middle = min(coarse, key=at)
    low, high = max(lowest, middle - 1), middle + 1
    for _ in range(40):
        third = high - _GOLDEN * (high - low)
        other = low + _GOLDEN * (high - low)
        if at(third) <= at(other):
            high = other
        else:
            low = third
    return 1 + math.exp2((low + high) / 2)


def _round_down(value: Fraction) -> Fraction:
    """Return the value rounded down to 53 bits or so over a power of two."""
    shift = _MANTISSA_BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    unit = Fraction(2) ** -shift
    return (value // unit) * unit


def _round_up(value: Fraction) -> Fraction:
    return -_round_down(-value) if value else value
