"""Mechanisms: ways to turn (epsilon, delta) into noise, each with the theorem that makes it private.

Each mechanism is a class with a file of its own (laplace.py, gaussian.py); price.py lists all there are.
Here is what they share: how a budget is split over measurements, and what needs no noise at all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sanql.account import Charge
from sanql.measurements import Measured, Measurement, NormOrder
from sanql.mechanisms import Geometric, Noise, NoNoise
from sanql.statistics import Measuring

SHARES = 10**6


class Mechanism(ABC):
    """A way to answer within (epsilon, delta): its name, why it is private, and its noise."""

    name: str  # as certificates say it, and form 1 of digests
    theorem: str  # why the claim is true
    norm_order: ClassVar[NormOrder | None] = None  # of the norm that its noise is made for

    @abstractmethod
    def price(
        self, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
    ) -> tuple[Priced, ...] | None:
        """Return noise for every level within (epsilon, delta) in all, or None where it cannot."""


@dataclass(frozen=True)
class Priced:
    """Noise for every measurement, the count a key must exceed to appear, and what it all costs."""

    noises: tuple[Noise, ...]
    threshold: int | None
    charge: Charge
    mechanism: Mechanism


@dataclass(frozen=True)
class NoMechanism(Mechanism):
    """The mechanism without noise, for values that no unit can change."""

    name = "none: nothing depends on any unit"
    theorem = "Nothing in the answer depends on any unit."

    def price(
        self, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
    ) -> tuple[Priced, ...] | None:
        return tuple(map(free, levels)) if all(map(is_free, levels)) else None


def is_free(measuring: Measuring) -> bool:
    """Return whether no unit can change any measurement."""
    return all(measurement.sensitivity.zero for measurement in measuring.measurements)


def free(measuring: Measuring) -> Priced:
    """Return exact values at no cost, for measurements that no unit can change."""
    assert is_free(measuring)  # noqa: S101  (what depends on somebody is never shown as it is)
    zero = Fraction(0)
    noises: tuple[Noise, ...] = tuple(NoNoise() for _ in measuring.measurements)
    threshold = None if measuring.selection is None else 0
    return Priced(noises, threshold, Charge((), zero, zero), NoMechanism())


def selecting(levels: Sequence[Measuring]) -> int:
    """Return how many levels select keys privately."""
    return sum(m.selection is not None and not is_free(m) for m in levels)


def pure_shares(measuring: Measuring) -> list[Fraction]:
    """Return the share of an epsilon that each measurement gets when epsilons add up."""
    return split(pure_weights(measuring))


def pure_weights(measuring: Measuring) -> list[float]:
    """Return what each measurement's share is proportional to when epsilons add up."""
    parts = measuring.measurements
    return [pure_weight(parts, part) for part in parts]


def pure_weight(measurements: Sequence[Measurement], measurement: Measurement) -> float:
    """Return what the share of one of these measurements is proportional to."""
    norm = _length(measurement) / measurement.size
    return float((_weight(measurements, measurement) * norm**2) ** (1 / 3))


def _weight(measurements: Sequence[Measurement], measurement: Measurement) -> float:
    """Return how much noise of a measurement's own matters; of a pair, that of the sum is for both.

    The noise of both sides is in the sum, and in the count.
    """
    if measurement.pair is None:
        return measurement.weight
    if measurement.kind is not Measured.SUM:
        return 0.0
    return 2 * (measurement.weight + measurements[measurement.pair.partner].weight)


def _length(measurement: Measurement) -> float:
    """Return how far one unit moves a measurement, in steps of its grid, by the norm that bounds it."""
    bounds = measurement.sensitivity
    if measurement.norm is not None and measurement.norm.order == 2:
        return math.sqrt(bounds.l2_squared) / measurement.scale
    return bounds.l1 / measurement.scale


def picking(measurement: Measurement, epsilon: Fraction) -> Geometric:
    """Return the noise for picking the largest of noisy scores (report noisy max) at this epsilon."""
    return Geometric(2 * measurement.sensitivity.l1 / epsilon)


def split(weights: Sequence[float]) -> list[Fraction]:
    """Return exact shares that sum to one, proportional to the weights (zero stays zero)."""
    total = sum(weights)
    counts = [
        max(1, math.floor(SHARES * weight / total)) if weight > 0 else 0 for weight in weights
    ]
    largest = max(range(len(counts)), key=lambda index: counts[index])
    counts[largest] += SHARES - sum(counts)
    return [Fraction(count, SHARES) for count in counts]
