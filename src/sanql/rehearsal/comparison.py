"""Answers against the truth: errors of columns, intervals that hold, groups that appear."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sanql.rehearsal.contents import ColumnTried
from sanql.results import Answer

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Truth:
    """The true rows of a question, by the values of its key columns; the rest are statistics."""

    columns: tuple[str, ...]
    keys: tuple[int, ...]
    rows: Mapping[Key, Sequence[Any]]
    ordered: tuple[tuple[Any, ...], ...]

    @property
    def statistics(self) -> tuple[int, ...]:
        """The places of columns that are no keys."""
        return tuple(n for n in range(len(self.columns)) if n not in self.keys)

    def key(self, row: Sequence[Any]) -> Key:
        """Return the key of a row."""
        return tuple(row[place] for place in self.keys)


def truth_of(answer: Answer) -> Truth | None:
    """Return the truth that an answer without noise is; None where rows have no key of their own."""
    noisy = {*answer.intervals, *answer.without_interval}
    keys = tuple(place for place, name in enumerate(answer.columns) if name not in noisy)
    rows = {tuple(row[place] for place in keys): row for row in answer.rows}
    if len(rows) < len(answer.rows):
        return None
    return Truth(tuple(answer.columns), keys, rows, tuple(answer.rows))


def keys_found(truth: Truth, answers: Sequence[Answer]) -> float | None:
    """Return the share of true groups that appear, on average; None where there are no groups."""
    if not truth.keys or not truth.rows:
        return None
    found = [
        sum(key in truth.rows for key in {truth.key(row) for row in answer.rows})
        for answer in answers
    ]
    return statistics.fmean(found) / len(truth.rows)


def columns_tried(truth: Truth, answers: Sequence[Answer]) -> tuple[ColumnTried, ...]:
    """Return how far each statistic of answers is from the truth."""
    return tuple(_column(truth, answers, place) for place in truth.statistics)


def _column(truth: Truth, answers: Sequence[Answer], place: int) -> ColumnTried:
    relative: list[float] = []
    absolute: list[float] = []
    held: list[bool] = []
    name = truth.columns[place]
    for answer in answers:
        shown = {truth.key(row): number for number, row in enumerate(answer.rows)}
        intervals = answer.intervals.get(name)
        for key, row in truth.rows.items():
            true, number = row[place], shown.get(key)
            if true is None:
                continue
            value = None if number is None else answer.rows[number][place]
            _add(relative, absolute, true, value)
            if number is not None and intervals is not None:
                held += _holds(intervals[number], true)
    return ColumnTried(
        name,
        _median(relative),
        _ninth_decile(relative),
        _median(absolute),
        statistics.fmean(held) if held else None,
    )


def _add(relative: list[float], absolute: list[float], true: Any, shown: Any) -> None:
    """Add the errors of one cell: what is missing is wholly wrong, and texts are right or wrong."""
    actual, found = _number(true), _number(shown)
    if actual is None:
        relative.append(float(shown != true))
        return
    if found is None or not math.isfinite(found):
        relative += [1.0] if actual else []
        return
    absolute.append(abs(found - actual))
    if actual:
        relative.append(abs(found - actual) / abs(actual))


def _holds(interval: Sequence[Any] | None, true: Any) -> list[bool]:
    actual = _number(true)
    if interval is None or actual is None:
        return []
    low, high = interval
    return [(low is None or float(low) <= actual) and (high is None or actual <= float(high))]


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return float(value) if is_number else None


def _median(values: Iterable[float]) -> float | None:
    found = sorted(values)
    return statistics.median(found) if found else None


def _ninth_decile(values: Iterable[float]) -> float | None:
    found = sorted(values)
    return found[math.ceil(0.9 * len(found)) - 1] if found else None
