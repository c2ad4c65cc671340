"""What a mechanism is: a way to turn (epsilon, delta) into noise, with the theorem that it rests on.

Each mechanism is a class with a file of its own (laplace.py, gaussian.py); price.py lists all there are.
Here is what they share: how a budget is split over measurements, and what needs no noise at all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import Charge
from sanql.measurements import Measurement
from sanql.mechanisms import Geometric, Noise, NoNoise
from sanql.statistics import Measuring

SHARES = 10**6


class Mechanism(ABC):
    """A way to answer within (epsilon, delta): its name, why it is private, and its noise."""

    name: str  # as certificates say it, and form 1 of digests
    theorem: str  # why the claim is true

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
    """Exact values, of which none depends on any unit."""

    name = "none: nothing depends on any unit"
    theorem = "Nothing in the answer depends on any unit."

    def price(
        self, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
    ) -> tuple[Priced, ...] | None:
        return tuple(map(free, levels)) if all(map(is_free, levels)) else None


def is_free(measuring: Measuring) -> bool:
    """Return whether no unit can move any measurement."""
    return all(part.sensitivity.zero for part in measuring.measurements)


def free(measuring: Measuring) -> Priced:
    """Return the price of what no unit can move: nothing, for exact values."""
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
    norms = [part.sensitivity.l1 / part.size for part in parts]
    return [(part.weight * norm**2) ** (1 / 3) for part, norm in zip(parts, norms, strict=True)]


def picking(part: Measurement, epsilon: Fraction) -> Geometric:
    """Return the noise of scores that one unit moves by `l1` over all picks: twice that, by epsilon."""
    return Geometric(2 * part.sensitivity.l1 / epsilon)


def split(weights: Sequence[float]) -> list[Fraction]:
    """Return exact shares that sum to one, proportional to the weights (zero stays zero)."""
    total = sum(weights)
    counts = [
        max(1, math.floor(SHARES * weight / total)) if weight > 0 else 0 for weight in weights
    ]
    largest = max(range(len(counts)), key=lambda index: counts[index])
    counts[largest] += SHARES - sum(counts)
    return [Fraction(count, SHARES) for count in counts]
