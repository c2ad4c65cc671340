"""A subquery that is tied to the row outside by equal columns, as groups by those columns.

(SELECT AVG(x) FROM p WHERE p.k = t.k AND p.y > 0) is, for each row of t, the average of the group k of
SELECT k, AVG(x) FROM p WHERE y > 0 GROUP BY k. What ties it must be equalities, each between something
inside and something outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from sanql.parse.over.blocks import is_grouped, split


@dataclass(frozen=True)
class Tied:
    """The groups, what their keys must be equal to outside, and the value over their statistics.

    `counts` says of each statistic whether it is a number of something, which is 0 where nothing is.
    """

    inner: exp.Select
    outside: tuple[exp.Expr, ...]
    value: exp.Expr
    counts: tuple[bool, ...]


def uncorrelated(select: exp.Select, visible: Callable[[exp.Column], bool]) -> Tied | None:
    """Return a subquery as groups by what ties it to the row outside; None where nothing does."""
    where = select.args.get("where")
    if where is None or select.args.get("group") or not is_grouped(select):
        return None
    ties: list[tuple[exp.Expr, exp.Expr]] = []
    local: list[exp.Expr] = []
    for condition in _conjuncts(where.this):
        sides = _sides(condition, visible)
        if sides is None:
            local.append(condition)
        else:
            ties.append(sides)
    if not ties or len(select.expressions) != 1:
        return None
    grouped = select.copy()
    grouped.set("where", exp.Where(this=exp.and_(*local, copy=True)) if local else None)
    keys = [own.copy() for own, _ in ties]
    grouped.set("group", exp.Group(expressions=keys))
    inner, outer = split(grouped, visible)
    measures = [each for each in inner.expressions if each.alias.startswith("measure ")]
    inner.set(
        "expressions",
        [exp.alias_(key.copy(), f"key {i}", quoted=True) for i, key in enumerate(keys)] + measures,
    )
    item = outer.expressions[0]
    counts = tuple(_counts(each.this) for each in measures)
    return Tied(inner, tuple(other for _, other in ties), item.this, counts)


def _counts(node: exp.Expr) -> bool:
    while isinstance(node, exp.Filter):
        node = node.this
    return isinstance(node, exp.Count | exp.CountIf | exp.ApproxDistinct)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _sides(
    condition: exp.Expr, visible: Callable[[exp.Column], bool]
) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the side of an equality that is inside, and the one that is outside."""
    if not isinstance(condition, exp.EQ):
        return None
    for own, other in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        inside, outside = list(own.find_all(exp.Column)), list(other.find_all(exp.Column))
        if inside and outside and all(map(visible, inside)) and not any(map(visible, outside)):
            return own, other
    return None
