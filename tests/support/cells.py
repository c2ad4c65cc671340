"""From the text of a question to its plan, and to its exact cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sanql.catalog import Layout
from sanql.compile import compile_plan
from sanql.kernel import Statement
from sanql.measurements import Measured
from sanql.parse import parse
from sanql.plan import Level, Plan, outline, price
from sanql.policy import Neighbours, Policy, Table

SECRET = 7  # one key for all questions, so that the same groups stay
Price = Fraction | str | int


def priced(
    sql: str,
    tables: Mapping[str, Table],
    neighbours: Neighbours = "add-remove",
    *,
    epsilon: Price = 1,
    delta: Price = "1/1000",
    groups: int | None = None,
    other: bool = False,
    values: int | None = None,
) -> Plan:
    """Return the plan of a question over declared tables, at a price."""
    outlined = outline(
        parse(sql, tables).query, tables, neighbours, groups, other, values_asked=values
    )
    return price(outlined, Fraction(epsilon), Fraction(delta))


def priced_dropping(
    sql: str, tables: Mapping[str, Table], neighbours: Neighbours = "add-remove"
) -> Plan:
    """Return the plan of a question in which no unit is bounded by norm: rows and groups are dropped."""
    outlined = outline(parse(sql, tables).query, tables, neighbours)
    dropping = tuple(
        replace(level, measuring=replace(level.measuring, unit_norms=None))
        for level in outlined.levels
    )
    return price(replace(outlined, levels=dropping), Fraction(1), Fraction(1, 1000))


def in_grid(level: Level, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return exact cells in steps of each measurement's grid, whatever the cells themselves count.

    Those of a pair are read off its two sides.
    """
    scales = {f"m{place}": part.scale for place, part in enumerate(level.measurements)}
    for place, part in enumerate(level.measurements):
        if part.pair is not None and part.kind is Measured.SUM:
            sides = f"m{place}", f"m{part.pair.partner}"
            cells = [
                row | dict(zip(sides, _read_off(*(row[s] for s in sides)), strict=True))
                for row in cells
            ]
    return [
        {
            name: _whole(Fraction(value, scales[name])) if scales.get(name, 1) > 1 else value
            for name, value in row.items()
        }
        for row in cells
    ]


def _read_off(above: int, below: int) -> tuple[int, int]:
    return above - below, above + below


def _whole(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def cells_of(
    sql: str,
    policy: Policy,
    source: Layout,
    run: Callable[[Statement], pa.Table],
    secret: int = SECRET,
    **asked: Any,
) -> list[dict[str, Any]]:
    """Return the exact cells of a question as something that runs statements has them."""
    plan = priced(sql, policy.tables, policy.neighbours, **asked)
    return [
        row
        for level in plan.levels
        for row in in_grid(level, run(compile_plan(level, source, secret)).to_pylist())
    ]
