"""An exact question: the declared release it reads, as a union of that release's cells.

Everything that can be refused is refused here, from the question and the policy alone. What is left
is post-processing of one certified release: whichever unions are asked for, and however often, only
the cells have left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from sanql.errors import Refused
from sanql.policy.exact import (
    BinaryColumn,
    Exact,
    ExactValues,
    ExactVerdict,
    LowerMedian,
    MapEstimate,
    MostFrequent,
    ShareAtLeast,
    VerdictFunction,
)
from sanql.question import Aggregate, Call, ColumnRef, Expr, Literal, Query, Scan, Type, walk
from sanql.statistics import Average, Count, CountUnits, MapFit, Mode, Quantile, ShareTest, Sum

NOISE = "ask with noise: pass an epsilon instead of exact"


class Reading(StrEnum):
    """What an aggregate is computed from, over the cells of a group."""

    RECORDS = "the number of records"
    TOTAL = "the sum of the values"
    MEAN = "the sum over the number of records"
    VERDICT = "which of a few outputs it is"


@dataclass(frozen=True)
class ExactPlan:
    """A question about a declared release: `where` and the keys use public attributes only."""

    query: Query
    exact: Exact
    where: Expr | None
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class _Use:
    """An aggregate as a reading of a column (None: of the records themselves).

    `function` is what a verdict decides, `family` the declaration that it names.
    """

    reading: Reading
    column: str | None
    function: VerdictFunction | None = None
    family: str | None = None


def plain_table(query: Query) -> str | None:
    """Return the one declared table that a question reads, row by row, or None."""
    return query.source.table if isinstance(query.source, Scan) else None


def plan_exact(query: Query, declared: Mapping[str, Exact]) -> ExactPlan:
    """Return the plan of an exact question, or refuse it by name."""
    if query.sets:
        raise Refused(
            "exact_grouping_sets",
            "ROLLUP, CUBE and GROUPING SETS are not answered exactly",
            f"ask for one grouping at a time, which costs nothing more, or {NOISE}",
        )
    table = plain_table(query)
    releases = [exact for exact in declared.values() if exact.table == table]
    if table is None or not releases:
        raise Refused(
            "exact_not_declared",
            "the owner has declared no exact releases for what this question reads"
            if table is None
            else f"the owner has declared no exact releases of {table}",
            NOISE,
        )
    uses = [_use(aggregate) for aggregate in query.aggregates]
    flag, where = _split_flag(query.where, releases)
    if flag is not None:
        uses = [_flagged(use, flag, query) for use in uses]
    if any(use.reading is Reading.VERDICT for use in uses):
        return _plan_verdict(query, uses, releases)
    releases = [exact for exact in releases if not isinstance(exact, ExactVerdict)]
    if not releases:
        raise Refused(
            "exact_not_declared",
            f"the owner has declared verdicts on {table} only, and numbers are not released exactly",
            NOISE,
        )
    exact = _release_for(uses, releases, _columns(where, *query.keys))
    _check_cells(exact, where, query.keys)
    return ExactPlan(query, exact, where, tuple(use.reading for use in uses))


def _plan_verdict(query: Query, uses: list[_Use], releases: list[Exact]) -> ExactPlan:
    """Return the plan of verdicts: each cell has one, and unions of cells have none."""
    exact = _verdict_for(uses, [one for one in releases if isinstance(one, ExactVerdict)])
    _check_cells(exact, query.where, query.keys)
    keys = {key.name for key in query.keys if isinstance(key, ColumnRef)}
    if keys != set(exact.cells.names) or len(query.keys) != len(exact.cells.names):
        cells = " and ".join(exact.cells.names) or "nothing"
        raise Refused(
            "exact_outside_cells",
            f"[exact.{exact.name}] decides for each cell, and nothing is known of several together",
            f"GROUP BY {cells}; WHERE may leave cells out",
        )
    return ExactPlan(query, exact, query.where, tuple(use.reading for use in uses))


def _verdict_for(uses: list[_Use], verdicts: list[ExactVerdict]) -> ExactVerdict:
    asked = set(uses)
    for exact in verdicts if len(asked) == 1 else []:
        (use,) = asked
        named = use.family in (None, exact.name)
        if named and use.column == exact.column and use.function == exact.function:
            return exact
    declared = "; ".join(f"[exact.{one.name}] of {one.column}" for one in verdicts) or "none"
    raise Refused(
        "exact_not_declared",
        "the owner has declared no such verdict; of this table, "
        f"{declared}. One question has one verdict",
        f"ask what is declared, or {NOISE}",
    )


def _use(aggregate: Aggregate) -> _Use:
    argument = aggregate.argument
    match aggregate.statistic:
        case Count.name | CountUnits.name if argument is None:
            return _Use(Reading.RECORDS, None)
        case Count.name if _truth(argument, None) is not None:
            return _Use(Reading.TOTAL, _truth(argument, None))
        case Sum.name | Average.name if aggregate.total is None:
            column = argument.name if isinstance(argument, ColumnRef) else _truth(argument, 0)
            if column is not None:
                mean = aggregate.statistic == Average.name
                return _Use(Reading.MEAN if mean else Reading.TOTAL, column)
        case _ if isinstance(argument, ColumnRef):
            found = _verdict(aggregate, argument)
            if found is not None:
                return found
        case _:
            pass
    raise Refused(
        "exact_statistic",
        f"{aggregate.text} cannot be released exactly: certificates are for COUNT(*), and SUM and "
        "AVG of a declared column as it is; and for MAP_ESTIMATE, MODE, QUANTILE_DISC(x, 0.5) and "
        "SHARE_AT_LEAST where a verdict is declared",
        f"ask for one of these, or {NOISE}",
    )


def _verdict(aggregate: Aggregate, column: ColumnRef) -> _Use | None:
    """Return a statistic as a verdict on a column, if it is one."""
    match aggregate.statistic:
        case MapFit.name:
            family = aggregate.arguments[1]
            assert isinstance(family, Literal)  # noqa: S101  (it is asked for with a name)
            return _Use(Reading.VERDICT, column.name, MapEstimate(), str(family.value))
        case Mode.name:
            return _Use(Reading.VERDICT, column.name, MostFrequent())
        case Quantile.name if (
            aggregate.fraction == Fraction(1, 2) and aggregate.facts.type is Type.INTEGER
        ):
            return _Use(Reading.VERDICT, column.name, LowerMedian())
        case ShareTest.name if aggregate.fraction is not None:
            return _Use(Reading.VERDICT, column.name, ShareAtLeast(aggregate.fraction))
        case _:
            return None


def _truth(expression: Expr | None, otherwise: int | None) -> str | None:
    """Return the boolean column of which this is 1 where it is true and `otherwise` elsewhere."""
    match expression:
        case Call("case", (ColumnRef(name), Literal(value), Literal(other))):
            return name if value == 1 and other == otherwise else None
        case Call("cast_integer" | "cast_bigint", (ColumnRef(name),)) if otherwise == 0:
            return name
        case _:
            return None


def _split_flag(where: Expr | None, releases: list[Exact]) -> tuple[str | None, Expr | None]:
    """Return a declared yes/no column that WHERE demands, and the rest of the condition."""
    flags = {
        exact.column
        for exact in releases
        if isinstance(exact, ExactValues) and isinstance(exact.adversary, BinaryColumn)
    }
    conditions = list(where.args) if isinstance(where, Call) and where.op == "and" else [where]
    for index, condition in enumerate(conditions):
        name = None if condition is None else _demanded(condition)
        if name in flags:
            others = [
                other for i, other in enumerate(conditions) if i != index and other is not None
            ]
            if isinstance(where, Call) and len(others) > 1:
                return name, replace(where, args=tuple(others))
            return name, others[0] if others else None
    return None, where


def _demanded(condition: Expr) -> str | None:
    match condition:
        case ColumnRef(name):
            return name
        case Call("equal", (ColumnRef(name), Literal(True))) | Call("is_true", (ColumnRef(name),)):
            return name
        case _:
            return None


def _flagged(use: _Use, flag: str, query: Query) -> _Use:
    if use == _Use(Reading.RECORDS, None):
        return _Use(Reading.TOTAL, flag)
    raise Refused(
        "exact_outside_cells",
        f"WHERE {flag} picks records by a value that is not public; only COUNT(*) of them can be "
        "released exactly",
        f"ask for COUNT(*), or {NOISE}",
    )


def _release_for(uses: list[_Use], releases: list[Exact], keys: set[str]) -> Exact:
    columns = sorted({use.column for use in uses if use.column is not None})
    if len(columns) > 1:
        raise Refused(
            "exact_one_column",
            f"the question is about {' and '.join(columns)} at once",
            "ask about one column at a time: unions of released cells cost nothing",
        )
    if not columns:
        fitting = [exact for exact in releases if keys <= set(exact.cells.names)]
        return (fitting or releases)[0]
    for exact in releases:
        if isinstance(exact, ExactValues) and exact.column == columns[0]:
            return exact
    allowed = ", ".join(
        exact.column if isinstance(exact, ExactValues) else "COUNT(*)" for exact in releases
    )
    raise Refused(
        "exact_not_declared",
        f"the owner has declared no exact releases of {columns[0]}; of this table, of {allowed}",
        NOISE,
    )


def _check_cells(exact: Exact, where: Expr | None, keys: tuple[Expr, ...]) -> None:
    for expression in (where, *keys):
        for node in walk(expression) if expression is not None else ():
            if not isinstance(node, ColumnRef | Literal | Call):
                raise Refused(
                    "exact_outside_cells",
                    "WHERE and GROUP BY look at more than public attributes of the row itself, and "
                    "only unions of declared cells are released exactly",
                    f"compare {' and '.join(exact.cells.names) or 'nothing'} with constants, or {NOISE}",
                )
    outside = sorted(_columns(where, *keys) - set(exact.cells.names))
    if not outside:
        return
    cells = " and ".join(exact.cells.names)
    raise Refused(
        "exact_outside_cells",
        f"WHERE and GROUP BY use {', '.join(outside)}, and the cells of [exact.{exact.name}] are "
        + (f"by {cells}" if cells else "one: the whole table")
        + "; the difference of two exact answers over overlapping sets is exact too, about the few "
        "who are in one of them only",
        f"{_instead(exact, outside)}, or {NOISE}",
    )


def _instead(exact: Exact, outside: list[str]) -> str:
    """Return what to write in the place of a condition or group outside the partition."""
    if (
        isinstance(exact, ExactValues)
        and isinstance(exact.adversary, BinaryColumn)
        and outside == [exact.column]
    ):
        return (
            f"ask for COUNT(*) and for COUNT(*) … WHERE {exact.column}; the others are the "
            "difference"
        )
    cells = " and ".join(exact.cells.names)
    return f"use {cells} only" if cells else "leave WHERE and GROUP BY out"


def _columns(*expressions: Expr | None) -> set[str]:
    return {
        node.name
        for expression in expressions
        if expression is not None
        for node in walk(expression)
        if isinstance(node, ColumnRef)
    }
