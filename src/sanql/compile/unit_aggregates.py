"""Exact aggregates and windows of one unit's rows, inside a subquery."""

from __future__ import annotations

from fractions import Fraction

from sanql.compile.expressions.emitter import Emitter
from sanql.compile.expressions.values import clamp_or_nan, clamp_to_bounds, finite_or_null, real
from sanql.compile.grid import on_grid
from sanql.compile.public_first import depends_on_order
from sanql.errors import Refused
from sanql.measurements import grid_for
from sanql.question import Expr, Type, UnitAggregate, stating_bounds

UNIT_SUMMAND_MAX = 2**62  # of one value in a unit's sum: any number of them fits 128 bits


def unit_aggregate(
    emitter: Emitter, aggregate: UnitAggregate, over: str = "", *, apart: bool = False
) -> str:
    """Return an exact aggregate (or a window's), held within what was proved about it.

    `apart` says that the statement reads public tables only.
    """
    distinct = "DISTINCT " if aggregate.distinct else ""
    if aggregate.function == "count":
        counted = "*" if aggregate.argument is None else distinct + emitter.sql(aggregate.argument)
        return f"system.main.least(system.main.count({counted}){over}, {aggregate.facts.high})"
    assert aggregate.argument is not None  # noqa: S101  (all others have one)
    text = emitter.sql(aggregate.argument)
    if aggregate.function in ("sum", "avg") and aggregate.argument.facts.bounded:
        return _number(aggregate, aggregate.argument, text, distinct, over)
    if depends_on_order(aggregate):
        if not apart:
            raise _mixed(aggregate)
        return _sorted_sum(aggregate, text, distinct, over)
    sql = f"system.main.{aggregate.function}({distinct}{text}){over}"
    if aggregate.facts.type is Type.REAL:
        sql = f"({sql} + (0e0)::DOUBLE)"  # one zero, as in relations.py
    low, high = aggregate.facts.low, aggregate.facts.high
    if (
        aggregate.facts.type is Type.REAL
        and isinstance(low, Fraction)
        and isinstance(high, Fraction)
    ):
        return clamp_to_bounds(sql, real(low), real(high), check_finite=True)
    return sql


def _sorted_sum(aggregate: UnitAggregate, text: str, distinct: str, over: str) -> str:
    """Return a sum or mean of real numbers on no grid, added from the smallest to the largest.

    So it has the same bits in whatever order rows are met; one that is not finite is none.
    """
    listed = f"system.main.list({distinct}{text}) FILTER (({text}) IS NOT NULL){over}"
    total = f"system.main.list_aggregate(system.main.list_sort({listed}), 'sum')"
    if aggregate.function == "avg":
        total = f"({total} / system.main.len({listed}))"
    return f"({finite_or_null(f'({total} + (0e0)::DOUBLE)')})"


def _mixed(aggregate: UnitAggregate) -> Refused:
    name = aggregate.function.upper()
    return Refused(
        "bounds_missing",
        f"{name} adds real numbers that have no bounds, for each row of a private table anew: its last "
        "digits would hang on the order in which rows are met",
        "let the owner declare bounds for the column; or tie the subquery by equal columns only (WHERE "
        "p.k = t.k), with nothing of the row outside in what is added; or state bounds: "
        + stating_bounds(name),
    )


def _number(aggregate: UnitAggregate, argument: Expr, text: str, distinct: str, over: str) -> str:
    """Return a sum or mean, computed in whole grid steps so that the order of rows is nothing."""
    grid = grid_for(argument) if argument.facts.type is Type.REAL else Fraction(1)
    low, high = argument.facts.low, argument.facts.high
    assert isinstance(low, Fraction) and isinstance(high, Fraction)  # noqa: S101
    if argument.facts.type is Type.REAL:
        steps = on_grid(f"({clamp_or_nan(text, real(low), real(high))})", grid)
    else:
        ends = max(int(low), -UNIT_SUMMAND_MAX), min(int(high), UNIT_SUMMAND_MAX)
        steps = f"CAST({clamp_to_bounds(text, str(ends[0]), str(ends[1]), check_finite=False)} AS BIGINT)"
    total = f"system.main.sum({distinct}{steps}){over}"
    least, most = aggregate.facts.low, aggregate.facts.high
    assert isinstance(least, Fraction) and isinstance(most, Fraction)  # noqa: S101
    if aggregate.function == "sum" and argument.facts.type is Type.INTEGER:
        held = clamp_to_bounds(total, str(int(least)), str(int(most)), check_finite=False)
        return f"CAST({held} AS BIGINT)"
    value = f"CAST({total} AS DOUBLE) * {grid.numerator} / {grid.denominator}"
    if aggregate.function == "avg":
        # of no values the sum is NULL, and so is this
        value = f"{value} / system.main.count({distinct}{steps}){over}"
    return clamp_to_bounds(f"({value})", real(least), real(most), check_finite=True)
