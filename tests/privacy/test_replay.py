"""Record and replay: on neighbouring databases the exact inputs of the noise differ by no more than
the plan declares, and nothing else differs at all.

A stream of generated questions is planned once each and run with one secret on a small hostile
database and on a neighbour of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from privacy.grammar import Grammar
from privacy.replay import check
from privacy.worlds import (
    UNITS,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql import errors
from sanql.answer.post_process import show
from sanql.compile.statement import compile_plan
from sanql.kernel.messages import Statement
from sanql.measurements.measurement import Measured
from sanql.noise.cells import add_noise
from sanql.plan.level import Level
from sanql.policy.model import Neighbours, Policy
from support.cells import priced
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.slow

GROUPS_MAX = 3000  # more public keys than this only cost time
LONG = 10_000  # characters; the engine plans longer statements for ever, so one in eight is enough
ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")


@dataclass(frozen=True)
class Replay:
    """One accepted question on two neighbouring databases."""

    sql: str
    plan: Level
    sent: Statement
    ours: Database
    theirs: Database


def replays(seed: int, count: int, folder: Path) -> Iterator[Replay]:
    """Yield accepted questions over ever new worlds, limits and neighbour relations."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    ours, theirs = Database(), Database()
    accepted = 0
    while accepted < count:
        neighbours = rng.choice(ORDERS)
        limits = {table: draw_bounding(rng) for table, unit in UNITS.items() if unit is not None}
        policy = write_policy(folder, neighbours, limits)
        worlds = {table: draw_units(rng, table) for table in UNITS}
        for table, units in worlds.items():
            ours.load(table, [row for unit in units for row in unit])
        for _ in range(4):
            for table, units in worlds.items():
                other = neighbour_of(rng, table, units, neighbours)
                theirs.load(table, [row for unit in other for row in unit])
            for _ in range(8):
                table = rng.choice(list(UNITS))
                sql, groups = grammar.question(table), grammar.groups_asked()
                found = _planned(sql, policy, groups, rng.getrandbits(63))
                if found is None:
                    continue
                planned, sent = found
                if len(sent.sql) > LONG and rng.randrange(8):
                    continue
                accepted += 1
                yield Replay(sql, planned, sent, ours, theirs)


def _planned(
    sql: str, policy: Policy, groups: int | None, secret: int
) -> tuple[Level, Statement] | None:
    """Return the plan of a question, or None where it is refused or has very many groups."""
    try:
        planned = priced(sql, policy.tables, policy.neighbours, groups=groups).levels[0]
        sent = compile_plan(planned, source_of(policy), secret)
    except errors.Refused:
        return None
    many = (getattr(planned.outline.keys, "count", 0) or 0) > GROUPS_MAX
    return None if many else (planned, sent)


def replay_stream(seed: int, count: int, folder: Path) -> None:
    """Check a stream of questions; some of them must attain what they declare."""
    attained = dict.fromkeys(Measured, 0)
    for number, each in enumerate(replays(seed, count, folder)):
        try:
            left, right = each.ours.cells(each.sent), each.theirs.cells(each.sent)
            reached = check(each.plan, left, right)
            if number % 4 == 0:  # the rest is about exact cells; test_outside.py has more of this
                show(each.plan, add_noise(each.plan, left, SilentSampler()), Fraction(19, 20))
        except Exception as error:
            limits, order = each.plan.outline.limits, each.plan.outline.neighbours
            raise AssertionError(f"question {number}, {order}, {limits}: {each.sql}") from error
        for part, full in zip(each.plan.computed, reached, strict=True):
            attained[part.kind] += full
    del attained[Measured.PICKS]  # a level's bound is of all its turns at their worst
    del attained[Measured.OTHER_GROUPS]  # test_other_groups_replay.py
    del attained[Measured.HISTOGRAM]  # statistics/test_by_value.py
    assert min(attained.values()) >= count // 200, f"hardly any bound is attained: {attained}"


@pytest.mark.parametrize("seed", few_of(range(2026, 2030), 1))
def test_neighbours_move_measurements_by_no_more_than_declared(seed: int, tmp_path: Path) -> None:
    replay_stream(seed, 50, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_never_exceed_the_declared_sensitivity_over_2000_questions(
    seed: int, tmp_path: Path
) -> None:
    replay_stream(seed, 510, tmp_path)
