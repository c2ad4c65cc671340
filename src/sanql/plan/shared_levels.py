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
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sanql.measurements import Measured
from sanql.plan.grouping_sets import is_public
from sanql.plan.keys import FilteringKey, OneGroup, PublicKeys
from sanql.plan.level import LevelOutline, outline_level
from sanql.plan.mechanism import pure_weights
from sanql.plan.norms import added_up_over_groups
from sanql.plan.norms_together import norms_together
from sanql.plan.other_groups import adds_up
from sanql.plan.relative_weights import weighed_by_sizes
from sanql.plan.weighted_selection import select_by_weights
from sanql.question import Query
from sanql.statistics import Importance, Measuring

GAIN_MIN = 1e-9  # of a cost: less is no gain, or two ways might be taken in turns

_SUMS = (Measured.ROWS, Measured.VALUES, Measured.SUM, Measured.UNITS)

_Homes = Mapping[int, tuple[int, ...]]

Cost = Callable[[Measuring], float]
"""What the measurements of a level add to what decides the error of all; sums of it are compared."""


@dataclass(frozen=True)
class QuestionLevel:
    """A level of one question, and how much each of its aggregates matters, and what it hides.

    One that is `alone` shares with no other.
    """

    question: int
    level: int
    outline: LevelOutline
    weight: float
    alone: bool = False
    hidden_weight: float = 1.0


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


def share(
    parts: Sequence[QuestionLevel], costs: Sequence[Cost] = ()
) -> list[tuple[SharedLevel, ...]]:
    """Return levels that measure all parts: each by its own keys, and with sums added up for each cost.

    Parts that are alike are measured as one. Whether those that are sums are added up from another level
    is tried out, the best first, until nothing makes a cost less.
    """
    search = _Search(parts)
    return [search.levels(), *(search.with_least(cost) for cost in costs)]


class _Search:
    """Which parts are measured as one level: at home with those that are alike, or added up elsewhere.

    A level that was made once to see what it costs is not made again, for whatever cost.
    """

    def __init__(self, parts: Sequence[QuestionLevel]) -> None:
        self._parts = parts
        self._own = _numbered(map(_likeness, parts))
        self._home = list(self._own)  # of each part, the part whose keys it is measured by
        self._is_sum = [_is_sum(part) for part in parts]
        self._families = _numbered(family(part.outline) for part in parts)
        names = dict[Hashable, int]()
        self._keys = [
            frozenset(names.setdefault(key, len(names)) for key in part.outline.query.keys)
            for part in parts
        ]
        self._made: dict[tuple[int, tuple[int, ...]], SharedLevel | None] = {}
        self._costs: dict[tuple[int, tuple[int, ...], Cost], float | None] = {}

    def levels(self) -> tuple[SharedLevel, ...]:
        """Return what is measured, in the order in which it was first asked for."""
        made = [self._level(home, places) for home, places in sorted(self._at_homes().items())]
        return tuple(level for level in made if level is not None)

    def with_least(self, cost: Cost) -> tuple[SharedLevel, ...]:
        """Return what is measured where all that makes the cost less is added up."""
        self._home = list(self._own)
        while True:
            homes = self._at_homes()
            moves = [
                (gain, sorted(moved), home)
                for moved in self._movable()
                for home in homes
                if home not in moved and (gain := self._gain(homes, moved, home, cost)) > GAIN_MIN
            ]
            if not moves:
                return self.levels()
            _, places, home = max(moves)
            for place in places:
                self._home[place] = home

    def _movable(self) -> set[frozenset[int]]:
        """Return what may be added up elsewhere: sums that are alike, alone or with their guests."""
        alike, guests = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for place in range(len(self._parts)):
            if self._is_sum[place]:
                alike[self._own[place]].append(place)
                guests[self._home[place]].append(place)
        return {*map(frozenset, alike.values()), *map(frozenset, guests.values())}

    def _gain(self, homes: _Homes, moved: frozenset[int], home: int, cost: Cost) -> float:
        """Return by how much less everything costs where some parts are added up from another's level."""
        left = {self._home[place] for place in moved}
        if home in left or not all(self._can_be_added_up(place, home) for place in moved):
            return 0.0
        before = [self._cost(own, homes[own], cost) for own in {home, *left}]
        after = [self._cost(home, tuple(sorted({*homes[home], *moved})), cost)]
        for own in left:
            staying = tuple(place for place in homes[own] if place not in moved)
            after += [self._cost(own, staying, cost)] if staying else []
        known = [each for each in after if each is not None]
        if len(known) < len(after):
            return 0.0
        return sum(each for each in before if each is not None) - sum(known)

    def _can_be_added_up(self, place: int, finer: int) -> bool:
        """Return whether groups of a part are made of another's, and all of it counts alike."""
        alike = self._families[place] == self._families[finer]
        return alike and self._keys[place] < self._keys[finer] and not self._parts[finer].alone

    def _at_homes(self) -> _Homes:
        """Return the parts that are measured by the keys of each part that is at home."""
        found = defaultdict[int, tuple[int, ...]](tuple)
        for place, home in enumerate(self._home):
            found[home] += (place,)
        return found

    def _cost(self, home: int, places: tuple[int, ...], cost: Cost) -> float | None:
        """Return what a level costs, or None where there is none."""
        if (home, places, cost) not in self._costs:
            level = self._level(home, places)
            known = None if level is None else cost(level.outline.measuring)
            self._costs[home, places, cost] = known
        return self._costs[home, places, cost]

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


def _numbered(things: Iterable[Hashable]) -> list[int]:
    """Return for each thing the place of the first that is equal.

    >>> _numbered("abcab")
    [0, 1, 2, 0, 1]
    """
    first: dict[Hashable, int] = {}
    return [first.setdefault(thing, place) for place, thing in enumerate(things)]


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
    measuring = replace(
        outlined.measuring,
        unit_norms=norms_together([part.outline.measuring.unit_norms for part in parts]),
        hidden_weight=sum(part.hidden_weight for part in parts),
    )
    outlined = replace(outlined, measuring=weighed_by_sizes(measuring))
    by_weights = carrier.by_weights and _by_weights(
        carrier, carrier.by_weights, outlined.measuring, importance.selection
    )
    if any(cells_each(part, carrier) > 1 for part in parts):
        outlined = replace(outlined, measuring=added_up_over_groups(outlined.measuring))
    outlined = replace(outlined, counts_for=carrier.counts_for, by_weights=by_weights)
    return SharedLevel(outlined, parts)


def _by_weights(
    carrier: LevelOutline, known: Measuring, measuring: Measuring, importance: float
) -> Measuring | None:
    """Return measurements with keys selected by weights of as many groups as the carrier weighs."""
    made = select_by_weights(
        measuring, carrier.table, carrier.limits, carrier.neighbours, importance
    )
    if made is None or made.selection is None or known.selection is None:
        return made
    weighed, parts = known.measurements[known.selection], list(made.measurements)
    parts[made.selection] = replace(weighed, weight=parts[made.selection].weight)
    return replace(made, measurements=tuple(parts))


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


def likeness(level: LevelOutline) -> Hashable:
    """Return which rows of a unit count in a level, and by which keys they are grouped."""
    query = level.query
    return (
        query.source,
        query.where,
        frozenset(query.keys),
        query.null_groups,
        level.limits,
        level.values_asked,
        level.other,
        frozenset(level.filtering_keys),
    )


def _likeness(part: QuestionLevel) -> Hashable:
    """Return what parts have in common that are measured as one level."""
    level = part.outline
    alone = part.alone or level.counts_for is not None or bool(level.measuring.counted_apart)
    own = (part.question, part.level) if alone else None
    return likeness(level), level.by_weights is not None, own


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
