"""The many spellings of a statistic, each rewritten on the tree as one that the binder knows.

Nothing here decides what is allowed: a rewritten node is bound, and refused, like one that was typed.
"""

from __future__ import annotations

from sqlglot import exp

SPELLINGS = (exp.Filter, exp.CountIf, exp.ApproxDistinct)
# one value and perhaps constants beside it: FILTER puts a CASE around the value
FILTERED: tuple[type[exp.Expression], ...] = (
    exp.Count, exp.Sum, exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.CovarPop, exp.CovarSamp, exp.Corr,
)  # fmt: skip


def canonical(node: exp.Expression) -> exp.Expression:
    """Return the statistic in the one spelling the binder reads; others come back as they are.

    >>> import sqlglot
    >>> canonical(sqlglot.parse_one("COUNT(*) FILTER (WHERE a > 1)", dialect="duckdb")).sql()
    'COUNT(CASE WHEN a > 1 THEN 1 END)'
    """
    match node:
        case exp.Filter():
            return _filtered(canonical(node.this), node.expression)
        case exp.CountIf():
            return exp.Count(this=_when(node.this, exp.Literal.number(1)))
        case exp.ApproxDistinct() if not node.args.get("accuracy"):
            return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
        case _:
            return node


def _filtered(inner: exp.Expression, where: exp.Expression) -> exp.Expression:
    """Return AGG(x) FILTER (WHERE c) as AGG(CASE WHEN c THEN x END)."""
    if not isinstance(inner, FILTERED) or not isinstance(where, exp.Where):
        return exp.Filter(this=inner.copy(), expression=where.copy())
    made = inner.copy()
    value = made.this
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        value.set("expressions", [_when(where.this, value.expressions[0])])
    elif value is None or isinstance(value, exp.Star):
        made.set("this", _when(where.this, exp.Literal.number(1)))
    else:
        made.set("this", _when(where.this, value))
    return made


def _when(condition: exp.Expression, value: exp.Expression) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
