"""COUNT(DISTINCT x) as turns: each unit's different (group, value) pairs, in the order it may take them.

    held    each unit's pairs, once each
    pairs   all pairs once, with a number `p` for each and `g` for its group
    turns   the place of a unit, and the numbers of a pair that it holds, in the order of turns

Units are ordered by a hash under the answer's secret, those of equal hash by themselves; the pairs of a
unit by a hash of unit and pair, those of equal hash by themselves. So the order of two units, and of two
pairs of a unit, hangs on nothing else in the data, and there is one order only, whatever the engine does.
The kernel goes through the turns (`kernel/greedy.py`); docs/distinct_values.md has the proof.

Numbers stand for pairs and groups, and not hashes: two groups of one hash would both be given what one
unit adds, and two units of one hash would take turns as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanql.compile.keyed_hash import keyed_hash
from sanql.kernel import GreedyCount


def greedy_count(
    index: int,
    keys: Sequence[str],
    secret: str,
    most: Sequence[int],
    before: Sequence[str],
    parameters: Sequence[object],
) -> GreedyCount:
    """Return how a measurement's values are counted, over the relation `input` that ends `before`.

    It is done for each number of `most`, which ascend, of the pairs that one unit may take.
    """
    name = f"distinct{index}"
    held, pairs = f"temp.main.{name}_held", f"temp.main.{name}_pairs"
    pair = [*keys, "x"]
    order = ", ".join(pair)
    group = f"system.main.dense_rank() OVER (ORDER BY {', '.join(keys)}) - 1" if keys else "0"
    same = " AND ".join(f"held.{part} IS NOT DISTINCT FROM pairs.{part}" for part in pair)
    unit_hash = keyed_hash(secret, "u")
    pair_hash = keyed_hash(secret, "held.u", *(f"held.{part}" for part in pair))
    return GreedyCount(
        name,
        held=f"WITH {', '.join(before)} "
        f"SELECT DISTINCT {', '.join(['u', *keys])}, x{index} AS x FROM input "
        f"WHERE x{index} IS NOT NULL",
        pairs=f"SELECT {order}, ({group})::BIGINT AS g, "
        f"system.main.row_number() OVER (ORDER BY {order}) - 1 AS p "
        f"FROM (SELECT DISTINCT {order} FROM {held})",
        turns="WITH units AS (SELECT u, system.main.row_number() OVER (ORDER BY h, u) AS place "
        f"FROM (SELECT u, {unit_hash} AS h FROM (SELECT DISTINCT u FROM {held}))) "
        f"SELECT units.place, pairs.g, pairs.p FROM {held} AS held "
        f"JOIN units ON held.u = units.u JOIN {pairs} AS pairs ON {same} "
        f"ORDER BY units.place, {pair_hash}, pairs.p",
        most=tuple(most),
        parameters=tuple(parameters),
    )


def taken_values(index: int, keys: Sequence[str]) -> str:
    """Return how many values are taken in each group, as a relation of the statement that follows.

    They are a list `d`: a number for each of those that one unit may take.
    """
    name = f"distinct{index}"
    taken = f"temp.main.{name}_taken"
    if not keys:
        return f"{name} AS (SELECT d FROM {taken})"
    shown = "".join(f"groups.{key}, " for key in keys)
    return (
        f"{name} AS (SELECT {shown}taken.d FROM {taken} AS taken JOIN "
        f"(SELECT DISTINCT {', '.join(keys)}, g FROM temp.main.{name}_pairs) AS groups "
        "ON groups.g = taken.g)"
    )


def taken_in_all(index: int, numbers: int) -> str:
    """Return how many values are taken in all groups together, as a relation of one row and a list `q`.

    Groups that have no cell are in it: whether a group has one may hang on a unit that has taken nothing
    there, and then all that others have taken there would come and go with it.
    """
    name = f"distinct{index}"
    sums = (f"coalesce(system.main.sum(d[{place}]), 0)::BIGINT" for place in range(1, numbers + 1))
    return f"{name}_in_all AS (SELECT [{', '.join(sums)}] AS q FROM temp.main.{name}_taken)"
