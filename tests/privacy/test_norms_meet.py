"""Norms where they meet what the engine saves: weights of keys, units counted row by row, 64 bits, parts.

Each of these has tests of its own, and each is one way of several to the same cells. Here a level whose
averages are bounded jointly (docs/averages.md) goes every way at once: every small unit is compared with
the rule worked out in plain Python, and every two with what is declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privacy.additivity import check_same, check_sum
from privacy.kernel import write_database
from privacy.norms import Vector
from privacy.replay import check
from privacy.stages import STAGES
from privacy.test_average_norms import bounded_jointly, by_the_rule
from privacy.test_norms import AVERAGE, EMPTY, GROUPS, MECHANISMS, RELATIONS, planned, rows_of
from privacy.worlds import REGIONS, Bounding, Database, source_of, write_policy
from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.compile.small_units import rows_without_limits
from sanql.engines import Pool, open_engine, prepare
from sanql.measurements import Measured, key_weight
from sanql.parse import parse
from sanql.plan import outline
from sanql.plan.level import Level
from sanql.policy import Neighbours, Policy
from support.volume import share_rows_of

pytestmark = pytest.mark.slow

SECRET = 7
BY_CITY = "SELECT city, AVG(age - 20) FROM visits GROUP BY city"
TWO_BY_CITY = "SELECT city, AVG(age - 20), AVG(temp) FROM visits GROUP BY city"
COSTLY = "SELECT sex, AVG(income) FROM visits GROUP BY sex"
FAR = (
    "SELECT sex, AVG(age * 1000000000000) FROM visits GROUP BY sex"  # whose products need 128 bits
)
SIGNED = "SELECT sex, AVG(age - 20) FROM visits GROUP BY sex"
TWO = "SELECT sex, AVG(age), AVG(temp) FROM visits GROUP BY sex"
FILTERED = "SELECT sex, AVG(age) FROM visits WHERE temp < 39.5 GROUP BY sex"
SUMMED = "SELECT sex, SUM(age - 20) FROM visits GROUP BY sex"
ALL = "SELECT sex, COUNT(*), SUM(age), AVG(temp) FROM visits GROUP BY sex"
SHAPES = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (3, 0, 0), (0, 3, 3), (1, 4, 0), (7, 7, 7), (0, 0, 900)]
AGES = [(0,), (40,), (0, 40), (40, None), (None,), (13, 7, None), (20, 21)]
CASES = list(product(SHAPES, AGES))
ROOMY = Bounding(60, 3, 40)  # far more rows than norms here let count in full
WIDE = Bounding(60, 3, None)


def rows_of_case(number: int, counts: Vector, ages: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """Return a unit's rows, with incomes from nothing to the most there is."""
    return [
        {**EMPTY, **row, "person": number, "city": row["sex"], "income": float(place % 5 * 25)}
        for place, row in enumerate(rows_of(counts, ages))
    ]


UNITS = [rows_of_case(number, *case) for number, case in enumerate(CASES)]
EVERY_ROW = [row for rows in UNITS for row in rows]


# ---- averages bounded jointly, of keys that are selected by weights


def weighed(
    sql: str, folder: Path, relation: Neighbours, own: int, rows: int, per_group: int | None
) -> tuple[Level, Policy]:
    """Return a level that selects its keys by weights, with norms of its averages' own."""
    limits = Bounding(60, 30, per_group)
    policy = write_policy(folder, relation, {"visits": limits, "stays": limits})
    (level,) = outline(parse(sql, policy.tables).query, policy.tables, relation).levels
    assert level.by_weights is not None
    found = bounded_jointly(level, level.by_weights, 2, own, rows)
    kinds = [part.kind for part in found.computed]
    assert Measured.KEY_WEIGHTS in kinds and Measured.UNITS not in kinds
    assert all(part.norm is None or part.norm.jointly for part in found.computed)
    return found, policy


def cells_of_each(level: Level, policy: Policy) -> Iterator[pa.Table]:
    """Yield the cells of each unit when it is there alone, and at last of all of them."""
    database, statement = Database(), compile_plan(level, source_of(policy), SECRET)
    assert "reached AS" in statement.in_full()
    for rows in (*UNITS, EVERY_ROW):
        database.load("visits", rows)
        yield database.cells(statement)


@pytest.mark.parametrize(
    ("sql", "relation", "own", "rows", "per_group"),
    share_rows_of(product([BY_CITY, TWO_BY_CITY], RELATIONS, [7, 50], [2, 3], [None, 2]), 5),
)
def test_no_unit_moves_joint_averages_of_weighed_keys_further_than_declared(
    sql: str, relation: Neighbours, own: int, rows: int, per_group: int | None, tmp_path: Path
) -> None:
    level, policy = weighed(sql, tmp_path, relation, own, rows, per_group)
    *alone, whole = cells_of_each(level, policy)
    check_sum(level, whole, alone)
    nothing = whole.slice(0, 0)
    others = [nothing, *alone] if relation == "change-one" else [nothing]
    for one in alone:
        for other in others:
            check(level, one, other)
    lengths = [
        (max(sum(v * v for v in column(cells, place)) for cells in alone), part.norm)
        for place, part in enumerate(level.computed)
        if part.norm is not None
    ]
    shares = [Fraction(longest, norm.bound * norm.scale**2) for longest, norm in lengths]
    assert max(shares) <= 1
    assert max(shares) > 0.98, "of the norms that share a factor one is met, or nothing was tested"


@pytest.mark.parametrize(("own", "rows"), [(7, 3), (50, 2), (10**6, 2), (30, 10**6)])
def test_weighed_units_have_the_least_of_both_factors(own: int, rows: int, tmp_path: Path) -> None:
    level, policy = weighed(BY_CITY, tmp_path, "add-remove", own, rows, None)
    summed, counted = (
        next(part for part in level.computed if part.kind is kind)
        for kind in (Measured.SUM, Measured.VALUES)
    )
    places = [level.computed.index(part) for part in (summed, counted)]
    weights = [part.kind for part in level.computed].index(Measured.KEY_WEIGHTS)
    *alone, _ = cells_of_each(level, policy)
    for (counts, ages), cells in zip(CASES, alone, strict=True):
        found = by_the_rule(counts, ages, summed, counted, 20)
        assert [column(cells, place) for place in places] == list(found)
        present = [n > 0 for n in counts]
        weight = key_weight(sum(present))
        assert column(cells, weights) == tuple(weight * there for there in present)


def column(cells: pa.Table, place: int) -> Vector:
    """Return a measurement's cells in all groups, also those that are not there."""
    found = dict(
        zip(cells.column("k0").to_pylist(), cells.column(f"m{place}").to_pylist(), strict=True)
    )
    return tuple(found.get(key, 0) for key in GROUPS)


# ---- over a copy whose units are counted row by row where nothing can bind


def copied(
    folder: Path, relation: Neighbours = "add-remove", limits: Bounding = ROOMY
) -> tuple[Policy, PreparedSource]:
    """Return a policy, and the copy of a database that has all of the units."""
    policy = write_policy(folder, relation, {"visits": limits, "stays": limits})
    (schema,) = (stage.schema for stage in STAGES if stage.name == "plain")
    regions = [{"name": name, "rate": rate} for name, rate in REGIONS]
    write_database(folder / "data.duckdb", schema, {"visits": EVERY_ROW, "regions": regions})
    return policy, prepare(policy, engine=open_engine("in_process"), copied=True)


def check_every_way(level: Level, policy: Policy, source: PreparedSource) -> tuple[pa.Table, int]:
    """Return cells, the same whichever way units go, and how many rows units have that go a short way."""
    few = rows_without_limits(level, source)
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        short, *others = (
            pool.run(compile_plan(level, way, SECRET))
            for way in (
                source,
                replace(source, row_counts={}),
                replace(source, parts=5),
                replace(source, row_counts={}, buckets={}, units={}),
            )
        )
    for other in others:
        check_same(level, short, other)
    return short, few


@pytest.mark.parametrize(
    ("sql", "order", "own", "rows", "limits"),
    share_rows_of(
        product(
            [AVERAGE, COSTLY, SIGNED, TWO, FILTERED],
            [1, 2],
            [50, 700, 10**5],
            [3, 9],
            [ROOMY, WIDE],
        ),
        7,
    ),
)
def test_a_copy_has_the_cells_of_joint_averages_whichever_way_units_go(
    sql: str, order: int, own: int, rows: int, limits: Bounding, tmp_path: Path
) -> None:
    policy, source = copied(tmp_path, limits=limits)
    (outlined,) = outline(parse(sql, policy.tables).query, policy.tables, "add-remove").levels
    level = bounded_jointly(outlined, outlined.measuring, order, own, rows)
    assert all(part.norm is not None and part.norm.jointly for part in level.computed)
    _, few = check_every_way(level, policy, source)
    # no longer than norms that are much shorter than limits
    assert few <= rows < 40
    largest = max(part.size for part in level.computed)
    assert few <= own // (largest if sql is not TWO else 1)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("own", "rows"), [(90, 3), (10**6, 2), (300, 10**6)])
def test_units_counted_row_by_row_have_the_least_of_both_factors_too(
    order: int, own: int, rows: int, tmp_path: Path
) -> None:
    policy, source = copied(tmp_path, limits=WIDE)
    (outlined,) = outline(parse(SIGNED, policy.tables).query, policy.tables, "add-remove").levels
    level = bounded_jointly(outlined, outlined.measuring, order, own, rows)
    cells, few = check_every_way(level, policy, source)
    assert few >= 1
    summed, counted = level.computed
    each = [by_the_rule(*case, summed, counted, 20) for case in CASES]
    for place in (0, 1):
        together = tuple(map(sum, zip(*(found[place] for found in each), strict=True)))
        assert column(cells, place) == together


@pytest.mark.parametrize(("sql", "order"), list(product([AVERAGE, FAR, SUMMED, ALL], [1, 2])))
@pytest.mark.parametrize("own", [None, 45])
def test_norms_shorter_than_limits_decide_who_is_counted_row_by_row(
    sql: str, order: int, own: int | None, tmp_path: Path
) -> None:
    """In L2, or where a sum's norm is known, units within limits may be too long all the same."""
    _, source = copied(tmp_path)
    level, policy = planned(sql, tmp_path, "add-remove", ROOMY, order, own)
    _, few = check_every_way(level, policy, source)
    limits = level.outline.limits
    shorter = order == 2 or (own is not None and sql is SUMMED)
    assert (few < limits.rows_per_group) == shorter
    assert few > 0


def test_keys_selected_by_weights_look_at_every_unit_in_a_copy_too(tmp_path: Path) -> None:
    policy, source = copied(tmp_path)
    (outlined,) = outline(parse(BY_CITY, policy.tables).query, policy.tables, "add-remove").levels
    assert outlined.by_weights is not None
    level = bounded_jointly(outlined, outlined.by_weights, 2, 50, 3)
    _, few = check_every_way(level, policy, source)
    assert few == 0
    # and Laplace noise is for none of them
    assert MECHANISMS[1].price([outlined.by_weights], Fraction(1), Fraction(1, 1000)) is None
