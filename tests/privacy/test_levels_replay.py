"""Record and replay of grouping sets: each level keeps to the sensitivities it declares.

Levels differ from ordinary questions in what they leave out (rows without a public key of another
level), so worlds with every kind of unit, limit and neighbour relation are run through each of them.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from privacy.grammar import Grammar
from privacy.replay import check
from privacy.test_replay import GROUPS_MAX, ORDERS
from privacy.worlds import (
    ENGINE,
    UNITS,
    Bounding,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.answer.levels import add_noise_to_levels, show_levels
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.plan.plan import Plan
from sanql.policy.model import Neighbours, Policy
from support.cells import priced
from support.samplers import SilentSampler
from support.volume import few_of


def planned(sql: str, policy: Policy, groups: int | None) -> Plan | None:
    """Return the plan of a question, or None where it is refused, has one set or very many groups."""
    try:
        found = priced(sql, policy.tables, policy.neighbours, groups=groups)
    except Refused:
        return None
    keys = [level.keys for level in found.outline.levels]
    many = any((getattr(each, "count", 0) or 0) > GROUPS_MAX for each in keys)
    return found if found.several and not many else None


def replay_levels(seed: int, count: int, folder: Path) -> None:
    """Check a stream of questions level by level; some bounds must be attained."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    ours, theirs = Database(), Database()
    accepted = attained = left_out = 0
    while accepted < count:
        neighbours = rng.choice(ORDERS)
        limits = {table: draw_bounding(rng) for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(folder, neighbours, limits)
        for table in UNITS:
            units = draw_units(rng, table)
            other = neighbour_of(rng, table, units, neighbours)
            ours.load(table, [row for unit in units for row in unit])
            theirs.load(table, [row for unit in other for row in unit])
        for _ in range(8):
            sql = grammar.question_with_levels(rng.choice(list(UNITS)))
            found = planned(sql, policy, grammar.groups_asked())
            if found is None:
                continue
            accepted += 1
            cells = []
            for level in found.levels:
                try:
                    sent = compile_plan(level, source_of(policy), rng.getrandbits(63))
                except Refused:
                    break
                cells.append(ours.cells(sent))
                note = (
                    f"{neighbours}, {level.outline.limits}, {level.outline.filtering_keys}: {sql}"
                )
                try:
                    attained += sum(check(level, cells[-1], theirs.cells(sent)))
                except AssertionError as error:
                    raise AssertionError(note) from error
                left_out += bool(level.outline.filtering_keys)
            if len(cells) == len(found.levels) and accepted % 4 == 0:
                show_levels(
                    found, add_noise_to_levels(found, cells, SilentSampler()), Fraction(19, 20)
                )
    assert attained >= count // 10
    assert left_out >= count // 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(3), 1))
def test_neighbours_move_no_level_by_more_than_it_declares(seed: int, tmp_path: Path) -> None:
    replay_levels(seed, 20, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["readings", "visits"])
@pytest.mark.parametrize("neighbours", ORDERS)
def test_a_row_that_loses_its_key_leaves_every_level_and_moves_none_too_far(
    table: str, neighbours: Neighbours, tmp_path: Path
) -> None:
    limits = {name: Bounding(2, 2, None) for name, unit in UNITS.items() if unit is not None}
    policy = write_policy(tmp_path, neighbours, limits)
    sql = f"SELECT sex, flag, COUNT(*), SUM(age), AVG(temp) FROM {table} GROUP BY CUBE (sex, flag)"
    found = planned(sql, policy, None)
    assert found is not None
    row = {**dict.fromkeys(ENGINE), "person": 1, "sex": "F", "flag": True, "age": 40, "temp": 40.0}
    ours, theirs = Database(), Database()
    ours.load(table, [row, {**row, "person": 2}])
    theirs.load(table, [row, {**row, "person": 2, "sex": "other", "age": 0}])
    for level in found.levels:
        sent = compile_plan(level, source_of(policy), 5)
        left, right = ours.cells(sent), theirs.cells(sent)
        check(level, left, right)
        scale = level.measurements[0].scale
        counts = [cells.column("m0").to_numpy().sum() / scale for cells in (left, right)]
        assert counts == [2, 1]
