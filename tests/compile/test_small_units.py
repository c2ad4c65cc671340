"""Units that no limit can bind are counted row by row: the cells are those of the long way."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.compile.small_units import rows_without_limits, within_norm
from sanql.engines import Pool, open_engine, prepare
from sanql.measurements import NormBound, NormOrder
from sanql.policy import Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

pytestmark = pytest.mark.slow

TABLES = """\

[table.people]
privacy_unit = "id"
rows_per_unit_max = 5

[table.orders]
privacy_unit = "person"
rows_per_group_max = {rows}
groups_per_unit_max = {groups}
[table.orders.column]
city = {{ type = "text", domain = ["a", "b", "c"] }}
shop = {{ type = "text" }}
price = {{ type = "decimal", bounds = [-20, 30], precision = 0.01{total} }}

[table.lines]
privacy_unit = {{ via = "order_id", references = "orders.id" }}
rows_per_group_max = {rows}
groups_per_unit_max = {groups}
[table.lines.column]
kind = {{ type = "text", domain = ["x", "y"] }}
amount = {{ type = "integer", bounds = [0, 9] }}
"""
SHORTER = [
    "SELECT COUNT(*) FROM orders",
    "SELECT SUM(price), AVG(price), COUNT(price) FROM orders",
    "SELECT city, COUNT(*), SUM(price) FROM orders GROUP BY city",
    "SELECT city, COUNT(*), AVG(price) FROM orders WHERE price < 12 GROUP BY city",
    "SELECT SUM(amount) FROM lines",
    "SELECT kind, COUNT(*), SUM(amount) FROM lines GROUP BY kind",
]
AS_EVER = [
    "SELECT COUNT(*) FROM orders WHERE price < 12",
    "SELECT COUNT(DISTINCT person), COUNT(*) FROM orders",
    "SELECT shop, COUNT(*) FROM orders GROUP BY shop",
    "SELECT MEDIAN(price) FROM orders",
    "SELECT SUM(o.price) FROM orders o JOIN lines l ON o.id = l.order_id",
]
LIMITS = [(2, 1, ""), (4, 2, ""), (6, 3, ", total_bounds = [-170, 90]"), (50, 3, "")]


@pytest.fixture(scope="module", params=LIMITS, ids=str)
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Policy, PreparedSource]:
    """Return a policy and its copy: people have from one row to some sixty, and missing values."""
    folder = tmp_path_factory.mktemp("shop")
    rows, groups, total = request.param
    with duckdb.connect() as made:
        (folder / "shop").mkdir()
        made.execute("CREATE TABLE people AS SELECT i AS id FROM range(150) AS numbers(i)")
        made.execute("""
            CREATE TABLE orders AS SELECT i AS id, CASE WHEN i % 17 > 0 THEN
            CAST(floor(sqrt((i * 7919) % 22500)) AS INTEGER) END AS person,
            chr((97 + i % 4)::INTEGER) AS city, 'shop ' || (i % 5) AS shop,
            CASE WHEN i % 11 > 0 THEN (i * 37 % 6000) / 100 - 10 END AS price
            FROM range(2500) AS numbers(i)""")
        made.execute("""
            CREATE TABLE lines AS SELECT (i * 13) % 2600 AS order_id, i % 14 AS amount,
            chr((120 + i % 3)::INTEGER) AS kind FROM range(4000) AS numbers(i)""")
        for table in ("people", "orders", "lines"):
            made.execute(f"COPY {table} TO '{folder}/shop/{table}.parquet'")
    text = dataset("shop") + TABLES.format(rows=rows, groups=groups, total=total)
    (folder / "policy.toml").write_text(text)
    policy = load(folder / "policy.toml")
    return policy, prepare(policy, engine=open_engine("in_process"))


@pytest.mark.parametrize("sql", [*SHORTER, *AS_EVER])
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_cells_are_those_of_the_long_way(
    shop: tuple[Policy, PreparedSource], sql: str, neighbours: str
) -> None:
    policy, source = shop
    assert set(source.row_counts) == {"people", "orders", "lines"}
    long_way = replace(source, row_counts={})
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        short, parts, long = (
            sorted(map(str, cells_of(sql, policy, layout, pool.run)))
            for layout in (source, replace(source, parts=5), long_way)
        )
    assert short == long == parts


@pytest.mark.parametrize("sql", [*SHORTER, *AS_EVER])
def test_it_is_the_way_of_questions_that_look_at_no_unit_otherwise(
    shop: tuple[Policy, PreparedSource], sql: str
) -> None:
    policy, source = shop
    (level,) = priced(sql, policy.tables).levels
    few = rows_without_limits(level, source)
    assert ("small AS" in compile_plan(level, source, SECRET).sql) == (few > 0)
    assert (few > 0) == (sql in SHORTER)
    assert few <= level.outline.limits.rows_per_group


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bound", [1, 3, 178, 5_000, 10**6 + 7, 10**9])
def test_just_so_many_rows_are_not_longer_than_a_norm(
    shop: tuple[Policy, PreparedSource], order: NormOrder, bound: int
) -> None:
    policy, _ = shop
    (level,) = priced(SHORTER[2], policy.tables).levels
    for part in level.computed:
        norm = NormBound(order, bound, 1)
        rows = within_norm(replace(part, norm=norm))
        longest = [-(-(n << max(0, norm.shift)) >> max(0, -norm.shift)) for n in (rows, rows + 1)]
        assert longest[0] ** order <= norm.threshold
        assert longest[1] ** order > norm.threshold or norm.shift < 0 or rows == norm.most


def test_beside_a_row_is_how_many_its_unit_has(shop: tuple[Policy, PreparedSource]) -> None:
    _, source = shop
    with duckdb.connect(str(source.database), read_only=True) as copy:
        for table, unit in (("orders", "person"), ("lines", "unit"), ("people", "id")):
            wrong = copy.execute(
                f"SELECT count(*) FROM (SELECT rows, count(*) OVER (PARTITION BY {unit}) AS seen "
                f"FROM {table}) WHERE rows <> seen"
            ).fetchall()
            assert wrong == [(0,)]
            assert copy.execute(f"SELECT count(*) > 100 FROM {table}").fetchall() == [(True,)]
