"""Copies in which the rows of a unit lie together, in the order of their buckets."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.engines import open_engine, prepare
from sanql.policy import load
from support.policies import dataset

TABLES = """\

[table.visits]
privacy_unit = "who"
rows_per_unit_max = 5
[table.visits.column]
bucket = { type = "text" }
cost = { type = "integer", bounds = [0, 100] }

[table.places]
public = true
[table.places.column]
place = { type = "text" }
"""
VISITS = """
    SELECT CASE WHEN i % 7 > 0 THEN 'p' || (i * 31) % 500 END AS who, 'b' || i % 5 AS bucket,
    i % 90 AS cost FROM range(20000) AS numbers(i)
"""


@pytest.fixture(params=["in_process", "workers"])
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> PreparedSource:
    """Return a prepared copy of Parquet files; a column has the name that buckets would have."""
    (tmp_path / "data").mkdir()
    with duckdb.connect() as made:
        made.execute(f"COPY ({VISITS}) TO '{tmp_path}/data/visits.parquet'")
        made.execute(f"COPY (SELECT 'b1' AS place) TO '{tmp_path}/data/places.parquet'")
    (tmp_path / "policy.toml").write_text(dataset("data") + TABLES)
    return prepare(load(tmp_path / "policy.toml"), engine=open_engine(request.param))


@pytest.mark.slow
def test_every_row_of_somebody_is_there_once_and_no_other(copy: PreparedSource) -> None:
    with duckdb.connect(str(copy.database), read_only=True) as opened:
        found = opened.sql("SELECT who, bucket, cost FROM visits ORDER BY ALL").fetchall()
        whole = opened.sql(f"SELECT * FROM ({VISITS}) WHERE who IS NOT NULL ORDER BY ALL")
        assert found == whole.fetchall()


@pytest.mark.slow
def test_rows_lie_in_the_order_of_buckets_and_units(copy: PreparedSource) -> None:
    assert copy.buckets == {"visits": '"bucket_"'}
    with duckdb.connect(str(copy.database), read_only=True) as opened:
        rows = opened.sql("SELECT bucket_, who FROM visits ORDER BY rowid").fetchall()
    assert rows == sorted(rows)
    assert len(dict.fromkeys(rows)) == len({who for _, who in rows}), "a unit has one bucket"
    assert len({bucket for bucket, _ in rows}) > 300


@pytest.mark.slow
def test_nothing_is_left_beside_the_copy(copy: PreparedSource) -> None:
    names = {path.name for path in copy.database.parent.iterdir()}
    assert names == {copy.database.name, f"{copy.fingerprint}.json", "lock"}
