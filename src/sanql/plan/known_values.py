"""Among which values a key lies, where the policy or arithmetic tells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, date, timedelta
from fractions import Fraction

from sanql.functions import TRUNCATIONS, truncate
from sanql.plan.reading import column_of
from sanql.policy import ListedDomain, Table, TableDomain
from sanql.question import Call, ColumnRef, Expr, Literal, LiteralValue, Type, walk

RANGE_MAX = 10_000  # keys derived from bounds: more would be mostly empty groups
RECURRING_MAX = 400  # keys of a date without bounds: those that come round again, as days of a year


def domain_of(column: ColumnRef, tables: Mapping[str, Table]) -> ListedDomain | TableDomain | None:
    """Return the public keys the policy declares for a column."""
    known = column_of(column, tables)
    return known.domain if known is not None else None


def values_among(expression: Expr, tables: Mapping[str, Table]) -> tuple[LiteralValue, ...] | None:
    """Return values among which every value of the expression lies, if there are few."""
    match expression:
        case Literal(value):
            return (value,)
        case Call("case", args):
            return _union([*args[1:-1:2], args[-1]], tables)
        case Call("coalesce", args):
            known = _union(list(args), tables)
            sure = not expression.facts.nullable
            return tuple(v for v in known if v is not None) if known and sure else known
        case Call(op, args) if op.startswith("trunc_") and op[6:] in TRUNCATIONS:
            return _periods(expression, op[6:])
        case ColumnRef():
            domain = domain_of(expression, tables)
            if isinstance(domain, ListedDomain):
                return None  # values outside the list are not of the list: only a key by itself
        case _:
            pass
    return _range(expression)


def _union(branches: list[Expr], tables: Mapping[str, Table]) -> tuple[LiteralValue, ...] | None:
    listed: list[LiteralValue] = []
    for branch in branches:
        values = values_among(branch, tables)
        if values is None:
            return None
        listed += values
    return tuple(listed) if len(set(listed)) <= RANGE_MAX else None


def _range(expression: Expr) -> tuple[LiteralValue, ...] | None:
    facts = expression.facts
    if facts.type is Type.BOOLEAN:
        return (False, True)
    if facts.type is Type.INTEGER and facts.grid is not None and facts.grid.denominator == 1:
        assert isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction)  # noqa: S101
        step = int(facts.grid)
        low, high = math.ceil(facts.low / step), math.floor(facts.high / step)
        most = RECURRING_MAX if _is_endless(expression) else RANGE_MAX
        return tuple(range(low * step, high * step + 1, step)) if high - low < most else None
    if facts.type is Type.DATE and isinstance(facts.low, date) and isinstance(facts.high, date):
        days = (facts.high - facts.low).days
        if days < RANGE_MAX:
            return tuple(facts.low + timedelta(days=day) for day in range(days + 1))
    return None


def _is_endless(expression: Expr) -> bool:
    """Return whether a key is computed from a date that nothing bounds on one side.

    Of such a date 9,999 years are possible and a few are there, so groups for all of them would be
    noise around nothing; months and weekdays are few whatever the year.
    """
    return any(
        isinstance(end, date) and end.year in (MINYEAR, MAXYEAR)
        for node in walk(expression)
        for end in (node.facts.low, node.facts.high)
    )


def _periods(expression: Expr, unit: str) -> tuple[LiteralValue, ...] | None:
    """Return the starts of all years, months, weeks … between the bounds of a truncated date."""
    low, high = expression.facts.low, expression.facts.high
    if not isinstance(low, date) or not isinstance(high, date) or _is_endless(expression):
        return None
    periods: list[LiteralValue] = []
    moment = truncate(low, unit)
    while moment <= high:
        periods.append(moment)
        if len(periods) > RANGE_MAX:
            return None
        following = _next(moment, unit)
        if following is None:
            break
        moment = following
    return tuple(periods)


def _next(moment: date, unit: str) -> date | None:
    """Return the start of the period after this one, or None at the end of the calendar."""
    try:
        if unit in ("hour", "minute"):
            return moment + (timedelta(hours=1) if unit == "hour" else timedelta(minutes=1))
        if unit in ("day", "week"):
            return moment + timedelta(days=1 if unit == "day" else 7)
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        total = moment.year * 12 + moment.month - 1 + months
        return moment.replace(year=total // 12, month=total % 12 + 1)
    except (OverflowError, ValueError):
        return None
