"""ENTROPY: what it is without noise, the ends of its intervals by other means, and how they hold.

Coverage is counted over independent answers, with seeded noise; if intervals hold with the stated
confidence or more, the limit is passed by one seed in 1e9.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from privacy.worlds import Bounding, Database, draw_units, write_policy
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.errors import Refused
from sanql.measurements.bands import Band
from sanql.measurements.measurement import Measured
from sanql.noise.cells import add_noise
from sanql.options import Accuracy
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.statistics.entropy import (
    entropies,
    greatest_entropies,
    least_entropies,
    nearest_counts,
)
from support.by_hand import level_of
from support.by_value import cells_of_values
from support.one_level import plan_of
from support.seeded import seeded
from support.without_noise import answer_without_noise

LIMITS = {"visits": Bounding(99, 99, None), "stays": Bounding(99, 99, None)}
SQL = "SELECT ENTROPY(score) AS h FROM rows"
FIRST, LAST = -10, 30
FALSE_ALARM = 1e-9


def entropy_of(counts: Iterable[float]) -> float:
    """Return the entropy of counts by its definition."""
    counted = [count for count in counts if count > 0]
    total = sum(counted)
    return sum(-count / total * math.log2(count / total) for count in counted)


def scores(seed: int, size: int, spread: float) -> list[int]:
    drawn = np.random.default_rng(seed).normal(4, spread, size)
    found: list[int] = np.clip(np.rint(drawn), FIRST, LAST).astype(int).tolist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("table", ["visits", "readings"])
@pytest.mark.parametrize("column", ["sex", "flag", "swing"])
def test_without_noise_it_is_what_the_engine_says(table: str, column: str, tmp_path: Path) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    rng = random.Random(7)
    rows = [row for _ in range(9) for unit in draw_units(rng, table) for row in unit]
    database.load(table, rows)
    (found,) = answer_without_noise(f"SELECT ENTROPY({column}) AS h FROM {table}", policy, database)
    own = [row[column] for row in rows if row.get("person", 0) is not None]
    if column == "swing":
        own = [None if value is None else max(-5, min(3, value)) for value in own]
    own = [value for value in own if column != "sex" or value in ("F", "M", "it's")]
    plain = duckdb.connect()
    kind = {"sex": "VARCHAR", "flag": "BOOLEAN", "swing": "BIGINT"}[column]
    plain.execute(f"CREATE TABLE t (x {kind})")
    plain.executemany("INSERT INTO t VALUES (?)", [[value] for value in own])
    (expected,) = plain.execute("SELECT entropy(x) FROM t").fetchone() or (None,)
    assert found["h"] == pytest.approx(expected, abs=1e-9)
    assert expected > 0.5


def boxes(seed: int, count: int, bins: int) -> Band:
    """Return intervals around noisy counts, some of them at zero, all of one width."""
    numbers = np.random.default_rng(seed)
    noisy, width = numbers.integers(-30, 60, (count, bins)), numbers.integers(1, 40, (count, 1))
    return Band(np.maximum(noisy - width, 0.0), np.maximum(noisy + width, 0.0))


@pytest.mark.parametrize("bins", [1, 2, 3, 6])
def test_the_least_is_that_of_some_corner_and_no_corner_has_less(bins: int) -> None:
    box = boxes(bins, 60, bins)
    found = least_entropies(box)
    for row, least in enumerate(found):
        ends = list(zip(box.low[row], box.high[row], strict=True))
        corners = [entropy_of(corner) for corner in itertools.product(*ends)]
        assert least == pytest.approx(min(corners), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("bins", [1, 2, 3, 6])
def test_no_counts_within_have_more_than_the_greatest_and_some_have_it(bins: int) -> None:
    box = boxes(bins, 25, bins)
    greatest, numbers = greatest_entropies(box), np.random.default_rng(1)
    for row, most in enumerate(greatest):
        low, high = box.low[row], box.high[row]
        if high.max() == 0:
            assert np.isnan(most)
            continue
        tried = entropies(numbers.uniform(low, high, (400, bins)))
        assert np.nanmax(tried) <= most + 1e-9
        start = np.maximum((low + high) / 2, 1e-3)
        climbed = minimize(
            lambda c: -entropy_of(c), start, bounds=list(zip(low, high, strict=True))
        )
        assert -climbed.fun <= most + 1e-9
        assert max(-climbed.fun, np.nanmax(tried)) == pytest.approx(most, abs=0.02)


def test_nearest_counts_are_those_that_least_squares_finds() -> None:
    numbers = np.random.default_rng(3)
    noisy = numbers.integers(-20, 60, (20, 5)).astype(float)
    noisy = noisy[noisy.sum(axis=1) >= 1]
    for given, found in zip(noisy, nearest_counts(noisy), strict=True):
        assert found.min() >= 0 and found.sum() == pytest.approx(given.sum())
        same = {"type": "eq", "fun": lambda c, given=given: c.sum() - given.sum()}
        best = minimize(
            lambda c, given=given: ((c - given) ** 2).sum(), np.maximum(given, 0),
            bounds=[(0, None)] * 5, constraints=[same], method="SLSQP",
        )  # fmt: skip
        assert ((found - given) ** 2).sum() <= best.fun + 1e-3
    assert nearest_counts(np.array([[-4.0, 2.0]])).tolist() == [[0, 0]]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("0.05", "0"), ("1", "1e-5"), ("40", "0")])
def test_intervals_hold_as_often_as_they_say(epsilon: str, delta: str) -> None:
    level, sampler, confidence = level_of(SQL, epsilon, delta), seeded(5), Fraction(8, 10)
    missed, asked = 0, 0
    for size, spread in ((1, 1), (40, 1), (400, 9), (3000, 3)):
        rows = scores(size, size, spread)
        truth = entropy_of(Counter(rows).values())
        for _ in range(60):
            shown = show(level, add_noise(level, cells_of_values(rows, FIRST), sampler), confidence)
            low, high = (ends[0] for ends in shown.intervals["h"])
            missed += not low <= truth <= high
            value = shown.table.column("h")[0].as_py()
            assert value is None or 0 <= low <= value <= high <= math.log2(41)
            asked += 1
    assert missed <= binom.isf(FALSE_ALARM, asked, float(1 - confidence))


def test_much_noise_says_nothing_and_little_says_it_all() -> None:
    exact, ends = cells_of_values(scores(1, 5000, 3), FIRST), []
    for level in (level_of(SQL, "0.001"), level_of(SQL, "100")):
        shown = show(level, add_noise(level, exact, seeded(1)), Fraction(95, 100))
        ends.append(shown.intervals["h"])
    wide, narrow = ends
    assert wide[0][0] == 0 and wide[1][0] == pytest.approx(math.log2(41), abs=1e-6)
    assert narrow[1][0] - narrow[0][0] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1", "20"])
def test_the_width_told_beforehand_covers_the_error(epsilon: str) -> None:
    level, sampler, rows = level_of(SQL, epsilon), seeded(6), scores(2, 20_000, 4)
    truth, width = entropy_of(Counter(rows).values()), half_width(level, 0, Fraction(9, 10), 20_000)
    assert width is not None and 0 < width <= math.log2(41)
    values = [
        show(level, add_noise(level, cells_of_values(rows, FIRST), sampler), Fraction(1, 2))
        .table["h"][0]
        .as_py()
        for _ in range(80)
    ]
    off = sum(abs(value - truth) > width for value in values)
    assert off <= binom.isf(FALSE_ALARM, 80, 0.1)
    assert half_width(level, 0, Fraction(9, 10)) is None  # without a guess of rows


def test_the_width_falls_as_epsilon_grows() -> None:
    widths = [half_width(level_of(SQL, e), 0, Fraction(9, 10), 10**6) for e in ("0.1", "1", "10")]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3


def test_no_accuracy_is_promised_of_it() -> None:
    with pytest.raises(Refused) as refused:
        least_epsilon(plan_of(level_of(SQL)).outline, Fraction(0), Accuracy(Fraction(5), rows=1000))
    assert refused.value.code == "accuracy_not_applicable"


def test_it_shares_counts_with_the_mode_of_the_same_value() -> None:
    level = level_of("SELECT ENTROPY(sex), MODE(sex) FROM rows")
    assert [part.kind for part in level.measurements] == [Measured.HISTOGRAM]


def test_where_no_count_sees_a_row_it_is_null() -> None:
    level = level_of(SQL, "400")
    shown = show(level, add_noise(level, cells_of_values([], FIRST), seeded(2)), Fraction(95, 100))
    assert shown.table.column("h")[0].as_py() is None


def test_the_certificate_says_how_it_was_found() -> None:
    (said,) = certify(plan_of(level_of(SQL))).aggregates
    assert said["from"] == "the entropy of the shares of all counts of measurement 1"


@pytest.mark.parametrize("column", ["city", "income", "born"])
def test_what_has_no_known_values_is_refused_with_a_remedy(column: str) -> None:
    with pytest.raises(Refused) as refused:
        level_of(f"SELECT ENTROPY({column}) FROM rows")
    assert refused.value.code == "values_unknown" and refused.value.remedy
