"""Units taken in parts, one after the other: the cells are those of all units at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.kernel import BUCKETS, IN_PART, unit_bucket
from sanql.kernel.ranges import bucket_ranges
from sanql.policy import Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

pytestmark = pytest.mark.slow

TABLES = """\

[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
city = { type = "text", domain = ["a", "b", "c"] }

[table.orders]
privacy_unit = "person"
rows_per_unit_max = 8
rows_per_group_max = 4
groups_per_unit_max = 2
[table.orders.column]
shop = { type = "text" }
city = { type = "text", domain = ["a", "b", "c"] }
price = { type = "decimal", bounds = [0, 50], precision = 0.01 }
"""
QUESTIONS = [
    "SELECT COUNT(*) FROM orders",
    "SELECT COUNT(*), SUM(price), AVG(price) FROM orders WHERE price > 3",
    "SELECT shop, COUNT(*), SUM(price), AVG(price) FROM orders GROUP BY shop",
    "SELECT city, COUNT(*), SUM(price) FROM orders GROUP BY city",
    "SELECT shop, COUNT(DISTINCT price), COUNT(DISTINCT person) FROM orders GROUP BY shop",
    "SELECT city, MEDIAN(price) FROM orders GROUP BY ROLLUP (city)",
    "SELECT MODE(shop), QUANTILE_CONT(price, 0.9) FROM orders",
    "SELECT p.city, SUM(o.price) FROM people p JOIN orders o ON p.id = o.person GROUP BY p.city",
    "SELECT COUNT(*) FROM people p LEFT JOIN orders o ON p.id = o.person WHERE o.price IS NULL",
    "SELECT AVG(spent) FROM (SELECT person, SUM(price) AS spent FROM orders GROUP BY person) AS t",
]
PEOPLE = (
    "SELECT i::SMALLINT AS id, chr((97 + i % 3)::INTEGER) AS city FROM range(200) AS numbers(i)"
)
ORDERS = """
    SELECT CASE WHEN i % 13 > 0 THEN (i * i) % 170 END AS person, 'shop ' || (i % 9) AS shop,
    chr((97 + i % 4)::INTEGER) AS city, (i % 600) / 10 AS price
    FROM range(3000) AS numbers(i)
"""


@pytest.fixture(scope="module", params=["in place", "copied"])
def town(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Policy, PreparedSource]:
    """Return a policy, and its prepared data: people's numbers have two widths."""
    folder = tmp_path_factory.mktemp("town")
    place = "town.duckdb" if request.param == "in place" else "town"
    with duckdb.connect(str(folder / "town.duckdb")) as made:
        made.execute(f"CREATE TABLE people AS {PEOPLE}")
        made.execute(f"CREATE TABLE orders AS {ORDERS}")
        (folder / "town").mkdir()
        for table in ("people", "orders"):
            made.execute(f"COPY {table} TO '{folder}/town/{table}.parquet'")
    (folder / "policy.toml").write_text(dataset(place) + TABLES)
    policy = load(folder / "policy.toml")
    prepared = prepare(policy, engine=open_engine("in_process"))
    assert (request.param == "copied") == bool(prepared.buckets)
    return policy, prepared


@pytest.mark.parametrize("sql", QUESTIONS)
def test_cells_of_parts_add_up_to_the_cells_of_all(
    town: tuple[Policy, PreparedSource], sql: str
) -> None:
    policy, source = town
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        whole, few, many = (
            cells_of(sql, policy, replace(source, parts=parts), pool.run) for parts in (1, 2, 17)
        )
    assert sorted(map(str, whole)) == sorted(map(str, few)) == sorted(map(str, many))
    assert any(value for row in whole for value in row.values())


@pytest.mark.parametrize("sql", QUESTIONS)
def test_cells_of_blocks_add_up_to_the_cells_of_all(
    town: tuple[Policy, PreparedSource], sql: str
) -> None:
    policy, source = town
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        whole, few, many = (
            cells_of(sql, policy, replace(source, parts=parts, blocks=blocks), pool.run)
            for parts, blocks in ((1, 1), (1, 2), (3, 8))
        )
    assert sorted(map(str, whole)) == sorted(map(str, few)) == sorted(map(str, many))


@pytest.mark.parametrize(
    ("sql", "blocks"),
    [
        (QUESTIONS[2], 5),
        ("SELECT shop, COUNT(*) FROM orders WHERE price > 3 GROUP BY shop", 5),
        (QUESTIONS[0], 1),
        (QUESTIONS[3], 1),  # of few keys, which are public
        (QUESTIONS[4], 1),  # distinct values are counted in turns
        ("SELECT shop, COUNT(*) FROM orders WHERE price IN (1, 2) GROUP BY shop", 5),
        (
            f"SELECT shop, COUNT(*) FROM orders WHERE {'price + 1 > 3 AND ' * 40} TRUE GROUP BY shop",
            1,
        ),
    ],
)
def test_unknown_keys_of_a_copy_are_found_in_blocks(
    town: tuple[Policy, PreparedSource], sql: str, blocks: int
) -> None:
    policy, source = town
    (level,) = priced(sql, policy.tables).levels
    sent = compile_plan(level, replace(source, blocks=5), SECRET)
    blocked = blocks if source.buckets else 1
    assert sent.in_full().count("input4 AS") == (blocked == 5)
    assert sent.in_full().count(" 4 of 5") == (blocked == 5)


@pytest.mark.parametrize("sql", QUESTIONS[:-1])
def test_rows_that_are_grouped_by_unit_alone_are_taken_in_as_few_parts_as_fit(
    town: tuple[Policy, PreparedSource], sql: str
) -> None:
    policy, source = town
    layout = replace(source, parts=2, parts_by_key=3)
    by_unit = sql in (QUESTIONS[0], QUESTIONS[1], QUESTIONS[8])
    for level in priced(sql, policy.tables).levels:
        quantile = any(part.by_bins for part in level.computed)
        assert compile_plan(level, layout, SECRET).parts == (2 if by_unit and not quantile else 3)


def test_parts_are_run_by_workers_too(town: tuple[Policy, PreparedSource]) -> None:
    policy, source = town
    with Pool(source, policy.engine, open_engine()) as pool:
        whole, parts = (
            cells_of(QUESTIONS[3], policy, replace(source, parts=parts), pool.run)
            for parts in (1, 5)
        )
    assert sorted(map(str, whole)) == sorted(map(str, parts))


def test_what_is_public_is_no_part(town: tuple[Policy, PreparedSource]) -> None:
    policy, source = town
    (level,) = priced(QUESTIONS[7], policy.tables).levels
    sent = compile_plan(level, replace(source, parts=3), SECRET)
    assert sent.partial is not None
    assert IN_PART not in sent.sql
    assert sent.partial.sql.count(IN_PART) == 2, "of each private table, its own units"


def test_every_bucket_is_in_one_part() -> None:
    for parts in (1, 2, 3, 7, 256):
        ranges = list(bucket_ranges(parts))
        assert [bucket for first, after in ranges for bucket in range(first, after)] == list(
            range(BUCKETS)
        )


@pytest.mark.parametrize(("memory", "parts"), [("4GB", 1), ("256MB", 3)])
def test_many_rows_are_taken_in_parts_that_fit_into_memory(
    tmp_path: Path, memory: str, parts: int
) -> None:
    assert _prepared(tmp_path, memory, 1_500_000).parts == parts


@pytest.mark.parametrize("kinds", [("SMALLINT", "HUGEINT"), ("BIGINT", "UBIGINT")])
def test_equal_units_of_different_widths_have_one_bucket(kinds: tuple[str, str]) -> None:
    texts = [unit_bucket(f"i::{kind}", kind, 99) for kind in kinds]
    with duckdb.connect() as connection:
        pairs = connection.sql(
            f"SELECT {', '.join(texts)} FROM (SELECT unnest([0, 1, 2, 77, 32767]) AS i)"
        ).fetchall()
    assert all(one == other for one, other in pairs)
    assert len(set(pairs)) == len(pairs)


def _prepared(folder: Path, memory: str, rows: int) -> PreparedSource:
    with duckdb.connect(str(folder / "town.duckdb")) as made:
        made.execute(f"CREATE TABLE people AS {PEOPLE}")
        made.execute(
            f"CREATE TABLE orders AS SELECT i AS person, 'a' AS shop, 'a' AS city, 1.5 AS price "
            f"FROM range({rows}) AS numbers(i)"
        )
    engine = f'\n[engine]\nmemory = "{memory}"\n'
    (folder / "policy.toml").write_text(dataset("town.duckdb") + engine + TABLES)
    return prepare(load(folder / "policy.toml"), engine=open_engine("in_process"))
