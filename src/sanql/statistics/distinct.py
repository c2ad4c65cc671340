"""COUNT(DISTINCT x): how many different values there are, found greedily (docs/distinct_values.md)."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.errors import Refused
from sanql.measurements import SensitivitySetting
from sanql.question import Aggregate, Expr, Identifier, Type
from sanql.statistics.collector import Collector
from sanql.statistics.count import COUNTED, CountOf
from sanql.statistics.statistic import Estimate, Statistic, Written

SHARED_VALUES = 1
"""How many values of one unit count where many units share each: see `values_per_unit`."""


class CountDistinct(Statistic):
    """COUNT(DISTINCT x): a noisy number of values, to which one unit adds a few that others have not."""

    name = "count distinct"
    spellings = ("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT")
    written = "`COUNT(DISTINCT x)`, `APPROX_COUNT_DISTINCT(x)`"
    found = (
        "a noisy count; each unit adds one value that no other has added, or as many as "
        "`max_values_contributed` says (distinct_values.md)"
    )
    by_value = True
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        return distinct_of(written.argument, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        rows = collector.setting.limits.rows
        values = values_per_unit(aggregate.value, collector.setting)
        # there are fewer values than rows by as much as a unit adds fewer, so that an error matters more:
        # next to a count of rows, a count of values has the same share of epsilon
        place = collector.distinct(aggregate.value, values, (rows / values) ** 2)
        return DistinctOf(place, values, may_miss=rows > values)


def distinct_of(argument: Expr, text: str) -> Aggregate:
    """Return a count of the different values of an expression."""
    if argument.facts.type is Type.REAL and argument.facts.grid is None:
        raise Refused(
            "distinct_real",
            f"{text} counts values with no fixed precision",
            "round them first: COUNT(DISTINCT ROUND(x, 2))",
        )
    return Aggregate(CountDistinct.name, (argument,), COUNTED, text)


def values_per_unit(value: Expr, setting: SensitivitySetting) -> int:
    """Return how many values of one unit count, by what is public alone.

    That is what the question says, and else a rule; never more than the rows of a unit that count. With
    l values of each of n units, of V values held by several, noise takes about l/epsilon, and a value is
    missed where all who hold it have taken l others: less than V/l units have, so a value with h holders
    is missed with a chance of about (V/(l n))^h. While there are fewer values than half the units, one
    value a unit finds nearly all of them, with the least noise there can be.

    An identifier is different: its values belong to one unit each, so that what the unit does not take
    is missed for sure, and all its rows count. A profile of the table could choose better than a rule;
    it would do so here.
    """
    rows = setting.limits.rows
    if setting.values_asked is not None:
        return min(rows, setting.values_asked)
    return rows if isinstance(value, Identifier) else min(rows, SHARED_VALUES)


@dataclass(frozen=True)
class DistinctOf(CountOf):
    """A noisy count of distinct values, of which it may miss some."""

    values: int
    may_miss: bool

    def caveat(self) -> str:
        if not self.may_miss:
            return ""
        found = "one value" if self.values == 1 else f"{self.values:,} values"
        return (
            f"finds at most {found} for each unit: it is too low where there are nearly as many, or "
            "more; then ask with a larger max_values_contributed"
        )
