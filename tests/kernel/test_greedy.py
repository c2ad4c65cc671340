"""The loop that counts distinct values: where pieces end decides nothing; tables are gone after it."""

from __future__ import annotations

import random
from array import array
from itertools import pairwise

import duckdb
import pytest

from sanql.compile.distinct_pairs import greedy_count, taken_values
from sanql.kernel.greedy import Turns, taken_by_group
from sanql.kernel.messages import Statement
from sanql.kernel.run import result

Numbers = list[tuple[int, int, int]]


def as_turns(rows: Numbers) -> Turns:
    units, groups, pairs = (
        memoryview(array("q", (row[column] for row in rows))) for column in range(3)
    )
    return units, groups, pairs


def test_a_unit_goes_on_with_what_it_has_left_where_a_piece_ends() -> None:
    rng = random.Random(3)
    rows = [(unit, pair // 10, pair) for unit in range(40) for pair in rng.sample(range(90), k=12)]
    whole = taken_by_group([as_turns(rows)], [2])
    assert 70 < sum(whole) <= 80
    for _ in range(20):
        ends = sorted({0, len(rows), *rng.choices(range(len(rows)), k=9)})
        pieces = [as_turns(rows[start:end]) for start, end in pairwise(ends)]
        assert taken_by_group([as_turns([]), *pieces], [2]) == whole


def test_several_numbers_are_counted_at_once_as_each_is_alone() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        pairs, units = rng.choice([4, 20, 60]), rng.choice([2, 8, 30])
        rows = [
            (unit, pair % 3, pair)
            for unit in range(units)
            for pair in rng.sample(range(pairs), k=rng.randint(0, pairs))
        ]
        most = sorted(rng.sample(range(1, 25), k=rng.randint(1, 6)))
        together = list(taken_by_group([as_turns(rows)], most))
        for place, number in enumerate(most):
            alone = list(taken_by_group([as_turns(rows)], [number]))
            assert together[place :: len(most)] == alone == one_by_one(rows, number)


def one_by_one(rows: Numbers, most: int) -> list[int]:
    """Return the same from sets, unit by unit."""
    taken: dict[int, int] = {}
    for unit in dict.fromkeys(unit for unit, _, _ in rows):
        own = [(group, pair) for whose, group, pair in rows if whose == unit and pair not in taken]
        taken |= {pair: group for group, pair in own[:most]}
    groups = max((group for _, group, _ in rows), default=-1) + 1
    return [list(taken.values()).count(group) for group in range(groups)]


def test_nothing_is_counted_where_nobody_has_a_turn() -> None:
    assert list(taken_by_group([], [1])) == []


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["k0"], []])
def test_there_may_be_more_turns_groups_and_pairs_of_a_unit_than_are_read_at_once(
    keys: list[str],
) -> None:
    held = "SELECT 1 AS u, i AS k0, i AS x0 FROM range(150000) t(i) UNION ALL SELECT 2, NULL, -1"
    count = greedy_count(0, keys, "7", [140_000], [f"input AS ({held})"], ())
    sent = Statement(
        f"WITH {taken_values(0, keys)} SELECT count(*) AS groups, sum(d[1])::BIGINT AS d FROM distinct0",
        greedy=(count,),
    )
    with duckdb.connect(":memory:") as connection:
        (found,) = result(connection, sent)
        left = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert found.to_pylist() == [{"groups": 150_001 if keys else 1, "d": 140_001}]
    assert left == [(0,)]


def test_tables_are_gone_also_where_the_query_fails() -> None:
    count = greedy_count(0, [], "7", [1], ["input AS (SELECT 1 AS u, 2 AS x0)"], ())
    with duckdb.connect(":memory:") as connection:
        with pytest.raises(duckdb.Error):
            list(result(connection, Statement("SELECT error('x')", greedy=(count,))))
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
