"""A question over noisy answers: its SQL run where those answers are, and nothing private.

The engine is one of its own, in memory, that can reach no file and no other database. It is given the
noisy answers, as they are shown, and copies of the public tables that the question reads. So whatever it
computes is computed from what the analyst may see anyway: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sanql.answer.content import arrow_type
from sanql.answer.outer_arithmetic import Ends
from sanql.answer.outer_engine import run_on_tables
from sanql.answer.outer_intervals import OuterIntervals
from sanql.answer.post_process import Shown
from sanql.compile import OuterStatement, compile_outer
from sanql.errors import Refused
from sanql.measurements import Reals
from sanql.policy import Column, Table
from sanql.question import Field, OverStatistics, Type, walk

if TYPE_CHECKING:
    import pyarrow

ShownAt = Callable[[str, Fraction], Shown]
"""The answer to a statistic with intervals of a confidence."""


@dataclass(frozen=True)
class StatisticShown:
    """The answer to a statistic: how many rows it has, and which columns have intervals."""

    rows: int
    with_intervals: frozenset[str]


def show_outer(
    query: OverStatistics,
    shown_at: ShownAt,
    public: Mapping[str, pyarrow.Table],
    tables: Mapping[str, Table],
    confidence: Fraction,
    seconds: float,
) -> Shown:
    """Return the answer to a question over the answers to its statistics, within so many seconds.

    `public` are the public tables that it reads, `tables` the policy's. An interval that rests on several
    noisy numbers rests on intervals of each that hold together (Bonferroni).
    """
    answers = {each.name: shown_at(each.name, confidence) for each in query.statistics}
    facts = {
        name: StatisticShown(each.table.num_rows, frozenset(each.intervals))
        for name, each in answers.items()
    }
    fitting = _fitting(query, facts, tables)
    intervals, ends = fitting.intervals, fitting.ends
    given = dict(public)
    for name, answer in answers.items():
        table = answer.table
        for column, together in sorted(intervals.wanted.get(name, ())):
            at = shown_at(name, 1 - (1 - confidence) / together)
            for end, values in zip(("low", "high"), at.intervals[column], strict=True):
                table = table.append_column(Ends.column(column, end, together), _reals(values))
        given[name] = table
    sent = fitting.statement
    rows = run_on_tables(sent.sql, list(sent.parameters), given, seconds)
    names = [field.name for field in query.outer.shown]
    kinds = [field.value.facts.type for field in query.outer.shown if field.value is not None]
    shown = rows.select([f"c{i}" for i in range(len(names))]).rename_columns(names)
    shown = shown.cast(_schema(names, kinds))
    return Shown(
        shown,
        {
            names[i]: (_end(rows, low, -np.inf), _end(rows, high, np.inf))
            for i, (low, high) in ends.items()
        },
        tuple(names[i] for i in intervals.noisy_without(ends)),
    )


def outer_names_with_intervals(
    query: OverStatistics, with_intervals: Mapping[str, frozenset[str]], tables: Mapping[str, Table]
) -> frozenset[str]:
    """Return which columns of an answer will have intervals, whatever the answers below it are."""
    facts = {name: StatisticShown(1, own) for name, own in with_intervals.items()}
    return frozenset(query.outer.shown[i].name for i in _fitting(query, facts, tables).ends)


def check_outer(query: OverStatistics, tables: Mapping[str, Table]) -> None:
    """Refuse what is too long for the engine around statistics, before they are paid for."""
    compile_outer(query.outer, {**_public(tables), **query.tables})


@dataclass(frozen=True)
class _Fitting:
    """A statement that the engine can take, and the columns whose intervals are in it."""

    intervals: OuterIntervals
    ends: Mapping[int, tuple[int, int]]
    statement: OuterStatement


def _fitting(
    query: OverStatistics, facts: Mapping[str, StatisticShown], tables: Mapping[str, Table]
) -> _Fitting:
    """Return a question with its intervals; where it becomes too long, the longest are left out.

    Ends are written out of the ends of what they are computed from, several times each: of a few nested
    divisions that is a page, and of more it is a book.
    """
    without: frozenset[int] = frozenset()
    while True:
        intervals = OuterIntervals(query, facts, without)
        extended, ends = intervals.extended()
        own = {name: _with_ends(table, intervals) for name, table in query.tables.items()}
        try:
            return _Fitting(intervals, ends, compile_outer(extended, {**_public(tables), **own}))
        except Refused:
            if not ends:
                raise
            fields = query.outer.rows.fields
            without |= {max(ends, key=lambda place: (_parts(fields[place]), place))}


def _public(tables: Mapping[str, Table]) -> dict[str, Table]:
    return {name: table for name, table in tables.items() if table.public}


def _parts(field: Field) -> int:
    """Return how many operators and columns the value of a column is made of."""
    return sum(1 for _ in walk(field.value)) if field.value is not None else 0


def _schema(names: list[str], kinds: list[Type]) -> pyarrow.Schema:
    import pyarrow as pa

    return pa.schema([(n, arrow_type(kind)) for n, kind in zip(names, kinds, strict=True)])


def _with_ends(table: Table, intervals: OuterIntervals) -> Table:
    """Return a statistic's table with the columns of interval ends that are wanted of it."""
    own = dict(table.columns)
    for column, together in sorted(intervals.wanted.get(table.name, ())):
        for end in ("low", "high"):
            name = Ends.column(column, end, together)
            own.setdefault(name, Column(name, "float"))
    return Table(table.name, None, own)


def _reals(values: Reals) -> pyarrow.Array[pyarrow.Scalar]:
    import pyarrow as pa

    return pa.array([float(v) if np.isfinite(v) else None for v in values], pa.float64())


def _end(rows: pyarrow.Table, index: int, unbounded: float) -> Reals:
    values = rows.column(f"c{index}").to_pylist()
    return np.array([unbounded if v is None else float(v) for v in values], dtype=np.float64)
