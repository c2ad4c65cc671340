"""COUNT(DISTINCT x): how many different values there are."""

from __future__ import annotations

from sanql.errors import Refused
from sanql.measurements import Measured
from sanql.question import Aggregate, Expr, Type
from sanql.statistics.collector import Collector
from sanql.statistics.count import COUNTED, CountOf
from sanql.statistics.statistic import Estimate, Statistic, Written


class CountDistinct(Statistic):
    """COUNT(DISTINCT x): a noisy number of values, to which one unit adds as many as it may have rows."""

    name = "count distinct"
    spellings = ("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT")
    written = "`COUNT(DISTINCT x)`, `APPROX_COUNT_DISTINCT(x)`"
    found = "a noisy count; of one unit at most `rows_per_unit_max` values count"
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        return distinct_of(written.argument, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return CountOf(collector.count(Measured.DISTINCT, aggregate.argument, 1.0))


def distinct_of(argument: Expr, text: str) -> Aggregate:
    """Return a count of the different values of an expression."""
    if argument.facts.type is Type.REAL and argument.facts.grid is None:
        raise Refused(
            "distinct_real",
            f"{text} counts values with no fixed precision",
            "round them first: COUNT(DISTINCT ROUND(x, 2))",
        )
    return Aggregate(CountDistinct.name, (argument,), COUNTED, text)
