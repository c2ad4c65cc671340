"""One grouping set of a question: whose rows count, which groups there are, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from sanql.account import Charge
from sanql.computed_once import computed_once
from sanql.itself import Itself
from sanql.measurements import (
    ContributionLimits,
    Measured,
    Measurement,
    Sensitivity,
    SensitivitySetting,
    sides,
)
from sanql.mechanisms import Noise
from sanql.numbers import show_upper
from sanql.plan.chosen_keys import check_nulls
from sanql.plan.keys import (
    FilteringKey,
    Keys,
    OneGroup,
    PrivateKeys,
    PublicKeys,
    keys_of,
    listed_values,
)
from sanql.plan.kinds import check_kinds_covered, poured
from sanql.plan.limits import limits_of
from sanql.plan.mechanism import Priced
from sanql.plan.norms import bounds_by_norm, unit_norms_of
from sanql.plan.other_groups import check_other_groups, with_other_groups
from sanql.plan.reading import reading
from sanql.plan.weighted_selection import select_by_weights
from sanql.policy import ColumnUnit, Neighbours, RowUnit, Table
from sanql.question import Aggregate, From, Query, Scan
from sanql.statistics import Estimate, Importance, Measuring, PlannedNoise, plan_measurements


@dataclass(frozen=True)
class CountsApart:
    """What a level that is not shown counts rows for: which level, and which of its values there."""

    level: int
    place: int


@dataclass(frozen=True)
class LevelOutline:
    """Everything about one grouping set of an answer that does not depend on epsilon."""

    query: Query
    table: Table  # what the question reads, seen as one table
    tables: Mapping[str, Table]
    neighbours: Neighbours
    keys: Keys
    limits: ContributionLimits
    measuring: Measuring
    other: bool = False  # one row more holds what the groups that do not appear have together
    filtering_keys: tuple[FilteringKey, ...] = ()  # of other levels: a row must have their values
    counts_for: CountsApart | None = None  # a level that is not shown serves one that is
    by_weights: Measuring | None = None  # another way to measure, where unknown keys are selected
    values_asked: int | None = None  # distinct values of one unit, where the question says how many

    @property
    def selects_keys(self) -> bool:
        """Whether unknown keys must be selected privately, which needs a delta."""
        return self.measuring.selection is not None and not self.free

    @computed_once
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit."""
        return all(measurement.sensitivity.zero for measurement in self.measuring.measurements)

    @computed_once
    def reads_no_rows(self) -> bool:
        """Whether all numbers are 0 whatever the private rows are, so that none need be read.

        It costs nothing, so it must not read them: how long that takes can depend on them, and nobody
        would have paid. What else is free counts or adds up a constant over all rows of a table under
        change-one, however many; that reads nothing of them but their number.
        """
        return not self.table.public and all(
            measurement.always_zero for measurement in self.measuring.measurements
        )


@dataclass(frozen=True)
class Level:
    """One grouping set of an answer: what is measured under which limits, and with which noise."""

    outline: LevelOutline
    priced: Priced

    @computed_once
    def query(self) -> Query:
        """The question that this level answers."""
        return self.outline.query

    @computed_once
    def measurements(self) -> tuple[Measurement, ...]:
        """What is measured for every group."""
        return self.outline.measuring.measurements

    @computed_once
    def computed(self) -> tuple[Measurement, ...]:
        """What the engine computes for every group, in the same places: of pairs their two sides."""
        return sides(self.measurements)

    @computed_once
    def estimates(self) -> tuple[Estimate, ...]:
        """How each aggregate is computed from noisy measurements."""
        return self.outline.measuring.estimates

    @computed_once
    def noises(self) -> tuple[Noise, ...]:
        """The noise of each measurement."""
        return self.priced.noises

    @computed_once
    def selection(self) -> Measurement | None:
        """What decides which unknown keys appear, where any are selected."""
        index = self.outline.measuring.selection
        return None if index is None else self.measurements[index]

    @property
    def threshold_in_words(self) -> str:
        """What a key must reach to appear."""
        threshold = self.priced.threshold
        if self.selection is None or self.selection.kind is not Measured.KEY_WEIGHTS:
            return f"its noisy count of units reaches {threshold}"
        reached = float((threshold or 0) * self.selection.grid)
        return (
            f"the noisy sum of the weights of its units reaches {reached:.1f}, where a unit in g groups"
            f" weighs 1/√g in each of them (of more than {self.selection.groups_max:,} so many count)"
        )

    @property
    def fewest_units_in_words(self) -> str | None:
        """How many units the owner has a key need, and how often one of fewer appears all the same."""
        fewest, index = self.outline.measuring.fewest_units, self.outline.measuring.selection
        threshold = self.priced.threshold
        if fewest == 1 or index is None or threshold is None or self.outline.free:
            return None
        most = (fewest - 1) * self.measurements[index].size  # that fewer units count
        chance = self.noises[index].tail_upper(threshold - most)
        often = f"with a chance of at most {show_upper(chance)}" if chance else "surely never"
        return f"one of fewer than {fewest:,} units appears {often} (units_per_selected_group_min)"

    @computed_once
    def planned_noise(self) -> PlannedNoise:
        """The noise of each measurement, as estimates look at it."""
        return PlannedNoise(self.outline.measuring, self.noises, self.priced.threshold)

    @computed_once
    def charge(self) -> Charge:
        """What this level costs of the whole answer, by its own events."""
        return self.priced.charge


def outline_level(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups_asked: int | None = None,
    other: bool = False,
    filtering_keys: tuple[FilteringKey, ...] = (),
    rows_asked: int | None = None,
    importance: Importance | None = None,
    values_asked: int | None = None,
) -> LevelOutline:
    """Return what must be measured for one grouping set, with sensitivities.

    A row that lacks a public value of a key of `filtering_keys` is left out, as by a condition in WHERE.
    """
    assert not query.sets  # noqa: S101  (grouping_sets.py makes one question of each set)
    table = _reading(query.source, Itself(tables))
    check_nulls(query.where)
    source = None if table.public else query.source
    keys = keys_of(query.keys, tables, source, query.where, query.null_groups)
    if table.second is not None:
        check_kinds_covered(query, table, other=other)
    limits = limits_of(table, keys, groups_asked, rows_asked)
    setting = SensitivitySetting(
        neighbours=neighbours,
        limits=limits,
        one_group=isinstance(keys, OneGroup),
        always_present=neighbours == "change-one"
        and isinstance(table.unit, RowUnit)
        and isinstance(query.source, Scan)
        and query.where is None
        and not filtering_keys
        and isinstance(keys, OneGroup | PrivateKeys),
        merged=other,
        values_asked=values_asked,
    )
    groups = keys.count if isinstance(keys, PublicKeys) else 1 if setting.one_group else None
    measuring = _measuring(
        query.aggregates,
        Itself(table),
        Itself(tables),
        setting,
        isinstance(keys, PrivateKeys),
        groups,
        groups_asked,
        importance,
    )
    outlined = LevelOutline(
        query,
        table,
        tables,
        neighbours,
        keys,
        limits,
        measuring,
        other,
        filtering_keys,
        values_asked=values_asked,
    )
    if other:
        check_other_groups(outlined.selects_keys)
        return replace(outlined, measuring=with_other_groups(measuring, setting))
    if groups_asked is not None or outlined.free:
        return outlined  # whoever states how many groups count has them counted in full
    return replace(outlined, by_weights=select_by_weights(measuring, table, limits, neighbours))


@lru_cache(maxsize=256)
def _reading(source: From, tables: Itself[Mapping[str, Table]]) -> Table:
    return reading(source, tables.thing)


@lru_cache(maxsize=256)  # whatever their conditions are, questions measure the same few things
def _measuring(
    aggregates: tuple[Aggregate, ...],
    of: Itself[Table],
    among: Itself[Mapping[str, Table]],
    setting: SensitivitySetting,
    select_keys: bool,
    groups: int | None,
    groups_asked: int | None,
    importance: Importance | None,
) -> Measuring:
    """Return what is measured for aggregates, as far as sensitivities do not depend on epsilon."""
    table, tables = of.thing, among.thing
    listed = partial(listed_values, tables=tables)
    measuring = plan_measurements(
        aggregates, table, tables, setting, select_keys, groups, listed, importance
    )
    measuring = replace(measuring, fewest_units=table.units_per_selected_group_min)
    if table.public:
        measuring = _insensitive(measuring)
    if table.second is not None:
        return poured(measuring, aggregates, table, table.second)
    if isinstance(table.unit, ColumnUnit) and bounds_by_norm(setting):
        measuring = replace(measuring, unit_norms=unit_norms_of(setting, groups_asked or groups))
    return measuring


def _insensitive(measuring: Measuring) -> Measuring:
    zero = Sensitivity(0, 0, 0)
    measurements = tuple(
        replace(measurement, sensitivity=zero) for measurement in measuring.measurements
    )
    return replace(measuring, measurements=measurements)
