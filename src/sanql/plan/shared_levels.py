"""Levels of several questions measured as one: what they share is measured once, sums are added up.

*Sharing.* Levels that read the same rows by the same keys under the same limits become one level with
the aggregates of all of them, so that what several of them rest on is one measurement
(statistics/collector.py), and matters as much as it does to all of them together.

*Adding up.* A level whose keys are some of another's need not be measured: its numbers are sums of the
other's. That is so where both are estimates of the same thing:

- every row that counts in the one counts in the other: the same rows are read, and left out for their
  keys;
- as much of each unit counts in both: the same number of rows, as many in one group as in all, and no
  group is lost (`keeps_all_groups`), so that a unit beyond its limits keeps as many rows in either, and
  of its values on average the same share; scaled to a norm, one that does not hang on the groups
  (`added_up_over_groups`);
- the groups are known without the data, and so is how many of the finer make one of the coarser;
- what is measured adds up (other_groups.py).

The variance of a sum of n cells is n times that of a cell. So the aggregates of a level that is added
up matter n times as much in the level that is measured, and what is least is the error of all
questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from sanql.measurements import Measured
from sanql.plan.grouping_sets import is_public
from sanql.plan.keys import FilteringKey, OneGroup, PublicKeys
from sanql.plan.level import LevelOutline, outline_level
from sanql.plan.mechanism import pure_weights
from sanql.plan.norms import added_up_over_groups
from sanql.plan.other_groups import adds_up
from sanql.plan.weighted_selection import select_by_weights
from sanql.question import Query
from sanql.statistics import Importance, Measuring

GAIN_MIN = 1e-9  # of a cost: less is no gain, or two ways might be taken in turns

_SUMS = (Measured.ROWS, Measured.VALUES, Measured.SUM, Measured.UNITS)

Cost = Callable[[Measuring], float]
"""What the measurements of a level add to what decides the error of all; sums of it are compared."""


@dataclass(frozen=True)
class QuestionLevel:
    """A level of one question, and how much each of its aggregates matters.

    One that is `alone` shares with no other.
    """

    question: int
    level: int
    outline: LevelOutline
    weight: float
    alone: bool = False


@dataclass(frozen=True)
class SharedLevel:
    """A level that is measured for several parts; its aggregates are theirs, one part after the other."""

    outline: LevelOutline
    parts: tuple[QuestionLevel, ...]


def laplace_cost(measuring: Measuring) -> float:
    """Return a level's part in the cube root of the least error with discrete Laplace noise."""
    return sum(pure_weights(measuring))


def gaussian_cost(measuring: Measuring) -> float:
    """Return a level's part in the root of the least error with discrete Gaussian noise."""
    return sum(
        math.sqrt(measurement.weight * measurement.sensitivity.l2_squared) / measurement.size
        for measurement in measuring.measurements
        if not measurement.picked
    )


def shared_alone(part: QuestionLevel) -> SharedLevel:
    """Return a part measured by itself."""
    return _shared(part.outline, (part,))


def share(parts: Sequence[QuestionLevel], cost: Cost | None = None) -> tuple[SharedLevel, ...]:
    """Return levels that measure all parts; with a cost, sums are added up wherever that makes it less.

    Parts that are alike are measured as one. Whether those that are sums are added up from another level
    is tried out, the best first, until nothing gets better.
    """
    search = _Search(parts)
    if cost is not None:
        search.improve(cost)
    return search.levels()


class _Search:
    """Which parts are measured as one level: at home with those that are alike, or added up elsewhere."""

    def __init__(self, parts: Sequence[QuestionLevel]) -> None:
        likeness = [_likeness(part) for part in parts]
        self._parts = parts
        self._own = [likeness.index(alike) for alike in likeness]  # the first that is alike
        self._home = list(self._own)  # of each part, the part whose keys it is measured by
        self._made: dict[tuple[int, tuple[int, ...]], SharedLevel | None] = {}

    def levels(self) -> tuple[SharedLevel, ...]:
        """Return what is measured, in the order in which it was first asked for."""
        made = [self._level(home, self._at(home)) for home in sorted(set(self._home))]
        return tuple(level for level in made if level is not None)

    def improve(self, cost: Cost) -> None:
        """Add up whatever makes the cost less."""
        while True:
            homes = set(self._home)
            moves = [
                (gain, sorted(moved), home)
                for moved in self._movable()
                for home in homes
                if home not in moved and (gain := self._gain(moved, home, cost)) > GAIN_MIN
            ]
            if not moves:
                return
            _, moved, home = max(moves)
            for place in moved:
                self._home[place] = home

    def _movable(self) -> set[frozenset[int]]:
        """Return what may be added up elsewhere: sums that are alike, alone or with their guests."""
        sums = [place for place, part in enumerate(self._parts) if _is_sum(part)]
        alike = {frozenset(p for p in sums if self._own[p] == own) for own in set(self._own)}
        guests = {frozenset(p for p in sums if self._home[p] == own) for own in set(self._home)}
        return {moved for moved in alike | guests if moved}

    def _gain(self, moved: frozenset[int], home: int, cost: Cost) -> float:
        """Return by how much less everything costs where some parts are added up from another's level."""
        left = {self._home[place] for place in moved}
        if home in left or not all(
            _can_be_added_up(self._parts[place], self._parts[home]) for place in moved
        ):
            return 0.0
        before = [self._level(own, self._at(own)) for own in {home, *left}]
        after = [self._level(home, tuple(sorted({*self._at(home), *moved})))]
        for own in left:
            staying = tuple(place for place in self._at(own) if place not in moved)
            after += [self._level(own, staying)] if staying else []
        if None in after:
            return 0.0
        return _cost_of(before, cost) - _cost_of(after, cost)

    def _at(self, home: int) -> tuple[int, ...]:
        return tuple(place for place, own in enumerate(self._home) if own == home)

    def _level(self, home: int, places: tuple[int, ...]) -> SharedLevel | None:
        """Return parts measured by the keys of one of them, or None where not all of it adds up."""
        if (home, places) not in self._made:
            parts = tuple(self._parts[place] for place in places)
            level = _shared(self._parts[home].outline, parts)
            sound = all(
                cells_each(part, level.outline) == 1 or _adds_up_here(level, number)
                for number, part in enumerate(parts)
            )
            self._made[home, places] = level if sound else None
        return self._made[home, places]


def _cost_of(levels: Sequence[SharedLevel | None], cost: Cost) -> float:
    return sum(cost(level.outline.measuring) for level in levels if level is not None)


def _shared(carrier: LevelOutline, parts: tuple[QuestionLevel, ...]) -> SharedLevel:
    """Return a level with the keys and limits of one that measures what all parts need."""
    aggregates = tuple(a for part in parts for a in part.outline.query.aggregates)
    importance = Importance(
        tuple(
            part.weight * cells_each(part, carrier)
            for part in parts
            for _ in part.outline.query.aggregates
        ),
        sum(part.weight for part in parts),
    )
    outlined = outline_level(
        _measured_only(replace(carrier.query, aggregates=aggregates)),
        carrier.tables,
        carrier.neighbours,
        carrier.limits.groups,
        carrier.other,
        carrier.filtering_keys,
        carrier.limits.rows,
        importance,
        carrier.values_asked,
    )
    assert outlined.limits == carrier.limits  # noqa: S101  (limits tightened to themselves stay)
    outlined = replace(
        outlined, measuring=replace(outlined.measuring, unit_norms=carrier.measuring.unit_norms)
    )
    by_weights = carrier.by_weights and select_by_weights(
        outlined.measuring, carrier.table, carrier.limits, carrier.neighbours, importance.selection
    )
    if any(cells_each(part, carrier) > 1 for part in parts):
        outlined = replace(outlined, measuring=added_up_over_groups(outlined.measuring))
    outlined = replace(outlined, counts_for=carrier.counts_for, by_weights=by_weights)
    return SharedLevel(outlined, parts)


def selected_by_weights(level: SharedLevel) -> SharedLevel:
    """Return a level whose unknown keys are selected by weights, where they can be."""
    measuring = level.outline.by_weights or level.outline.measuring
    return replace(level, outline=replace(level.outline, measuring=measuring))


def _measured_only(query: Query) -> Query:
    """Return a question without what is computed from its noisy cells."""
    return replace(
        query, outputs=(), having=None, order=(), limit=None, offset=0, distinct=False, sets=()
    )


def first_aggregate(level: SharedLevel, place: int) -> int:
    """Return where the aggregates of a part begin among those of its level."""
    return sum(len(part.outline.query.aggregates) for part in level.parts[:place])


def cells_each(part: QuestionLevel, carrier: LevelOutline) -> int:
    """Return how many groups of a level make one group of a part that is read from it."""
    return group_count(carrier) // group_count(part.outline) if _differs(part, carrier) else 1


def _differs(part: QuestionLevel, carrier: LevelOutline) -> bool:
    return frozenset(part.outline.query.keys) != frozenset(carrier.query.keys)


def group_count(level: LevelOutline) -> int:
    """Return how many groups a level has, where that is known without the data; 0 where it is not."""
    match level.keys:
        case OneGroup():
            return 1
        case PublicKeys(count=int(count)):
            return count
        case _:
            return 0


def family(level: LevelOutline) -> Hashable | None:
    """Return what levels have in common whose exact numbers add up; None of one that has no such others.

    They read the same rows, and as much of each unit counts in all of them.
    """
    if not is_public(level) or not group_count(level) or not keeps_all_groups(level):
        return None
    query = level.query
    return query.source, query.where, level.neighbours, _filters(level), level.limits.rows


def keeps_all_groups(level: LevelOutline) -> bool:
    """Return whether limits leave as many rows of a unit, and on average the same, whatever its groups.

    So they do where it may be in all groups there are, and where one row of it counts.
    """
    limits = level.limits
    if limits.rows_per_group < limits.rows:
        return False
    return limits.rows == 1 or limits.groups >= group_count(level) > 0


def _filters(level: LevelOutline) -> frozenset[FilteringKey]:
    """Return the keys for lack of whose public values rows are left out, its own included."""
    own: list[FilteringKey] = []
    if isinstance(level.keys, PublicKeys):
        pairs = zip(level.query.keys, level.keys.columns, strict=True)
        own = [FilteringKey(key, column) for key, column in pairs if column.filtered]
    return frozenset([*own, *level.filtering_keys])


def _likeness(part: QuestionLevel) -> Hashable:
    """Return what parts have in common that can be measured as one level."""
    level, query = part.outline, part.outline.query
    alone = part.alone or level.counts_for is not None or bool(level.measuring.counted_apart)
    return (
        query.source,
        query.where,
        frozenset(query.keys),
        level.limits,
        level.values_asked,
        level.by_weights is not None,
        level.other,
        frozenset(level.filtering_keys),
        (part.question, part.level) if alone else None,
    )


def _is_sum(part: QuestionLevel) -> bool:
    """Return whether all that is measured for a part may be a sum of what is measured elsewhere."""
    measuring = part.outline.measuring
    return (
        not part.alone
        and bool(part.outline.query.aggregates)
        and not measuring.counted_apart
        and all(
            m.kind in _SUMS and m.total is None and m.around is None for m in measuring.measurements
        )
        and family(part.outline) is not None
    )


def _can_be_added_up(part: QuestionLevel, finer: QuestionLevel) -> bool:
    """Return whether the groups of a part are made of those of another, and all of it counts alike."""
    keys = frozenset(part.outline.query.keys), frozenset(finer.outline.query.keys)
    return keys[0] < keys[1] and not finer.alone and family(part.outline) == family(finer.outline)


def _adds_up_here(level: SharedLevel, place: int) -> bool:
    """Return whether everything that a part's aggregates rest on in a level adds up."""
    first, measuring = first_aggregate(level, place), level.outline.measuring
    own = measuring.estimates[first : first + len(level.parts[place].outline.query.aggregates)]
    return all(
        adds_up(measuring.measurements[index], level.outline.limits)
        and measuring.measurements[index].total is None
        for estimate in own
        for index in estimate.measurements
    )
