"""Which of a unit's groups stay is a fair draw, and which of its values count: none more than another.

Hashes are functions, so where secrets are written down nothing is left to chance. The last test has a
fresh one: fair draws would be as far off as it allows less than once in 10⁹ runs.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import duckdb
import pytest

from sanql.compile.keyed_hash import keyed_hash
from sanql.compile.quantile_bins import bin_counts, held_values
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

UNITS = 20_000
FAR = 6.5  # standard deviations: beyond them, on both sides, lies less than 10⁻¹⁰
KEYS = {
    "text": "['new', 'paid', 'shipped', 'returned']",
    "numbers": "[0, 1, 2, 3, 4, 5, 6]::BIGINT[]",
    "dates": "[DATE '2026-01-01', DATE '2026-01-02', DATE '2026-02-01']",
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("secret", [0, 1, -(2**62)])
def test_each_key_of_a_unit_comes_first_equally_often(keys: str, secret: int) -> None:
    counts = first_of_each_unit(keys, keyed_hash(f"({secret})::BIGINT", "u", "k"))
    expected = UNITS / len(counts)
    spread = (expected * (1 - 1 / len(counts))) ** 0.5
    assert all(abs(count - expected) < FAR * spread for count in counts.values()), counts


def test_two_keys_come_first_in_different_units_under_different_secrets() -> None:
    """A fresh secret is a fresh draw: half of the units keep the same key under both."""
    firsts = [first_key("['a', 'b']", keyed_hash(f"({n})::BIGINT", "u", "k")) for n in range(4)]
    for one, other in combinations(firsts, 2):
        same = sum(one[unit] == other[unit] for unit in one)
        assert abs(same - UNITS / 2) < FAR * (UNITS / 4) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "rows", "most"), [(7, 7, 3), (20, 20, 19), (5, 9, 4), (30, 31, 1)]
)
def test_each_value_of_a_unit_counts_for_as_many_starts_as_any_other(
    values: int, rows: int, most: int
) -> None:
    """Of `rows` rows `values` have a value, each its own; over all starts each counts `most` times."""
    times = dict.fromkeys(range(values), 0)
    for start in range(rows):
        counted = counted_values(values, rows, most, start)
        assert len(counted) == (values * most + start) // rows <= most
        apart = {after - before for before, after in pairwise(counted)}
        assert apart <= {rows // most, -(-rows // most)}, "spread over all values"
        for value in counted:
            times[value] += 1
    assert set(times.values()) == {most}


def counted_values(values: int, rows: int, most: int, start: int) -> list[int]:
    """Return which values of one unit count, of which so many rows do, from a start."""
    unit = f"input AS (SELECT 1 AS u, unnest(range({values})) AS x0)"
    pair = f"SELECT {rows} AS n, {most} AS m, {start} AS r, {held_values('x0')} AS b0 FROM input"
    made = ", ".join([unit, f"rounded AS ({pair})", *bin_counts(0, [], by_unit=True)])
    with duckdb.connect(":memory:") as connection:
        found = connection.execute(f"WITH {made} SELECT leaf, c FROM leaves0").fetchall()
    assert all(times == 1 for _, times in found)
    return sorted(value for value, _ in found)


def first_of_each_unit(keys: str, drawn: str) -> dict[object, int]:
    found: dict[object, int] = {}
    for key in first_key(keys, drawn).values():
        found[key] = found.get(key, 0) + 1
    return found


def first_key(keys: str, drawn: str) -> dict[int, object]:
    """Return the key of each unit with the smallest draw."""
    pairs = f"SELECT u, unnest({keys}) AS k FROM range({UNITS}) AS r(u)"
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            f"SELECT u, arg_min(k, {drawn}) FROM ({pairs}) GROUP BY u"
        ).fetchall()
    return dict(rows)


POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=100000, delta="1e-6")
    + """\
[table.orders]
privacy_unit = "customer"
rows_per_unit_max = 4
groups_per_unit_max = 1
[table.orders.column]
status = { type = "text", domain = ["new", "paid", "shipped", "returned"] }
"""
)


@pytest.mark.slow
def test_units_in_every_group_are_counted_in_each_equally_often(tmp_path: Path) -> None:
    """A unit that may be in one group is in each of its four with probability 1/4."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE orders AS SELECT u AS customer, unnest({KEYS['text']}) AS status "
            "FROM range(2000) AS r(u)"
        )
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with San(load(policy)) as san:
        counted = san.query(
            "SELECT status, COUNT(DISTINCT customer) FROM orders GROUP BY status", epsilon=1000
        )
    counts = [count for _, count in counted.rows]
    assert sum(counts) == 2000
    assert all(abs(count - 500) < FAR * (2000 * 3 / 16) ** 0.5 for count in counts), counts
