"""San's own questions, replayed on neighbours: units by order of magnitude and by number of rows.

Cells are compared with counting by hand, and on neighbouring databases they differ by no more than
the plan declares.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privacy import chains
from privacy.replay import check
from privacy.worlds import (
    UNITS,
    Database,
    Row,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.compile.statement import compile_plan
from sanql.plan.find_bounds import BoundsSearch, plan_bounds_search
from sanql.plan.level import Level
from sanql.plan.plan import Plan
from sanql.plan.unit_sizes import SIZE_EDGES, grouping_column, groups_of_units, rows_of_units
from sanql.policy.model import Neighbours, Policy
from support.volume import few_rows_of

pytestmark = pytest.mark.slow

EPSILON = Fraction(1, 20)
COLUMNS = ["big", "raw", "income", "swing"]
GROUPED = ["sex", "city", "big", "flag", "day", "share"]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")
World = tuple[Policy, dict[str, list[list[Row]]], random.Random]


def worlds(folder: Path, neighbours: Neighbours, count: int) -> Iterator[World]:
    """Yield small hostile databases under policies with all kinds of limits."""
    rng = random.Random(5)
    for _ in range(count):
        limits = {table: draw_bounding(rng) for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(folder, neighbours, limits)
        yield policy, {table: draw_units(rng, table) for table in UNITS}, rng


def of_a_column(policy: Policy, table: str, rng: random.Random) -> Level:
    return plan_bounds_search(
        (table, rng.choice(COLUMNS)), policy.tables, policy.neighbours, EPSILON
    ).plan.levels[0]


def of_rows(policy: Policy, table: str, rng: random.Random) -> Level:
    return rows_of_units(table, policy.tables, policy.neighbours, EPSILON).levels[0]


def of_groups(policy: Policy, table: str, rng: random.Random) -> Level:
    by = grouping_column(table, rng.choice(GROUPED), policy.tables)
    return groups_of_units(table, by, policy.tables, policy.neighbours, EPSILON).levels[0]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("ask", "number"),
    few_rows_of(
        [(of_a_column, 2), (of_rows, 4), (of_groups, 4)]
        + [(ask, 6) for ask in (of_a_column, of_rows, of_groups)],
        3,
    ),
)
def test_a_unit_moves_no_more_than_its_own_bins(
    tmp_path: Path,
    neighbours: Neighbours,
    ask: Callable[[Policy, str, random.Random], Level],
    number: int,
) -> None:
    ours, theirs = Database(), Database()
    attained = 0
    for policy, units, rng in worlds(tmp_path, neighbours, number):
        for table, rows in units.items():
            if UNITS[table] is None and ask is not of_a_column:
                continue
            ours.load(table, [row for unit in rows for row in unit])
            for _ in range(3):
                other = neighbour_of(rng, table, rows, neighbours)
                theirs.load(table, [row for unit in other for row in unit])
                planned = ask(policy, table, rng)
                sent = compile_plan(planned, source_of(policy), rng.getrandbits(63))
                attained += sum(check(planned, ours.cells(sent), theirs.cells(sent)))
    assert attained > 2, "the declared sensitivity is hardly ever attained"


def counts(planned: Plan, policy: Policy, database: Database) -> dict[int, int]:
    cells = database.cells(compile_plan(planned.levels[0], source_of(policy), 7)).to_pylist()
    return {cell["k0"]: cell["m0"] for cell in cells if cell["m0"]}


def order_of(found: BoundsSearch, value: Any) -> int | None:
    """Return a value's order of magnitude from its logarithm; None where it has no value."""
    if value is None or not math.isfinite(value):
        return None
    steps = math.floor(abs(Fraction(value)) / found.magnitudes.step)
    size = min(steps.bit_length(), found.magnitudes.most)
    return size if value > 0 else -size


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_orders_of_magnitude_are_counted_as_by_hand(tmp_path: Path, neighbours: Neighbours) -> None:
    database = Database()
    for policy, units, _ in worlds(tmp_path, neighbours, 4):
        for column in ("big", "raw"):
            rows = [row for unit in units["readings"] for row in unit]
            database.load("readings", rows)
            found = plan_bounds_search(("readings", column), policy.tables, neighbours, EPSILON)
            by_hand = Counter(order_of(found, row[column]) for row in rows)
            del by_hand[None]
            assert counts(found.plan, policy, database) == by_hand

            people = [unit for unit in units["visits"] if unit and unit[0]["person"] is not None]
            database.load("visits", [row for unit in units["visits"] for row in unit])
            found = plan_bounds_search(("visits", column), policy.tables, neighbours, EPSILON)
            whose = [{order_of(found, row[column]) for row in unit} - {None} for unit in people]
            counted = counts(found.plan, policy, database)
            assert sum(counted.values()) == sum(1 for orders in whose if orders)
            for order, count in counted.items():
                alone = sum(1 for orders in whose if orders == {order})
                assert alone <= count <= sum(1 for orders in whose if order in orders)


def bin_of(number: int) -> int:
    return next(index for index, edge in enumerate(SIZE_EDGES) if number <= edge)


def test_rows_and_groups_of_units_are_counted_as_by_hand(tmp_path: Path) -> None:
    """Whatever limits the policy has: more rows than may count in an answer are seen here."""
    database = Database()
    beyond = 0
    for policy, units, _ in worlds(tmp_path, "add-remove", 6):
        database.load("visits", [row for unit in units["visits"] for row in unit])
        people = [unit for unit in units["visits"] if unit and unit[0]["person"] is not None]
        beyond += sum(
            len(unit) > (policy.tables["visits"].rows_per_unit_max or 0) for unit in people
        )
        planned = rows_of_units("visits", policy.tables, "add-remove", EPSILON)
        assert counts(planned, policy, database) == Counter(bin_of(len(unit)) for unit in people)
        by = grouping_column("visits", "city", policy.tables)
        planned = groups_of_units("visits", by, policy.tables, "add-remove", EPSILON)
        cities = [{row["city"] for row in unit} - {None} for unit in people]
        assert counts(planned, policy, database) == Counter(bin_of(len(each)) for each in cities)
    assert beyond > 0


CHAINED = {"people": "age", "orders": "big", "items": "quantity", "returns": "quantity"}


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_units_behind_foreign_keys_are_one_each_too(tmp_path: Path, neighbours: Neighbours) -> None:
    rng = random.Random(6)
    ours, theirs = chains.Database(), chains.Database()
    attained = 0
    for _ in range(3):
        policy = chains.write_policy(tmp_path, neighbours, rng)
        people = chains.draw_people(rng)
        public = {table: chains.draw_public(rng, table) for table in chains.PUBLIC}
        ours.load(chains.tables_of(people, public, []))
        for table, column in CHAINED.items():
            other = chains.neighbour_of(rng, people, neighbours)
            theirs.load(chains.tables_of(other, public, []))
            by = grouping_column(table, column, policy.tables)
            for whole in (
                plan_bounds_search((table, column), policy.tables, neighbours, EPSILON).plan,
                rows_of_units(table, policy.tables, neighbours, EPSILON),
                groups_of_units(table, by, policy.tables, neighbours, EPSILON),
            ):
                (planned,) = whole.levels
                sent = compile_plan(planned, chains.source_of(policy), rng.getrandbits(63))
                attained += sum(check(planned, ours.cells(sent), theirs.cells(sent)))
    assert attained > 2
