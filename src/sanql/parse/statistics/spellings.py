"""The many spellings of a statistic, each rewritten on the tree as one that the binder knows.

Nothing here decides what is allowed: a rewritten node is bound, and refused, like one that was typed.
"""

from __future__ import annotations

from sqlglot import exp

from sanql.parse.statistics.contributions import PER_GROUP, plain
from sanql.parse.statistics.nodes import named, operands, statistic_of_node, with_first

SPELLINGS = (
    exp.Filter, exp.CountIf, exp.ApproxDistinct, exp.WithinGroup, exp.Median, exp.Quantile,
    exp.Bracket,
)  # fmt: skip
CONDITIONAL: dict[str, type[exp.Expression]] = {
    "SUMIF": exp.Sum,
    "SUM_IF": exp.Sum,
    "AVGIF": exp.Avg,
    "AVG_IF": exp.Avg,
}
DIFFERENT = ("UNIQ", "UNIQEXACT")
QUANTILES = (exp.PercentileCont, exp.PercentileDisc)


def respelled(tree: exp.Expression) -> exp.Expression:
    """Return a question in which MEAN(x) is AVG(x), named arguments are what they mean, and functions
    that the grammar does not know are the statistics that they are."""
    for node in list(tree.find_all(exp.Anonymous)):
        if isinstance(node.parent, exp.Window) and _is_share(node):
            node.parent.replace(_share(node, node.parent))
            continue
        known = plain(node) or named(node) or _in_other_words(node)
        if known is not None:
            known.meta.update(node.meta)
            node.replace(known)
            if "per_group" in known.args:
                tree.meta[PER_GROUP] = True
    return tree


def _in_other_words(node: exp.Anonymous) -> exp.Expression | None:
    """Return sumIf(x, c) as SUM of x where c holds, and uniq(x) as COUNT(DISTINCT x)."""
    name = str(node.this).upper()
    if name in CONDITIONAL and len(node.expressions) == 2:
        value, condition = node.expressions
        return CONDITIONAL[name](this=_when(condition, value))
    if name in DIFFERENT and len(node.expressions) == 1:
        return exp.Count(this=exp.Distinct(expressions=[node.expressions[0].copy()]))
    return None


def _is_share(node: exp.Anonymous) -> bool:
    return str(node.this).upper() == "RATIO_TO_REPORT" and len(node.expressions) == 1


def _share(node: exp.Anonymous, window: exp.Window) -> exp.Expression:
    """Return RATIO_TO_REPORT(x) OVER w as x / SUM(x) OVER w."""
    (value,) = node.expressions
    whole = window.copy()
    whole.set("this", exp.Sum(this=value.copy()))
    share = exp.Div(this=exp.paren(value.copy()), expression=whole)
    share.meta.update(window.meta)
    return exp.paren(share)


def canonical_spelling(node: exp.Expression) -> exp.Expression:
    """Return the statistic in the one spelling the binder reads; others come back as they are.

    >>> import sqlglot
    >>> canonical_spelling(sqlglot.parse_one("COUNT(*) FILTER (WHERE a > 1)", dialect="duckdb")).sql()
    'COUNT(CASE WHEN a > 1 THEN 1 END)'
    """
    match node:
        case exp.Filter():
            return _filtered(canonical_spelling(node.this), node.expression)
        case exp.CountIf():
            return exp.Count(this=_when(node.this, exp.Literal.number(1)))
        case exp.ApproxDistinct() if not node.args.get("accuracy"):
            return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
        case exp.Median():
            return _quantile(exp.PercentileCont, node.this, exp.Literal.number("0.5"))
        case exp.Quantile() if set(filter(node.args.get, node.args)) == {"this", "quantile"}:
            return _quantile(exp.PercentileDisc, node.this, node.args["quantile"])
        case exp.WithinGroup():
            return _within(node)
        case exp.Bracket(this=exp.ApproxQuantiles() as inner):
            return _nth(node, inner)
        case _:
            return node


def _filtered(inner: exp.Expression, where: exp.Expression) -> exp.Expression:
    """Return AGG(x) FILTER (WHERE c) as AGG(CASE WHEN c THEN x END)."""
    values = operands(inner)
    if statistic_of_node(inner) is None or isinstance(inner, SPELLINGS):
        return exp.Filter(this=inner.copy(), expression=where.copy())
    if not isinstance(where, exp.Where):
        return exp.Filter(this=inner.copy(), expression=where.copy())
    value = values[0] if values else None
    if isinstance(value, exp.Distinct) and len(value.expressions) == 1:
        held = value.copy()
        held.set("expressions", [_when(where.this, value.expressions[0])])
        return with_first(inner, held)
    if value is None or isinstance(value, exp.Star):
        return with_first(inner, _when(where.this, exp.Literal.number(1)))
    return with_first(inner, _when(where.this, value))


def _when(condition: exp.Expression, value: exp.Expression) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _quantile(
    kind: type[exp.Expression], value: exp.Expression, fraction: exp.Expression
) -> exp.Expression:
    return kind(this=value.copy(), expression=fraction.copy())


def _within(node: exp.WithinGroup) -> exp.Expression:
    """Return f() WITHIN GROUP (ORDER BY x) as f(x), and PERCENTILE_CONT(a) as QUANTILE_CONT(x, a)."""
    inner, order = node.this, node.args.get("expression")
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        return node
    item = order.expressions[0]
    if statistic_of_node(inner) is not None and not operands(inner):
        return with_first(inner, item.this.copy())
    if not isinstance(inner, QUANTILES) or inner.args.get("expression"):
        return node
    fraction = inner.this
    if item.args.get("desc"):
        fraction = exp.Sub(this=exp.Literal.number(1), expression=fraction.copy())
    return _quantile(type(inner), item.this, fraction)


def _nth(node: exp.Bracket, inner: exp.ApproxQuantiles) -> exp.Expression:
    """Return APPROX_QUANTILES(x, n)[OFFSET(k)] as QUANTILE_CONT(x, k / n)."""
    (place, *more), parts = node.expressions, inner.args.get("expression")
    known = isinstance(place, exp.Anonymous) and len(place.expressions) == 1 and not more
    name = str(place.this).upper().removeprefix("SAFE_") if known else ""
    if parts is None or name not in ("OFFSET", "ORDINAL"):
        return node
    number = place.expressions[0].copy()
    if name == "ORDINAL":
        number = exp.Sub(this=number, expression=exp.Literal.number(1))
    share = exp.Div(this=exp.Paren(this=number), expression=parts.copy())
    return _quantile(exp.PercentileCont, inner.this, share)
