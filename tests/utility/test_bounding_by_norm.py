"""Counts of events by many keys, with so little noise that what is wrong is what bounding takes away."""

from __future__ import annotations

import statistics
from pathlib import Path

import duckdb
import pytest
from bench.utility.shapes import make_shape

import sanql

WITHOUT_NOISE = {"epsilon": "10000", "delta": "1e-8"}
DAYS = "SELECT month, day, COUNT(*) AS n FROM flights GROUP BY month, day"


@pytest.mark.slow
def test_no_group_of_a_plane_is_dropped(tmp_path: Path) -> None:
    """A plane flies on more days than the 24 groups that it may keep: of dropped ones 71 % were lost."""
    policy = make_shape("flights", tmp_path / "flights")
    path = tmp_path / "flights" / "data" / "flights.parquet"
    truth = {
        (month, day): n
        for month, day, n in duckdb.sql(
            f"SELECT month, day, count(*) FROM '{path}' WHERE tailnum IS NOT NULL GROUP BY ALL"
        ).fetchall()
    }
    with sanql.open(policy) as san:
        shown = {row[:2]: row[2] for row in map(tuple, san.query(DAYS, **WITHOUT_NOISE).rows)}  # type: ignore[arg-type]
    errors = [abs(shown[key] - n) / n for key, n in truth.items()]
    assert statistics.median(errors) < 0.1
