"""Questions whose keys, and counted values, are equal where they look equal: rounded, or whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.policy import Table
from sanql.teach.nearest.refused_parts import standing_in, unaliased

Tables = Mapping[str, Table]
COARSER = (0, -2, -4, -6, -8)


def rounded_values(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with values that have no precision rounded to two digits."""
    for distinct in list(select.find_all(exp.Distinct)):
        for value in list(distinct.expressions):
            value.replace(_rounded(value))
    yield select


def _keys(select: exp.Select) -> list[exp.Expr]:
    """Return what GROUP BY lists, positions as what they stand for."""
    group = select.args.get("group")
    shown = [unaliased(item) for item in select.expressions]
    return [
        shown[int(key.name) - 1]
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(shown)
        else key
        for key in (group.expressions if group is not None else ())
    ]


def whole_quotients(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with keys that are divided by a whole number divided without a remainder."""
    divided = [
        node
        for key in _keys(select)
        for node in key.find_all(exp.Div)
        if isinstance(node.expression, exp.Literal) and node.expression.is_int
    ]
    for node in divided:
        for place in [each for each in select.find_all(exp.Div) if each == node]:
            whole = exp.IntDiv(this=node.this.copy(), expression=node.expression.copy())
            place.replace(standing_in(whole, "whole numbers (34 // 10 is 3) in place of 3.4"))
    yield select


def rounded_keys(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with each key in turn rounded to two digits."""
    for key in _keys(select):
        asked = select.copy()
        for node in [*asked.expressions, *asked.args["group"].expressions]:
            for node_of_key in list(node.find_all(type(key))):
                if node_of_key == key:
                    node_of_key.replace(_rounded(node_of_key))
        yield asked


def coarser_values(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with what is added up rounded to a coarser grid, by a hundred each time."""
    for digits in COARSER:
        asked = select.copy()
        for node in list(asked.find_all(exp.Sum, exp.Avg)):
            if not isinstance(node.this, exp.Column | exp.Distinct):
                round_to = exp.Round(
                    this=node.this.copy(), decimals=exp.Literal.number(abs(digits))
                )
                if digits < 0:
                    round_to.set("decimals", exp.Neg(this=exp.Literal.number(-digits)))
                step = f"values rounded to the nearest {10**-digits:,}"
                node.set("this", standing_in(round_to, step))
        yield asked


def _rounded(value: exp.Expr) -> exp.Round:
    rounded = exp.Round(this=value.copy(), decimals=exp.Literal.number(2))
    return standing_in(rounded, "values that are rounded to two digits")
