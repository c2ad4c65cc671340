"""A sum and a count measured as a pair: how far values are from either end of their bounds.

Values lie between whole numbers `bottom` and `top` of steps, R = top - bottom apart. Instead of a sum S
and a count N, each with noise of its own, noise is added to

    A = Σ (x - bottom)    and    B = Σ (top - x),

to both of the same scale, and S and N are read off them: A - B is twice the sum of x less the exact
middle of its bounds, and A + B is R · N. *One row moves A and B together by R*, however it splits
between them: so two numbers have noise for what one of them has a sensitivity of. With the shares of
epsilon that suit an average best, S and N by themselves have nearly twice the variance.

*Sensitivity.* Let r be a unit's rows with a value, as limits leave them, or as they are scaled to a
norm C. What its rows add to a group is A + B <= R · r there, A and B >= 0 (docs/averages.md). So over
all groups |A|_1 + |B|_1 <= R |r|_1, no cell exceeds R |r|_inf, and A² + B² <= (A + B)². Where a unit
changes, two such vectors without negative entries are subtracted: twice as far in L1, and in squared
L2, and no further in any cell. Both numbers of a pair are declared to have the sensitivity of both
together.

What is computed, and meets noise, are the two sides (`sides`); what is recorded and shown is read off
them (`read_off`), and is what S and N would be: sums in half steps of their grid, less the middle of
their bounds, and counts in parts of 1/R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sanql.measurements.measurement import Measured, Measurement, Paired
from sanql.measurements.norms import NormBound, scale_for
from sanql.measurements.sensitivity import Sensitivity, SensitivitySetting

PAIR_STEPS_MAX = 2**28  # of a row: so many rows fit into a cell that nobody has as many
_SIDE_MAX = 2**61  # where a noisy side is held, so that sums of two have room


def width_of(part: Measurement) -> int:
    """Return what the ends of the values of a sum are apart, in steps of its grid."""
    return part.high - part.low


def measured_as_pair(
    measurements: Sequence[Measurement],
    place: int,
    count: int,
    setting: SensitivitySetting,
    *,
    keep_centre: bool,
) -> tuple[Measurement, Measurement] | None:
    """Return a sum and a count as a pair at their places; None where numbers would be too large.

    Both are bounded by dropping, or by one norm in L1. The middle of an odd number of steps is between
    two of them: to `keep_centre`, where it is the lower one, the lower end is taken for one step less.
    """
    part, counted = measurements[place], measurements[count]
    less = width_of(part) % 2 if keep_centre else 0
    width = width_of(part) + less
    if part.norm is None:
        norm, scale = None, scale_for(1, setting.row_norms[0], width)
    else:
        scale = scale_for(1, part.norm.bound, width)
        norm = NormBound(1, part.norm.bound, scale)
        if not norm.fits(width):
            return None
    if width * scale > PAIR_STEPS_MAX:
        return None
    moved = sensitivity_of_pair(setting, width * scale, None if norm is None else norm.bound)
    middle = 2 * part.centre + part.low - less + part.high
    return (
        replace(
            part,
            sensitivity=moved,
            grid=part.grid / 2,
            centre=middle,
            low=2 * less - width,
            high=width,
            weight=part.weight * (width / (2 * part.size)) ** 2,  # it counts in units of its size
            norm=norm,
            pair=Paired(count, width, scale),
        ),
        replace(counted, sensitivity=moved, norm=norm, pair=Paired(place, width, scale)),
    )


def sensitivity_of_pair(
    setting: SensitivitySetting, width: int, rows: int | None = None
) -> Sensitivity:
    """Return how far one unit moves both sides together, where one row adds `width` to the two.

    `rows` is the L1 norm that a unit's rows are scaled to; None where limits drop them.
    """
    total, largest, squared = setting.row_norms
    if rows is not None:
        total, largest = rows, min(rows, largest)
        squared = total * largest
    sides = 1 if setting.neighbours == "add-remove" else 2
    return Sensitivity(sides * total * width, largest * width, sides * squared * width**2)


def sides(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Return what the engine computes: of a pair how far values are above and below, in its places."""
    return tuple(_side(measurements, measurement) for measurement in measurements)


def _side(measurements: Sequence[Measurement], measurement: Measurement) -> Measurement:
    pair = measurement.pair
    if pair is None:
        return measurement
    if measurement.kind is not Measured.SUM:
        above = _side(measurements, measurements[pair.partner])
        return replace(above, kind=Measured.BELOW, pair=pair)
    return replace(
        measurement,
        grid=measurement.value_grid,
        centre=(measurement.centre - pair.width) // 2,
        low=(measurement.low + pair.width) // 2,
        high=pair.width,
    )


def read_off(
    above: NDArray[np.int64], below: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sums and counts, in steps of their cells, from the sides of a pair."""
    above, below = (np.clip(side, -_SIDE_MAX, _SIDE_MAX) for side in (above, below))
    return above - below, above + below
