"""Names that SELECT gives, used further right in it: SELECT SUM(x) AS s, COUNT(*) AS n, s / n AS each.

A name means a column wherever FROM has one so called. Else it means what stands before it in SELECT
under that name, and is written out; subqueries do not see it.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.interval_ends import ENDS
from sanql.parse.text.places import place_of

WRITTEN_OUT_MAX = 1_200
"""How many parts are written in the place of names: each may double what the one before was."""


def write_out_names_before(select: exp.Select, is_column: Callable[[exp.Column], bool]) -> None:
    """Put what a name stands for in its place, wherever SELECT uses one that it gave before."""
    named: dict[str, exp.Expression] = {}
    left = WRITTEN_OUT_MAX
    for item in select.expressions:
        value = item.this if isinstance(item, exp.Alias) else item
        for column in _bare(value) if named else ():
            known = named.get(str(column.name).lower())
            if known is None or is_column(column):
                continue
            left -= sum(1 for _ in known.walk())
            if left < 0:
                raise _too_many(column)
            written = exp.paren(known.copy())
            alone = column is item
            column.replace(exp.alias_(written, column.name, quoted=True) if alone else written)
        if isinstance(item, exp.Alias):
            named.setdefault(str(item.alias).lower(), item.this)


def _bare(value: exp.Expression) -> list[exp.Column]:
    """Return the columns in a value that are called by their name alone, but for those of subqueries."""
    parts = value.walk(prune=_sees_no_names)
    return [node for node in parts if isinstance(node, exp.Column) and not node.args.get("table")]


def _sees_no_names(node: exp.Expr) -> bool:
    """Return whether names inside are not SELECT's: a subquery's, or a column whose interval is meant."""
    return isinstance(node, exp.Query) or (
        isinstance(node, exp.Anonymous) and str(node.this).upper() in ENDS
    )


def _too_many(column: exp.Column) -> Refused:
    return Refused(
        "query_too_complex",
        f"names of SELECT, written out wherever it uses them, are more than {WRITTEN_OUT_MAX:,} words",
        "give the values names in a subquery, and compute with them outside",
        place_of(column),
    )
