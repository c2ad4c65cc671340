"""The questions an owner asks of a declared class: delta, epsilon, how many, how many known.

Searches run on floats; what is answered is certified afterwards, and moved until it passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol, Self

from sanql.mechanisms.noiseless.certificate import Adversary, Certificate
from sanql.mechanisms.noiseless.numbers import (
    EPSILON_MAX,
    RECORDS_MAX,
    Number,
    checked_delta,
    checked_epsilon,
    refusal,
    shown,
)

DDP = "DDP"
NOISELESS = "noiseless privacy"
_TIGHT = 1e-4
"""Certified epsilons are within this of the least that the class's own bound allows."""


class Countable(Adversary, Protocol):
    """A class whose numbers of other and of known records can be changed."""

    @property
    def others(self) -> int:
        """The number of records besides the protected one."""

    @property
    def known(self) -> int:
        """How many of them the adversary knows."""

    def with_others(self, others: int) -> Self:
        """Return the class with another number of other records."""

    def with_known(self, known: int) -> Self:
        """Return the class with another number of known records."""


def delta_at(adversary: Adversary, epsilon: Number, *, definition: str = DDP) -> Certificate:
    """Return the certificate at an epsilon.

    >>> from sanql.mechanisms.noiseless.sums import continuous_sum
    >>> certificate = delta_at(continuous_sum(others=1000, eta=0.1), 0.5)
    >>> f"{certificate.delta_upper:.2e}"
    '1.18e-06'
    """
    level = checked_epsilon(epsilon)
    bound = adversary.bound(level)
    return Certificate(
        _up(level),
        bound.delta_upper,
        definition,
        adversary.name,
        adversary.theorem,
        adversary.printed,
        bound.tiers,
        adversary.assumptions,
    )


def epsilon_at(
    adversary: Adversary, delta: Number, *, cap: Number = EPSILON_MAX, definition: str = DDP
) -> Certificate:
    """Return a certificate whose delta is at most the one asked for, with epsilon about least."""
    target, most = checked_delta(delta), checked_epsilon(cap, least_open=True)
    goal = math.log(float(target))

    def gap(log_epsilon: float) -> float:
        return _log(adversary.rough_delta(min(float(most), math.exp(log_epsilon)))) - goal

    start = _root(gap, math.log(float(most)))
    if start is None:
        raise _too_large(target, most)
    slope = (gap(start + 0.01) - gap(start)) / 0.01
    step = _TIGHT / 4
    while True:
        level = min(_decimal(math.exp(start)), most)
        found = delta_at(adversary, level, definition=definition)
        excess = _log(found.delta_upper) - goal
        if excess <= 0:
            return found
        if level == most:
            break
        step = max(step, excess / max(-slope, 1e-3) * 1.02)
        start, step = start + step, _TIGHT / 4
    raise _too_large(target, most)


def others_min(adversary: Countable, epsilon: Number, delta: Number) -> int:
    """Return the least number of other records with which the class passes."""
    level, target = checked_epsilon(epsilon), checked_delta(delta)
    if not _passes(adversary.with_others(RECORDS_MAX), level, target):
        raise refusal(
            "records",
            f"not even {RECORDS_MAX} records reach epsilon {shown(level)} at delta {shown(target)}",
            "accept a larger epsilon, or add noise",
        )
    return _least(
        lambda n: adversary.with_others(n).rough_delta(float(level)) <= float(target),
        lambda n: _passes(adversary.with_others(n), level, target),
        adversary.known + 1,
        RECORDS_MAX,
    )


def known_max(adversary: Countable, epsilon: Number, delta: Number) -> int:
    """Return the largest number of known records with which the class passes."""
    level, target = checked_epsilon(epsilon), checked_delta(delta)
    everybody = adversary.with_known(0)
    if not _passes(everybody, level, target):
        raise refusal(
            "known",
            f"with no known record at all delta at epsilon {shown(level)} is above {shown(target)}",
            f"take part of at least {others_min(everybody, level, target)} other records, accept "
            "a larger epsilon, or add noise",
        )
    total = everybody.others
    least_unknown = _least(
        lambda m: everybody.with_known(total - m).rough_delta(float(level)) <= float(target),
        lambda m: _passes(everybody.with_known(total - m), level, target),
        1,
        total,
    )
    return total - least_unknown


def _passes(adversary: Adversary, epsilon: Fraction, delta: Fraction) -> bool:
    return Fraction(adversary.bound(epsilon).delta_upper) <= delta


def _least(
    roughly: Callable[[int], bool], surely: Callable[[int], bool], low: int, high: int
) -> int:
    """Return the least number that surely passes, starting from where it roughly does.

    `surely(high)` is known. What passes roughly may fail surely by a little (blocks are coarser
    than floats), never the other way round by more than rounding.
    """
    if low < high and roughly(low):
        high = low
    first, last = low, high
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if roughly(middle) else (middle + 1, last)
    while first > low and surely(first - 1):
        first -= 1
    width = 1
    bad = first - 1
    while not surely(first):
        bad, first, width = first, first + width, 2 * width
    while first - bad > 1:
        middle = (bad + first) // 2
        bad, first = (bad, middle) if surely(middle) else (middle, first)
    return first


def _root(gap: Callable[[float], float], most: float) -> float | None:
    """Return where a falling function of log epsilon crosses zero, at most `most`, if anywhere."""
    low = high = min(most, math.log(0.2))
    at = gap(low)
    if at <= 0:
        while at <= 0:
            if low < math.log(1e-7):
                return low
            low, high = low - 1.0, low
            at = gap(low)
    else:
        while at > 0:
            if high >= most:
                return None if at > math.log(2) else most
            low, high = high, min(most, high + 1.0)
            at = gap(high)
    return _falling_zero(gap, low, high)


def _falling_zero(gap: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero between low and high by secants that never leave the bracket (Illinois)."""
    at_low, at_high = gap(low), gap(high)
    for _ in range(60):
        if high - low <= _TIGHT / 20:
            break
        probe = low + (high - low) * at_low / (at_low - at_high)
        probe = min(max(probe, low + (high - low) / 64), high - (high - low) / 64)
        value = gap(probe)
        if abs(value) <= _TIGHT / 10:
            return probe
        if value > 0:
            low, at_low, at_high = probe, value, at_high / 2
        else:
            high, at_high, at_low = probe, value, at_low / 2
    return high


def _too_large(delta: Fraction, cap: Fraction) -> Exception:
    return refusal(
        "no_epsilon",
        f"no epsilon up to {shown(cap)} is certified at delta {shown(delta)}",
        "more unknown records, a larger uniform part or a larger delta would help; otherwise "
        "add noise",
    )


def _log(delta: float) -> float:
    return math.log(max(delta, 1e-320))


def _decimal(value: float) -> Fraction:
    """Return a number of nine digits that is at least the value."""
    digits = 9 - math.floor(math.log10(value))
    return Fraction(math.ceil(Fraction(value) * 10**digits), 10**digits)


def _up(value: Fraction) -> float:
    """Return the least float that is at least a rational."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
