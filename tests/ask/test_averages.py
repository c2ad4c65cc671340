"""Averages end to end: exact without noise, free when asked again, alike alone and in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=100, delta="1e-5")
    + """\
[table.bought]
privacy_unit = "id"
rows_per_unit_max = 5
[table.bought.column]
price = { type = "integer", bounds = [0, 50] }
paid = { type = "boolean" }
kind = { type = "text", domain = ["a", "b"] }
"""
)
MEAN = "SELECT AVG(price) AS mean, AVG(paid) AS share FROM bought"
BY_KIND = (
    "SELECT kind, AVG(price) AS mean, COUNT(price) AS n, SUM(price) AS s FROM bought GROUP BY kind"
)
ROLLUP = BY_KIND.replace("GROUP BY kind", "GROUP BY ROLLUP (kind)")
PER_UNIT = "SELECT AVG(n) AS mean FROM (SELECT id, COUNT(*) AS n FROM bought GROUP BY id) AS x"


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE bought AS SELECT i % 1000 AS id, i % 51 AS price, i % 4 = 0 AS paid, "
            "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS kind FROM range(4000) AS t(i)"
        )
    (tmp_path / "policy.toml").write_text(POLICY)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.slow
def test_averages_without_noise_are_those_of_the_rows_and_repeats_are_free(san: San) -> None:
    prices = [i % 51 for i in range(4000)]
    for sql in (MEAN, BY_KIND, ROLLUP, PER_UNIT):
        first, again = (san.query(sql, epsilon=1) for _ in range(2))
        assert not first.cached and again.cached
        assert first.table == again.table and first.intervals == again.intervals
        words = [part["mechanism"] for part in first.certificate.measurements]
        assert any(str(text).startswith("read off how far") for text in words), sql
    (row,) = san.query(MEAN, epsilon=1).table.to_pylist()
    assert row["mean"] == pytest.approx(sum(prices) / 4000) and row["share"] == pytest.approx(0.25)
    rows = san.query(ROLLUP, epsilon=1).table.to_pylist()
    assert [row["n"] for row in rows] == [2000, 2000, 4000]
    assert [row["s"] for row in rows] == [sum(prices[0::2]), sum(prices[1::2]), sum(prices)]
    assert san.query(PER_UNIT, epsilon=1).table.to_pylist() == [{"mean": 4.0}]


@pytest.mark.slow
def test_averages_in_a_batch_are_those_that_are_asked_alone(san: San) -> None:
    asked = [MEAN, BY_KIND, "SELECT COUNT(*) AS n FROM bought"]
    together = san.batch(asked, epsilon=1)
    for sql, answer in zip(asked, together, strict=True):
        alone = san.query(sql, epsilon=1)
        assert answer.table.to_pylist() == [
            {
                name: value if isinstance(value, str | int) else pytest.approx(value)
                for name, value in row.items()
            }
            for row in alone.table.to_pylist()
        ]
    assert all(answer.cached for answer in san.batch(asked, epsilon=1))
