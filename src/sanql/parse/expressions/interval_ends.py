"""Snowflake's DP_INTERVAL_LOW and DP_INTERVAL_HIGH: the ends of the interval of an answer's column."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sanql.errors import Refused
from sanql.question import AggregateRef, Facts, IntervalEnd, Output, Type, walk

ENDS = {"DP_INTERVAL_LOW": False, "DP_INTERVAL_HIGH": True}


def interval_end(node: exp.Anonymous, outputs: Sequence[Output]) -> IntervalEnd | None:
    """Return the end that a function asks for, of one of the columns before it; None of others."""
    name = str(node.this).upper()
    if name not in ENDS:
        return None
    for index, output in enumerate(outputs):
        if _is_alias(node.expressions, output.name):
            if not any(isinstance(inner, AggregateRef) for inner in walk(output.expression)):
                raise Refused(
                    "interval_unknown",
                    f"{name}({output.name}) has no interval: {output.name} is not a statistic",
                    "name a column of the answer that has noise",
                )
            return IntervalEnd(index, ENDS[name], Facts(Type.REAL))
    raise Refused(
        "interval_unknown",
        f"{name} takes the name of a column that stands before it in SELECT",
        f"write, for example, SELECT COUNT(*) AS n, {name}(n)",
    )


def _is_alias(arguments: list[exp.Expression], name: str) -> bool:
    match arguments:
        case [exp.Column() as column] if not column.args.get("table"):
            return str(column.name).lower() == name.lower()
        case _:
            return False
