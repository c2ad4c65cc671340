"""Intervals through functions: whatever holds of a number in an interval holds of its function there.

The oracle is the engine: points of the inner interval are put through the same SQL, one by one, by
DuckDB itself, which knows nothing of intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.post_process import show
from sanql.noise.cells import add_noise
from sanql.plan.level import Level
from sanql.results.answer import Answer
from support.exact_cells import cell_of
from support.samplers import SilentSampler

Planned = Callable[..., Level]
Answered = Callable[..., Answer]
POINTS = 41
SUMS = [-100_000, -12_345, -700, -3, 0, 4, 250, 1_999, 70_001, 10**9]  # in cents
WRAPPED = [
    "{}::int", "CAST({} AS BIGINT)", "CAST({} AS TINYINT)", "CAST({} AS SMALLINT)", "{}::double",
    "COALESCE({}, 0)", "IFNULL({}, 7)", "COALESCE(LN({}), -2)", "COALESCE(NULLIF({}, 0), 3, 4)",
    "COALESCE(SQRT({}), -1)", "COALESCE(CAST({} AS TINYINT), 1000)", "COALESCE(1 / {}, 0)",
    "COALESCE(POWER({}, 2), 1)", "COALESCE(NULL, {}, 1)",
    "LOG1P({})",
    "LN({})", "LOG10({})", "LOG2({})", "LOG(3, {})", "LOG(0.5, {})", "POWER({}, 2)", "POWER({}, 3)",
    "POWER({}, 0)", "POWER({}, -1)", "POWER({}, -2)", "POWER({}, 0.5)", "POWER({}, -0.5)",
    "TRUNC({}, 1)", "TRUNC({}, -2)", "TRUNC({})", "ROUND({})::int", "ROUND({}, 1)", "ROUND({}, -1)",
    "FLOOR({})", "CEIL({})", "SIGN({})", "CBRT({})", "ABS({})", "SQRT({})", "EXP({} / 1e9)", "-{}",
    "LEAST({}, 3)", "GREATEST({}, 3)", "LEAST(LN({}), 3)", "GREATEST(LN({}), 3)",
    "LEAST(LN({}), SQRT({}))", "GREATEST(SQRT({}), NULL)", "100 * {} / 7 - 3",
]  # fmt: skip


def inner_and_outer(
    planned: Planned, text: str, small: bool
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the intervals of a sum and of the wrapped sum, one group for each of the sums."""
    wrapped = text.replace("{}", "SUM(income)")
    sql = f"SELECT score, SUM(income) AS x, {wrapped} AS y FROM rows GROUP BY score"
    plan = planned(sql, "1" if small else "0.001")
    values = [SUMS[i % len(SUMS)] for i in range(41)]
    cells = {"k0": list(range(-10, 31))}
    cells |= {f"m{i}": values for i in range(len(plan.measurements))}

    return show(
        plan, add_noise(plan, pa.table(cells), SilentSampler()), Fraction(95, 100)
    ).intervals


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        yield connection


def by_the_engine(
    engine: duckdb.DuckDBPyConnection, text: str, points: np.ndarray
) -> list[float | None]:
    """Return the function of each point, as plain SQL has it."""
    x = "TRY_CAST(x AS DOUBLE)"
    for name in ("TINYINT", "SMALLINT", "BIGINT"):
        text = text.replace(f"CAST({{}} AS {name})", f"TRY_CAST({x} AS {name})")
    text = text.replace("{}::int", f"TRY_CAST({x} AS INT)").replace(")::int", ")::DOUBLE")
    for name in ("LN", "LOG10", "LOG2"):
        text = text.replace(f"{name}({{}})", f"CASE WHEN {x} > 0 THEN {name}({x}) END")
    text = text.replace("LOG1P({})", f"CASE WHEN {x} > -1 THEN LN(1 + {x}) END")
    for base in ("3", "0.5"):
        text = text.replace(f"LOG({base}, {{}})", f"CASE WHEN {x} > 0 THEN LOG({base}, {x}) END")
    text = text.replace("SQRT({})", f"CASE WHEN {x} >= 0 THEN SQRT({x}) END")
    text = text.replace("1 / {}", f"1 / NULLIF({x}, 0)").replace("{}", x)
    engine.register("points", pa.table({"x": points}))
    return [row[0] for row in engine.execute(f"SELECT {text} FROM points").fetchall()]


@pytest.mark.slow
@pytest.mark.parametrize("small", [True, False], ids=["little noise", "much noise"])
@pytest.mark.parametrize("text", WRAPPED)
def test_every_point_of_the_inner_interval_is_carried_into_the_outer(
    planned: Planned, engine: duckdb.DuckDBPyConnection, text: str, small: bool
) -> None:
    intervals = inner_and_outer(planned, text, small)
    assert "y" in intervals
    inner, outer = (np.array(intervals[name], dtype=float) for name in "xy")
    for group in range(len(SUMS)):
        (low, high), (least, most) = inner[:, group], outer[:, group]
        points = np.unique([*np.linspace(low, high, POINTS), min(max(low, 0.0), high)])
        for point, value in zip(points, by_the_engine(engine, text, points), strict=True):
            if value is None or not math.isfinite(value):
                continue
            slack = 1e-12 * (1 + abs(value))
            assert least - slack <= value <= most + slack, (point, value, least, most)


def averages(planned: Planned, text: str, rows: list[int]) -> tuple[list[object], np.ndarray]:
    """Return what is shown of averages of 100 over so many rows, and their intervals."""
    sql = f"SELECT age, {text} AS y FROM rows GROUP BY age"
    plan = planned(sql, "1")
    exact = [*rows, *[0] * (121 - len(rows))]
    cells: dict[str, list[int]] = {"k0": list(range(121))}
    for index, part in enumerate(plan.computed):
        cells[f"m{index}"] = [cell_of(part, n * 10_000, n) for n in exact]
    shown = show(plan, add_noise(plan, pa.table(cells), SilentSampler()), Fraction(95, 100))
    ends = np.array(shown.intervals["y"], dtype=float)[:, : len(rows)]
    return shown.table.column("y").to_pylist()[: len(rows)], ends


@pytest.mark.parametrize("text", ["IFNULL(AVG(income), -70)", "LEAST(AVG(income), -70)"])
def test_what_stands_for_an_average_is_in_its_interval_where_there_may_be_no_row(
    planned: Planned, text: str
) -> None:
    values, (lows, highs) = averages(planned, text, [0, 1, 100_000])
    assert values[0] == -70
    # one row or none cannot be told apart, so either number may be the exact one
    assert (lows[:2] <= -70).all() and (highs[:2] >= -70).all()
    if text.startswith("IFNULL"):
        assert (highs[:2] >= 100).all()
        assert 99 < lows[2] <= 100 <= highs[2] < 101  # rows for sure: an average as it is


def test_columns_with_noise_and_no_interval_are_named_under_the_answer(answered: Answered) -> None:
    sql = (
        "SELECT COUNT(*) AS n, COUNT(*)::int AS whole, COUNT(*) > 5 AS many, COUNT(*) % 7 AS day, "
        "DP_INTERVAL_LOW(whole) AS least FROM rows"
    )
    answer = answered(sql, {"m0": [40]})
    assert list(answer.intervals) == ["n", "whole"]
    assert answer.rows[0][-1] == answer.intervals["whole"][0][0] < 40
    assert answer.footer()[0] == "no interval for many, day"
    assert "no interval" not in str(answered("SELECT COUNT(*) AS n FROM rows", {"m0": [40]}))
    assert "no interval" not in str(answered("SELECT COUNT(*) > 5 AS n FROM open", {"m0": [40]}))
