"""What is said under an answer of numbers that tell nothing, and which epsilon would help.

Intervals are as wide as bounds, numbers are lost in noise, or there are none. All is seen in what is
shown, which is computed from noisy cells and the question alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sanql.answer import Shown
from sanql.ask.helping_epsilon import AnswerPriced
from sanql.plan import Plan
from sanql.question import AggregateRef, Bound

NARROWER = 0.999
"""An interval that is no narrower than this part of its bounds is taken to be as wide."""
PART = 4  # of bounds, or of the largest number shown: what a half-width that helps is at most
ADVICE = "; ask with a larger epsilon, for fewer statistics or for coarser groups"


def nothing_told(plan: Plan, shown: Shown, asked: AnswerPriced | None = None) -> tuple[str, ...]:
    """Return a line for each statistic that is as unsure as its bounds, or NULL, in some row or all.

    So is a number that is smaller than its noise in all rows. Where the question was `asked` alone, an
    epsilon that would help is named.
    """
    query, lines = plan.query, list[str]()
    if not shown.table.num_rows or any(level.outline.other for level in plan.levels):
        return ()  # of other groups much is not told for reasons of its own
    for output in query.outputs:
        expression, ends = output.expression, shown.intervals.get(output.name)
        if not isinstance(expression, AggregateRef) or ends is None:
            continue
        facts = query.aggregates[expression.index].facts
        width = _width(facts.low, facts.high)
        largest = _largest_lost(shown, output.name) if _is_added_up(plan, expression) else None
        if largest is not None:
            rows = shown.table.num_rows
            words = f"{output.name} is smaller than its noise" + (
                f" in all {rows:,} rows" * (rows > 1)
            )
            lines.append(
                f"{words}: it cannot be told from 0{_help(asked, expression, largest / PART)}"
            )
        if width is None:
            continue
        missing = shown.table.column(output.name).is_null().to_numpy()
        low, high = (np.asarray(end, dtype=np.float64) for end in ends)
        full = ~missing & (high - low >= NARROWER * width)
        if full.any():
            helps = _help(asked, expression, Fraction(width) / PART) or ADVICE
            lines.append(
                f"the interval of {output.name} is as wide as its bounds{_where(full)}: the number says "
                f"nothing{helps}"
            )
        if missing.any():
            lines.append(
                f"{output.name} is NULL{_where(missing)}: so few rows were counted, with noise, that "
                "there is nothing to compute it from"
            )
    return tuple(lines)


def _help(asked: AnswerPriced | None, statistic: AggregateRef, wanted: Fraction) -> str:
    """Return which epsilon would help, as the end of a line."""
    helping = asked.helping(statistic.index, wanted) if asked is not None and wanted > 0 else ""
    return f"; {helping}" if helping else ""


def _is_added_up(plan: Plan, statistic: AggregateRef) -> bool:
    """Return whether a statistic is a count or a sum, whose noise hangs on nothing but the price."""
    estimate = plan.levels[0].estimates[statistic.index]
    return not (estimate.needs_rows or estimate.width_in or estimate.depends_on_spread)


def _largest_lost(shown: Shown, name: str) -> Fraction | None:
    """Return how far from 0 a statistic is at most, where it is smaller than its noise in all rows."""
    column = shown.table.column(name)
    if column.null_count:
        return None
    low, high = (np.asarray(end, dtype=np.float64) for end in shown.intervals[name])
    values, noise = np.abs(np.asarray(column.to_pylist(), dtype=np.float64)), high - low
    if not np.all(np.isfinite(noise) & (low <= 0) & (high >= 0) & (2 * values < noise)):
        return None
    return Fraction(float(values.max()))


def _width(low: Bound | None, high: Bound | None) -> float | None:
    """Return how far values of a statistic may be apart; None where nothing bounds them."""
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return None
    return float(high - low) or None


def _where(rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Return in how many rows, unless it is in all."""
    return "" if rows.all() else f" in {int(rows.sum()):,} of {len(rows):,} rows"
