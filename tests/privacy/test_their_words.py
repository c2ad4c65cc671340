"""Words of other systems, through the whole pipeline: BigQuery's bounds and Snowflake's ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privacy.replay import check
from privacy.worlds import (
    UNITS,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.policy import load
from sanql.policy.model import Neighbours
from sanql.san import San
from support.cells import priced
from support.policies import dataset
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.slow

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=1000000, delta="0.1", accounting="renyi")
    + """\
[table.sales]
privacy_unit = "customer"
rows_per_unit_max = 10
[table.sales.column]
day = { type = "integer", bounds = [1, 2] }
price = { type = "integer", bounds = [-100, 100] }
loose = { type = "integer" }
city = { type = "text" }
[table.rows]
privacy_unit = "row"
[table.rows.column]
price = { type = "integer", bounds = [-100, 100] }
"""
)
# customer, day, price; customer 1 has 3 + 4 = 7 on day 1, and 90 + 90 = 180 on day 2
SALES = [(1, 1, 3), (1, 1, 4), (1, 2, 90), (1, 2, 90), (2, 1, -50), (2, 2, 20), (3, 2, None)]


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE sales (customer BIGINT, day BIGINT, price BIGINT, loose BIGINT, city VARCHAR)"
        )
        connection.executemany(
            "INSERT INTO sales VALUES (?, ?, ?, ?, 'Rome')",
            [(customer, day, price, price) for customer, day, price in SALES],
        )
        connection.execute("CREATE TABLE rows AS SELECT price FROM sales")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def rows(san: San, sql: str) -> list[tuple[Any, ...]]:
    return san.query(sql, epsilon=1000, delta="1e-3").rows


PER_GROUP = [
    # 7 and -50 held within [-10, 50] are 7 and -10; 180 and 20 are 50 and 20
    ("SUM(price, contribution_bounds_per_group => (-10, 50))", [(1, -3), (2, 70)]),
    # prices held within [-40, 60] first: 7 and -40; 120 and 20, of which 120 is held at 100
    (
        "SUM(price, contribution_bounds_per_row => (-40, 60), "
        "contribution_bounds_per_group => (-100, 100))",
        [(1, -33), (2, 120)],
    ),
    # the third customer's NULL adds nothing, and a count is held too
    ("COUNT(*, contribution_bounds_per_group => (0, 1))", [(1, 2), (2, 3)]),
    ("COUNT(price, contribution_bounds_per_group => (0, 1))", [(1, 2), (2, 2)]),
    ("SUM(price, contribution_bounds_per_group => (0, 50)) FILTER (WHERE price > 3)", [(1, 4), (2, 70)]),
    # ZetaSQL's words for the same
    ("ANON_SUM(price CLAMPED BETWEEN -10 AND 50)", [(1, -3), (2, 70)]),
    ("COUNT(* CLAMPED BETWEEN 0 AND 1)", [(1, 2), (2, 3)]),
    ("SUM(price CLAMPED BETWEEN 0 AND 50) FILTER (WHERE price > 3)", [(1, 4), (2, 70)]),
    # averages of units' averages: 3.5 and -50, held; 90 and 20; a unit of NULLs has none
    ("AVG(price, contribution_bounds_per_group => (0, 5))", [(1, 1.75), (2, 5)]),
    ("ANON_AVG(price CLAMPED BETWEEN 0 AND 5)", [(1, 1.75), (2, 5)]),
    # ends that leave out 0 hold units that have rows, and nobody else
    ("SUM(price, contribution_bounds_per_group => (10, 50))", [(1, 20), (2, 70)]),
    ("SUM(price CLAMPED BETWEEN -9 AND -2)", [(1, -11), (2, -4)]),
    # far ends hold nothing
    ("SUM(price, contribution_bounds_per_group => (-1e200, 1e200))", [(1, -43), (2, 200)]),
    # values with no bounds of their own get them here; NULL stays NULL
    ("AVG(loose, contribution_bounds_per_row => (0, 30))", [(1, 7 / 3), (2, 80 / 3)]),
    ("ANON_SUM(price)", [(1, -43), (2, 200)]),
    ("ANON_COUNT(*)", [(1, 3), (2, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("statistic", "expected"), PER_GROUP)
def test_bounds_hold_what_they_name(
    san: San, statistic: str, expected: list[tuple[int, float]]
) -> None:
    found = rows(san, f"SELECT day, {statistic} FROM sales GROUP BY day")
    assert found == [(day, pytest.approx(value, abs=1e-4)) for day, value in expected]


def test_a_row_that_is_its_own_unit_is_held_by_itself(san: San) -> None:
    sql = "SELECT SUM(price, contribution_bounds_per_group => (-10, 50)) FROM rows"
    assert rows(san, sql) == [(3 + 4 + 50 + 50 - 10 + 20,)]


def test_tighter_bounds_cost_less_noise(san: San) -> None:
    def noise(statistic: str) -> float:
        (found,) = san.query(f"SELECT {statistic} AS s FROM sales", epsilon=1).noise.values()
        return found

    held = noise("SUM(price, contribution_bounds_per_group => (0, 20))")
    assert held < noise("SUM(price)") / 40  # 10 rows of 100 against 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of([5, 6, 7], 1))
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_neighbours_differ_by_no_more_than_the_bounds_allow(
    tmp_path: Path, neighbours: Neighbours, seed: int
) -> None:
    rng = random.Random(seed)
    attained = 0
    for _ in range(6):
        limits = {table: draw_bounding(rng) for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(tmp_path, neighbours, limits)
        ours, theirs = Database(), Database()
        for table in UNITS:
            units = draw_units(rng, table)
            ours.load(table, [row for unit in units for row in unit])
            other = neighbour_of(rng, table, units, neighbours)
            theirs.load(table, [row for unit in other for row in unit])
            low, high = -rng.randint(0, 9), rng.randint(0, 60)
            ends = f"contribution_bounds_per_group => ({low}, {high})"
            for sql in (
                f"SELECT SUM(age, {ends}), SUM(swing CLAMPED BETWEEN {low} AND {high}), "
                f"COUNT(*, {ends}) FROM {table}",
                f"SELECT sex, SUM(income, {ends}), COUNT(level, {ends}) FROM {table} GROUP BY sex",
                f"SELECT city, SUM(raw, contribution_bounds_per_row => (-3, 8), {ends}) FROM {table} "
                "GROUP BY city",
            ):
                planned = priced(sql, policy.tables, policy.neighbours).levels[0]
                sent = compile_plan(planned, source_of(policy), rng.getrandbits(63))
                attained += sum(check(planned, ours.cells(sent), theirs.cells(sent)))
    assert attained > 10  # the declared bounds are reached, so they are not merely large


REFUSED = [
    ("AVG(price, contribution_bounds_per_group => (0, 5)), SUM(price)", "contribution_unsupported"),
    ("VAR_POP(price, contribution_bounds_per_group => (0, 5))", "contribution_unsupported"),
    ("COUNT(*, contribution_bounds_per_row => (0, 5))", "contribution_unsupported"),
    ("AVG(price, contribution_bounds_per_group => (5, 0))", "contribution_invalid"),
    ("SUM(price, contribution_bounds_per_row => (5, 1))", "contribution_invalid"),
    ("SUM(price, contribution_bounds_per_row => (day, 9))", "contribution_invalid"),
    ("SUM(price, contribution_bounds_per_row => 3)", "contribution_invalid"),
    ("SUM(price, contribution_bounds => (1, 3))", "argument_unknown"),
    ("ABS(price, contribution_bounds_per_row => (1, 3))", "arguments_wrong"),
    (
        "SUM(price, contribution_bounds_per_row => (1, 3), contribution_bounds_per_row => (1, 3))",
        "argument_twice",
    ),
    ("SUM(loose, contribution_bounds_per_group => (0, 3))", "bounds_missing"),
    ("ANON_COUNT(* CLAMPED BETWEEN 1 AND 5)", "contribution_invalid"),
    ("SUM(price CLAMPED BETWEEN 0 AND day)", "contribution_invalid"),
    ("SUM(price CLAMPED BETWEEN 0)", "not_sql"),
    ("ROUND(SUM(price) CLAMPED BETWEEN 0 AND 5)", "construct_unsupported"),
]


@pytest.mark.parametrize(("statistic", "code"), REFUSED)
def test_bounds_that_mean_nothing_are_refused(san: San, statistic: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        san.explain(f"SELECT {statistic} FROM sales", epsilon=1)
    assert caught.value.code == code
    assert caught.value.remedy


def test_bounds_inside_a_subquery_are_refused(san: San) -> None:
    inner = "SELECT customer, SUM(price, contribution_bounds_per_group => (0, 4)) AS s FROM sales"
    with pytest.raises(Refused) as caught:
        san.explain(f"SELECT AVG(s) FROM ({inner} GROUP BY customer) AS t", epsilon=1)
    assert "SUM" in str(caught.value)


STRATEGY = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = {strategy}) {key}, COUNT(*) "
    "FROM sales GROUP BY {key}"
)


@pytest.mark.parametrize(
    ("strategy", "key", "code"),
    [
        ("LAPLACE_THRESHOLD", "city", None),
        ("laplace_threshold", "day", None),
        ("PUBLIC_GROUPS", "day", None),
        ("PUBLIC_GROUPS", "city", "groups_private"),
        ("NONE", "day", "strategy_unknown"),
    ],
)
def test_groups_are_public_only_where_keys_are(
    san: San, strategy: str, key: str, code: str | None
) -> None:
    sql = STRATEGY.format(strategy=strategy, key=key)
    if code is None:
        assert rows(san, sql)
        return
    with pytest.raises(Refused) as caught:
        san.explain(sql, epsilon=1, delta="1e-3")
    assert caught.value.code == code


def test_the_ends_of_an_interval_are_columns(san: San) -> None:
    answer = san.query(
        "SELECT day, COUNT(*) AS n, 2 * SUM(price) AS s, dp_interval_low(N), DP_INTERVAL_HIGH(s) AS top,"
        " DP_INTERVAL_HIGH(n) - DP_INTERVAL_LOW(n) AS width FROM sales GROUP BY day",
        epsilon=2,
    )
    ends = zip(answer.intervals["n"], answer.intervals["s"], strict=True)
    expected = [(n[0], s[1], n[1] - n[0]) for n, s in ends]  # type: ignore[operator]
    assert [row[3:] for row in answer.rows] == expected
    assert set(answer.intervals) == {"n", "s"}


def test_ends_cost_nothing_and_can_be_used_after(san: San) -> None:
    plain = san.query("SELECT day, COUNT(*) AS n FROM sales GROUP BY day", epsilon=3)
    asked = "SELECT day, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM sales GROUP BY day"
    again = san.query(f"{asked} HAVING low > -1000 ORDER BY low DESC", epsilon=3)
    assert again.cached
    assert [row[2] for row in again.rows] == sorted(
        (ends[0] for ends in plain.intervals["n"]), key=lambda low: -(low or 0)
    )
    assert san.query(f"{asked} HAVING DP_INTERVAL_LOW(n) > 1000", epsilon=3).rows == []


def test_an_end_that_is_nowhere_is_null(san: San) -> None:
    sql = "SELECT COUNT(*) AS n, 1 / (COUNT(*) - 7) AS r, DP_INTERVAL_HIGH(r) FROM sales"
    assert san.query(sql, epsilon=1).rows[0][2] is None


@pytest.mark.parametrize(
    "asked",
    [
        "day, DP_INTERVAL_LOW(day)",
        "COUNT(*) AS n, DP_INTERVAL_LOW(m)",
        "DP_INTERVAL_LOW(n), COUNT(*) AS n",
        "COUNT(*) AS n, DP_INTERVAL_LOW(COUNT(*))",
        "COUNT(*) AS n, DP_INTERVAL_LOW()",
        "COUNT(*) AS n, DP_INTERVAL_LOW(n, n)",
        "COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_LOW(low)",
    ],
)
def test_an_end_of_nothing_is_refused(san: San, asked: str) -> None:
    with pytest.raises(Refused) as caught:
        san.explain(f"SELECT {asked} FROM sales GROUP BY day", epsilon=1)
    assert caught.value.code == "interval_unknown"
