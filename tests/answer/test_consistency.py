"""Totals that add up: what is fitted and what is not, how exact it is, and that intervals hold.

Simulations draw real noise from seeded entropy. Limits of binomial counts are passed with probability
at most 1e-9 where intervals hold as often as they say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from sanql.answer.levels import LevelCells, add_noise_to_levels, show_levels
from sanql.answer.reconcile import fitted
from sanql.mechanisms import ExactSampler, Sampler
from sanql.plan.keys import OneGroup, PublicKeys
from sanql.plan.plan import Plan
from sanql.plan.reconcilable import shared_measurements
from sanql.policy.model import ColumnUnit, Table
from support.by_hand import TABLES
from support.cells import priced
from support.exact_cells import cell_of
from support.samplers import ExtremeSampler, SilentSampler

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-9
CONFIDENCE = Fraction(95, 100)
MORE = {
    **TABLES,
    "stays": Table("stays", ColumnUnit("person_id"), TABLES["rows"].columns, 6, 2, 3),
    "single": Table("single", ColumnUnit("person_id"), TABLES["rows"].columns, 6, None, 1),
}


@dataclass
class Seeded:
    """Entropy that is the same every time."""

    rng: random.Random = field(default_factory=lambda: random.Random(11))

    def bytes(self, count: int) -> bytes:
        return self.rng.randbytes(count)


def planned(sql: str, epsilon: str = "1", delta: str = "0") -> Plan:
    return priced(sql, MORE, epsilon=epsilon, delta=delta)


def exact_cells(plan: Plan, most: int = 300) -> list[pa.Table]:
    """Return what every level would hold of one table of cells, with counts and sums in it."""
    domains = {
        key: level.outline.keys.columns[place].values
        for level, own in zip(plan.levels, plan.sets, strict=True)
        if isinstance(level.outline.keys, PublicKeys)
        for place, key in enumerate(own)
    }
    grid = np.meshgrid(*(np.arange(len(domains[key])) for key in sorted(domains)), indexing="ij")
    codes = dict(zip(sorted(domains), (axis.ravel() for axis in grid), strict=True))
    rng = np.random.default_rng(7)
    rows = rng.integers(0, most, next(iter(codes.values())).size)
    tables = []
    for level, own in zip(plan.levels, plan.sets, strict=True):
        assert isinstance(level.outline.keys, OneGroup | PublicKeys)
        shape = tuple(len(domains[key]) for key in own)
        place = np.ravel_multi_index([codes[key] for key in own], shape) if own else 0 * rows
        size = int(np.prod(shape)) if own else 1
        columns: dict[str, Any] = {
            f"k{n}": [domains[key][i] for i in np.unravel_index(np.arange(size), shape)[n]]
            for n, key in enumerate(own)
        }
        counts = np.zeros(size, dtype=np.int64)
        np.add.at(counts, place, rows)
        for index, part in enumerate(level.computed):
            value = part.centre + part.low + 2 * (part.high - part.low) // 3
            columns[f"m{index}"] = cell_of(part, counts * value, counts)
        tables.append(pa.table(columns))
    return tables


def noisy(plan: Plan, exact: list[pa.Table], sampler: Sampler) -> LevelCells:
    return add_noise_to_levels(plan, exact, sampler)


SQL = (
    "SELECT age, score, GROUPING(age, score) AS level, COUNT(income) AS n, SUM(income) AS total, "
    "AVG(income) AS mean, 2 * SUM(income) - 3 * COUNT(income) AS mixed FROM {} "
    "GROUP BY CUBE (age, score)"
)


@pytest.mark.parametrize("table", ["rows", "single"])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("1", "1e-3")])
def test_counts_and_sums_add_up_to_the_last_digit(table: str, epsilon: str, delta: str) -> None:
    plan = planned(SQL.format(table), epsilon, delta)
    shown = show_levels(plan, noisy(plan, exact_cells(plan), ExactSampler()), CONFIDENCE).table
    rows = shown.to_pylist()
    for column, step in (("n", 1), ("total", Fraction(1, 100))):
        found: dict[int, dict[Any, Fraction]] = {0: {}, 1: {}, 2: {}, 3: {}}
        for row in rows:
            value = Fraction(round(row[column] / float(step)))
            found[row["level"]][row["age"], row["score"]] = value
        assert len(found[0]) == 121 * 41
        assert sum(found[0].values()) == sum(found[1].values()) == found[3][None, None]
        assert sum(found[2].values()) == found[3][None, None]
        for age in range(121):
            parts = (v for (a, _), v in found[0].items() if a == age)
            assert sum(parts) == found[1][age, None]
        for score in range(-10, 31):
            parts = (v for (_, s), v in found[0].items() if s == score)
            assert sum(parts) == found[2][None, score]


@pytest.mark.parametrize("confidence", [Fraction(1, 2), CONFIDENCE])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0"), ("1", "1e-3"), ("20", "0")])
@pytest.mark.parametrize("table", ["rows", "visits"])
def test_intervals_hold_as_often_as_they_say_and_hold_what_is_shown(
    table: str, epsilon: str, delta: str, confidence: Fraction
) -> None:
    plan = planned(SQL.format(table), epsilon, delta)
    exact = exact_cells(plan)
    truth = show_levels(plan, noisy(plan, exact, SilentSampler()), confidence).table
    shown = show_levels(plan, noisy(plan, exact, ExactSampler()), confidence)
    levels = truth.column("level").to_numpy()
    for name, (lows, highs) in shown.intervals.items():
        values = shown.table.column(name).to_numpy()
        told = ~np.isnan(values.astype(float))  # an average of nothing is not shown
        assert (lows[told] <= values[told] + 1e-6).all()
        assert (values[told] <= highs[told] + 1e-6).all()
        exactly = truth.column(name).to_numpy().astype(float)
        slack = 1e-9 * (1 + np.abs(exactly))
        missed = (lows > exactly + slack) | (highs < exactly - slack)
        for level in (0, 1, 2):
            here = missed[levels == level]
            limit = binom.isf(FALSE_ALARM, here.size, 1 - float(confidence))
            assert here.sum() <= limit, (name, level)


def test_the_interval_of_a_total_holds_as_often_as_it_says() -> None:
    plan = planned("SELECT sex, COUNT(*) AS n FROM rows GROUP BY ROLLUP (sex)", "0.7")
    exact = exact_cells(plan)
    sampler = ExactSampler(Seeded())
    missed = 0
    for _ in range(400):
        shown = show_levels(plan, noisy(plan, exact, sampler), Fraction(1, 2))
        low, high = (ends[2] for ends in shown.intervals["n"])
        missed += not low <= exact[1].column("m0")[0].as_py() <= high
    assert missed <= binom.isf(FALSE_ALARM, 400, 0.5)


@pytest.mark.parametrize(
    ("sql", "ratios"),
    [
        # what least squares leaves of the variance, level by level, by hand
        ("SELECT COUNT(*) FROM rows GROUP BY ROLLUP (sex)", [2 / 3, 2 / 3]),
        ("SELECT COUNT(*) FROM rows GROUP BY CUBE (sex, age < 40)", None),
    ],
)
def test_fitted_levels_err_less_than_levels_by_themselves(
    sql: str, ratios: list[float] | None
) -> None:
    plan = planned(sql.replace("age < 40", "(age < 40)"))
    exact = exact_cells(plan)
    sampler = ExactSampler(Seeded())
    measured, better = np.zeros(len(plan.levels)), np.zeros(len(plan.levels))
    for _ in range(600):
        cells = noisy(plan, exact, sampler).levels
        fit = fitted(plan, cells)
        for level, table in enumerate(exact):
            truth = table.column("m0").to_numpy()
            measured[level] += ((cells[level].measurement(0) - truth) ** 2).mean()
            better[level] += ((fit[level].measurement(0) - truth) ** 2).mean()
    assert (better < 0.9 * measured).all()
    if ratios is not None:
        assert np.allclose(better / measured, ratios, atol=0.12)


def test_cells_without_noise_are_shown_as_they_are() -> None:
    plan = planned(SQL.format("rows"), "0.5")
    exact = exact_cells(plan)
    cells = noisy(plan, exact, SilentSampler()).levels
    assert [fit.table for fit in fitted(plan, cells)] == [each.table for each in cells]


def kinds(sql: str, delta: str = "0") -> list[tuple[str, int]]:
    """Return what is fitted, and over how many levels."""
    plan = planned(sql, delta=delta)
    return [
        (plan.levels[level].measurements[index].kind.value, len(places))
        for places in shared_measurements(plan)
        for level, index in [next(iter(places.items()))]
    ]


def test_only_what_adds_up_is_fitted() -> None:
    every = "COUNT(*), SUM(age), AVG(score), COUNT(DISTINCT age), MEDIAN(age), COUNT(DISTINCT person_id)"
    sql = f"SELECT {every} FROM visits GROUP BY CUBE (sex, age)"
    assert kinds(sql) == [("rows", 4), ("sum", 4), ("sum", 4), ("rows with a value", 4)]
    assert kinds("SELECT COUNT(DISTINCT person_id) FROM single GROUP BY ROLLUP (sex)") == [
        ("units", 2)  # a unit is in one group of every level
    ]


def test_sums_with_bounds_for_each_unit_are_left_as_measured() -> None:
    sql = "SELECT SUM(age, contribution_bounds_per_group => (0, 50)) FROM visits GROUP BY ROLLUP (sex)"
    assert kinds(sql) == []


def test_nothing_is_fitted_where_a_unit_counts_less_in_one_group_than_in_several() -> None:
    assert kinds("SELECT COUNT(*) FROM stays GROUP BY ROLLUP (sex)") == []


def test_levels_whose_keys_are_selected_are_left_as_measured() -> None:
    sql = "SELECT COUNT(*) FROM visits GROUP BY ROLLUP (sex, city)"
    assert kinds(sql, "1e-6") == [("rows", 2)]
    assert kinds("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (city)", "1e-6") == []


def test_extreme_numbers_arrive() -> None:
    plan = planned(SQL.format("visits"))
    cells = add_noise_to_levels(plan, exact_cells(plan), ExtremeSampler())
    shown = show_levels(plan, cells, CONFIDENCE)
    assert shown.table.num_rows == 122 * 42
