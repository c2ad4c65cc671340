"""MIN and MAX: quantiles a few rows inside the extreme, which itself is one unit's value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sanql.question import Aggregate
from sanql.statistics.collector import Collector
from sanql.statistics.quantile import QUANTILES, Quantile, ranked
from sanql.statistics.statistic import Estimate, Statistic, Written
from sanql.statistics.values import as_number


@dataclass(frozen=True)
class Extreme(Statistic):
    """The smallest or the largest value, as the quantile that it is."""

    spellings: tuple[str, ...]
    fraction: Fraction
    written: str = ""
    found: str = ""

    name = Quantile.name

    def ask(self, written: Written) -> Aggregate:
        return ranked(written, as_number(written.argument), self.fraction, between=False)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        return QUANTILES[0].measure(aggregate, collector)


EXTREMES: tuple[Extreme, ...] = (
    Extreme(
        ("MIN",),
        Fraction(0),
        written="`MIN(x)`, `MAX(x)`",
        found="a quantile a few rows inside the extreme, which itself is one unit's value",
    ),
    Extreme(("MAX",), Fraction(1)),
)
