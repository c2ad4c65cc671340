"""Statistics of dates as statistics of days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse import QUANTILES
from sanql.policy import Table
from sanql.teach.nearest.refused_parts import refused_parts, tables_read

SOME_DAY = "2020-01-01"
# a statistic of these that is itself a date; a spread is a number of days
DATED: tuple[type[exp.Expression], ...] = (
    exp.Min,
    exp.Max,
    *QUANTILES,
    exp.Median,
    exp.Quantile,
    exp.Avg,
)
SPREADS: tuple[type[exp.Expression], ...] = (
    exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevSamp, exp.StddevPop,
)  # fmt: skip


def fitting_values(
    select: exp.Select, refused: Refused, tables: Mapping[str, Table]
) -> Iterator[exp.Expr]:
    """Yield statistics of dates as those of days since a day; then as how many values there are."""
    for node in refused_parts(select, refused, exp.AggFunc)[:1]:
        value = node.this
        if not isinstance(value, exp.Expr):
            return
        asked = select.copy()
        days = _first_days(asked, tables)
        for statistic in list(asked.find_all(*DATED, *SPREADS)):
            if isinstance(statistic.this, exp.Column) and statistic.this.name.lower() in days:
                statistic.replace(_in_days(statistic, days[statistic.this.name.lower()]))
        yield asked
        counted = exp.Distinct(expressions=[value.copy()])
        node.replace(
            exp.Count(this=counted if isinstance(node, exp.Min | exp.Max) else value.copy())
        )
        yield select


def _first_days(select: exp.Select, tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the columns with dates, each with its first day, or some day."""
    first_days = {}
    for read in tables_read(select, tables):
        for name in read.columns:
            column = read.table.columns.get(name)
            if column is not None and column.type in ("date", "timestamp"):
                low = column.bounds[0] if column.bounds is not None else SOME_DAY
                first_days[name.lower()] = str(low)[: len(SOME_DAY)]
    return first_days


def _in_days(statistic: exp.Expression, first: str) -> exp.Expression:
    """Return a statistic of dates as one of days since the first, added to it where it is a date."""
    day = exp.cast(exp.Literal.string(first), "DATE", dialect="duckdb")
    asked = statistic.copy()
    asked.set(
        "this",
        exp.DateDiff(this=statistic.this.copy(), expression=day.copy(), unit=exp.var("day")),
    )
    if not isinstance(statistic, DATED):
        return asked
    return exp.Add(this=day, expression=exp.cast(asked, "BIGINT", dialect="duckdb"))
