"""From the aggregates of a question to its measurements, and to an estimate for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanql.errors import Refused
from sanql.measurements import Measured, SensitivitySetting
from sanql.policy import Table
from sanql.question import Aggregate, Expr
from sanql.statistics.collector import Collector, Listed, Measuring, can_be_null, unlisted
from sanql.statistics.listed import statistic_of
from sanql.statistics.statistic import Estimate


@dataclass(frozen=True)
class Importance:
    """How much each aggregate of a level matters, and the count that selects its keys.

    By itself everything matters as much as all else; questions asked together are weighed.
    """

    aggregates: tuple[float, ...]
    selection: float


def plan_measurements(
    aggregates: tuple[Aggregate, ...],
    table: Table,
    tables: Mapping[str, Table],
    setting: SensitivitySetting,
    select_keys: bool,
    groups: int | None = None,
    listed: Listed = unlisted,
    importance: Importance | None = None,
) -> Measuring:
    """Return the measurements a question needs, each once; `groups` is how many there are, if known."""
    counted = _counted(aggregates)
    collector = Collector(aggregates, counted, table, tables, setting, groups, listed)
    estimates = []
    for place, aggregate in enumerate(aggregates):
        collector.importance = 1.0 if importance is None else importance.aggregates[place]
        estimates.append(_named(aggregate, collector))
    collector.importance = 1.0 if importance is None else importance.selection
    selection = collector.count(Measured.UNITS, None, 1.0) if select_keys else None
    apart = collector.counted_apart
    return Measuring(
        collector.found, tuple(estimates), selection, apart, limits=setting.limits, setting=setting
    )


def _counted(aggregates: tuple[Aggregate, ...]) -> frozenset[Expr | None]:
    return frozenset(
        aggregate.argument if can_be_null(aggregate.argument) else None
        for aggregate in aggregates
        if statistic_of(aggregate).counts_rows
    )


def _named(aggregate: Aggregate, collector: Collector) -> Estimate:
    try:
        return statistic_of(aggregate).measure(aggregate, collector)
    except Refused as refused:
        raise refused.about(aggregate.text) from None
