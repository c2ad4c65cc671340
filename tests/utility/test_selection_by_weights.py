"""Half of all destinations of planes appear, where limits on groups showed none."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from bench.utility.shapes import make_shape

import sanql

pytestmark = pytest.mark.slow

BY_DEST = "SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest"
UNITS = "SELECT DISTINCT tailnum, dest FROM '{}' WHERE tailnum IS NOT NULL"
WELL_ABOVE = 50
"""Above a threshold of about 100, noise has a deviation of about 15: it is 3 below once in a thousand."""


def test_keys_with_many_units_appear_whatever_their_other_groups_are(tmp_path: Path) -> None:
    """Of 35 such keys ten or more are missing with a chance below 1e-20; selected by counts, 32 are."""
    policy = make_shape("flights", tmp_path / "flights")
    path = tmp_path / "flights" / "data" / "flights.parquet"
    with duckdb.connect() as connection:
        pairs = connection.execute(UNITS.format(path)).fetchall()
    groups = Counter(plane for plane, _ in pairs)
    weights: Counter[str] = Counter()
    for plane, dest in pairs:
        weights[dest] += 1 / math.sqrt(groups[plane])  # type: ignore[assignment]
    sure = {dest for dest, weight in weights.items() if weight > 100 + WELL_ABOVE}
    assert len(sure) > 30
    with sanql.open(policy) as san:
        shown = {row[0] for row in san.query(BY_DEST, epsilon="0.5", delta="1e-8").rows}
    assert len(sure - shown) < 10
