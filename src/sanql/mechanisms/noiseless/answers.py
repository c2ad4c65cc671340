"""The questions an owner asks of a declared class: delta, epsilon, how many, how many known.

Searches run on floats; what is answered is certified afterwards, and moved until it passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Protocol, Self

from sanql.errors import Refused
from sanql.mechanisms.noiseless.certificate import Adversary, NoiselessCertificate
from sanql.mechanisms.noiseless.numbers import (
    EPSILON_MAX,
    RECORDS_MAX,
    Number,
    checked_delta,
    checked_epsilon,
    refusal,
    rounded_up,
    shown,
)

DDP = "DDP"
NOISELESS = "noiseless privacy"
_TIGHT = 1e-4
"""Certified epsilons are within this of the least that the class's own bound allows."""
_MARGIN = 0.05
"""How far below its goal the logarithm of a rough delta should be for the sure one to pass."""


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


def delta_at(
    adversary: Adversary, epsilon: Number, *, definition: str = DDP
) -> NoiselessCertificate:
    """Return the certificate at an epsilon.

    >>> from sanql.mechanisms.noiseless.sums import continuous_sum
    >>> certificate = delta_at(continuous_sum(others=1000, eta=0.1), 0.5)
    >>> f"{certificate.delta_upper:.2e}"
    '1.16e-06'
    """
    level = checked_epsilon(epsilon)
    bound = adversary.bound(level)
    return NoiselessCertificate(
        rounded_up(level),
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
) -> NoiselessCertificate:
    """Return a certificate whose delta is at most the one asked for, with epsilon about least."""
    target, most = checked_delta(delta), checked_epsilon(cap, least_open=True)
    goal = math.log(float(target))

    @cache
    def gap(log_epsilon: float) -> float:
        return _log(adversary.rough_delta(min(float(most), math.exp(log_epsilon)))) - goal

    start = _root(gap, math.log(float(most)))
    if start is None:
        return _surely(adversary, target, most, definition)
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


def _surely(
    adversary: Adversary, target: Fraction, most: Fraction, definition: str
) -> NoiselessCertificate:
    """Return a certificate found without floats, which see no epsilon where few records are left."""
    found = delta_at(adversary, most, definition=definition)
    if Fraction(found.delta_upper) > target:
        raise _too_large(target, most)
    low, high = math.log(1e-3), math.log(float(most))
    while high - low > _TIGHT:
        middle = (low + high) / 2
        nearer = delta_at(adversary, min(_decimal(math.exp(middle)), most), definition=definition)
        if Fraction(nearer.delta_upper) <= target:
            high, found = middle, nearer
        else:
            low = middle
    return found


def others_min(adversary: Countable, epsilon: Number, delta: Number) -> int:
    """Return the least number of other records with which the class passes."""
    level, target = checked_epsilon(epsilon), checked_delta(delta)
    least = _least(
        lambda n: _log(adversary.with_others(n).rough_delta(float(level))),
        lambda n: _log_up(adversary.with_others(n).bound(level).delta_upper, target),
        _log(float(target)),
        adversary.known + 1,
        RECORDS_MAX,
    )
    if least is None:
        raise _too_few(level, target)
    return least


def others_enough(
    adversary: Countable, epsilon: Number, delta: Number
) -> tuple[int, NoiselessCertificate]:
    """Return a number of other records with which the class passes, and its certificate.

    It is the least or somewhat more (mostly less than a hundredth), found with one or two
    certificates where the least takes several.
    """
    level, target = checked_epsilon(epsilon), checked_delta(delta)
    goal, low = _log(float(target)), adversary.known + 1

    def gap(others: int) -> float:
        return _log(adversary.with_others(others).rough_delta(float(level))) - goal

    at, slope = _rough_edge(gap, low, RECORDS_MAX)
    if gap(at) > -_MARGIN:
        at += math.ceil((_MARGIN + max(0.0, gap(at))) / slope)
    while at <= RECORDS_MAX:
        found = delta_at(adversary.with_others(at), level)
        excess = _log_up(found.delta_upper, target) - goal
        if excess <= 0:
            return at, found
        at += max(1, math.ceil(1.1 * excess / slope))
    raise _too_few(level, target)


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
        lambda m: _log(everybody.with_known(total - m).rough_delta(float(level))),
        lambda m: _log_up(everybody.with_known(total - m).bound(level).delta_upper, target),
        _log(float(target)),
        1,
        total,
    )
    assert least_unknown is not None  # noqa: S101  (with nobody known it passes)
    return total - least_unknown


def _too_few(epsilon: Fraction, delta: Fraction) -> Refused:
    return refusal(
        "records",
        f"not even {RECORDS_MAX} records reach epsilon {shown(epsilon)} at delta {shown(delta)}",
        "accept a larger epsilon, or add noise",
    )


def _passes(adversary: Adversary, epsilon: Fraction, delta: Fraction) -> bool:
    return Fraction(adversary.bound(epsilon).delta_upper) <= delta


def _least(
    roughly: Callable[[int], float],
    surely: Callable[[int], float],
    goal: float,
    low: int,
    high: int,
) -> int | None:
    """Return a number whose sure log delta is at most the goal, while that of the one before is not;
    None if not even `high` is.

    Floats say where to look and how steep delta falls there; what passes roughly may fail surely
    (blocks are coarser than floats), so sure bounds close in from there, a step that did not cross
    the edge being doubled.
    """
    at, slope = _rough_edge(lambda n: roughly(n) - goal, low, high)
    bad, good, stretch = low - 1, high + 1, 1
    while good - bad > 1:
        excess = surely(at) - goal
        step = stretch * max(1, math.ceil(min(abs(excess) / slope, float(high))))
        if excess <= 0:
            good, at = at, at - step
        else:
            bad, at = at, at + step
        stretch *= 2
        if not bad < at < good:
            at = (bad + good) // 2
    return None if good > high else good


def _rough_edge(gap: Callable[[int], float], low: int, high: int) -> tuple[int, float]:
    """Return about where a falling function of a count crosses zero, and how steeply.

    The logarithm of delta is nearly linear in the number of records, so straight lines between the
    ends of a bracket lead there in a few steps.
    """
    upper, below = low, gap(low)
    above = below
    while above > 0 and upper < high:
        low, below, upper = upper, above, min(high, 4 * upper)
        above = gap(upper)
    for _ in range(8):
        if upper - low <= 1 or above > 0 or min(abs(below), abs(above)) < 0.02:
            break
        inside = low + round((upper - low) * below / (below - above))
        inside = min(max(inside, low + 1), upper - 1)
        value = gap(inside)
        low, below, upper, above = (
            (inside, value, upper, above) if value > 0 else (low, below, inside, value)
        )
    slope = (below - above) / max(1, upper - low)
    return (low if abs(below) < abs(above) else upper), max(slope, 1e-9)


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


def _log_up(delta_upper: float, target: Fraction) -> float:
    """Return the log of a sure bound, on the side of the target's log where the bound itself is."""
    near, goal = _log(delta_upper), _log(float(target))
    if Fraction(delta_upper) <= target:
        return min(near, goal)
    return max(near, math.nextafter(goal, math.inf))


def _decimal(value: float) -> Fraction:
    """Return a number of nine digits that is at least the value."""
    digits = 9 - math.floor(math.log10(value))
    return Fraction(math.ceil(Fraction(value) * 10**digits), 10**digits)
