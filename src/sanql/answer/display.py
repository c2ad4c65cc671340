"""How noisy aggregates are displayed: negative counts as zero, rounded, other groups labelled.

All of it happens to noisy values before the arithmetic that the analyst wrote around them, so it costs
nothing (post-processing) and is no part of a question's name.

An interval still holds: lifting is monotone, so it holds the exact value lifted likewise, which is the
exact value where that cannot be negative; rounding moves its ends outward only. Numbers that were lifted
are too high on average, so their sums are biased upward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.answer.content import arrow_type
from sanql.answer.estimates import band_of, value_of
from sanql.errors import Refused
from sanql.measurements import Band, NoisyCells
from sanql.plan import Level, Plan, is_known_of_other_groups
from sanql.question import Type
from sanql.statistics import Values

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Display:
    """What is done to noisy values before they are shown; `other` names the row of other groups."""

    other: str | None = None
    nonnegative: bool = False
    rounded: Fraction | None = None

    def in_words(self) -> tuple[str, ...]:
        """Return what a reader of the numbers must know."""
        sentences = []
        if self.other is not None:
            sentences.append(
                "one row more adds up the groups that do not appear, if any, after the limits on a unit; "
                "what cannot be added up (distinct values, quantiles, modes, entropies) is NULL there"
            )
        if self.nonnegative:
            sentences.append(
                "counts and sums that cannot be negative are shown as 0 where noise took them below, "
                "so sums of such numbers are too high on average"
            )
        if self.rounded is not None:
            sentences.append(
                f"counts and sums are shown to the nearest multiple of {float(self.rounded):.15g}, "
                "and the ends of their intervals are rounded outward"
            )
        return tuple(sentences)


AS_THEY_ARE = Display()


def check_display(plan: Plan, display: Display) -> None:
    """Refuse a multiple that whole numbers cannot be rounded to."""
    step = display.rounded
    if step is None or 1 in (step.numerator, step.denominator):
        return
    for index, aggregate in enumerate(plan.query.aggregates):
        if plan.levels[0].estimates[index].whole:
            raise Refused(
                "rounded_invalid",
                f"rounded = {float(step):.15g} does not suit {aggregate.text}, which is a whole number",
                "pass a whole number such as 10",
            )


def check_plain(display: Display) -> None:
    """Refuse display options for noisy values in a question over public tables, which has none."""
    if display != AS_THEY_ARE:
        raise Refused(
            "finish_needless",
            "other, nonnegative and rounded are for noisy numbers, and this question reads rows of "
            "public tables as they are",
            "leave them out",
        )


def displayed_value(
    level: Level, cells: NoisyCells, aggregate: int, display: Display
) -> pyarrow.Array[pyarrow.Scalar]:
    """Return an aggregate's value in every row, NULL where it is not known of other groups."""
    import pyarrow as pa

    values: Values = value_of(level, cells, aggregate)
    untold = _untold(level, cells, aggregate)
    if values.dtype == object:
        return _as_they_are(values, untold, level.query.aggregates[aggregate].facts.type)
    if display.nonnegative and _never_negative(level, aggregate):
        values = np.maximum(values, 0)
    step = step_of(level, aggregate, display)
    if step is not None:
        values = _nearest(values, step)
    return pa.array(values, mask=untold | np.isnan(values))


def _as_they_are(
    values: Values, untold: NDArray[np.bool_], kind: Type
) -> pyarrow.Array[pyarrow.Scalar]:
    """Return values of a column of some type, which there is nothing to be computed with."""
    import pyarrow as pa

    shown = [None if hidden else v for v, hidden in zip(values.tolist(), untold, strict=True)]
    return pa.array(shown, arrow_type(kind))


def displayed_band(
    level: Level,
    cells: NoisyCells,
    aggregate: int,
    confidence: Fraction,
    measurements: int | None,
    display: Display,
) -> Band | None:
    """Return an aggregate's interval in every row when `measurements` in all must hold together.

    None stands for those of the aggregate alone.
    """
    band = band_of(level, cells, aggregate, confidence, measurements)
    if band is None:
        return None
    if display.nonnegative and _never_negative(level, aggregate):
        band = Band(np.maximum(band.low, 0.0), np.maximum(band.high, 0.0))
    step = step_of(level, aggregate, display)
    if step is not None:
        band = _outward(band, step)
    untold = _untold(level, cells, aggregate)
    return Band(np.where(untold, np.nan, band.low), np.where(untold, np.nan, band.high))


def labelled(level: Level, cells: NoisyCells, key: int, display: Display) -> pyarrow.ChunkedArray:
    """Return a key's values; a text key has the label in the row of other groups."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = cells.table.column(f"k{key}")
    if display.other is None or level.query.keys[key].facts.type is not Type.TEXT:
        return column
    return pc.if_else(pa.array(cells.other_groups), pa.scalar(display.other, column.type), column)


def widened_half_width(level: Level, aggregate: int, display: Display, width: Fraction) -> Fraction:
    """Return how far an interval's ends can be from the value shown, when both are rounded.

    The end at v + w lands below v + w + step, and v at v - step/2 or above, both on multiples.
    """
    step = step_of(level, aggregate, display)
    return width if step is None else step * math.ceil(width / step + Fraction(1, 2))


def step_of(level: Level, aggregate: int, display: Display) -> Fraction | None:
    """Return the multiple that an aggregate is rounded to, where it is."""
    step = display.rounded
    estimate = level.estimates[aggregate]
    if step is None or not estimate.can_be_rounded:
        return None
    if estimate.whole and step.denominator != 1:
        return None  # check_display has seen that every whole number is such a multiple
    return step


def _never_negative(level: Level, aggregate: int) -> bool:
    return level.estimates[aggregate].never_negative(level.measurements)


def _nearest(values: Values, step: Fraction) -> Values:
    """Return the nearest multiples; whole numbers stay whole, and exact."""
    if np.issubdtype(values.dtype, np.integer):
        size = int(step)
        full, left = np.divmod(values, size)
        return (full + (2 * left >= size)) * size
    return np.floor(_in_steps(values, step) + 0.5) * step.numerator / step.denominator


def _outward(band: Band, step: Fraction) -> Band:
    """Return a band that ends on multiples, at the given one's ends or beyond."""
    size = float(step)
    low = np.floor(_in_steps(band.low, step)) * step.numerator / step.denominator
    high = np.ceil(_in_steps(band.high, step)) * step.numerator / step.denominator
    # floating point may have landed on the inner side of an end
    return Band(
        np.where(low > band.low, low - size, low), np.where(high < band.high, high + size, high)
    )


def _in_steps(values: Values, step: Fraction) -> NDArray[np.float64]:
    return np.asarray(values, dtype=np.float64) * step.denominator / step.numerator


def _untold(level: Level, cells: NoisyCells, aggregate: int) -> NDArray[np.bool_]:
    """Return where an aggregate cannot be told: in the row of other groups, unless it adds up."""
    outline = level.outline
    if is_known_of_other_groups(level.estimates[aggregate], outline.measuring, outline.limits):
        return np.zeros(cells.count, dtype=np.bool_)
    return cells.other_groups
