"""COUNT(DISTINCT x): how many different values there are, found greedily (docs/distinct_values.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sanql.errors import Refused
from sanql.measurements import SensitivitySetting, value_choices
from sanql.question import Aggregate, Expr, Type
from sanql.statistics.collector import Collector
from sanql.statistics.count import COUNTED, CountOf
from sanql.statistics.statistic import Estimate, Statistic, Written

CHOSEN_ABOVE = 2
"""How many values of one unit may count without a choice: the noise of so few is worth no share of it."""


class CountDistinct(Statistic):
    """COUNT(DISTINCT x): a noisy number of values, to which one unit adds a few that others have not."""

    name = "count distinct"
    spellings = ("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT")
    written = "`COUNT(DISTINCT x)`, `APPROX_COUNT_DISTINCT(x)`"
    found = (
        "a noisy count; each unit adds a few values that no other has added, as many as "
        "`max_values_contributed` says, or as are chosen privately (distinct_values.md)"
    )
    by_value = True
    needs_bounds = False

    def ask(self, written: Written) -> Aggregate:
        return distinct_of(written.argument, written.text)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        rows = collector.setting.limits.rows
        choices = values_per_unit(collector.setting)
        # there are fewer values than rows by as much as a unit adds fewer, so that an error matters more:
        # next to a count of rows, a count of values has the same share of epsilon
        place = collector.distinct(aggregate.value, choices, (rows / choices[-1]) ** 2)
        return DistinctOf(place, choices, rows)


def distinct_of(argument: Expr, text: str) -> Aggregate:
    """Return a count of the different values of an expression."""
    if argument.facts.type is Type.REAL and argument.facts.grid is None:
        raise Refused(
            "distinct_real",
            f"{text} counts values with no fixed precision",
            "round them first: COUNT(DISTINCT ROUND(x, 2))",
        )
    return Aggregate(CountDistinct.name, (argument,), COUNTED, text)


def values_per_unit(setting: SensitivitySetting) -> tuple[int, ...]:
    """Return how many values of one unit may count, by what is public alone: never more than its rows do.

    That is what the question says. Where it says nothing, it is chosen privately from several numbers:
    one is right where many units share few values, and all rows of a unit where no two share any.
    """
    rows = setting.limits.rows
    if setting.values_asked is not None:
        return (min(rows, setting.values_asked),)
    return (rows,) if rows <= CHOSEN_ABOVE else value_choices(rows)


@dataclass(frozen=True)
class DistinctOf(CountOf):
    """A noisy count of distinct values, of which it may miss some.

    Of several `choices` of how many values of a unit count, one will be `chosen`.
    """

    choices: tuple[int, ...]
    rows: int  # of one unit that count
    chosen: int | None = None

    def with_chosen(self, chosen: int) -> DistinctOf:
        """Return the count as it is once the choice has been made."""
        return replace(self, chosen=chosen)

    def caveat(self) -> str:
        if len(self.choices) > 1 and self.chosen is None:
            return (
                f"finds no more values for each unit than is chosen privately, from 1 to {self.rows:,}: "
                "what is beyond that is missed, and noise is in proportion to it"
            )
        most = self.chosen or self.choices[0]
        if most >= self.rows:
            return ""
        found = "one value" if most == 1 else f"{most:,} values"
        if self.chosen is not None:
            return (
                f"finds at most {found} for each unit, a number that was chosen privately: values "
                "beyond it are missed, which intervals do not tell"
            )
        return (
            f"finds at most {found} for each unit: it is too low where there are nearly as many, or "
            "more; then ask with a larger max_values_contributed"
        )
