"""What OpenDP answers: rows of a unit are truncated at random to the policy's limit, then noise is added.

It is what its frames do (`bench/utility/ask_opendp.py`), with its own noise and its own map from scale to
epsilon, and without the Polars of another version that they want: counts and sums of public keys are one
vector, whose L1 norm one unit moves by its rows times the largest value. A mean has half of epsilon for
its sum and half for its count. Where rows lack a value, those without are left out first.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import opendp.prelude as dp

from bench.utility.tails.asked import Asked

dp.enable_features("contrib")

Answer = dict[str, float]


def answer(asked: Asked, data: Path, rows_max: int, epsilon: float, seed: int) -> Answer:
    """Return a number for each key that there is."""
    key, value = asked.key or "'all'", asked.value or "1"
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        rows = connection.execute(
            f"SELECT CAST({key} AS VARCHAR), SUM({value}), COUNT(*) FROM (SELECT *, row_number() OVER"
            f" (PARTITION BY unit ORDER BY hash(file_row_number, {seed})) AS place FROM"
            f" read_parquet('{data}', file_row_number = true) WHERE {value} IS NOT NULL)"
            f" WHERE place <= {rows_max} GROUP BY 1 ORDER BY 1"
        ).fetchall()
    keys, sums, counts = (list(column) for column in zip(*rows, strict=True))
    if asked.kind == "sum":
        shown = _noisy(sums, rows_max * asked.bounds[1], epsilon)
    elif asked.kind == "mean":
        above = _noisy(sums, rows_max * asked.bounds[1], epsilon / 2)
        below = np.maximum(1, _noisy(counts, rows_max, epsilon / 2))
        shown = np.clip(above / below, *asked.bounds)
    else:
        shown = _noisy(counts, rows_max, epsilon)
    return dict(zip(keys, map(float, shown), strict=True))


def _noisy(exact: list[int], moved: int, epsilon: float) -> np.ndarray:
    """Return whole numbers with noise, where one unit moves all of them by so much at most."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement = dp.m.make_laplace(*space, scale=moved / epsilon * (1 + 1e-12))
    assert measurement.map(moved) <= epsilon
    return np.array(measurement([int(each) for each in exact]), float)
