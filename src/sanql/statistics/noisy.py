"""Noise as estimates see it: how far it will reach, and what it made of the measurements.

Intervals of counts and plain sums are exact quantiles of the noise. Of keys selected privately they hold
given that the key is shown: the count that selects has a lower end made for that (appearing.py), and the
noise of everything else has no part in the selection.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sanql.measurements import (
    Band,
    Measured,
    Measurement,
    NoisyCells,
    Reals,
    shared_confidence,
    valued,
)
from sanql.mechanisms import (
    Geometric,
    Integers,
    Noise,
    NoNoise,
    SummedNoise,
    least_counts,
    reaches_of_sums,
    reaches_of_two,
)
from sanql.statistics.collector import Measuring


@dataclass(frozen=True)
class PlannedNoise:
    """The noise of every measurement of a level, known before anything is spent."""

    measuring: Measuring
    noises: tuple[Noise, ...]
    threshold: int | None

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What is measured for every group."""
        return self.measuring.measurements

    def reach(self, index: int, confidence: Fraction) -> int:
        """Return how far a measurement's noise reaches in any row, that of other groups included."""
        noises = [self.noises[index]]
        if index == self.measuring.selection and self.measuring.other_groups is not None:
            noises.append(self.noises[self.measuring.other_groups])
        return max(_reach(noise, self.measurements[index], confidence) for noise in noises)

    def reach_of_both(
        self, place: int, count: int, rows: float, confidence: Fraction
    ) -> float | None:
        """Return how far the noise of a sum less `rows` times that of a count reaches.

        The sum is in units of its values; None of noises whose reach together is not known.
        """
        reaches = self.reaches_of_both(place, count, [rows], confidence)
        return None if reaches is None else reaches[0]

    def reaches_of_both(
        self, place: int, count: int, rows: Sequence[float], confidence: Fraction
    ) -> tuple[float, ...] | None:
        """Return the same for each of several `rows`; None where it is not known of one of them."""
        part, counted = self.measurements[place], self.measurements[count]
        if self.measuring.selection in (place, count):
            return None  # it is seen only where it is large
        own, step = float(part.cell_step), float(counted.cell_step)
        others = [-each * step for each in rows]
        noises = self.noises[place], self.noises[count]
        if part.pair is None or part.pair.partner != count:
            return reaches_of_two(noises, tuple((own, other) for other in others), confidence)
        summed = noises[0]  # the sum is the difference of two sides, the count their sum
        if not isinstance(summed, SummedNoise) or summed.count != 2:
            return None
        weights = tuple((own + other, own - other) for other in others)
        return reaches_of_two((summed.noise, summed.noise), weights, confidence)

    def reaches_of_form(self, weights: Mapping[int, Reals], confidence: Fraction) -> Reals | None:
        """Return how far the noise of weighted measurements together reaches, in the units of values.

        There is a weight for each group, or one for all. None where no law of the noises is known.
        """
        if self.measuring.selection in weights:
            return None  # it is seen only where it is large
        noises, sizes = [], []
        for noise, size in self._draws(weights):
            noises.append(noise)
            sizes.append(size)
        return reaches_of_sums(noises, np.broadcast_arrays(*sizes), confidence)

    def _draws(self, weights: Mapping[int, Reals]) -> Iterator[tuple[Noise, Reals]]:
        """Yield every noise that is drawn for weighted measurements, with what it is multiplied by."""
        for place, weight in weights.items():
            part, noise = self.measurements[place], self.noises[place]
            own = weight * float(part.cell_step)
            if part.pair is None or not isinstance(noise, SummedNoise) or noise.count != 2:
                yield noise, own
            elif part.kind is Measured.SUM:
                # the sum is the difference of two sides, and the count, where it matters, their sum
                partner = part.pair.partner
                step = float(self.measurements[partner].cell_step)
                other = weights.get(partner, np.zeros(1)) * step
                yield noise.noise, own + other
                yield noise.noise, own - other
            elif part.pair.partner not in weights:
                yield noise.noise, own
                yield noise.noise, own

    def reach_of_all(self, index: int, confidence: Fraction) -> int:
        """Return how far the noise of any count by value reaches, when all of them must hold."""
        each = shared_confidence(confidence, self.measurements[index].bin_count)
        return self.noises[index].half_width(each)


@dataclass(frozen=True)
class NoisyMeasurements:
    """Noisy integers for every measurement of every group of a level."""

    noise: PlannedNoise
    cells: NoisyCells

    @property
    def count(self) -> int:
        """The number of groups."""
        return self.cells.count

    def measurement(self, index: int) -> Measurement:
        """Return what was measured."""
        return self.noise.measurements[index]

    def steps(self, index: int) -> Integers:
        """Return the noisy integers of a measurement: the nearest whole steps of its grid."""
        return whole_steps(self.cells.measurement(index), self.measurement(index).scale)

    def reals(self, index: int) -> Reals:
        """Return the noisy numbers of a measurement in the units of its values, parts of steps too."""
        part = self.measurement(index)
        return self.cells.measurement(index).astype(np.float64) * float(part.cell_step)

    def sums(self, index: int) -> Reals:
        """Return a noisy sum in the units of its values, still centred."""
        return self.steps(index).astype(np.float64) * float(self.measurement(index).grid)

    def centre(self, index: int) -> float:
        """Return what was taken off every value of a sum, in the value's own units."""
        part = self.measurement(index)
        return float(part.centre * part.grid)

    def rows(self, index: int, fewest: int = 1) -> Reals:
        """Return a noisy count, or NaN where it is too small to divide by."""
        counted = self.steps(index).astype(np.float64)
        return np.where(counted < fewest, np.nan, counted)

    def vectors(self, index: int) -> Reals:
        """Return noisy counts by value: a row for each group, a column for each value."""
        counts = np.array(self.cells.lists(index), dtype=np.float64)
        return counts.reshape(self.count, self.measurement(index).bin_count)

    def vectors_around(self, index: int, confidence: Fraction) -> Band:
        """Return intervals of counts by value that hold all together in a group."""
        counts, width = self.vectors(index), self.noise.reach_of_all(index, confidence)
        return Band(np.maximum(counts - width, 0.0), np.maximum(counts + width, 0.0))

    def around(self, index: int, confidence: Fraction) -> Band:
        """Return the interval of a measurement, in the units of its values."""
        return valued(self.steps_around(index, confidence), self.measurement(index).grid)

    def steps_around(self, index: int, confidence: Fraction) -> Band:
        """Return the interval of a measurement, in steps of its grid."""
        values = self.steps(index).astype(np.float64)
        noise, measuring = self.noise.noises[index], self.noise.measuring
        width: Reals | float = float(_reach(noise, self.measurement(index), confidence))
        if index != measuring.selection or isinstance(noise, NoNoise):
            return Band(values - width, values + width)
        is_other = self.cells.other_groups
        if measuring.other_groups is not None:
            width = np.where(
                is_other, self.noise.noises[measuring.other_groups].half_width(confidence), width
            )
        low = np.where(is_other, values - width, self._given_shown(index, confidence))
        return Band(low, values + width)

    def _given_shown(self, index: int, confidence: Fraction) -> Reals:
        """Return lower ends of the count that selects keys: it is seen only where noise lets it be."""
        noise, threshold = self.noise.noises[index], self.noise.threshold
        if threshold is None or isinstance(noise, Geometric | SummedNoise):
            raise AssertionError(
                "a count that selects keys has a threshold and noise of both signs"
            )
        return least_counts(noise, threshold, self.steps(index), confidence)


def whole_steps(cells: Integers, scale: int) -> Integers:
    """Return steps of cells, of which `scale` are one of the grid, as the nearest whole steps of that.

    >>> whole_steps(np.array([-6, -3, 0, 1, 2, 9]), 4).tolist()
    [-1, -1, 0, 0, 1, 2]
    """
    if scale == 1:
        return cells
    below, left = np.divmod(cells, scale)
    return below + (2 * left >= scale)


def _reach(noise: Noise, measurement: Measurement, confidence: Fraction) -> int:
    """Return how far a measurement's noise reaches, in whole steps of its grid.

    The value in whole steps is up to half a step from the cell that it is made of.
    """
    reach = noise.half_width(confidence)
    if measurement.scale == 1:
        return reach
    return math.ceil(Fraction(reach, measurement.scale) + Fraction(1, 2))
