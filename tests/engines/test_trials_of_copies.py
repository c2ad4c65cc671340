"""A long question over a copy is tried on tables that lack what the copy has besides, and is answered."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.compile import compile_plan
from sanql.engines import Pool, Trials, open_engine, prepare
from sanql.engines.trials import LENGTH_UNTRIED
from sanql.policy import load
from support.cells import priced
from support.policies import dataset

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=10)
    + """
[table.orders]
privacy_unit = "customer"
key = "id"
rows_per_unit_max = 3
[table.items]
privacy_unit = { via = "order_id", references = "orders.id" }
rows_per_unit_max = 5
column.price = { type = "integer", bounds = [0, 100] }
"""
)


@pytest.mark.slow
def test_rows_with_a_unit_beside_them_may_be_asked_at_length(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT range AS id, 'a' || range AS customer FROM range(9)"
        )
        connection.execute(
            "CREATE TABLE items AS SELECT range % 9 AS order_id, 5 AS price FROM range(30)"
        )
    (tmp_path / "policy.toml").write_text(POLICY)
    policy = load(tmp_path / "policy.toml")
    engine = open_engine("in_process")
    copy = prepare(policy, engine=engine, copied=True)
    assert copy.units
    tests = " OR ".join(f"price = {number}" for number in range(100) for _ in range(3))
    (level,) = priced(f"SELECT COUNT(*) FROM items WHERE {tests}", policy.tables).levels
    sent = compile_plan(level, copy, 7)
    assert len(sent.in_full()) > LENGTH_UNTRIED
    Trials(copy, policy.engine, engine).check(level, sent)
    with Pool(copy, policy.engine, engine) as pool:
        assert pool.run(sent).to_pydict() == {"m0": [30]}
