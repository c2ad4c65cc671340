"""Smallest, largest and middle values of dates and of listed texts, as those of numbers in their place.

A date is the number of days since the first that there may be, a moment that of seconds, and a text of a
declared list its place in it. The statistic is of these numbers; what it gives is turned back around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.statistics.spellings import canonical_spelling
from sanql.policy import ListedDomain, Table
from sanql.question import Aggregate, ColumnRef, Expr, Type

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder

EXTREMES = (exp.Min, exp.Max)
RANKED = (*EXTREMES, exp.PercentileCont, exp.PercentileDisc)
EPOCH = datetime(1970, 1, 1)
LISTED_MAX = 1_000


def of_numbers(
    typed: exp.Expression, binder: Binder[Aggregate], tables: Mapping[str, Table]
) -> exp.Expression | None:
    """Return what is asked as an expression around a statistic of numbers; None where it is one."""
    node = canonical_spelling(typed)
    if not isinstance(node, RANKED) or not isinstance(node.this, exp.Expression):
        return None
    operand = _without_filter(node.this)
    if not isinstance(
        operand, exp.Column | exp.Cast | exp.TimestampTrunc | exp.DateTrunc | exp.Func
    ):
        return None
    try:
        value = binder.row(operand)
    except Refused:
        return None  # it is refused where the statistic is bound
    low = value.facts.low
    made: exp.Expression | None = None
    if value.facts.type is Type.TIMESTAMP and isinstance(low, datetime):
        made = _moment(node, low)
    elif value.facts.type is Type.DATE and isinstance(low, date):
        made = _day(node, low)
    elif value.facts.type is Type.TEXT and isinstance(node, EXTREMES):
        made = _text(node, operand, listed_texts(value, tables))
    return made


def listed_texts(value: Expr, tables: Mapping[str, Table]) -> list[str]:
    """Return the texts that the policy lists for a column, in the engine's order."""
    if not isinstance(value, ColumnRef) or value.origin is None or value.origin[0] not in tables:
        return []
    known = tables[value.origin[0]].columns.get(value.origin[1])
    domain = known.domain if known is not None else None
    if not isinstance(domain, ListedDomain) or len(domain.values) > LISTED_MAX:
        return []
    return sorted({str(each) for each in domain.values}, key=lambda text: text.encode())


def _without_filter(value: exp.Expression) -> exp.Expression:
    """Return the value of CASE WHEN condition THEN value END, which FILTER is written as."""
    if isinstance(value, exp.Case) and len(value.args["ifs"]) == 1 and value.this is None:
        inner: exp.Expression = value.args["ifs"][0].args["true"]
        return inner
    return value


def _of(node: exp.Expression, value: exp.Expression) -> exp.Expression:
    """Return the statistic of another value, under the condition of its own."""
    made = node.copy()
    inner = _without_filter(made.this)
    inner.replace(value) if inner is not made.this else made.set("this", value)
    return made


def _day(node: exp.Expression, low: date) -> exp.Expression:
    first = exp.cast(exp.Literal.string(low.isoformat()), "DATE", dialect="duckdb")
    days = exp.DateDiff(
        this=_without_filter(node.this).copy(), expression=first.copy(), unit=exp.var("day")
    )
    return exp.Add(this=first, expression=exp.cast(_of(node, days), "BIGINT", dialect="duckdb"))


def _moment(node: exp.Expression, low: datetime) -> exp.Expression:
    first = low.replace(microsecond=0)
    written = exp.cast(exp.Literal.string(first.isoformat(" ")), "TIMESTAMP", dialect="duckdb")
    seconds = exp.DateDiff(
        this=_without_filter(node.this).copy(), expression=written, unit=exp.var("second")
    )
    since = exp.Literal.number(str(int((first - EPOCH).total_seconds())))
    if str(since.this).startswith("-"):
        since = exp.Neg(this=exp.Literal.number(str(since.this)[1:]))
    whole = exp.cast(_of(node, seconds), "BIGINT", dialect="duckdb")
    return exp.Anonymous(this="TO_TIMESTAMP", expressions=[exp.Add(this=since, expression=whole)])


def _text(node: exp.Expression, operand: exp.Expression, texts: list[str]) -> exp.Expression | None:
    if not texts:
        return None
    places = [(exp.Literal.string(text), exp.Literal.number(n)) for n, text in enumerate(texts, 1)]
    number = exp.Case(
        this=operand.copy(), ifs=[exp.If(this=text, true=place) for text, place in places]
    )
    return exp.Case(
        this=_of(node, number),
        ifs=[exp.If(this=place.copy(), true=text.copy()) for text, place in places],
    )
