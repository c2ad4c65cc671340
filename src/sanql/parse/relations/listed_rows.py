"""VALUES and UNNEST in FROM: rows that are written in the question, and belong to nobody."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.relations.scope import Item, Visible
from sanql.parse.relations.unions import hull
from sanql.question import ColumnRef, Expr, Facts, Listed, Literal, Type

ROWS_MAX = 500
Bind = Callable[[exp.Expression], Expr]


def listed_rows(node: exp.Expression, slot: int, bind: Bind) -> tuple[Listed, Item]:
    """Return the rows that a VALUES or an UNNEST of a list writes out, and what can be seen of them."""
    alias = node.args.get("alias")
    name = str(alias.name) if alias is not None and alias.this is not None else ""
    named = [str(column.name) for column in (alias.args.get("columns") if alias else None) or ()]
    rows = (
        _unnested(node)
        if isinstance(node, exp.Unnest)
        else [_cells(row) for row in node.expressions]
    )
    width = len(rows[0]) if rows else 0
    if not rows or len(rows) > ROWS_MAX or any(len(row) != width for row in rows):
        raise Refused(
            "listed_rows",
            f"rows that are written in the question are 1 to {ROWS_MAX}, all of as many values",
            "write, for example, (VALUES (1, 'a'), (2, 'b')) AS v(k, word)",
        )
    if isinstance(node, exp.Unnest) and not named:
        named = [name or "unnest"]  # as BigQuery has it: UNNEST([1, 2]) AS k
    if not named:
        named = [f"col{place}" for place in range(width)]
    if len(named) != width:
        raise Refused(
            "alias_columns",
            f"{len(named)} names are given for {width} columns",
            "give each column a name, or none",
        )
    values = tuple(tuple(_literal(cell, bind) for cell in row) for row in rows)
    facts = tuple(reduce(hull, (row[place].facts for row in values)) for place in range(width))
    facts = tuple(Facts(Type.TEXT) if each.type is Type.NULL else each for each in facts)
    item = Item(
        name or ("unnest" if isinstance(node, exp.Unnest) else "valueslist"),
        tuple(
            Visible(column, ColumnRef(f"c{place}", facts[place], slot, stored=False), None)
            for place, column in enumerate(named)
        ),
    )
    return Listed(slot, values, facts), item


def _unnested(node: exp.Unnest) -> list[list[exp.Expression]]:
    (listed, *more) = node.expressions
    while isinstance(listed, exp.Paren):
        listed = listed.this
    if more or node.args.get("offset") or not isinstance(listed, exp.Array):
        raise Refused(
            "listed_rows",
            "UNNEST takes one list that is written in the question; columns hold no lists",
            "write UNNEST([1, 2, 3]) AS k",
        )
    return [[item] for item in listed.expressions]


def _cells(row: exp.Expression) -> list[exp.Expression]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _literal(node: exp.Expression, bind: Bind) -> Literal:
    value = bind(node)
    if not isinstance(value, Literal):
        raise Refused(
            "listed_rows",
            "rows that are written in the question hold constants",
            "write the values themselves",
        )
    return value
