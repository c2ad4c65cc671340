"""A MAP estimate with a little noise: private whatever the adversary knows, and what that costs.

The sources remark that a MAP estimate can be made differentially private with some noise instead of
being certified against a class. Law a is drawn with probability proportional to (π_a Π f_a(x))^t, t at
most epsilon/R with R = max_x ln(max_a f_a(x)/min_a f_a(x)): one record more or less multiplies each
weight by between m and m·e^(tR), so every probability by at most e^(tR) ≤ e^epsilon (add-remove
neighbours). At t = 1 it is a draw from the posterior, which is private at epsilon = R as it is; from
there on a larger epsilon says ever surer what the estimate is.

With D_a the log of how much likelier θ is than a, law a is drawn with probability at most
1/(1 + e^(tD_a)) ≤ e^(−sD_a) for each s in [0, t], so that by Chernoff the verdict is wrong with
probability at most

    Σ_{a ≠ θ} min over s ≤ t of (π_a/π_θ)^s (Σ_x f_a^s f_θ^(1−s))^n,

and s ≤ 1 where the estimate is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.mechanisms.noiseless.map_estimators import MapAdversary
from sanql.mechanisms.noiseless.numbers import (
    RECORDS_MAX,
    Number,
    as_ball,
    checked_delta,
    checked_epsilon,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class NoisyMap:
    """The estimate with noise for one epsilon, over the laws of a class.

    >>> coin = MapAdversary(1, ((0.75, 0.25), (0.25, 0.75)))
    >>> noisy = NoisyMap(coin, Fraction(1))
    >>> round(noisy.range_upper, 6), round(noisy.power_lower, 6)
    (1.098612, 0.910239)
    """

    laws: MapAdversary
    epsilon: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, least_open=True))

    @property
    def range_upper(self) -> float:
        """How far one record may move the difference of two log-likelihoods, rounded up."""
        columns = list(zip(*self.laws.rational_laws, strict=True))
        with precision(128):
            return max(upper(as_ball(max(column) / min(column)).log()) for column in columns)

    @property
    def power_lower(self) -> float:
        """The power t of the likelihoods at which the draw has epsilon, rounded down."""
        exact = Fraction(self.epsilon) / Fraction(self.range_upper)
        near = float(exact)
        return near if Fraction(near) <= exact else math.nextafter(near, 0.0)

    def chances(self, counts: tuple[int, ...]) -> list[float]:
        """Return with which probability each law is drawn, for counts of every value."""
        power = self.power_lower
        scores = [
            power * (math.log(w) + sum(n * math.log(p) for n, p in zip(counts, law, strict=True)))
            for w, law in zip(self.laws.rational_weights, self.laws.rational_laws, strict=True)
        ]
        top = max(scores)
        weights = [math.exp(score - top) for score in scores]
        return [weight / sum(weights) for weight in weights]

    def wrong_upper(self, records: int) -> float:
        """Return how likely, at most, another law than that of the records is told."""
        return wrong_at(self.laws, records, min(1.0, self.power_lower))


def wrong_at(laws: MapAdversary, records: int, power: float = 1.0) -> float:
    """Return how likely, at most, a wrong law is told, by likelihoods to some power; exactly at 1."""
    from flint import arb

    count = len(laws.laws)
    worst = 0.0
    with precision(128):
        for theta in range(count):
            total = sum(
                (_pair(laws, a, theta, records, power) for a in range(count) if a != theta), arb(0)
            )
            worst = max(worst, upper(total))
    return min(1.0, worst)


def records_for(laws: MapAdversary, wrong: Number, power: float = 1.0) -> int | None:
    """Return the least number of records with which at most so often a wrong law is told.

    None where not even the most records that are computed reach it.
    """
    target = float(checked_delta(wrong))
    low, high = 0, 1
    while wrong_at(laws, high, power) > target:
        low, high = high, 2 * high
        if high > RECORDS_MAX:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = wrong_at(laws, middle, power) <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


def _pair(laws: MapAdversary, a: int, theta: int, records: int, power: float) -> arb:
    """Return min over s ≤ power of (π_a/π_θ)^s (Σ f_a^s f_θ^(1−s))^n, at about the best s."""
    from flint import arb

    other, own = laws.rational_laws[a], laws.rational_laws[theta]
    weights = laws.rational_weights
    ratio = weights[a] / weights[theta]
    gaps = [math.log(p / q) for p, q in zip(other, own, strict=True)]
    base = [float(q) for q in own]

    def slope(s: float) -> float:
        terms = [q * math.exp(s * gap) for q, gap in zip(base, gaps, strict=True)]
        mean = sum(t * gap for t, gap in zip(terms, gaps, strict=True)) / sum(terms)
        return math.log(ratio) + records * mean

    low, high = 0.0, power
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    s = arb(low)
    mean = sum(
        (as_ball(p) ** s * as_ball(q) ** (1 - s) for p, q in zip(other, own, strict=True)), arb(0)
    )
    return as_ball(ratio) ** s * mean**records
