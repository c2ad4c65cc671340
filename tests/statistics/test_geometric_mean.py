"""GEOMEAN: what it is without noise, how its intervals hold, and what is told or refused beforehand.

Coverage is counted over independent answers, with seeded noise; if intervals hold with the stated
confidence or more, the limit is passed by one seed in 1e9.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from privacy.worlds import Bounding, Database, Row, draw_units, write_policy
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.errors import Refused
from sanql.measurements.measurement import Measured
from sanql.noise.cells import add_noise
from sanql.options import Accuracy
from sanql.parse.question import parse
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.level import Level
from sanql.plan.plan import price
from support.by_hand import TABLES, level_of
from support.exact_cells import cell_of
from support.one_level import plan_of
from support.seeded import seeded
from support.without_noise import answer_without_noise

LIMITS = {"visits": Bounding(99, 99, None), "stays": Bounding(99, 99, None)}
SQL = "SELECT GEOMEAN(GREATEST(1, LEAST(120, age))) AS g FROM rows"
FALSE_ALARM = 1e-9


def exact_cells(level: Level, groups: list[np.ndarray]) -> pa.Table:
    """Return the cells of some values above zero, by plain arithmetic."""
    columns = {}
    for index, part in enumerate(level.computed):
        cells = []
        for values in groups:
            steps = np.floor(np.log(values) / float(part.grid) + 0.5).astype(np.int64)
            cells.append(cell_of(part, int(steps.sum()), len(values)))
        columns[f"m{index}"] = cells
    return pa.table(columns)


def held(value: float | None, low: float, high: float) -> float | None:
    """Return a value as a bounded column is read: the nearer end, and nothing where it is no number."""
    if value is None or not math.isfinite(value):
        return None
    return max(low, min(high, value))


def of_level(row: Row) -> float | None:
    return held(row["level"], 1, 9)


def of_income(row: Row) -> float:
    income = held(row["income"], 0, 100)
    return max(0.25, 9.0 if income is None else min(9.0, income))  # LEAST passes over NULL


def of_age(row: Row) -> float | None:
    age = held(row["age"], 0, 40)
    return age if age is not None and age >= 1 else None


BY_HAND: list[tuple[str, Callable[[Row], float | None]]] = [
    ("level", of_level),
    ("GREATEST(0.25, LEAST(9, income))", of_income),
    ("CASE WHEN age BETWEEN 1 AND 40 THEN age END", of_age),
]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["visits", "readings"])
@pytest.mark.parametrize(("text", "value"), BY_HAND)
def test_without_noise_it_is_what_python_says(
    table: str, text: str, value: Callable[[Row], float | None], tmp_path: Path
) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    rng = random.Random(7)
    rows = [row for _ in range(9) for unit in draw_units(rng, table) for row in unit]
    database.load(table, rows)
    sql = f"SELECT sex, GEOMEAN({text}) AS g FROM {table} GROUP BY sex"
    for found in answer_without_noise(sql, policy, database):
        own = [
            row for row in rows if row["sex"] == found["sex"] and row.get("person", 0) is not None
        ]
        values = [number for number in map(value, own) if number is not None]
        expected = pytest.approx(geometric_mean(values), rel=1e-5) if values else None
        assert found["g"] == expected
    assert any(row["sex"] == "F" for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", "0"), ("2", "1e-5"), ("40", "0")])
def test_intervals_hold_as_often_as_they_say(epsilon: str, delta: str) -> None:
    level, sampler = level_of(SQL, epsilon, delta), seeded(5)
    numbers, confidence = np.random.default_rng(5), Fraction(8, 10)
    missed, asked = 0, 0
    for size in (1, 3, 40, 1000):
        values = np.clip(np.round(numbers.lognormal(3, 1, size)), 1, 120)
        exact, truth = exact_cells(level, [values]), np.exp(np.log(values).mean())
        for _ in range(80):
            shown = show(level, add_noise(level, exact, sampler), confidence)
            low, high = (ends[0] for ends in shown.intervals["g"])
            missed += not low <= truth <= high
            value = shown.table.column("g")[0].as_py()
            assert value is None or 1 <= low <= value <= high <= 120
            asked += 1
    assert missed <= binom.isf(FALSE_ALARM, asked, float(1 - confidence))


def test_the_width_told_beforehand_covers_the_error() -> None:
    level, sampler = level_of(SQL, "1"), seeded(6)
    values = np.clip(np.round(np.random.default_rng(6).lognormal(3, 1, 1000)), 1, 120)
    exact, truth = exact_cells(level, [values]), np.exp(np.log(values).mean())
    width = half_width(level, 0, Fraction(9, 10), 1000)
    assert width is not None and 0 < width < 20
    shown = [show(level, add_noise(level, exact, sampler), Fraction(1, 2)) for _ in range(80)]
    off = [abs(each.table.column("g")[0].as_py() - truth) > width for each in shown]
    assert sum(off) <= binom.isf(FALSE_ALARM, 80, 0.1)
    assert half_width(level, 0, Fraction(9, 10)) is None  # without a guess of rows


def test_an_accuracy_chooses_its_epsilon() -> None:
    outlined = plan_of(level_of(SQL)).outline
    epsilon = least_epsilon(outlined, Fraction(0), Accuracy(Fraction(5), rows=1000))
    width = half_width(price(outlined, epsilon, Fraction(0)).levels[0], 0, Fraction(95, 100), 1000)
    assert width is not None and width <= 5


def test_average_and_geometric_mean_share_their_count() -> None:
    level = level_of("SELECT GEOMEAN(GREATEST(1, age)), AVG(GREATEST(1, age)), COUNT(*) FROM rows")
    assert [part.kind for part in level.measurements] == [
        Measured.SUM, Measured.UNITS, Measured.SUM,
    ]  # fmt: skip


def test_the_certificate_says_how_it_was_found() -> None:
    (said,) = certify(plan_of(level_of(SQL))).aggregates
    assert str(said["from"]).startswith("exp of the mean of logarithms: centre + measurement 1")


REFUSED: list[tuple[str, str, str]] = [
    ("GEOMEAN(age)", "bounds_missing", "as small as 0"),
    ("GEOMEAN(income)", "bounds_missing", "as small as -50"),
    ("GEOMEAN(city)", "type_mismatch", "needs a number"),
    ("GEOMEAN(born)", "type_mismatch", "has dates"),
    ("GEOMEAN(age > 3)", "type_mismatch", "needs a number"),
    ("GEOMEAN(DISTINCT age)", "distinct_unsupported", "DISTINCT"),
    ("GEOMEAN(age, 2)", "construct_unsupported", "GEOMEAN"),
]


@pytest.mark.parametrize(("text", "code", "words"), REFUSED)
def test_what_has_none_is_refused_with_a_remedy(text: str, code: str, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        parse(f"SELECT {text} FROM rows", TABLES)
    assert refused.value.code == code and refused.value.remedy


@pytest.mark.parametrize("make", [str.lower, str.upper, str.title])
def test_both_names_and_any_case_are_one_statistic(make: Callable[[str], str]) -> None:
    names = [make(name) for name in ("GEOMEAN", "GEOMETRIC_MEAN")]
    texts = [f"SELECT {name}(GREATEST(1, age)) FROM rows" for name in names]
    found = [parse(text, TABLES).private.aggregates[0] for text in texts]
    assert {each.statistic for each in found} == {"geometric mean"}
    filtered = parse("SELECT GEOMEAN(age + 1) FILTER (WHERE age > 3) FROM rows", TABLES).private
    assert filtered.aggregates[0].value.facts.nullable
