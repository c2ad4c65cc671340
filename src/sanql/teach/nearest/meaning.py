"""What a suggested question may not change: which statistics are asked for, and of whom.

A question about something else is worse than none. So a candidate has no statistic that was not asked
for but counts, whatever its rewriter thinks: MAX never becomes MIN. And it never groups by what
identifies somebody, even where the owner lists that column among those that may be used: no such group
is large enough to appear, and the question would be paid for in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from sqlglot import exp

from sanql.parse import COMMON_AGGREGATES, Question
from sanql.policy import Table, identifiers
from sanql.question import ColumnRef, walk

COUNT = "COUNT"
# statistics that have several nodes of the grammar
FAMILIES: Mapping[type[exp.Expr], str] = {
    **dict.fromkeys((exp.Count, exp.CountIf, exp.ApproxDistinct), COUNT),
    **dict.fromkeys(
        (exp.Median, exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.ApproxQuantiles,
         exp.ApproxQuantile),
        "QUANTILE",
    ),
    **dict.fromkeys((exp.Stddev, exp.StddevSamp), "STDDEV"),
}  # fmt: skip
# what else a statistic may be taken for: any value will do, so the least one does
TAKEN_FOR: Mapping[type[exp.Expr], str] = {exp.AnyValue: "MIN"}


def statistics_of(tree: exp.Expr) -> set[str]:
    """Return the names of the statistics in a tree, at any depth; spellings of one are one.

    >>> import sqlglot
    >>> sorted(statistics_of(sqlglot.parse_one("SELECT MAX(a), COUNT_IF(b), COUNT(*)")))
    ['COUNT', 'MAX']
    """
    return {FAMILIES.get(type(node)) or node.key.upper() for node in tree.find_all(exp.AggFunc)}


def statistics_allowed(trees: Iterable[exp.Expr]) -> frozenset[str]:
    """Return the statistics that a rewritten question may have: those asked for, and counts.

    A name that nobody knows is taken for the statistic it is nearly.
    """
    allowed = {COUNT}
    for tree in trees:
        allowed |= statistics_of(tree)
        allowed |= {TAKEN_FOR[type(node)] for node in tree.find_all(*TAKEN_FOR)}
        for node in tree.find_all(exp.Anonymous):
            name = str(node.this).upper()
            allowed |= {name, *get_close_matches(name, COMMON_AGGREGATES, n=1, cutoff=0.75)}
    return frozenset(allowed)


def groups_by_identifier(question: Question, tables: Mapping[str, Table]) -> bool:
    """Return whether a question makes a group for each of those whom a column identifies."""
    return any(
        isinstance(node, ColumnRef) and node.origin is not None and _identifies(node.origin, tables)
        for key in getattr(question.query, "keys", ())
        for node in walk(key)
    )


def _identifies(origin: tuple[str, str], tables: Mapping[str, Table]) -> bool:
    table, column = origin
    names = identifiers(tables[table], tables) if table in tables else ()
    return column.lower() in {name.lower() for name in names}
