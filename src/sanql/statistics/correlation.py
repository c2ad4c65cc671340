"""CORR: a covariance over the root of both variances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sanql.measurements import Band
from sanql.question import Aggregate, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.covariance import (
    PAIR,
    CovarianceOf,
    both_there,
    measure_covariance,
    written_pair,
)
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Statistic, Values, Written
from sanql.statistics.variance import VarianceOf, measure_variance

LEAST_SHARE = 1e-4  # of the largest variance: below it a correlation is undefined


class Correlation(Statistic):
    """CORR(x, y): from -1 to 1, and NULL where a value hardly varies."""

    name = "correlation"
    spellings = ("CORR",)
    operands = PAIR
    written = "`CORR(x, y)`"
    found = "a covariance, and noisy sums of both squares"

    def ask(self, written: Written) -> Aggregate:
        arguments, _ = written_pair(written)
        facts = Facts(Type.REAL, Fraction(-1), Fraction(1))
        return Aggregate(self.name, arguments, facts, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        argument, second = both_there(aggregate)
        pair = measure_covariance(argument, second, collector)
        own = measure_variance(argument, collector)
        # both values are there in the same rows, so one count serves both
        other = measure_variance(second, collector, counted=argument)
        return CorrelationOf(pair, own, other)


@dataclass(frozen=True)
class CorrelationOf(Estimate):
    """A covariance over the root of both variances."""

    covariance: CovarianceOf
    variance: VarianceOf
    other: VarianceOf

    depends_on_spread: ClassVar[bool] = True

    @property
    def measurements(self) -> frozenset[int]:
        both = self.variance.measurements | self.other.measurements
        return self.covariance.measurements | both

    def value(self, noisy: NoisyMeasurements) -> Values:
        covariance = self.covariance.value(noisy)
        spreads = [part.value(noisy) for part in (self.variance, self.other)]
        least = [LEAST_SHARE * float(part.half**2) for part in (self.variance, self.other)]
        told = (spreads[0] > least[0]) & (spreads[1] > least[1])
        with np.errstate(all="ignore"):
            found = np.clip(covariance / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0)
        return np.where(told, found, np.nan)

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        """Return the interval; all of [-1, 1] where a value may hardly vary."""
        top = self.covariance.band(noisy, confidence)
        parts = [part.band(noisy, confidence) for part in (self.variance, self.other)]
        least, most = (
            np.sqrt(parts[0].low * parts[1].low),
            np.sqrt(parts[0].high * parts[1].high),
        )
        with np.errstate(all="ignore"):
            low = np.where(top.low < 0, top.low / least, top.low / most)
            high = np.where(top.high > 0, top.high / least, top.high / most)
        return Band(
            np.clip(np.nan_to_num(low, nan=-1.0), -1.0, 1.0),
            np.clip(np.nan_to_num(high, nan=1.0), -1.0, 1.0),
        )

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        return np.ones(noisy.count, dtype=np.bool_)  # it may lack variation

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        return Fraction(2)  # how much its values vary, nothing bounds from below

    def in_words(self) -> str:
        squares = f"{self.variance.second + 1} and {self.other.second + 1}"
        return (
            f"covariance ({self.covariance.in_words()}) over the root of both variances "
            f"(squares from measurements {squares})"
        )
