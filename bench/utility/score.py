"""How far answers are from the truth: relative errors, keys that appear, intervals that hold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.utility.questions import Question
from bench.utility.shapes import SHAPES

USEFUL = 0.1
OF_UNITS = {"flights": "tailnum IS NOT NULL"}  # rows of nobody are no part of the truth

Row = Sequence[Any]


@dataclass(frozen=True)
class Truth:
    """What plain SQL says: the rows asked for, and the rows of every group there is."""

    keys: list[bool]
    asked: dict[tuple[Any, ...], Row]
    every: dict[tuple[Any, ...], Row]

    def split(self, row: Row) -> tuple[Any, ...]:
        """Return a row's key."""
        return tuple(value for value, key in zip(row, self.keys, strict=True) if key)


@dataclass(frozen=True)
class Score:
    """What the answers to one question at one epsilon are worth.

    `error` is the median over runs and cells; a key that is missing counts as an error of 1. `keys` is
    the mean number of true keys that appear, `coverage` the share of intervals that hold the truth;
    where answers are `limited`, they say that intervals are of the noise alone. `by_run` has the
    median over the cells of each run.
    """

    error: float | None
    keys: float = 0
    coverage: float | None = None
    refused: str | None = None
    limited: bool = False
    by_run: tuple[float, ...] = ()

    @property
    def is_useful(self) -> bool:
        """Whether half of the cells are within a tenth of the truth."""
        return self.error is not None and self.error < USEFUL


def surely_ahead(ours: Score, other: Score) -> bool:
    """Return whether another's runs have smaller errors than ours, and not by chance (at 5 %).

    The rank sum of Mann and Whitney, with its normal approximation.
    """
    m, n = len(ours.by_run), len(other.by_run)
    if not m or not n:
        return False
    smaller = sum((b < a) + (b == a) / 2 for a in ours.by_run for b in other.by_run)
    return smaller - m * n / 2 > 1.645 * math.sqrt(m * n * (m + n + 1) / 12)


class Truths:
    """The exact answers, over the same data."""

    def __init__(self, folder: Path) -> None:
        self._open: dict[str, duckdb.DuckDBPyConnection] = {}
        for shape in SHAPES:
            connection = duckdb.connect()
            for path in (folder / shape / "data").glob("*.parquet"):
                where = f" WHERE {OF_UNITS[shape]}" if path.stem in OF_UNITS else ""
                connection.execute(f"CREATE TABLE {path.stem} AS FROM '{path}'{where}")
            self._open[shape] = connection

    def of(self, question: Question) -> Truth:
        """Return the exact answer to a question."""
        connection, keys = self._open[question.shape], question.keys
        empty = Truth(keys, {}, {})
        asked, every = (
            {empty.split(row): row for row in connection.sql(text).fetchall()}
            for text in (question.sql, question.of_all_groups)
        )
        return Truth(keys, asked, every)


def score(truth: Truth, answers: Sequence[Mapping[str, Any]]) -> Score:
    """Return what repeated answers to a question are worth."""
    refused = next((answer["refused"] for answer in answers if "refused" in answer), None)
    if refused is not None:
        return Score(None, refused=refused)
    errors: list[list[float]] = []
    found: list[int] = []
    holds: list[bool] = []
    for answer in answers:
        shown = {truth.split(row): row for row in answer["rows"]}
        found.append(sum(key in shown for key in truth.asked))
        errors.append(
            [
                error
                for key, true in truth.asked.items()
                for error in _errors(truth.keys, true, shown.get(key))
            ]
        )
        holds += _holds(truth, answer)
    every = [error for run in errors for error in run]
    return Score(
        statistics.median(every) if every else None,
        statistics.fmean(found),
        statistics.fmean(holds) if holds else None,
        limited=any(answer.get("limited") for answer in answers),
        by_run=tuple(statistics.median(run) for run in errors if run),
    )


def _errors(keys: list[bool], true: Row, shown: Row | None) -> list[float]:
    """Return the relative error of each number of a row; what is truly 0 or NULL has none."""
    return [
        1.0
        if shown is None or shown[column] is None or not math.isfinite(float(shown[column]))
        else abs(float(shown[column]) - float(value)) / abs(float(value))
        for column, value in enumerate(true)
        if not keys[column] and value
    ]


def _holds(truth: Truth, answer: Mapping[str, Any]) -> list[bool]:
    """Return of each interval that is shown whether the truth of the whole data is in it."""
    held = []
    for number, row in enumerate(answer["rows"]):
        true = truth.every.get(truth.split(row))
        for column, intervals in enumerate(answer.get("intervals", ())):
            if intervals is None or true is None or true[column] is None:
                continue
            low, high = intervals[number]
            value = float(true[column])
            held.append((low is None or low <= value) and (high is None or value <= high))
    return held
