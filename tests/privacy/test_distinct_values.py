"""COUNT(DISTINCT x): one unit moves it by no more than is declared, whatever the secret, data and engine.

It is the one measurement whose cells do not add up over units, so it has an oracle of its own: every
table of three units over a few pairs of a group and a value, every neighbour of it under both relations.
The kernel's loop is put to it with more pairs than whole statements are, which take some milliseconds.
"""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from privacy.distinct_twin import Draw, Holding, engine_draws, taken_greedily
from privacy.kernel import Kernel, Settings, source_of, write_database
from privacy.worlds import ENGINE, UNITS, Bounding, Database, Row, write_policy
from privacy.worlds import source_of as layout_of
from sanql.compile.statement import compile_plan
from sanql.kernel.greedy import taken_by_group
from sanql.measurements.limits import ContributionLimits
from sanql.measurements.sensitivity import (
    Sensitivity,
    SensitivitySetting,
    sensitivity_of_distinct,
)
from sanql.plan.level import Level
from sanql.policy.model import Neighbours
from support.cells import priced
from support.volume import few_of, few_rows_of

pytestmark = pytest.mark.slow

Pair = tuple[int, int]
Held = frozenset[Any]
Cells = Counter[Any]
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")
NOTHING: Held = frozenset()
ROOMY = Bounding(6, 6, None)
ONE = "SELECT COUNT(DISTINCT age) FROM visits"
PUBLIC = "SELECT sex, COUNT(DISTINCT age) FROM visits GROUP BY sex"
PRIVATE = "SELECT city, COUNT(DISTINCT age) FROM visits GROUP BY city"
TWO_KEYS = "SELECT sex, city, COUNT(DISTINCT age) FROM visits GROUP BY sex, city"
OF_TEXT = (
    "SELECT sex, COUNT(DISTINCT city), COUNT(*), COUNT(DISTINCT person) FROM visits GROUP BY sex"
)
SHAPES = {
    ONE: [((), 1), ((), 2)],
    PUBLIC: [(("F",), 1), (("M",), 1)],
    PRIVATE: [((None,), 1), (("Rome",), 2)],
}


def subsets(pairs: Sequence[Any]) -> list[Held]:
    """Return everything that one unit may hold."""
    return [frozenset(some) for size in range(len(pairs) + 1) for some in combinations(pairs, size)]


def neighbours(
    tables: Sequence[tuple[Held, ...]], relation: Neighbours
) -> Iterator[tuple[Any, Any]]:
    """Yield every two tables that are neighbours; with add-remove a unit has nothing in one of them."""
    known = {held for table in tables for held in table}
    for table in tables:
        for unit, held in enumerate(table):
            others = [NOTHING] if relation == "add-remove" else known
            for other in others:
                if other != held:
                    yield table, (*table[:unit], other, *table[unit + 1 :])


def moved(ours: Cells, theirs: Cells) -> Sensitivity:
    """Return how far two vectors of cells are apart."""
    apart = [abs(ours[key] - theirs[key]) for key in ours.keys() | theirs.keys()]
    return Sensitivity(sum(apart), max(apart, default=0), sum(step**2 for step in apart))


def assert_within(declared: Sensitivity, found: Sensitivity) -> None:
    assert found.l1 <= declared.l1
    assert found.linf <= declared.linf
    assert found.l2_squared <= declared.l2_squared


def looped(table: tuple[Held, ...], most: int, secret: int) -> tuple[int, ...]:
    """Return what the kernel's loop counts in two groups of two values, in orders drawn at random."""
    rng = random.Random(secret)
    places = rng.sample(range(len(table)), len(table))
    turns = []
    for unit, held in enumerate(table):
        ranks = {pair: rng.random() for pair in product(range(2), repeat=2)}  # of this unit alone
        turns += [(places[unit], ranks[pair], pair) for pair in held]
    ordered = [(place, group, 2 * group + value) for place, _, (group, value) in sorted(turns)]
    columns = [memoryview(array("q", column)) for column in zip(*ordered, strict=True)]
    return tuple(taken_by_group([tuple(columns)] if columns else [], [most]))  # type: ignore[list-item]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("secret", range(4))
def test_in_every_tiny_table_a_unit_moves_the_count_by_no_more_than_is_declared(
    most: int, secret: int
) -> None:
    tables = list(product(subsets(list(product(range(2), repeat=2))), repeat=3))
    cells = {table: looped(table, most, secret) for table in tables}
    for relation in RELATIONS:
        setting = SensitivitySetting(relation, ContributionLimits(9, 9, 9), False, False)
        declared, farthest = sensitivity_of_distinct(setting, most), 0
        for ours, theirs in {
            (cells[one], cells[other]) for one, other in neighbours(tables, relation)
        }:
            with_unit, without = Counter(dict(enumerate(ours))), Counter(dict(enumerate(theirs)))
            found = moved(with_unit, without)
            assert_within(declared, found)
            farthest = max(farthest, found.l1)
            if relation == "add-remove":  # a unit more only makes more of it
                assert not without - with_unit
        assert farthest == declared.l1


def rows_of(sql: str, table: Sequence[Held]) -> list[Row]:
    """Return a table's rows, each pair twice, and some that count nowhere."""
    key = {PUBLIC: "sex", PRIVATE: "city"}.get(sql)
    rows: list[Row] = [{"person": None, "age": 9, "sex": "F"}]
    for unit, held in enumerate(table):
        for group, value in sorted(held, key=repr):
            in_group = {key: group[0]} if key else {}
            rows += [{"person": unit, "age": value, **in_group}] * 2
            rows.append({"person": unit, "age": None, **in_group})
    return [dict.fromkeys(ENGINE) | row for row in rows]


def in_groups(cells: list[dict[str, Any]], measured: int = 0) -> Cells:
    keys = [name for name in (cells[0] if cells else {}) if name[0] == "k"]
    return Counter({tuple(row[key] for key in keys): row[f"m{measured}"] for row in cells})


@pytest.mark.parametrize(
    ("sql", "most"),
    few_rows_of([(ONE, 1), (PUBLIC, 2), (PRIVATE, 1), (ONE, 2), (PUBLIC, 1), (PRIVATE, 2)], 3),
)
def test_whole_statements_move_by_no_more_than_is_declared(
    sql: str, most: int, tmp_path: Path
) -> None:
    policies = {
        relation: write_policy(tmp_path, relation, dict.fromkeys(("visits", "stays"), ROOMY))
        for relation in RELATIONS
    }
    plans = {
        relation: priced(sql, policy.tables, relation, values=most).levels[0]
        for relation, policy in policies.items()
    }
    sent = compile_plan(plans["add-remove"], layout_of(policies["add-remove"]), 70 + most)
    database, draw = Database(), engine_draws(70 + most)
    tables = list(product(subsets(SHAPES[sql]), repeat=3))
    cells: dict[tuple[Held, ...], Cells] = {}
    for table in tables:
        database.load("visits", rows_of(sql, table))
        cells[table] = in_groups(database.cells(sent).to_pylist())
        held = [(unit, *pair) for unit, pairs in enumerate(table) for pair in pairs]
        assert +cells[table] == taken_greedily(held, most, draw)
    for relation, plan in plans.items():
        for table, other in neighbours(tables, relation):
            assert_within(plan.measurements[0].sensitivity, moved(cells[table], cells[other]))


@pytest.fixture
def counted(tmp_path: Path) -> Callable[..., tuple[Level, list[dict[str, Any]]]]:
    """Return a function that runs a question without noise on rows, with so many values a unit."""

    def run(
        sql: str, rows: list[Row], values: int | None, secret: int, bounding: Bounding = ROOMY
    ) -> tuple[Level, list[dict[str, Any]]]:
        policy = write_policy(tmp_path, "add-remove", {"visits": bounding, "stays": bounding})
        plan = priced(sql, policy.tables, values=values).levels[0]
        database = Database()
        database.load("visits", [dict.fromkeys(ENGINE) | row for row in rows])
        sent = compile_plan(plan, layout_of(policy), secret)
        return plan, database.cells(sent).to_pylist()

    return run


def crowd(rng: random.Random, units: int, rows: int) -> list[Row]:
    return [
        {
            "person": rng.choice([None, *range(units)]),
            "sex": rng.choice(["F", "M", "it's", "elsewhere", None]),
            "city": rng.choice(["Rome", "Oslo", "", "it's", None]),
            "age": rng.choice([None, *range(12)]),
        }
        for _ in range(rows)
    ]


@pytest.mark.parametrize("bounding", [ROOMY, Bounding(6, 2, 3)])
@pytest.mark.parametrize("sql", [ONE, PUBLIC, PRIVATE, TWO_KEYS, OF_TEXT])
@pytest.mark.parametrize("seed", few_of(range(6), 1))
def test_larger_tables_are_counted_as_the_twin_counts_them(
    seed: int, sql: str, bounding: Bounding, counted: Callable[..., Any]
) -> None:
    rng = random.Random(f"{seed} {sql}")
    most = rng.choice([1, 1, 2, 3, 5])
    rows = crowd(rng, rng.choice([3, 10, 30]), rng.choice([20, 200]))
    value = "city" if sql == OF_TEXT else "age"
    keys = {ONE: (), PRIVATE: ("city",), TWO_KEYS: ("sex", "city")}.get(sql, ("sex",))
    listed = ("F", "M", "it's")
    held: list[Holding] = [
        (row["person"], tuple(row[key] for key in keys), row[value])
        for row in rows
        if "sex" not in keys or row["sex"] in listed or sql == TWO_KEYS
    ]
    plan, cells = counted(sql, rows, most, seed, bounding)
    expected = taken_greedily(held, most, engine_draws(seed))
    shown = in_groups(cells)
    # a key that no unit keeps has no cell; of those that have one, no limit on groups takes anything away
    assert shown == Counter({key: expected[key] for key in shown})
    if sql in (ONE, PUBLIC, OF_TEXT) or (sql == PRIVATE and bounding is ROOMY):
        assert +shown == expected
    assert plan.measurements[0].sensitivity.l1 == most


@pytest.mark.parametrize("sql", [ONE, PUBLIC, TWO_KEYS])
@pytest.mark.parametrize("seed", few_of(range(4), 2))
def test_where_it_is_to_be_chosen_how_many_count_each_choice_is_counted_as_it_is_alone(
    seed: int, sql: str, counted: Callable[..., Any]
) -> None:
    rng = random.Random(f"{seed} {sql} chosen")
    bounding = Bounding(rng.choice([4, 5, 8, 11]), 4, None)
    rows = crowd(rng, rng.choice([2, 5, 12]), 120)
    plan, cells = counted(sql, rows, None, seed, bounding)
    alone = [counted(sql, rows, most, seed, bounding)[1] for most in plan.measurements[0].choices]
    keys = [name for name in cells[0] if name[0] == "k"]
    for place, one in enumerate(alone):
        assert in_groups(one) == Counter(
            {tuple(row[key] for key in keys): row["m0"][place] for row in cells}
        )
    for row in cells:
        assert row["m0"] == sorted(row["m0"])  # with more of a unit, no group has fewer
        if sql != TWO_KEYS:  # there, a group that no unit keeps has no cell
            assert row["q0"] == [in_groups(one).total() for one in alone]


def test_where_all_draws_are_equal_units_and_pairs_decide_by_themselves(
    tmp_path: Path, counted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanql.compile.distinct_pairs.keyed_hash", lambda *parts: "0::UBIGINT")
    equal: Draw = lambda *parts: 0  # noqa: E731
    for seed in range(5):
        rng = random.Random(seed)
        rows: list[Row] = [
            {"person": rng.randrange(15), "sex": rng.choice("FM"), "age": rng.randrange(10)}
            for _ in range(60)
        ]
        held: list[Holding] = [(row["person"], (row["sex"],), row["age"]) for row in rows]
        _, cells = counted(PUBLIC, rows, 1, 7)
        assert +in_groups(cells) == taken_greedily(held, 1, equal)


@pytest.mark.parametrize("sql", [ONE, PUBLIC, PRIVATE])
def test_the_engine_has_no_say_in_who_takes_what(sql: str, tmp_path: Path) -> None:
    rng = random.Random(sql)
    limits = dict.fromkeys(("visits", "stays"), Bounding(1_000, 1_000, None))
    policy = write_policy(tmp_path, "add-remove", limits)
    schema = {table: {"person": "BIGINT", "patient": "VARCHAR"} | ENGINE for table in UNITS} | {
        "regions": {"name": "VARCHAR", "rate": "DOUBLE"}
    }
    rows = [dict.fromkeys(ENGINE) | row for row in crowd(rng, 40, 20_000)]
    for row in rows:  # many more pairs than are taken, so that it matters who comes first
        row["city"], row["age"] = f"{rng.randrange(300)}", rng.randrange(41)
    plan = priced(sql, policy.tables, values=3).levels[0]
    sent = compile_plan(plan, source_of(policy, schema), 5)
    found = []
    for threads in (1, 2, 8):
        tables = {"visits": rng.sample(rows, len(rows))}
        path = write_database(tmp_path / f"{threads}.duckdb", schema, tables, row_group=2048)
        kernel = Kernel(path, Settings(threads, keeps_order=threads == 1))
        found.append(in_groups(kernel.cells(sent).to_pylist()))
        kernel.close()
    assert found[0] == found[1] == found[2]
    assert found[0].total() == (41 if sql == ONE else 3 * 40)
