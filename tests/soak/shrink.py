"""A question made smaller while it still breaks the same rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import exp

ROUNDS_MAX = 60
OPERATIONS = exp.Not | exp.Paren | exp.Func | exp.Binary
CHOICES = exp.And | exp.Or | exp.Case | exp.Coalesce | exp.Greatest | exp.Least | exp.Nullif


def shrink(sql: str, still: Callable[[str], bool]) -> str:
    """Return the smallest question found that is still broken."""
    for _ in range(ROUNDS_MAX):
        for smaller in sorted(set(_smaller(sql)), key=len):
            if len(smaller) < len(sql) and still(smaller):
                sql = smaller
                break
        else:
            return sql
    return sql


def _smaller(sql: str) -> Iterator[str]:
    """Yield questions with one part left out, or put in the place of the whole it is of."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    for index, _ in enumerate(tree.walk()):
        for variant in range(6):
            copy = tree.copy()
            node = list(copy.walk())[index]
            if _cut(node, variant):
                yield copy.sql(dialect="duckdb")


def _cut(node: exp.Expression, variant: int) -> bool:
    """Take something of a node away, if there is so much of it; return whether there was."""
    if isinstance(node, exp.Select) and variant < len(node.expressions) > 1:
        node.expressions[variant].pop()
        return True
    if isinstance(node, exp.Where | exp.Having | exp.Group | exp.Join) and variant == 0:
        node.pop()
        return True
    if node.parent is None:
        return False
    if isinstance(node, CHOICES):
        parts = [part for part in node.iter_expressions() if not isinstance(part, exp.If)]
        parts += [part for case in node.args.get("ifs") or [] for part in case.iter_expressions()]
        if variant < len(parts):
            node.replace(parts[variant].copy())
            return True
    inner = next(node.iter_expressions(), None)
    if variant == 5 and isinstance(node, OPERATIONS) and inner is not None:
        node.replace(inner.copy())
        return True
    return False
