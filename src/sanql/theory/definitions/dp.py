"""Differential privacy: every pair of neighbours is (epsilon, delta)-indistinguishable.

Definitions 1.1, 1.2 of Kasiviswanathan-Smith, Definition 1 of Vadhan, Definition 21.1 of the
lecture. With delta = 0 and epsilon = 0 it is perfect privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.finding import Finding, PairWitness
from sanql.theory.definitions.nearly_exact import NearlyExact
from sanql.theory.distributions import Outcome
from sanql.theory.exact import INFINITE, Extended, Real, as_gamma, as_probability
from sanql.theory.neighbours import Neighbours


def pure_dp(channel: Channel, neighbours: Neighbours) -> Finding:
    """Return the least epsilon with delta = 0.

    >>> from sanql.theory.channels import randomised_response
    >>> from sanql.theory.neighbours import change_one
    >>> channel = randomised_response(2, odds=3)
    >>> pure_dp(channel, change_one(channel.databases))["gamma"]
    Fraction(3, 1)
    """
    return _at_delta(channel, neighbours, Fraction(0), "pure differential privacy")


def approximate_dp(channel: Channel, neighbours: Neighbours, delta: Real) -> Finding:
    """Return the least epsilon at a given delta."""
    return _at_delta(
        channel, neighbours, as_probability(delta, "delta"), "approximate differential privacy"
    )


def approximate_dp_delta(channel: Channel, neighbours: Neighbours, gamma: Real) -> Finding:
    """Return the least delta at a given level gamma = e^epsilon."""
    level = as_gamma(gamma)
    best, where = Fraction(-1), neighbours.pairs[0]
    nearly = NearlyExact.of(channel)
    for left, right in _ordered(neighbours):
        if nearly is not None and nearly.excess_at_most(left, right, level, best):
            continue
        p, q, common = _rows(channel, left, right)
        delta = Fraction(_excess(p, q, level), common * level.denominator)
        if delta > best:
            best, where = delta, (left, right)
    witness = _pair(channel, *where, event_at=level)
    return Finding("approximate differential privacy", {"gamma": level, "delta": best}, witness)


def perfect_privacy(channel: Channel, neighbours: Neighbours) -> Finding:
    """Return the statistical difference that perfect privacy needs to be 0, and where it is not."""
    finding = approximate_dp_delta(channel, neighbours, 1)
    holds = finding["delta"] == 0
    note = "holds" if holds else "does not hold"
    return Finding("perfect privacy", {"delta": finding["delta"]}, finding.witness, note=note)


def _at_delta(
    channel: Channel, neighbours: Neighbours, delta: Fraction, definition: str
) -> Finding:
    """Raise the level pair by pair; most pairs only confirm the one already found."""
    best: Extended = Fraction(1)
    where = neighbours.pairs[0]
    nearly = NearlyExact.of(channel)
    for left, right in _ordered(neighbours):
        if best == INFINITE:
            break
        level = Fraction(best)
        if nearly is not None and (
            nearly.ratio_at_most(left, right, level)
            if delta == 0
            else nearly.excess_at_most(left, right, level, delta)
        ):
            continue
        p, q, common = _rows(channel, left, right)
        allowed = delta * common * Fraction(best).denominator
        if _excess(p, q, Fraction(best)) > allowed:
            best, where = _gamma(p, q, delta * common, Fraction(best)), (left, right)
    witness = _pair(channel, *where, event_at=_witness_level(channel, where, best, delta))
    return Finding(definition, {"gamma": best, "delta": delta}, witness, solved="gamma")


def _ordered(neighbours: Neighbours) -> Iterator[tuple[Database, Database]]:
    for left, right in neighbours.pairs:
        yield left, right
        yield right, left


def _rows(
    channel: Channel, left: Database, right: Database
) -> tuple[Sequence[int], Sequence[int], int]:
    """Return two rows as integers over a common denominator: theirs alone, which stays small."""
    p, q = channel.masses(left), channel.masses(right)
    common = math.lcm(*(mass.denominator for mass in (*p, *q)))
    first, second = (
        [mass.numerator * (common // mass.denominator) for mass in row] for row in (p, q)
    )
    return first, second, common


def _excess(p: Sequence[int], q: Sequence[int], gamma: Fraction) -> int:
    """Return denominator(gamma) times sum (p - gamma q)_+ in integers."""
    top, bottom = gamma.numerator, gamma.denominator
    gains = (bottom * a - top * b for a, b in zip(p, q, strict=True))
    return sum(gain for gain in gains if gain > 0)


def _gamma(p: Sequence[int], q: Sequence[int], delta: Fraction, start: Fraction) -> Extended:
    """Return the least gamma with sum (p - gamma q)_+ <= delta, by exact Newton steps upward."""
    gamma = start
    while True:
        top, bottom = gamma.numerator, gamma.denominator
        chosen = [(a, b) for a, b in zip(p, q, strict=True) if bottom * a > top * b]
        above, below = sum(a for a, _ in chosen), sum(b for _, b in chosen)
        if above - gamma * below <= delta:
            return gamma
        if below == 0:
            return INFINITE
        gamma = (above - delta) / below


def _witness_level(
    channel: Channel, where: tuple[Database, Database], gamma: Extended, delta: Fraction
) -> Extended:
    """The event at a tight level is what still exceeds just below it."""
    if gamma == INFINITE or delta > 0:
        return gamma
    p, q = channel.masses(where[0]), channel.masses(where[1])
    below = [a / b for a, b in zip(p, q, strict=True) if b > 0 and a / b < gamma]
    return (max(below, default=Fraction(0)) + Fraction(gamma)) / 2


def _pair(channel: Channel, left: Database, right: Database, *, event_at: Extended) -> PairWitness:
    event: tuple[Outcome, ...] = tuple(
        t
        for t, a, b in zip(
            channel.outputs, channel.masses(left), channel.masses(right), strict=True
        )
        if (a > 0 and b == 0 if event_at == INFINITE else a > Fraction(event_at) * b)
    )
    p, q = channel.row(left), channel.row(right)
    return PairWitness(left, right, event, p.probability(event), q.probability(event))
