"""From the text of a question to its plan, and to its exact cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sanql.catalog import Layout
from sanql.compile import compile_plan
from sanql.kernel import Statement
from sanql.parse import parse
from sanql.plan import Plan, outline, price
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
    found = [run(compile_plan(level, source, secret)) for level in plan.levels]
    return [row for table in found for row in table.to_pylist()]
