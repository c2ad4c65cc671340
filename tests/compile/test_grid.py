"""Real numbers on a grid, in the engine, against Python's arithmetic."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from sanql.compile.expressions.values import clamp_or_nan, clamp_to_bounds, real
from sanql.compile.grid import on_grid

LARGEST = 1.7976931348623157e308
ODD = (math.nan, math.inf, -math.inf, LARGEST, -LARGEST, 5e-324, -0.0, 9.3e18, None, 500.0, -3.5)
BOUNDS = ((0, 500), (-500, 7), (3, 10**6), (-(10**12), 10**12))


def steps(value: float | None, low: int, high: int, grid: Fraction) -> int | None:
    """The grid step nearest to a value within its bounds; what is no number has none."""
    if value is None or not math.isfinite(value):
        return None
    held = min(max(value, float(low)), float(high))
    return math.floor(held * float(grid.denominator) + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_sums_on_a_grid_leave_out_what_is_no_number(seed: int) -> None:
    """Whichever sum the engine chooses from what it knows of the column's ends."""
    rng = random.Random(seed)
    odd = rng.sample(ODD, seed % 7)
    values = [
        rng.choice(odd)
        if odd and rng.random() < 0.3
        else rng.uniform(-1, 1) * 10 ** rng.randint(0, 6)
        for _ in range(rng.choice([3, 50, 3000]))
    ]
    low, high = rng.choice(BOUNDS)
    grid = Fraction(1, rng.choice([1, 100, 10**6]))
    gridded = on_grid(f"({clamp_or_nan('x', real(low), real(high))})", grid)
    rows = pa.table({"x": pa.array(values, pa.float64())})
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE stored AS SELECT * FROM given")
        found = connection.execute(
            f"SELECT count({gridded}), coalesce(sum({gridded}), 0) FROM stored"
        ).fetchone()
    wanted = [step for value in values if (step := steps(value, low, high, grid)) is not None]
    assert found == (len(wanted), sum(wanted))


@pytest.mark.parametrize("kind", ["TINYINT", "INTEGER", "BIGINT", "HUGEINT"])
def test_whole_numbers_are_held_within_their_bounds_and_missing_ones_stay_missing(
    kind: str,
) -> None:
    values = [-128, -7, -6, -5, 0, 119, 120, 121, 127, None]
    with duckdb.connect() as connection:
        listed = ", ".join("(NULL)" if value is None else f"({value})" for value in values)
        found = connection.execute(
            f"SELECT {clamp_to_bounds('x', '-6', '120', check_finite=False)} "
            f"FROM (SELECT x::{kind} AS x FROM (VALUES {listed}) AS given(x))"
        ).fetchall()
    wanted = [None if value is None else min(120, max(-6, value)) for value in values]
    assert [value for (value,) in found] == wanted
