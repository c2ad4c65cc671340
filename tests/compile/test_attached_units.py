"""Units that rows have attached in a copy: the cells are those found along foreign keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.engines.trials import LENGTH_UNTRIED, Trials
from sanql.policy import Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

TABLES = """\

[table.people]
privacy_unit = "id"
rows_per_unit_max = 1
[table.people.column]
city = { type = "text", domain = ["a", "b", "c"] }

[table.orders]
privacy_unit = "person"
rows_per_unit_max = 8
groups_per_unit_max = 2
[table.orders.column]
shop = { type = "text" }

[table.items]
privacy_unit = { via = "order_no", references = "orders.no" }
rows_per_unit_max = 7
rows_per_group_max = 4
groups_per_unit_max = 2
[table.items.column]
kind = { type = "text" }
price = { type = "integer", bounds = [0, 50] }

[table.returns]
privacy_unit = { via = "item_no", references = "items.no" }
rows_per_unit_max = 3
groups_per_unit_max = 2
[table.returns.column]
reason = { type = "text" }
"""
ROWS = {
    "people": "SELECT i AS id, chr((97 + i % 3)::INTEGER) AS city FROM range(90) AS n(i)",
    "orders": "SELECT {no} AS no, CASE WHEN i % 11 > 0 THEN (i * i) % 70 END AS person, "
    "'shop ' || i % 5 AS shop FROM range(400) AS n(i)",
    "items": "SELECT i AS no, CASE WHEN i % 17 > 0 THEN (i * 7) % 450 END AS order_no, "
    "'kind ' || i % 6 AS kind, i % 60 AS price FROM range(2000) AS n(i)",
    "returns": "SELECT (i * 3) % 2100 AS item_no, 'r' || i % 4 AS reason FROM range(600) AS n(i)",
}
QUESTIONS = [
    "SELECT COUNT(*), SUM(price) FROM items",
    "SELECT kind, COUNT(*), SUM(price) FROM items GROUP BY kind",
    "SELECT reason, COUNT(*) FROM returns GROUP BY reason",
    "SELECT shop, SUM(price) FROM items i JOIN orders o ON i.order_no = o.no GROUP BY shop",
    "SELECT COUNT(*) FROM orders o LEFT JOIN items i ON i.order_no = o.no",
    "SELECT reason, MEDIAN(price) FROM returns r JOIN items i ON r.item_no = i.no GROUP BY reason",
    "SELECT COUNT(DISTINCT kind) FROM items",
]


def shop(folder: Path, number: str) -> tuple[Policy, PreparedSource, PreparedSource]:
    """Return a policy, its data where they are, and a copy."""
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        for table, rows in ROWS.items():
            made.execute(f"CREATE TABLE {table} AS {rows.format(no=number)}")
    (folder / "policy.toml").write_text(dataset("shop.duckdb") + TABLES)
    policy, engine = load(folder / "policy.toml"), open_engine("in_process")
    return policy, prepare(policy, engine=engine), prepare(policy, engine=engine, copied=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["i", "i // 2"], ids=["one row a key", "two rows a key"])
def test_cells_are_those_of_the_original(tmp_path: Path, number: str) -> None:
    policy, original, copy = shop(tmp_path, number)
    engine = open_engine("in_process")
    with Pool(original, policy.engine, engine) as there, Pool(copy, policy.engine, engine) as here:
        for sql in QUESTIONS:
            whole = cells_of(sql, policy, original, there.run)
            assert any(value for row in whole for value in row.values()), sql
            for parts in (1, 7):
                found = cells_of(sql, policy, replace(copy, parts=parts), here.run)
                assert sorted(map(str, found)) == sorted(map(str, whole)), sql


@pytest.mark.slow
def test_no_join_is_needed_where_no_key_leads_to_two_rows(tmp_path: Path) -> None:
    policy, original, copy = shop(tmp_path, "i")
    assert set(copy.units) == {"items", "returns"}
    (level,) = priced(QUESTIONS[2], policy.tables).levels
    assert '"orders"' in compile_plan(level, original, SECRET).sql
    assert '"orders"' not in compile_plan(level, copy, SECRET).sql


@pytest.mark.slow
@pytest.mark.parametrize("number", ["i", "i // 2"], ids=["attached", "followed"])
def test_long_questions_are_tried_alike(tmp_path: Path, number: str) -> None:
    """On empty tables, in which no unit is attached."""
    policy, _, copy = shop(tmp_path, number)
    sums = ", ".join(f"SUM(price + {i})" for i in range(30))
    (level,) = priced(f"SELECT {sums} FROM items", policy.tables).levels
    sent = compile_plan(level, copy, SECRET)
    assert len(sent.in_full()) > LENGTH_UNTRIED
    trials = Trials(copy, policy.engine, open_engine("in_process"))
    trials.check(level, sent)
    trials.close()


def test_where_a_key_leads_to_two_rows_references_are_followed(tmp_path: Path) -> None:
    """A row then belongs to the units of both, and lies there once."""
    _, _, copy = shop(tmp_path, "i // 2")
    assert not copy.units
    with duckdb.connect(str(copy.database), read_only=True) as opened:
        assert opened.sql("SELECT count(*) FROM items").fetchall() == [(2000,)]


@pytest.mark.slow
def test_rows_that_lead_to_nobody_are_left_out(tmp_path: Path) -> None:
    _, _, copy = shop(tmp_path, "i")
    owned = "FROM orders WHERE person IS NOT NULL"
    with duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True) as opened:
        count = f"SELECT count(*) FROM items WHERE order_no IN (SELECT no {owned})"
        (expected,) = opened.sql(count).fetchall()
    with duckdb.connect(str(copy.database), read_only=True) as opened:
        assert opened.sql("SELECT count(*) FROM items").fetchall() == [expected]
        assert opened.sql("SELECT count(*) FROM items WHERE unit IS NULL").fetchall() == [(0,)]
