"""Variances around a noisy mean: one row moves them no further than declared, and intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from sanql.answer.estimates import band_of
from sanql.answer.post_process import show
from sanql.ask import plan_request, read_request
from sanql.compile.statement import compile_plan
from sanql.measurements import NoisyCells
from sanql.measurements.measurement import Measurement
from sanql.measurements.squares import PARTS, furthest_square, noisy_mean, squares_around
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler, Noise
from sanql.noise.cells import add_noise
from sanql.parse import QuestionText
from sanql.plan import Level
from sanql.policy import load
from sanql.san import San

FALSE_ALARM = 1e-9
POLICY = """
[dataset]
name = "d"
source = "data.duckdb"
neighbours = "{neighbours}"
budget = {{ epsilon = 1000000, delta = 0.1 }}
accounting = "renyi"
[analyst.a]
[table.t]
privacy_unit = "row"
[table.t.column]
small = {{ type = "integer", bounds = [0, 3], nullable = false }}
cost = {{ type = "decimal", bounds = [0, 1000], precision = 0.01, nullable = false }}
real = {{ type = "float", bounds = [-5, 5], nullable = false }}
coarse = {{ type = "decimal", bounds = [0, 100], precision = 0.5, nullable = false }}
maybe = {{ type = "integer", bounds = [0, 3] }}
"""
ODD = [None, float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 3.14159, -5.0, 0.0, 1000.0]


def opened(folder: Path, values: list[float | None], neighbours: str = "change-one") -> San:
    """Return a dataset whose columns all have the same values."""
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        rows = pa.table({"x": pa.array(values, pa.float64())})
        connection.register("incoming", rows)
        whole = "CASE WHEN isfinite(x) AND abs(x) < 1e6 THEN x::BIGINT END"
        connection.execute(
            f"CREATE TABLE t AS SELECT {whole} AS small, {whole} AS maybe, x AS cost, x AS real, "
            "x AS coarse FROM incoming"
        )
    (folder / "policy.toml").write_text(POLICY.format(neighbours=neighbours), encoding="utf-8")
    return San(load(folder / "policy.toml"))


def planned(san: San, sql: str, epsilon: float = 1.0) -> Level:
    request = read_request(QuestionText(sql), san.analyst, {"epsilon": epsilon})
    (level,) = plan_request(san.session, request).levels
    return level


def exact(san: San, level: Level) -> pa.Table:
    data = san.session.data.open()
    return data.workers.run(compile_plan(level, data.source, ExactSampler().secret()))


@pytest.fixture
def skewed(tmp_path: Path) -> Iterator[tuple[San, np.ndarray]]:
    numbers = np.random.default_rng(3)
    values = np.minimum(1000, np.round(numbers.exponential(30, 2000), 2))
    san = opened(tmp_path, values.tolist())
    yield san, values
    san.close()


def parts(level: Level) -> tuple[Measurement, Measurement]:
    (second,) = (part for part in level.measurements if part.around is not None)
    assert second.around is not None
    return level.measurements[second.around], second


@pytest.mark.slow
def test_squares_of_every_neighbour_move_no_further_than_declared(tmp_path: Path) -> None:
    """Every table of three rows, every change of one of them, around every mean noise might say."""
    san = opened(tmp_path, [1.0])
    first, second = parts(planned(san, "SELECT VAR_POP(small) FROM t"))
    san.close()
    rows, reached = 3, 0
    for others in combinations_with_replacement(range(4), rows - 1):
        for one, other, noisy in product(range(4), range(4), range(-8, 9)):
            mean = noisy_mean(first, noisy, rows)
            found = []
            for values in ((*others, one), (*others, other)):
                steps = [value - first.centre for value in values]
                sums = sum(steps), sum(step**2 - second.centre for step in steps)
                found.append(squares_around(first, second, mean, sums, rows))
                by_hand = sum((step - mean) ** 2 for step in steps) * PARTS
                assert 0 <= by_hand / furthest_square(first, mean) - found[-1] < 1
            reached = max(reached, abs(found[0] - found[1]))
    assert reached == PARTS < second.sensitivity.l1 == second.sensitivity.linf


@pytest.mark.slow
@pytest.mark.parametrize("value", ODD, ids=str)
def test_both_sums_are_of_one_value_whatever_is_stored(tmp_path: Path, value: float | None) -> None:
    san = opened(tmp_path, [value])
    for column in ("small", "cost", "real"):
        level = planned(san, f"SELECT VAR_POP({column}) FROM t")
        (cells,) = exact(san, level).to_pylist()
        first, second = parts(level)
        steps, squares = (cells[f"m{level.measurements.index(part)}"] for part in (first, second))
        assert first.low <= steps <= first.high
        apart = second.grid * (squares + second.centre) - (first.grid * steps) ** 2
        # at most one part of PARTS of the least there is between squares, for both ends together
        assert 2 * PARTS * abs(apart) <= (Fraction(first.high - first.low, 2) * first.grid) ** 2
    san.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "neighbours"),
    [
        ("SELECT VAR_POP(maybe) FROM t", "change-one"),
        ("SELECT VAR_POP(coarse) FROM t", "change-one"),
        ("SELECT VAR_POP(cost + 1) FROM t", "change-one"),
        ("SELECT VAR_POP(cost) FROM t WHERE small > 1", "change-one"),
        ("SELECT VAR_POP(cost) FROM t", "add-remove"),
    ],
)
def test_squares_are_around_zero_where_anything_is_not_sure(
    tmp_path: Path, sql: str, neighbours: str
) -> None:
    san = opened(tmp_path, [1.0], neighbours)
    assert all(part.around is None for part in planned(san, sql).measurements)
    san.close()


@pytest.mark.slow
def test_intervals_hold_and_errors_are_those_of_one_number(
    skewed: tuple[San, np.ndarray],
) -> None:
    san, values = skewed
    level = planned(san, "SELECT VAR_SAMP(cost) AS v, STDDEV_POP(cost) AS s FROM t")
    cells, repeats, confidence = exact(san, level), 400, Fraction(9, 10)
    truth = {"v": float(np.var(values, ddof=1)), "s": float(np.std(values))}
    missed, errors = dict.fromkeys(truth, 0), []
    for _ in range(repeats):
        shown = show(level, add_noise(level, cells, ExactSampler()), confidence)
        errors.append(abs(shown.table.column("v")[0].as_py() - truth["v"]))
        for name, (low, high) in shown.intervals.items():
            missed[name] += not low[0] <= truth[name] <= high[0]
    assert max(missed.values()) <= binom.isf(FALSE_ALARM / 2, repeats, float(1 - confidence))
    # the mean of 400 sizes of Laplace noise is 1.45 times its scale with a chance below 1e-12
    assert np.mean(errors) <= 1.45 * 1000**2 / len(values)


def law(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Return what a noise can be, but for 1 in 10,000, and how likely each is."""
    places = np.arange(-20_000, 20_001)
    match noise:
        case DiscreteLaplace(scale):
            masses = np.exp(-np.abs(places) / float(scale))
        case DiscreteGaussian(sigma2):
            masses = np.exp(-(places**2) / float(2 * sigma2))
        case _:
            raise AssertionError(noise)
    masses /= masses.sum()
    seen = masses.cumsum() > 5e-5
    seen &= seen[::-1]
    return places[seen], masses[seen]


def missed(level: Level, values: list[int], confidence: Fraction, truth: float) -> float:
    """Return the chance that the interval misses the truth, all noise looked at."""
    first, second = parts(level)
    steps = [value - first.centre for value in values]
    sums = sum(steps), sum(step**2 - second.centre for step in steps)
    (one, chances), (other, chances_of_other) = (
        law(level.noises[level.measurements.index(part)]) for part in (first, second)
    )
    around = [
        squares_around(
            first, second, noisy_mean(first, sums[0] + noise, len(values)), sums, len(values)
        )
        for noise in one.tolist()
    ]
    columns = {
        level.measurements.index(first): np.repeat(sums[0] + one, len(other)),
        level.measurements.index(second): (np.array(around)[:, None] + other).ravel(),
        2: np.full(len(one) * len(other), len(values)),
    }
    cells = NoisyCells(pa.table({f"m{place}": pa.array(each) for place, each in columns.items()}))
    band = band_of(level, cells, 0, confidence, None)
    assert band is not None
    held = (band.low <= truth + 1e-9) & (truth - 1e-9 <= band.high)
    return 1 - float((chances[:, None] * chances_of_other).ravel()[held].sum())


TINY = [[0, 3], [1] * 4, [0, 0, 1], [0] * 15 + [3], [0, 3] * 10, [0] * 40, [1, 2] * 25]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VAR_POP", "STDDEV_SAMP"])
@pytest.mark.parametrize("epsilon", [40.0, 15.0])
def test_intervals_hold_in_95_of_100_whatever_few_rows_there_are(
    tmp_path: Path, name: str, epsilon: float
) -> None:
    confidence = Fraction(95, 100)
    san = opened(tmp_path, [1.0])
    level = planned(san, f"SELECT {name}(small) FROM t", epsilon)
    san.close()
    for values in TINY:
        truth = np.var(values) if name == "VAR_POP" else np.std(values, ddof=1)
        found = missed(level, values, confidence, float(truth))
        assert found <= 0.05
