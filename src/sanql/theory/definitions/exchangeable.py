"""Databases whose order means nothing: one record stands for all, and others are told by their counts.

Where permuting people changes neither the mechanism's law nor any world, the conditions of
distributional differential privacy go over into each other. Averaging a simulator over all permutations
is then no worse, since delta is convex in it, and what comes out looks at the others' records without
their order. So the linear program has an input for each multiset instead of each list: 12 for 12 bits,
not 24,576.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from sanql.theory.channels import Channel
from sanql.theory.definitions.records import Records, people, without
from sanql.theory.definitions.simulator_lp import Condition
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import Outcome

_INPUTS_LEAST = 200
"""With fewer inputs the program is solved as it is."""


def first_record_alone(channel: Channel, worlds: Sequence[World]) -> list[Condition] | None:
    """Return the conditions of record 1 with unordered inputs, or None where order may mean something."""
    count = people(channel)
    if len(channel.databases) * count < _INPUTS_LEAST or not _exchangeable(channel, worlds):
        return None
    first = records(count)[0]
    return [
        Condition(
            channel.output_of(databases),
            databases.map(lambda x: (0, _unordered(x[1:]))),
            (index, first.name, value, side),
        )
        for index, world in enumerate(worlds)
        for (value, side), databases in world.given(first.priv).items()
    ]


def for_every_record(channel: Channel, worlds: Sequence[World], simulator: Channel) -> Channel:
    """Return the simulator of every record that does the same with the others' unordered records."""
    inputs = {
        without(x, person): None
        for world in worlds
        for (x, _), _ in world.cells()
        for person in range(people(channel))
    }
    return Channel.of({each: simulator.row((0, _unordered(each[1]))) for each in inputs})


def _exchangeable(channel: Channel, worlds: Sequence[World]) -> bool:
    rows: dict[Records, object] = {}
    for world in worlds:
        masses: dict[tuple[Records, Outcome], list[object]] = {}
        for (x, z), mass in world.cells():
            assert isinstance(x, tuple)  # noqa: S101  (people() has checked)
            key = _unordered(x)
            if rows.setdefault(key, channel.masses(x)) != channel.masses(x):
                return False
            masses.setdefault((key, z), []).append(mass)
        for (key, _), found in masses.items():
            if len(set(found)) > 1 or len(found) != _orders(key):
                return False
    return True


def _unordered(group: Records) -> Records:
    return tuple(sorted(group, key=lambda record: (str(type(record)), str(record))))


def _orders(group: Records) -> int:
    """Return in how many orders the records of a multiset can stand."""
    ways = math.factorial(len(group))
    for times in Counter(group).values():
        ways //= math.factorial(times)
    return ways
