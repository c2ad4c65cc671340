"""The list of statistics: all that can be asked for, and nothing that is not here."""

from __future__ import annotations

from sanql.question import Aggregate
from sanql.statistics.average import Average
from sanql.statistics.correlation import Correlation
from sanql.statistics.count import Count, CountUnits
from sanql.statistics.covariance import COVARIANCES
from sanql.statistics.distinct import CountDistinct
from sanql.statistics.entropy import ShannonEntropy
from sanql.statistics.extremes import EXTREMES
from sanql.statistics.geometric_mean import GeometricMean
from sanql.statistics.mode import Mode
from sanql.statistics.present_values import OF_DISTINCTS, OfDistinct
from sanql.statistics.quantile import QUANTILES
from sanql.statistics.statistic import Statistic
from sanql.statistics.sum import Sum
from sanql.statistics.variance import VARIANCES
from sanql.statistics.verdicts import MapFit, ShareTest

STATISTICS: tuple[Statistic, ...] = (
    Count(),
    CountUnits(),
    CountDistinct(),
    Sum(),
    Average(),
    GeometricMean(),
    *VARIANCES,
    *COVARIANCES,
    Correlation(),
    *QUANTILES,
    *EXTREMES,
    Mode(),
    ShannonEntropy(),
    *OF_DISTINCTS,
    MapFit(),
    ShareTest(),
)
BY_SPELLING = {spelling: each for each in STATISTICS for spelling in each.spellings}
"""Each statistic by the names of its function."""
_BY_NAME = {each.name: each for each in reversed(STATISTICS)}


def statistic_of(aggregate: Aggregate) -> Statistic:
    """Return what an aggregate asks for; one that is not listed is never taken for another."""
    found = _BY_NAME.get(aggregate.statistic)
    if found is None:
        raise AssertionError(f"the statistic {aggregate.statistic!r} is not one of those listed")
    return found


def of_distinct(statistic: Statistic) -> OfDistinct | None:
    """Return the same statistic of the different values, where there is one."""
    return next((each for each in OF_DISTINCTS if each.kind == _KIND.get(statistic.name)), None)


_KIND = {"sum": "sum", "average": "avg", **{each.name: each.name for each in VARIANCES}}
