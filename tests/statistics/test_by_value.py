"""Rows counted by public value: what the engine counts, what leaves, and that one unit moves little."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from privacy.additivity import check_sum, check_units
from privacy.replay import check, keyed
from privacy.worlds import (
    UNITS,
    Bounding,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.account.events import LaplaceEvent
from sanql.compile.statement import compile_plan
from sanql.measurements.measurement import Measured, Measurement
from sanql.measurements.noisy_cells import NoisyCells
from sanql.measurements.sensitivity import Sensitivity
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler
from sanql.noise.cells import add_noise
from sanql.parse.question import parse
from sanql.plan.digest import question_digest
from sanql.plan.keys import VALUES_MAX, listed_values
from sanql.plan.level import Level
from sanql.policy.model import Neighbours, Policy
from sanql.statistics.collector import Measuring
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from support.by_value import level_by_value
from support.samplers import SilentSampler
from support.volume import few_of

LIMITS = {"visits": Bounding(3, 2, None), "stays": Bounding(2, 2, 1)}
VALUES = [
    ("sex", ("F", "M", "it's")),
    ("level", (1, 2, 5)),
    ("flag", (False, True)),
    ("swing", tuple(range(-5, 4))),
    ("CASE WHEN flag THEN sex END", ("F", "M", "it's")),
    ("CASE WHEN flag THEN level ELSE 7 END", (1, 2, 5, 7)),
    ("COALESCE(level, 2)", (1, 2, 5)),
    ("CASE WHEN flag THEN 0.5 ELSE 1.5 END", (Fraction(1, 2), Fraction(3, 2))),
    ("MONTH(day)", tuple(range(1, 13))),
]
RELATIONS: list[Neighbours] = ["add-remove", "change-one"]
"""Questions with one group, public keys and keys that are selected."""
GROUPINGS = ["", " GROUP BY level", " GROUP BY city", " GROUP BY flag, sex"]


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return write_policy(tmp_path, "add-remove", LIMITS)


@pytest.mark.parametrize(("text", "values"), VALUES)
def test_values_are_known_by_what_is_declared_and_asked(
    text: str, values: tuple[object, ...], policy: Policy
) -> None:
    argument = parse(f"SELECT COUNT(NULLIF({text}, NULL)) FROM visits", policy.tables)
    (bare,) = argument.private.aggregates[0].value.args[:1]  # type: ignore[union-attr]
    assert listed_values(bare, policy.tables) == values


@pytest.mark.parametrize("text", ["city", "big", "raw", "income", "region", "free_day", "temp"])
def test_other_values_are_not(text: str, policy: Policy) -> None:
    argument = parse(f"SELECT COUNT({text}) FROM visits", policy.tables).private.aggregates[0].value
    assert listed_values(argument, policy.tables) is None


def test_very_many_values_are_not(policy: Policy) -> None:
    text = f"CASE WHEN big BETWEEN 1 AND {VALUES_MAX + 1} THEN big END"
    argument = parse(f"SELECT COUNT({text}) FROM visits", policy.tables).private.aggregates[0].value
    assert listed_values(argument, policy.tables) is None


def cells_of(level: Level, policy: Policy, database: Database, secret: int = 5) -> pa.Table:
    return database.cells(compile_plan(level, source_of(policy), secret))


@pytest.mark.parametrize("column", ["sex", "level", "flag", "swing"])
def test_rows_are_counted_as_by_hand(column: str, tmp_path: Path) -> None:
    rng, database = random.Random(3), Database()
    policy = write_policy(tmp_path, "add-remove", LIMITS)
    rows = [row for unit in draw_units(rng, "readings") for row in unit]
    database.load("readings", rows)
    bounds = {"swing": (-5, 3), "level": (1, 9)}.get(column)
    level = level_by_value(f"SELECT COUNT({column}) FROM readings", policy.tables, "add-remove")
    values = level.measurements[-1].values
    by_hand: Counter[Any] = Counter()
    for row in rows:
        value = row[column]
        if value is not None and bounds is not None:
            value = max(bounds[0], min(bounds[1], value))  # read as the nearer bound
        by_hand[value] += 1
    cells = keyed(level, cells_of(level, policy, database))[()]
    assert cells[-1] == {i: by_hand[v] for i, v in enumerate(values) if by_hand[v]}
    noisy = add_noise(level, cells_of(level, policy, database), SilentSampler())
    place = len(level.measurements) - 1
    assert noisy.lists(place)[0].tolist() == [by_hand[value] for value in values]


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(3), 1))
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_neighbours_move_counts_by_value_by_no_more_than_declared(
    neighbours: Neighbours, seed: int, tmp_path: Path
) -> None:
    rng, ours, theirs = random.Random(seed), Database(), Database()
    attained: Counter[Measured] = Counter()
    for _ in range(4):
        limits = {name: draw_bounding(rng) for name, unit in UNITS.items() if unit is not None}
        policy = write_policy(tmp_path, neighbours, limits)
        for table in UNITS:
            units = draw_units(rng, table)
            ours.load(table, [row for unit in units for row in unit])
            other = neighbour_of(rng, table, units, neighbours)
            theirs.load(table, [row for unit in other for row in unit])
            for grouping in GROUPINGS:
                text = rng.choice(["sex", "swing", "flag", "CASE WHEN flag THEN sex END"])
                sql = f"SELECT COUNT({text}) FROM {table}{grouping}"
                level = level_by_value(sql, policy.tables, neighbours)
                secret = rng.getrandbits(63)
                left, right = (cells_of(level, policy, db, secret) for db in (ours, theirs))
                reached = check(level, left, right)
                for part, full in zip(level.measurements, reached, strict=True):
                    attained[part.kind] += full
    assert attained[Measured.HISTOGRAM] > 2, attained


@pytest.mark.slow
@pytest.mark.parametrize("table", UNITS)
def test_counts_by_value_add_up_over_units(table: str, tmp_path: Path) -> None:
    rng, database = random.Random(4), Database()
    policy = write_policy(tmp_path, "add-remove", LIMITS)
    units = draw_units(rng, table)
    for grouping in GROUPINGS:
        sql = f"SELECT COUNT(swing) FROM {table}{grouping}"
        level = level_by_value(sql, policy.tables, "add-remove")
        database.load(table, [row for unit in units for row in unit])
        whole = cells_of(level, policy, database)
        each = units if UNITS[table] is not None else [[row] for unit in units for row in unit]
        parts = []
        for unit in each:
            database.load(table, list(unit))
            parts.append(cells_of(level, policy, database))
        assert check_sum(level, whole, parts) > 0
        assert check_units(level, parts, rows=UNITS[table] is None) == len(parts)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_each_count_has_a_draw_of_its_own(neighbours: Neighbours, tmp_path: Path) -> None:
    policy = write_policy(tmp_path, neighbours, LIMITS)
    sql = "SELECT COUNT(sex) FROM visits"
    level = level_by_value(sql, policy.tables, neighbours, Fraction(1), Fraction(0))
    place = len(level.measurements) - 1
    noise, bounds = level.noises[place], level.measurements[place].sensitivity
    assert isinstance(noise, DiscreteLaplace)
    assert LaplaceEvent(noise.scale, bounds.l1, bounds.linf) in level.charge.events
    gaussian = level_by_value(sql, policy.tables, neighbours, Fraction(1, 50), Fraction(1, 10))
    assert {type(noise) for noise in gaussian.noises} == {DiscreteGaussian}
    sampler = SilentSampler()
    exact = pa.table({f"l{place}": [[0]], f"m{place}": [[9]], "m0": [9]})
    cells = add_noise(level, exact, sampler)
    assert sampler.asked.count((noise, 3)) == 1  # besides the draw of COUNT(sex)
    assert not any(name.startswith("l") for name in cells.table.column_names)
    assert cells.lists(place)[0].tolist() == [9, 0, 0]


def test_values_are_part_of_the_name(policy: Policy) -> None:
    level = level_by_value("SELECT COUNT(sex) FROM visits", policy.tables, "add-remove")
    parts = level.measurements
    names = {question_digest([level], "data")}
    for values in (("F", "M"), ("M", "F", "it's"), ()):
        changed = (*parts[:-1], replace(parts[-1], values=values))
        measuring = replace(level.outline.measuring, measurements=changed)
        other = replace(level, outline=replace(level.outline, measuring=measuring))
        names.add(question_digest([other], "data"))
    assert len(names) == 4


def test_the_row_of_other_groups_has_none_of_it(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, "add-remove", LIMITS)
    sql = "SELECT city, COUNT(sex) FROM visits GROUP BY city"
    level = level_by_value(sql, policy.tables, "add-remove", other=True)
    database = Database()
    rows = [row for unit in draw_units(random.Random(2), "visits") for row in unit]
    database.load("visits", rows)
    cells = add_noise(level, cells_of(level, policy, database), ExactSampler())
    assert cells.other_groups.tolist() == [False] * (cells.count - 1) + [True]


def test_intervals_of_all_counts_hold_together() -> None:
    """Of 300 answers, each with nine counts, a miss has probability at most 0.1: 61 are 1e-9."""
    part = Measurement(Measured.HISTOGRAM, None, Sensitivity(1, 1, 1), values=tuple(range(9)))
    noise = PlannedNoise(Measuring((part,), (), None), (DiscreteLaplace(Fraction(7)),), None)
    truth = np.arange(9) * 30
    drawn = ExactSampler().sample(noise.noises[0], 300 * 9).reshape(300, 9)
    table = pa.table({"m0": pa.array((truth + drawn).tolist(), pa.list_(pa.int64()))})
    noisy = NoisyMeasurements(noise, NoisyCells(table))
    band = noisy.vectors_around(0, Fraction(9, 10))
    assert noisy.vectors(0).shape == band.low.shape == (300, 9)
    missed = ((band.low > truth) | (band.high < truth)).any(axis=1).sum()
    assert missed <= binom.isf(1e-9, 300, 0.1)
    assert band.low.min() == 0.0
