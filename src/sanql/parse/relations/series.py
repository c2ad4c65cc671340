"""Series in FROM, such as generate_series(1, 5), as the lists of constants that they are.

Each is rewritten on the tree as an UNNEST of a list, which is read, and refused, like one that was typed.
A series whose ends are no whole numbers or days is left, and refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import islice

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.relations.listed_rows import ROWS_MAX

SERIES = (exp.GenerateSeries, exp.GenerateDateArray, exp.Unnest)
VALUES_MAX = 4 * ROWS_MAX  # of all series of a question
DAYS = {"DAY": 1, "WEEK": 7}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
DAY_MAX = 28  # of a month that is followed by others: every month has one
DIGITS_MAX = 15


def with_series_listed(nodes: Iterable[exp.Expression]) -> None:
    """Replace series that stand in FROM, by themselves or in an UNNEST, by an UNNEST of their values."""
    left = VALUES_MAX
    for node in nodes:
        series = node.expressions[0] if isinstance(node, exp.Unnest) and node.expressions else node
        values = _values(series) if isinstance(series.parent, exp.Unnest | exp.Table) else None
        if values is None:
            continue
        listed = list(islice(values, min(ROWS_MAX, left) + 1))
        if len(listed) > min(ROWS_MAX, left):
            raise Refused(
                "listed_rows",
                f"a series in FROM has at most {ROWS_MAX} values, and all of a question {VALUES_MAX:,}",
                "take a larger step, or fewer values",
            )
        left -= len(listed)
        _put(series, exp.Array(expressions=listed))


def _put(series: exp.Expression, listed: exp.Array) -> None:
    around = series.parent
    if isinstance(around, exp.Unnest):
        series.replace(listed)
        return
    assert isinstance(around, exp.Table)  # noqa: S101  (a series has values in these two alone)
    name = "range" if series.args.get("is_end_exclusive") else "generate_series"
    alias = around.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
    made = exp.Unnest(expressions=[listed], alias=alias.copy())
    made.meta.update(around.meta)
    around.replace(made)


def _values(series: exp.Expression) -> Iterator[exp.Expression] | None:
    """Return the values of a series, one after the other; None where it is none that is understood."""
    if isinstance(series, exp.Anonymous) and str(series.this).upper() == "GENERATE_ARRAY":
        ends: list[exp.Expression | None] = [*series.expressions[:3], None]
    elif isinstance(series, exp.GenerateSeries | exp.GenerateDateArray):
        ends = [series.args.get(name) for name in ("start", "end", "step")]
    else:
        return None
    if len(ends) < 3 or len(series.expressions) > 3:
        return None
    first, last, step = ends[:3]
    exclusive = bool(series.args.get("is_end_exclusive"))
    low, high, by = _number(first), _number(last), 1 if step is None else _number(step)
    if low is not None and high is not None and by:
        beyond = high if exclusive else high + (1 if by > 0 else -1)
        return map(_as_number, range(low, beyond, by))
    begin, end, period = _day(first), _day(last), _period(step)
    if begin is None or end is None or period is None or (period[1] and begin.day > DAY_MAX):
        return None
    # as in DuckDB a series of days is one of moments
    kind = "DATE" if isinstance(series, exp.GenerateDateArray) else "TIMESTAMP"
    days = _days(begin, end, *period)
    return (_as_day(day, kind) for day in days if not (exclusive and day == end))


def _days(first: date, last: date, days: int, months: int) -> Iterator[date]:
    """Yield days from the first to the last, so many days or months apart."""
    day, number = first, 0
    while day <= last:
        yield day
        number += 1
        total = first.year * 12 + first.month - 1 + number * months
        try:
            day = first.replace(year=total // 12, month=total % 12 + 1)
            day += timedelta(days=number * days)
        except (OverflowError, ValueError):
            return


def _period(step: exp.Expression | None) -> tuple[int, int] | None:
    """Return a step in days and in months."""
    if not isinstance(step, exp.Interval) or step.args.get("unit") is None:
        return None
    unit, number = str(step.args["unit"].name).upper().removesuffix("S"), _number(step.this)
    if number is None or number < 1:
        return None
    if unit in DAYS:
        return number * DAYS[unit], 0
    return (0, number * MONTHS[unit]) if unit in MONTHS else None


def _number(node: exp.Expression | None) -> int | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None


def _day(node: exp.Expression | None) -> date | None:
    while isinstance(node, exp.Cast | exp.Date):
        node = node.this
    if not isinstance(node, exp.Literal) or not node.args.get("is_string"):
        return None
    try:
        return date.fromisoformat(str(node.this))
    except ValueError:
        return None


def _as_number(number: int) -> exp.Expression:
    made: exp.Expression = exp.Literal.number(abs(number))
    return exp.Neg(this=made) if number < 0 else made


def _as_day(day: date, kind: str) -> exp.Expression:
    return exp.cast(exp.Literal.string(day.isoformat()), kind)
