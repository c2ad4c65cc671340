"""ENTROPY: how evenly rows are spread over values that are known without the data, in bits.

Rows are counted by value, every count has noise of its own, and the entropy is that of counts which are
nearest to the noisy ones, none below zero and with the same sum. The interval has the entropies of all
counts c with l_i <= c_i <= u_i, the intervals of all counts together. Let H(c) be the entropy of c / N,
N the sum of c.

- H is largest where counts are as equal as they can be: c_i = max(l_i, min(u_i, t)) for one t. Where k of
  them are t, dH/dt = k g(t) / N^2 with g(t) = sum c_i ln(c_i / t), which never rises with t: counts above
  t count for it and those below against it, and both join or leave at zero. So H is largest at g(t) = 0.
- {c : H(c) >= h} is a cone over a convex set, so it is convex, and H is smallest at a corner. As l and u
  have one order, it is a corner with the largest counts at u and the others at l: whatever a larger count
  takes from a smaller one makes them less equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import Band, Reals
from sanql.question import Aggregate, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.values import check_some_value

BITS_MAX = 64  # of far more values than are ever counted
HALVINGS = 80
SLACK = 1e-9  # bits, far more than the error of adding up logarithms


class ShannonEntropy(Statistic):
    """ENTROPY(x): of the shares of rows that have each value, from noisy counts of them."""

    name = "entropy"
    spellings = ("ENTROPY",)
    written = "`ENTROPY(x)`, of x with declared values, in bits"
    found = (
        "of noisy counts, one for each value (rows with other values are left out); the interval has the "
        "entropies of all counts that may be the exact ones"
    )
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        check_some_value(written)
        facts = Facts(Type.REAL, Fraction(0), Fraction(BITS_MAX))
        return Aggregate(self.name, (written.argument,), facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return EntropyOf(collector.histogram(aggregate, 1.0))


@dataclass(frozen=True)
class EntropyOf(Estimate):
    """The entropy of noisy counts by value."""

    counts: int

    needs_rows: ClassVar[bool] = True
    depends_on_spread: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.counts})

    def value(self, noisy: NoisyMeasurements) -> Values:
        return entropies(nearest_counts(noisy.vectors(self.counts)))

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        counts = noisy.vectors_around(self.counts, confidence)
        value = self.value(noisy)
        # what is nearest to the noisy counts need not be between the ends of each
        low = np.fmin(least_entropies(counts), value) - SLACK
        high = np.fmax(greatest_entropies(counts), value) + SLACK
        most = math.log2(noisy.measurement(self.counts).bin_count)
        return Band(np.clip(low, 0.0, most), np.clip(high, 0.0, most))

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        fewest: Reals = noisy.vectors_around(self.counts, confidence).low.max(axis=1)
        return fewest < 1

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how far the entropy told can be from that of counts within all their intervals.

        Each of k counts is off by at most w, and the nearest to them by at most 2 k w more in all, since
        what they gain where the noise fell below zero they lose elsewhere. So shares of `rows` rows are
        off by at most t = 3 k w / (rows - k w) in all, which changes the entropy by at most
        t log2(k - 1) + h(t), h being the entropy of two shares (Audenaert 2007, Theorem 1).
        """
        bins = noise.measurements[self.counts].bin_count
        most = math.log2(bins)
        lost = bins * noise.reach_of_all(self.counts, confidence)
        apart = min(3 * lost / (rows - lost), 1 - 1 / bins) if rows > lost else 1.0
        if apart >= 1 - 1 / bins:
            return Fraction(most)
        both = float(entropies(np.array([[apart, 1 - apart]]))[0])
        return Fraction(min(apart * math.log2(max(1, bins - 1)) + both + SLACK, most))

    def in_words(self) -> str:
        return f"the entropy of the shares of all counts of measurement {self.counts + 1}"


def entropies(counts: Reals) -> Reals:
    """Return the entropy of each row's counts, in bits; NaN where they have no sum."""
    total = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(total[:, None] > 0, counts / total[:, None], np.nan)
        logarithms = np.where(shares > 0, np.log2(shares), 0.0)
    return np.where(total > 0, -(shares * logarithms).sum(axis=1) + 0.0, np.nan)


def nearest_counts(noisy: Reals) -> Reals:
    """Return the nearest counts that are not below zero and have the same sum; all 0 if it is below 1.

    They are max(0, c_i - m) for one m: what counts below zero gain, the others lose in equal parts.
    """
    total = noisy.sum(axis=1)
    falling = -np.sort(-noisy, axis=1)
    kept = np.arange(1, noisy.shape[1] + 1)
    over = (np.cumsum(falling, axis=1) - total[:, None]) / kept  # m, were so many of them kept
    last = (falling > over).sum(axis=1) - 1  # those kept come first
    m = np.take_along_axis(over, np.maximum(last, 0)[:, None], axis=1)
    return np.where((total >= 1)[:, None], np.maximum(noisy - m, 0.0), 0.0)


def least_entropies(counts: Band) -> Reals:
    """Return the least entropy of counts between these ends, which have one order."""
    order = np.argsort(-(counts.low + counts.high), axis=1)
    low, high = (np.take_along_axis(ends, order, axis=1) for ends in (counts.low, counts.high))
    # corner j has the first j counts at their upper ends
    total = _corner_sums(low, high)
    logarithms = _corner_sums(_times_log2(low), _times_log2(high))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0, np.log2(total) - logarithms / total, 0.0)
    least: Reals = found.min(axis=1)
    return np.maximum(least, 0.0)


def greatest_entropies(counts: Band) -> Reals:
    """Return the greatest entropy of counts between these ends, NaN where all are zero."""
    below, above = np.zeros(len(counts.low)), counts.high.max(axis=1)
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        level = np.where(middle > 0, middle, 1.0)[:, None]
        equal = np.clip(level, counts.low, counts.high)
        rises = (equal * np.log2(np.where(equal > 0, equal / level, 1.0))).sum(axis=1) > 0
        below, above = np.where(rises, middle, below), np.where(rises, above, middle)
    return entropies(np.clip(above[:, None], counts.low, counts.high))


def _corner_sums(low: Reals, high: Reals) -> Reals:
    """Return sums of which 0, 1, 2 … of the first are of the upper ends, and the others of the lower."""
    gained = np.cumsum(high - low, axis=1)
    base = low.sum(axis=1)[:, None]
    return np.concatenate([base, base + gained], axis=1)


def _times_log2(counts: Reals) -> Reals:
    return counts * np.log2(np.where(counts > 0, counts, 1.0))
