"""Questions that are computed from rows added up have the cells of the rows themselves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from questions.every_way import in_parts
from sanql.catalog import PreparedSource
from sanql.cli.prepare import prepare as prepare_command
from sanql.compile import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.engines.preparation import entry_name
from sanql.errors import PolicyError
from sanql.measurements import Measured
from sanql.policy import Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

SUMMARIES = (
    'summaries = { by = ["city", "shop", "age", "day", "gift", "token"], '
    'of = ["price", "age", "weight"], '
    'quantiles_of = ["price", "weight", "code"] }'
)
TABLES = """\

[table.orders]
privacy_unit = "person"
rows_per_group_max = {rows}
groups_per_unit_max = {groups}
{summaries}
[table.orders.column]
city = {{ type = "text", domain = ["a", "b", "c"] }}
shop = {{ type = "text", bytes_max = 20 }}
remark = {{ type = "text" }}
token = {{ type = "text", bytes_max = 20 }}
age = {{ type = "integer", bounds = [10, 40], nullable = false }}
day = {{ type = "date", bounds = [2020-01-05, 2020-02-10] }}
gift = {{ type = "boolean" }}
price = {{ type = "decimal", bounds = [-20, 30], precision = 0.01{total} }}
weight = {{ type = "float", bounds = [-1, 2] }}
far = {{ type = "integer", bounds = [0, 9] }}
code = {{ type = "integer", bounds = [-70000, 70000], nullable = false }}
"""
ADDED_UP = [
    "SELECT COUNT(*) FROM orders",
    "SELECT COUNT(DISTINCT person) FROM orders",
    "SELECT SUM(price), AVG(price), SUM(age), SUM(weight) FROM orders",
    "SELECT city, COUNT(*), SUM(price), AVG(weight) FROM orders GROUP BY city",
    "SELECT shop, COUNT(*), SUM(price), AVG(price) FROM orders GROUP BY shop",
    "SELECT UPPER(shop), COUNT(*) FROM orders GROUP BY UPPER(shop)",
    "SELECT age, COUNT(*), SUM(age) FROM orders GROUP BY age",
    "SELECT COUNT(*), SUM(price) FROM orders WHERE age < 25",
    "SELECT age // 10, AVG(price) FROM orders WHERE age > 12 GROUP BY age // 10",
    "SELECT day, COUNT(*) FROM orders GROUP BY day",
    "SELECT token, COUNT(*), SUM(price) FROM orders GROUP BY token",
    "SELECT EXTRACT(MONTH FROM day), COUNT(*) FROM orders GROUP BY EXTRACT(MONTH FROM day)",
    "SELECT gift, COUNT(*), COUNT(DISTINCT person) FROM orders GROUP BY gift",
    "SELECT COUNT(*) FROM orders WHERE gift IS NULL OR NOT gift",
    "SELECT COUNT(*) FROM orders WHERE shop IN ('shop 1', 'shop 3')",
    "SELECT MEDIAN(price) FROM orders",
    "SELECT MIN(weight), MEDIAN(weight), QUANTILE_CONT(weight, 0.9) FROM orders",
    "SELECT QUANTILE_CONT(price, 0.1), QUANTILE_DISC(code, 0.3), MAX(code) FROM orders",
    "SELECT MEDIAN(code), COUNT(*), AVG(price), COUNT(DISTINCT person) FROM orders",
]
FROM_ROWS = [
    "SELECT city, COUNT(*) FROM orders WHERE age < 25 GROUP BY city",
    "SELECT remark, COUNT(*) FROM orders GROUP BY remark",
    "SELECT SUM(price * 2) FROM orders",
    "SELECT SUM(far) FROM orders",
    "SELECT SUM(LEAST(price, 5)) FROM orders",
    "SELECT COUNT(price) FROM orders",
    "SELECT MEDIAN(far) FROM orders",
    "SELECT MEDIAN(price), MEDIAN(far) FROM orders",
    "SELECT MEDIAN(LEAST(price, 5)) FROM orders",
    "SELECT MEDIAN(price) FROM orders WHERE age < 25",
    "SELECT MEDIAN(price) FROM orders WHERE price < 3",
    "SELECT city, MEDIAN(price) FROM orders GROUP BY city",
    "SELECT age, MEDIAN(code) FROM orders GROUP BY age",
    "SELECT MODE(city), MEDIAN(price) FROM orders",
    "SELECT COUNT(DISTINCT shop), MEDIAN(price) FROM orders",
    "SELECT COUNT(DISTINCT shop) FROM orders",
    "SELECT VARIANCE(price) FROM orders",
    "SELECT COUNT(*) FROM orders WHERE person IN (SELECT person FROM orders WHERE age < 20)",
    "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM orders GROUP BY person) AS t WHERE n > 3",
]
LIMITS = [(2, 1, ""), (6, 3, ", total_bounds = [-170, 90]"), (50, 30, "")]


def tables(summaries: str = SUMMARIES, rows: int = 2, groups: int = 2, total: str = "") -> str:
    """Return the policy of the one table, but for what stands before."""
    return TABLES.format(summaries=summaries, rows=rows, groups=groups, total=total)


@pytest.fixture(scope="module", params=LIMITS, ids=str)
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Policy, PreparedSource]:
    """Return a policy and its copy: people have one row to some sixty, values are missing or wild."""
    folder = tmp_path_factory.mktemp("shop")
    rows, groups, total = request.param
    with duckdb.connect() as made:
        (folder / "shop").mkdir()
        made.execute("""
            CREATE TABLE orders AS SELECT CASE WHEN i % 17 > 0 THEN
            CAST(floor(sqrt((i * 7919) % 22500)) AS INTEGER) END AS person,
            chr((97 + i % 4)::INTEGER) AS city,
            CASE WHEN i % 5 > 0 THEN 'shop ' || (i % 3) || repeat('x', i % 31) END AS shop,
            'remark ' || i % 3 AS remark, 'token ' || i % 149 AS token,
            CASE WHEN i % 13 > 0 THEN i % 53 END AS age,
            DATE '2020-01-01' + (i % 50)::INTEGER AS day,
            CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END AS gift,
            CASE WHEN i % 11 > 0 THEN (i * 37 % 6000) / 100 - 10 END AS price,
            CASE i % 9 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE WHEN 2 THEN -0.0
            ELSE sin(i) * 3 END AS weight, i % 10 AS far,
            CASE WHEN i % 19 > 0 THEN (i * 104729) % 200001 - 100000 END AS code
            FROM range(2500) AS numbers(i)""")
        made.execute(f"COPY orders TO '{folder}/shop/orders.parquet'")
    text = dataset("shop") + tables(rows=rows, groups=groups, total=total)
    (folder / "policy.toml").write_text(text)
    policy = load(folder / "policy.toml")
    return policy, prepare(policy, engine=open_engine("in_process"))


@pytest.mark.slow
@pytest.mark.parametrize("sql", [*ADDED_UP, *FROM_ROWS])
@pytest.mark.parametrize(("neighbours", "delta"), [("add-remove", "1e-6"), ("change-one", None)])
def test_cells_are_those_of_the_rows(
    shop: tuple[Policy, PreparedSource], sql: str, neighbours: str, delta: str | None
) -> None:
    policy, source = shop
    asked = {} if delta is None else {"delta": delta}
    policy = replace(policy, neighbours=neighbours)
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        added_up, parts, rows, as_stored = (
            sorted(map(str, cells_of(sql, policy, layout, pool.run, **asked)))
            for layout in (
                source,
                replace(source, summaries=in_parts(source.summaries, 5), parts=5),
                replace(source, summaries={}),
                replace(source, summaries={}, row_counts={}, buckets={}, units={}),
            )
        )
    assert added_up == parts == rows == as_stored


@pytest.mark.parametrize("sql", [*ADDED_UP, *FROM_ROWS])
def test_questions_that_read_no_more_are_computed_from_rows_added_up(
    shop: tuple[Policy, PreparedSource], sql: str
) -> None:
    policy, source = shop
    (level,) = priced(sql, policy.tables).levels
    assert ("summaries" in compile_plan(level, source, SECRET).in_full()) == (sql in ADDED_UP)


def test_rows_are_added_up_for_each_unit_and_value(shop: tuple[Policy, PreparedSource]) -> None:
    _, source = shop
    with duckdb.connect(str(source.database), read_only=True) as copy:
        for summary, by in zip(
            sorted(source.summaries["orders"], key=lambda s: s.name),
            (None, "city", "shop", "age", "day", "gift", "token"),
            strict=True,
        ):
            key = f", {by}" if by else ""
            wrong = copy.execute(
                f'SELECT count(*) FROM summaries."{summary.name}" s FULL JOIN (SELECT person{key}, '
                f"count(*) AS seen, count(price) AS priced FROM orders GROUP BY ALL) r "
                f"ON s.person = r.person {f'AND s.{by} IS NOT DISTINCT FROM r.{by}' if by else ''} "
                "WHERE s.n IS DISTINCT FROM r.seen OR s.v0 IS DISTINCT FROM r.priced"
            ).fetchall()
            assert summary.column == by
            assert wrong == [(0,)]


def test_all_values_of_a_unit_are_in_order(shop: tuple[Policy, PreparedSource]) -> None:
    """A price has one of 5,001 bins; what is missing is in none, and what is beyond at an end."""
    _, source = shop
    with duckdb.connect(str(source.database), read_only=True) as copy:
        bins = "round(greatest(-20, least(30, price)) * 100)::BIGINT + 2000"
        rows = f"SELECT person, list({bins}) FILTER (price IS NOT NULL) AS held FROM orders GROUP BY ALL"
        found = copy.execute(
            f'SELECT s.b0, r.held FROM summaries."0 orders" s FULL JOIN ({rows}) r ON s.person = r.person'
        ).fetchall()
    assert len(found) > 100
    assert all(held is None if b is None else b == sorted(held) for b, held in found)
    assert len({len(b) for b, _ in found if b is not None}) > 10


def test_beside_a_value_is_in_how_many_groups_its_unit_is_and_how_long(
    shop: tuple[Policy, PreparedSource],
) -> None:
    _, source = shop
    with duckdb.connect(str(source.database), read_only=True) as copy:
        for summary in (each for each in source.summaries["orders"] if each.column):
            wrong = copy.execute(
                f'SELECT count(*), max(s.squares), max(s.groups) FROM summaries."{summary.name}" s '
                "JOIN (SELECT person, count(*) AS several, sum(seen * seen) AS long FROM "
                f"(SELECT person, count(*) AS seen FROM orders GROUP BY person, {summary.column}) "
                "GROUP BY person) r ON s.person = r.person "
                "WHERE s.groups <> r.several OR s.squares <> r.long"
            ).fetchall()
            assert wrong == [(0, None, None)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "apart"),
    [
        ("SELECT city, COUNT(*), SUM(price) FROM orders GROUP BY city", "by length"),
        ("SELECT city, COUNT(*) FROM orders WHERE city > 'a' GROUP BY city", "by length"),
        ("SELECT shop, COUNT(*), AVG(price) FROM orders GROUP BY shop", "by groups"),
        ("SELECT token, COUNT(*) FROM orders GROUP BY token", "by groups"),
        ("SELECT shop, COUNT(*) FROM orders WHERE shop > 's' GROUP BY shop", "none"),
        ("SELECT UPPER(shop), COUNT(*) FROM orders GROUP BY UPPER(shop)", "none"),
        ("SELECT COUNT(*), SUM(price) FROM orders", "none"),
    ],
)
def test_pairs_of_short_units_are_added_up_one_by_one(
    shop: tuple[Policy, PreparedSource], sql: str, apart: str
) -> None:
    policy, source = shop
    (level,) = priced(sql, policy.tables).levels
    bounded = [part for part in level.computed if part.kind is not Measured.KEY_WEIGHTS]
    by_rows = all(part.norm and not (part.norm.alone or part.norm.jointly) for part in bounded)
    sent = compile_plan(level, source, SECRET).in_full()
    assert ("all_squares <=" in sent) == (by_rows and apart != "none")
    assert ("all_groups <=" in sent) == (by_rows and apart == "by groups")
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        short, rows = (
            sorted(map(str, cells_of(sql, policy, layout, pool.run)))
            for layout in (source, replace(source, summaries={}, row_counts={}))
        )
    assert short == rows


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ('{ by = ["person"], of = [] }', "for each unit anyway"),
        ('{ by = ["price"], of = [] }', "rounded numbers"),
        ('{ by = ["town"], of = [] }', "no column"),
        ('{ by = ["city", "city"] }', "twice"),
        ('{ of = ["city"] }', "no bounds to sum"),
        ('{ quantiles_of = ["city"] }', "no bounds to rank"),
        ('{ quantiles_of = ["town"] }', "no column"),
        ('{ quantiles_of = ["price", "price"] }', "twice"),
        ('{ over = ["city"] }', "unknown key"),
        ('["city"]', "summaries"),
    ],
)
def test_what_cannot_be_added_up_is_a_fault(tmp_path: Path, written: str, fault: str) -> None:
    own = '[table.orders.column]\nperson = { type = "integer" }'
    text = tables(f"summaries = {written}").replace("[table.orders.column]", own)
    (tmp_path / "policy.toml").write_text(dataset("shop") + text)
    with pytest.raises(PolicyError) as refused:
        load(tmp_path / "policy.toml")
    assert fault in str(refused.value)


def test_other_bounds_are_another_copy(tmp_path: Path) -> None:
    written = [SUMMARIES, SUMMARIES.replace('"weight", "code"', '"weight"')]
    written.append(written[-1].replace(', quantiles_of = ["price", "weight"]', ""))
    names = set()
    for summaries, total in product(written, ("", ", nullable = false")):
        (tmp_path / "policy.toml").write_text(dataset("shop") + tables(summaries, total=total))
        names.add(entry_name(load(tmp_path / "policy.toml"), {"orders": "same"}))
    assert len(names) == 6


@pytest.mark.slow
def test_columns_may_be_called_as_those_that_a_copy_has_besides(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    names = ("b", "k", "n", "u", "x0", "y0", "b0", "rows", "bucket")
    with duckdb.connect() as made:
        columns = ", ".join(f"(i * {3 + 2 * n}) % {11 + n} AS {c}" for n, c in enumerate(names))
        made.execute(f"CREATE TABLE odd AS SELECT {columns} FROM range(300) AS numbers(i)")
        made.execute(f"COPY odd TO '{tmp_path}/shop/odd.parquet'")
    text = '[table.odd]\nprivacy_unit = "b"\nrows_per_group_max = 3\ngroups_per_unit_max = 2\n'
    text += (
        f"summaries = {{ by = {list(names[1:])}, of = {list(names[1:])}, "
        f"quantiles_of = {list(names[1:])} }}\n[table.odd.column]\n"
    )
    text += "".join(f'{name} = {{ type = "integer", bounds = [0, 9] }}\n' for name in names[1:])
    (tmp_path / "policy.toml").write_text(dataset("shop") + text)
    policy = load(tmp_path / "policy.toml")
    source = prepare(policy, engine=open_engine("in_process"))
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        asked = [f"SELECT {n}, COUNT(*), SUM({n}), SUM(n) FROM odd GROUP BY {n}" for n in names[1:]]
        asked += [f"SELECT MEDIAN({n}), SUM(b0), MEDIAN(b0) FROM odd" for n in names[1:]]
        for sql in asked:
            added_up, rows = (
                sorted(map(str, cells_of(sql, policy, layout, pool.run)))
                for layout in (source, replace(source, summaries={}))
            )
            assert added_up == rows
            (level,) = priced(sql, policy.tables).levels
            assert "summaries" in compile_plan(level, source, SECRET).in_full()


@pytest.mark.slow
def test_the_command_says_what_adding_up_takes(
    shop: tuple[Policy, PreparedSource], tmp_path: Path
) -> None:
    policy, source = shop
    shutil.copytree(policy.path.parent / "shop", tmp_path / "shop")
    shutil.copy(policy.path, tmp_path)
    said = CliRunner().invoke(prepare_command, [str(tmp_path / "policy.toml")]).output
    for summary in source.summaries["orders"]:
        assert summary.cost.rows > 0
        by = summary.column or "unit"
        assert f"orders added up by {by}: {summary.cost.rows:,} rows, " in said


@pytest.mark.soak
def test_long_texts_are_added_up_in_parts_that_fit_into_memory(tmp_path: Path) -> None:
    """Every one of them another: somebody who writes them must not keep a copy from being made."""
    (tmp_path / "long").mkdir()
    rows = "SELECT i % 900 AS who, repeat(md5(i::VARCHAR), 128) AS word FROM range(90000) AS n(i)"
    with duckdb.connect() as made:
        made.execute(f"COPY ({rows}) TO '{tmp_path}/long/t.parquet' (ROW_GROUP_SIZE 4096)")
    text = dataset("long") + '[engine]\nmemory = "256MB"\n[table.t]\nprivacy_unit = "who"\n'
    text += 'rows_per_unit_max = 9\nsummaries = { by = ["word"], of = [] }\n'
    (tmp_path / "policy.toml").write_text(text + 'column.word = { type = "text" }\n')
    source = prepare(load(tmp_path / "policy.toml"))
    assert [each.cost.rows for each in source.summaries["t"]] == [900, 90_000]
