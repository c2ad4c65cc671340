"""REGR_SLOPE(y, x) and its kin as what they are made of: averages, variances and covariances of pairs.

All are of the rows in which both values are there. What does not vary has a slope of NULL, as in SQL.
"""

from __future__ import annotations

from sqlglot import exp

PAIRS = (
    exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy,
    exp.RegrSxx, exp.RegrSyy, exp.RegrSxy,
)  # fmt: skip


def of_pairs(node: exp.Expression) -> exp.Expression | None:
    """Return a statistic of a regression in other words; None of any other node."""
    if not isinstance(node, PAIRS) or node.args.get("expression") is None:
        return None
    y, x = _beside(node.this, node.expression), _beside(node.expression, node.this)
    slope = _ratio(exp.CovarPop(this=y.copy(), expression=x.copy()), exp.VariancePop(this=x.copy()))
    match node:
        case exp.RegrSlope():
            return slope
        case exp.RegrIntercept():
            moved = exp.Mul(this=exp.Paren(this=slope), expression=exp.Avg(this=x.copy()))
            return exp.Sub(this=exp.Avg(this=y), expression=moved)
        case exp.RegrR2():
            return exp.Pow(this=exp.Corr(this=y, expression=x), expression=exp.Literal.number(2))
        case exp.RegrCount():
            return exp.Count(this=y)
        case exp.RegrAvgx():
            return exp.Avg(this=x)
        case exp.RegrAvgy():
            return exp.Avg(this=y)
    spread: exp.Expression = exp.CovarPop(this=y.copy(), expression=x.copy())
    if not isinstance(node, exp.RegrSxy):
        spread = exp.VariancePop(this=x.copy() if isinstance(node, exp.RegrSxx) else y.copy())
    return exp.Mul(this=exp.Count(this=y), expression=spread)


def _beside(value: exp.Expression, other: exp.Expression) -> exp.Expression:
    """Return a value where the other one of its pair is there, too."""
    there = exp.Not(this=exp.Is(this=exp.Paren(this=other.copy()), expression=exp.Null()))
    return exp.Case(ifs=[exp.If(this=there, true=value.copy())])


def _ratio(top: exp.Expression, bottom: exp.Expression) -> exp.Expression:
    return exp.Div(this=top, expression=bottom)
