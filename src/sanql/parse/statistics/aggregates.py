"""Aggregates: which statistic a node asks for, and of what."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.refusals import as_typed, typed_name, unknown_construct
from sanql.parse.statistics.contributions import PER_GROUP, total_of
from sanql.parse.statistics.nodes import DEDICATED, operands, statistic_of_node, with_first
from sanql.parse.statistics.spellings import SPELLINGS, canonical_spelling
from sanql.question import NULL, Aggregate, Expr, number_literal
from sanql.statistics import (
    STATISTICS,
    Operand,
    Statistic,
    Written,
    count_of,
    distinct_of,
    held_to,
    of_distinct,
    units_of,
    when,
)

AGGREGATES: tuple[type[exp.Expression], ...] = tuple(
    dict.fromkeys([*DEDICATED, exp.AnonymousAggFunc, exp.ApproxQuantiles, *SPELLINGS])
)
"""The nodes that ask for statistics, in whatever spelling."""
FILTERED = (
    "any of them with `FILTER (WHERE condition)`",
    "rows that do not meet the condition are left out of it",
)


def described() -> list[tuple[str, str]]:
    """Return how statistics are written and found, row by row, for the manual."""
    return [
        *((statistic.written, statistic.found) for statistic in STATISTICS if statistic.written),
        FILTERED,
    ]


class RowBinder(Protocol):
    """What an aggregate needs of the binder: expressions over one row."""

    def row(self, node: exp.Expression) -> Expr:
        """Return an expression over one row."""

    def is_bare_unit(self, node: exp.Expression) -> bool:
        """Return whether the expression is the privacy unit's column and nothing more."""


def bind_aggregate(typed: exp.Expression, rows: RowBinder) -> Aggregate:
    """Return the statistic a node asks for, or refuse it by name."""
    node = canonical_spelling(typed)
    node.meta.setdefault("typed", typed_name(typed))
    if "per_group" in node.args:
        bare = node.copy()
        bare.args.pop("per_group")
        return held_to(bind_aggregate(bare, rows), total_of(node))
    return _bound(node, as_typed(typed), rows)


def written_out(aggregate: Aggregate, typed: exp.Expression) -> Aggregate:
    """Return a statistic with its text as it is understood; while it is bound it has what was typed.

    Writing takes longer than binding, so it waits until the question is known to be one.
    """
    text = _text_of(typed)
    if aggregate.total is not None:
        bounds = canonical_spelling(typed).args["per_group"].sql(dialect="duckdb")
        text = f"{text} with {PER_GROUP} => {bounds}"
    return replace(aggregate, text=text)


def _text_of(node: exp.Expression) -> str:
    """Return a statistic as it is understood; those of all rows, or of a column, are remembered."""
    given = {name: value for name, value in node.args.items() if value}
    operand = given.pop("this", None)
    if not given.keys() - {"big_int"} and isinstance(operand, exp.Star | exp.Column):
        inside = [value for value in operand.args.values() if value]
        if not inside and isinstance(operand, exp.Star):
            return _text_of_column(type(node), bool(given), None)  # type: ignore[arg-type]
        if len(inside) == 1 and type(inside[0]) is exp.Identifier:
            name = str(inside[0].this), bool(inside[0].args.get("quoted"))
            return _text_of_column(type(node), bool(given), name)  # type: ignore[arg-type]
    return node.sql(dialect="duckdb", comments=False)


@lru_cache(maxsize=256)
def _text_of_column(
    kind: type[exp.Expression], big_int: bool, name: tuple[str, bool] | None
) -> str:
    """Return a statistic of a column, by its name and whether that was quoted, or of all rows."""
    operand = exp.Star() if name is None else exp.column(exp.to_identifier(*name))
    made = kind(this=operand, **({"big_int": True} if big_int else {}))
    return made.sql(dialect="duckdb", comments=False)


def _bound(node: exp.Expression, text: str, rows: RowBinder) -> Aggregate:
    """Return the statistic of a node in its one spelling; `text` is what was typed for it."""
    known = {"this", "expression", "big_int"}
    if isinstance(node, exp.AnonymousAggFunc):
        known.add("expressions")
    if isinstance(node, exp.ApproxQuantiles):
        raise _one_by_one(text)
    extra = {name for name, value in node.args.items() if value} - known
    statistic = statistic_of_node(node)
    if extra or statistic is None or isinstance(node, SPELLINGS):
        raise unknown_construct(node)
    values = operands(node)
    if values and isinstance(values[0], exp.Distinct):
        return _distinct(node, values[0], text, rows)
    if len(values) > len(statistic.operands):
        raise unknown_construct(node)
    if isinstance(node, exp.Count):
        return _count(node, text, rows)
    return statistic.ask(_written(statistic, node, values, text, rows))


def _written(
    statistic: Statistic,
    node: exp.Expression,
    values: list[exp.Expression],
    text: str,
    rows: RowBinder,
) -> Written:
    """Return what stands between the brackets, each as the statistic takes it."""
    arguments: list[Expr] = []
    fraction = None
    for place, operand in enumerate(statistic.operands):
        value = values[place] if place < len(values) else None
        if operand is Operand.VALUE:
            arguments.append(rows.row(value) if value is not None else NULL)
        elif isinstance(value, exp.Array | exp.Tuple):
            raise _one_by_one(text)
        else:
            fraction = _constant(value) if value is not None else None
    return Written(typed_name(node), tuple(arguments), text, fraction)


def _count(node: exp.Expression, text: str, rows: RowBinder) -> Aggregate:
    inner = node.this
    if inner is None or isinstance(inner, exp.Star):
        if isinstance(inner, exp.Star) and any(inner.args.values()):
            raise unknown_construct(inner)
        return count_of(None, text)
    argument = None if rows.is_bare_unit(inner) else rows.row(inner)
    if argument is not None and not argument.facts.nullable:
        argument = None  # never NULL: the same as COUNT(*)
    return count_of(argument, text)


def _one_by_one(text: str) -> Refused:
    return Refused(
        "quantile_list",
        f"{text} is a list, and an answer has one value in a cell",
        "name each as a column, QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.5), … or "
        "APPROX_QUANTILES(x, 4)[OFFSET(1)], …: all quantiles of one value share one price",
    )


def _constant(node: exp.Expression) -> Fraction | None:
    """Return the value of a constant, where it is as simple as 0.5, 1 / 4 or 1 - 0.9."""
    match node:
        case exp.Paren():
            return _constant(node.this)
        case exp.Literal() if not node.args.get("is_string"):
            value = number_literal(str(node.this)).value
            return Fraction(value) if isinstance(value, int | Fraction) else None
        case exp.Div() | exp.Sub():
            left, right = _constant(node.this), _constant(node.expression)
            if left is None or right is None or (isinstance(node, exp.Div) and right == 0):
                return None
            return left / right if isinstance(node, exp.Div) else left - right
        case _:
            return None


def _distinct(node: exp.Expression, inner: exp.Distinct, text: str, rows: RowBinder) -> Aggregate:
    values = inner.expressions
    is_single = len(values) == 1 and not isinstance(values[0], exp.Tuple)
    known = statistic_of_node(node)
    other = of_distinct(known) if known is not None else None
    if other is not None and is_single and not inner.args.get("on"):
        return other.ask(Written(typed_name(node), (rows.row(values[0]),), text))
    if isinstance(node, exp.Min | exp.Max) and is_single and not inner.args.get("on"):
        return bind_aggregate(with_first(node, values[0]), rows)  # the least of them is the same
    if not isinstance(node, exp.Count) or not is_single or inner.args.get("on"):
        raise Refused(
            "distinct_unsupported",
            f"{text} is not supported: DISTINCT goes with one expression in COUNT, SUM, AVG, MIN, MAX, "
            "VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV",
            "use COUNT(DISTINCT x); pairs of values are counted with COUNT(*) over GROUP BY a, b",
        )
    if rows.is_bare_unit(values[0]):
        return units_of(None, text)
    condition = _unit_when(values[0], rows)
    if condition is not None:
        return units_of(when(rows.row(condition)), text)
    return distinct_of(rows.row(values[0]), text)


def _unit_when(node: exp.Expression, rows: RowBinder) -> exp.Expression | None:
    """Return the condition of CASE WHEN condition THEN unit END, which may only be counted."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Case) or node.this is not None or node.args.get("default"):
        return None
    branches = node.args["ifs"]
    if len(branches) != 1 or not rows.is_bare_unit(branches[0].args["true"]):
        return None
    return branches[0].this  # type: ignore[no-any-return]
