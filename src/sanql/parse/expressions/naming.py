"""How the columns of an answer are called where the question does not say."""

from __future__ import annotations

from sqlglot import exp

from sanql.parse.expressions.refusals import typed_name

NAME_MAX = 60
_CASTS = (exp.Cast, exp.TryCast)
_AROUND = (exp.Paren, exp.Filter, exp.WithinGroup, exp.Window, exp.Bracket, exp.IgnoreNulls)


def column_name(node: exp.Expr) -> str:
    """Return the name of an expression that has no alias.

    A column keeps its name, also when it is cast; a function gives its own, as it was typed; anything
    else is called by its text.
    """
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, _AROUND) and isinstance(node.this, exp.Expression):
        return column_name(node.this)
    if isinstance(node, _CASTS) and isinstance(node.this, exp.Column):
        return column_name(node.this)
    if isinstance(node, exp.Func) and "typed" in node.meta:
        return typed_name(node).lower()
    text = " ".join(node.sql(dialect="duckdb", comments=False).split())
    return text if len(text) <= NAME_MAX else f"{text[: NAME_MAX - 1]}…"
