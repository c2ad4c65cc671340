"""Averages in pairs: every small unit, in the real statement, against what is declared for both sides.

Units are all multisets of as many rows as count with a group and a value of a small grid, and some with
many rows. What each of them has alone, on both sides together, or how far any two differ, is compared
with the one sensitivity that their noise is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privacy.worlds import ENGINE, Bounding, Database, source_of, write_policy
from sanql.account.events import LaplaceEvent
from sanql.compile.statement import compile_plan
from sanql.measurements.measurement import Measured
from sanql.mechanisms import SummedNoise
from sanql.plan.level import Level
from sanql.policy.model import Neighbours
from support.cells import priced
from support.volume import share_rows_of

EMPTY: dict[str, Any] = dict.fromkeys(ENGINE)
RELATIONS: list[Neighbours] = ["add-remove", "change-one"]
LIMITS = [Bounding(1, 1, None), Bounding(2, 1, None), Bounding(2, 2, None), Bounding(3, 2, 2)]
GROUPS = ("F", "M")
QUESTIONS = {  # with values at both ends, in the middle, at halves of the grid, and none
    "SELECT sex, AVG(age) FROM visits GROUP BY sex": ("age", (0, 13, 40, None)),
    "SELECT AVG(age) FROM visits": ("age", (0, 13, 40, None)),
    "SELECT sex, AVG(flag) FROM visits GROUP BY sex": ("flag", (False, True, None)),
    "SELECT AVG(CASE WHEN age > 20 THEN 1 ELSE 0 END) FROM visits": ("age", (0, 40)),
    "SELECT sex, AVG(share), COUNT(share) FROM visits GROUP BY sex": ("share", (-1.0, 0.25, 1.0)),
    "SELECT sex, AVG(temp), SUM(temp) FROM visits GROUP BY sex": ("temp", (-10.5, 14.75, 40.0)),
    "SELECT AVG(level), SUM(level), COUNT(level) FROM visits": ("level", (1, 4, 9)),
}
Cells = dict[Any, tuple[int, int]]


def planned(sql: str, folder: Path, relation: Neighbours, limits: Bounding) -> tuple[Level, Any]:
    policy = write_policy(folder, relation, {"visits": limits, "stays": limits}, totals=False)
    (level,) = priced(sql, policy.tables, relation, delta=0).levels
    return level, policy


def units_of(column: str, values: tuple[Any, ...], most: int) -> Iterator[list[dict[str, Any]]]:
    kinds = [{"person": 1, "sex": sex, column: value} for sex, value in product(GROUPS, values)]
    for size in range(1, most + 1):
        yield from map(list, combinations_with_replacement(kinds, size))
    for count in (most + 1, 300):
        yield kinds * count
        for number in range(len(values)):  # one value, in the first group, and in both
            yield kinds[number : number + 1] * count
            yield kinds[number :: len(values)] * count


def cells_alone(level: Level, policy: Any, units: list[list[dict[str, Any]]]) -> list[Cells]:
    """Return what each unit has above and below in every group when it is there alone."""
    (place,) = [i for i, p in enumerate(level.measurements) if p.kind is Measured.SUM and p.pair]
    pair = level.measurements[place].pair
    assert pair is not None
    database, statement = Database(), compile_plan(level, source_of(policy), 7)
    found = []
    for rows in units:
        database.load("visits", [{**EMPTY, **row} for row in rows])
        found.append(
            {
                row.get("k0"): (row[f"m{place}"], row[f"m{pair.partner}"])
                for row in database.cells(statement).to_pylist()
            }
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "sql"), share_rows_of(product(LIMITS, QUESTIONS), 3))
def test_no_unit_moves_both_sides_together_by_more_than_their_noise_is_for(
    sql: str, limits: Bounding, tmp_path: Path
) -> None:
    levels = {relation: planned(sql, tmp_path, relation, limits) for relation in RELATIONS}
    texts = {compile_plan(level, source_of(policy), 7).sql for level, policy in levels.values()}
    assert len(texts) == 1  # what is computed does not hang on what one unit more means
    level, policy = levels["add-remove"]
    found = cells_alone(level, policy, list(units_of(*QUESTIONS[sql], min(limits.rows, 2))))
    keys = sorted(found[0], key=str)
    vectors = np.unique(
        np.array([[side for key in keys for side in cells[key]] for cells in found]), axis=0
    )
    assert vectors.min() >= 0
    part = next(p for p in level.computed if p.kind is Measured.SUM and p.pair)
    assert part.pair is not None
    # a group holds its rows times the width, whichever side they are on
    assert vectors.sum(axis=1).max() <= limits.rows * part.pair.width * part.pair.scale
    for relation, (declaring, _) in levels.items():
        check_moves(declaring, vectors, relation)


def check_moves(level: Level, vectors: np.ndarray, relation: Neighbours) -> None:
    """Assert that no unit, or no two for one another, move both sides further than is declared."""
    declared = next(p for p in level.computed if p.pair).sensitivity
    nothing = np.zeros((1, vectors.shape[1]), dtype=vectors.dtype)
    everybody = np.concatenate([nothing, vectors])
    moved = np.abs(everybody[:, None] - (everybody if relation == "change-one" else nothing)[None])
    assert moved.sum(axis=2).max() <= declared.l1
    assert moved.max() <= declared.linf
    assert (moved.astype(object) ** 2).sum(axis=2).max() <= declared.l2_squared
    assert moved.sum(axis=2).max() > 0.99 * declared.l1  # and no less would do


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("limits", LIMITS[1:3])
def test_a_unit_at_one_end_moves_the_pair_by_all_that_is_declared(
    limits: Bounding, relation: Neighbours, tmp_path: Path
) -> None:
    """The corners of the exhaustive test above, quickly."""
    sql = "SELECT AVG(age) FROM visits"
    level, policy = planned(sql, tmp_path, relation, limits)
    ends = [[{"person": 1, "sex": "F", "age": age}] * limits.rows for age in (0, 40)]
    bottom, top = (cells[None] for cells in cells_alone(level, policy, ends))
    width = 40 * limits.rows * level.computed[0].scale
    assert (bottom, top) == ((0, width), (width, 0))
    declared = level.measurements[0].sensitivity.l1
    assert declared == (width if relation == "add-remove" else 2 * width)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_one_event_is_charged_for_both_sides_with_the_noise_that_they_have(
    sql: str, limits: Bounding, relation: Neighbours, tmp_path: Path
) -> None:
    level, _ = planned(sql, tmp_path, relation, limits)
    places = [index for index, part in enumerate(level.measurements) if part.pair is not None]
    assert len(places) == 2
    one, other = (level.measurements[place] for place in places)
    assert one.sensitivity == other.sensitivity
    noise = level.noises[places[0]]
    assert level.noises[places[1]] == noise == SummedNoise(noise.noise, 2)  # type: ignore[union-attr]
    events = [event for event in level.charge.events if isinstance(event, LaplaceEvent)]
    assert len(events) == len(level.measurements) - 1
    moved = one.sensitivity
    assert LaplaceEvent(noise.noise.scale, moved.l1, moved.linf) in events  # type: ignore[union-attr]
    assert sum(event.l1 / event.scale for event in events) == Fraction(1)
