"""The plan of an answer: what is measured under which limits, with which noise, at which price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sanql.account import Charge
from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.measurements import Measured
from sanql.mechanisms import Noise
from sanql.plan.average_norms import with_average_norms
from sanql.plan.digest import first_question_digest, question_digest
from sanql.plan.grouping_sets import (
    GroupingSet,
    grouping_sets,
    level_name,
    name_of_counts_apart,
    outline_counts_apart,
    outline_levels,
)
from sanql.plan.level import Level, LevelOutline
from sanql.plan.pricing import price_best
from sanql.policy import Budget, ColumnUnit, Neighbours, RowUnit, Table, ViaUnit
from sanql.question import Query
from sanql.statistics import Measuring


@dataclass(frozen=True)
class Outline:
    """Everything about an answer that does not depend on epsilon.

    There is one level for each grouping set, then one for each value that is counted apart.
    """

    query: Query
    sets: tuple[GroupingSet, ...]
    levels: tuple[LevelOutline, ...]

    @computed_once
    def table(self) -> Table:
        """What the question reads, seen as one table."""
        return self.levels[0].table

    @computed_once
    def tables(self) -> Mapping[str, Table]:
        """The tables of the policy."""
        return self.levels[0].tables

    @computed_once
    def neighbours(self) -> Neighbours:
        """What one unit more or less means."""
        return self.levels[0].neighbours

    @computed_once
    def selects_keys(self) -> bool:
        """Whether unknown keys must be selected privately at some level, which needs a delta."""
        return any(level.selects_keys for level in self.levels)

    @computed_once
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit."""
        return all(level.free for level in self.levels)


class Measurable(Protocol):
    """What is measured under one charge: the plan of one question, or of several asked together."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """What is measured, level by level."""
        ...

    @property
    def charge(self) -> Charge:
        """What all of it costs."""
        ...

    @property
    def within(self) -> Budget:
        """The epsilon and delta that it was priced for."""
        ...

    @property
    def answers(self) -> int:
        """How many questions it answers."""
        ...

    def digest(self, data: str) -> str:
        """Return its name, asked of a version of the data."""
        ...

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 gave it."""
        ...


@dataclass(frozen=True)
class Plan:
    """A bounded, priced answer that has only to be run; `charge` is what all its levels cost.

    `within` is the epsilon and delta that it was priced for; the charge may be a little less.
    """

    outline: Outline
    levels: tuple[Level, ...]
    charge: Charge
    within: Budget

    @computed_once
    def query(self) -> Query:
        """The question."""
        return self.outline.query

    @property
    def answers(self) -> int:
        """How many questions it answers."""
        return 1

    @computed_once
    def sets(self) -> tuple[GroupingSet, ...]:
        """The grouping set of each level, as places of keys."""
        return self.outline.sets

    @computed_once
    def several(self) -> bool:
        """Whether there are levels to be told apart by their names."""
        return bool(self.query.sets) or len(self.levels) > 1

    @computed_once
    def shown(self) -> tuple[int, ...]:
        """The levels as they are shown: in the order, and as often, as their sets were asked for."""
        asked = self.query.sets or self.sets
        places = {frozenset(own): place for place, own in enumerate(self.sets)}
        return tuple(places[frozenset(chosen)] for chosen in asked)

    @computed_once
    def names(self) -> tuple[str, ...]:
        """The grouping set of each level, as SQL lists it."""
        shown = [level_name(self.query, chosen) for chosen in self.sets]
        apart = [
            name_of_counts_apart(shown[level.counts_for.level], level.query.keys[-1])
            for level in self.outline.levels
            if level.counts_for is not None
        ]
        return (*shown, *apart)

    @computed_once
    def noises(self) -> tuple[Noise, ...]:
        """The noise of each measurement of each level."""
        return tuple(noise for level in self.levels for noise in level.noises)

    def digest(self, data: str) -> str:
        """Return the name of this question, asked of a version of the data (digest.py).

        Which sets are shown how often, and in what order, is not part of it.
        """
        if data not in self._digests:
            self._digests[data] = question_digest(self.levels, data)
        return self._digests[data]

    @computed_once
    def _digests(self) -> dict[str, str]:
        """The names that were needed, by version of the data: each is asked for several times."""
        return {}

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 gave this question."""
        return first_question_digest(self.levels, fingerprint)


def outline(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups_asked: int | None = None,
    other: bool = False,
    rows_asked: int | None = None,
    values_asked: int | None = None,
) -> Outline:
    """Return what must be measured to answer a question with one grouping set or several."""
    if other and query.sets:
        raise Refused(
            "other_levels",
            "other adds up the groups that do not appear, and ROLLUP, CUBE and GROUPING SETS have "
            "rows for that already",
            "leave other out, or ask for one grouping at a time",
        )
    levels = outline_levels(
        query, tables, neighbours, groups_asked, other, rows_asked, values_asked
    )
    apart = outline_counts_apart(levels, groups_asked, rows_asked)
    return Outline(query, grouping_sets(query), (*levels, *apart))


def price(outlined: Outline, epsilon: Fraction, delta: Fraction) -> Plan:
    """Return the least noisy plan within (epsilon, delta)."""
    check_delta(outlined.selects_keys, delta)
    way, priced, charge = price_best(ways_to_measure(outlined), epsilon, delta)
    measured = tuple(map(_measured_so, outlined.levels, way))
    chosen = replace(outlined, levels=measured)
    levels = tuple(map(Level, measured, priced))
    return Plan(chosen, levels, protecting(charge, [outlined]), Budget(epsilon, delta))


def protecting(charge: Charge, outlines: Sequence[Outline]) -> Charge:
    """Return the charge of questions with the kinds of unit that they can tell anything of.

    Where there is one kind, or one of the questions does not say of which kind its units are, it is a
    charge of everybody's privacy.
    """
    kinds = [outlined.table.kinds for outlined in outlines if not outlined.free]
    if not charge.events or () in kinds:
        return charge
    return replace(charge, protects=tuple(sorted({kind for own in kinds for kind in own})))


def _measured_so(level: LevelOutline, measuring: Measuring) -> LevelOutline:
    """Return a level with one way to measure it."""
    if level.measuring is measuring and level.by_weights is None:
        return level
    return replace(level, measuring=measuring, by_weights=None)


def selects_by_weights(outlined: Outline, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether a question selects unknown keys by weights where it is asked at this price."""
    ways = ways_to_measure(outlined)
    if len(ways) == 1:
        return False
    taken, _, _ = price_best(ways, epsilon, delta)
    return any(
        part.kind is Measured.KEY_WEIGHTS for measuring in taken for part in measuring.measurements
    )


def ways_to_measure(outlined: Outline) -> list[list[Measuring]]:
    """Return what is measured with unknown keys selected by numbers of units, and also by weights.

    Each with averages measured by norms of their own as well, where these are known.
    """
    ways = [[level.measuring for level in outlined.levels]]
    if any(level.by_weights is not None for level in outlined.levels):
        ways.append([level.by_weights or level.measuring for level in outlined.levels])
    if len(outlined.levels) == 1:
        found = [with_average_norms(measuring) for (measuring,) in ways]
        ways += [[measuring] for measuring in found if measuring is not None]
    return ways


def check_delta(selects_keys: bool, delta: Fraction) -> None:
    """Refuse to select keys without a delta."""
    if selects_keys and delta == 0:
        raise Refused(
            "delta_needed",
            "the groups of this question, or values whose most frequent it asks for, are not declared, "
            "so they are selected privately, which needs a delta above zero",
            "pass a delta (for example 1e-9), or let the owner declare the column's domain or bounds",
        )


def unit_in_words(table: Table) -> str:
    """Return whose presence is protected, in words."""
    match table.unit:
        case ColumnUnit(column) if table.second is not None:
            second = table.second
            other = f"one {second.kind} ({second.column})"
            return f"the whole record of one {table.kind} ({column}) or {other}"
        case _ if table.kind is not None:
            return f"the whole record of one {table.kind} ({_unit_named(table)})"
        case ColumnUnit(column):
            return f"the whole record of one {column}"
        case ViaUnit(column, referred, _):
            return f"the whole record of whoever {column} leads to in {referred}"
        case RowUnit():
            return "one row"
        case None:
            return "nobody: the table is public"


def _unit_named(table: Table) -> str:
    """Return the column of a private table that says whose a row is, or leads there."""
    match table.unit:
        case ColumnUnit(column):
            return column
        case ViaUnit(column, referred, _):
            return f"by {column} in {referred}"
        case RowUnit() | None:
            raise AssertionError(f"rows of {table.name} name nobody")
