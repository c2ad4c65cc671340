"""Record and replay: on neighbouring databases the exact inputs of the noise differ by no more than
the plan declares, and nothing else differs at all.

A stream of generated questions is planned once each and run with one secret on a small hostile
database and on a neighbour of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from privacy.grammar import Grammar
from privacy.known import draw_known, outlined_with
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
from sanql.parse import parse
from sanql.plan.known_units import KnownUnits
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy import Budget
from sanql.policy.model import Neighbours, Policy
from sanql.question import Query
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.slow

PRICE = Budget(Fraction(1), Fraction(1, 1000))
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
    by_profile: bool = False  # its limits or norms are others than those by rule


def replays(seed: int, count: int, folder: Path, *, profiles: bool = False) -> Iterator[Replay]:
    """Yield accepted questions over ever new worlds, limits and neighbour relations, and profiles."""
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
                secret = rng.getrandbits(63)
                apart = random.Random(f"known {secret}")
                known = draw_known(apart, policy.tables) if profiles else {}
                found = _planned(sql, policy, groups, secret, known)
                if found is None:
                    continue
                planned, sent, by_profile = found
                if len(sent.sql) > LONG and rng.randrange(8):
                    continue
                accepted += 1
                yield Replay(sql, planned, sent, ours, theirs, by_profile)


def _planned(
    sql: str, policy: Policy, groups: int | None, secret: int, known: Mapping[str, KnownUnits]
) -> tuple[Level, Statement, bool] | None:
    """Return the plan of a question, or None where it is refused or has very many groups."""
    try:
        query = parse(sql, policy.tables).query
        if isinstance(query, Query):
            query = replace(query, null_groups=secret % 3 == 0)
        outlined = outlined_with(query, policy.tables, policy.neighbours, groups, known, PRICE)  # type: ignore[arg-type]
        by_rule = outlined_with(query, policy.tables, policy.neighbours, groups, {}, PRICE)  # type: ignore[arg-type]
        planned = price(outlined, PRICE.epsilon, PRICE.delta).levels[0]
        sent = compile_plan(planned, source_of(policy), secret)
    except errors.Refused:
        return None
    many = (getattr(planned.outline.keys, "count", 0) or 0) > GROUPS_MAX
    return None if many else (planned, sent, outlined != by_rule)


def replay_stream(seed: int, count: int, folder: Path, *, profiles: bool = False) -> int:
    """Check a stream of questions, some of which attain what they declare.

    Return how many have limits or norms that follow from a profile.
    """
    attained, by_profile = dict.fromkeys(Measured, 0), 0
    for number, each in enumerate(replays(seed, count, folder, profiles=profiles)):
        by_profile += each.by_profile
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
    if profiles:
        assert sum(attained.values()) >= count // 10, f"hardly any bound is attained: {attained}"
        return by_profile
    del attained[Measured.PICKS]  # a level's bound is of all its turns at their worst
    del attained[Measured.OTHER_GROUPS]  # test_other_groups_replay.py
    del attained[Measured.HISTOGRAM]  # statistics/test_by_value.py
    assert min(attained.values()) >= count // 200, f"hardly any bound is attained: {attained}"
    return by_profile


@pytest.mark.parametrize("seed", few_of(range(2026, 2030), 1))
def test_neighbours_move_measurements_by_no_more_than_declared(seed: int, tmp_path: Path) -> None:
    replay_stream(seed, 50, tmp_path)


@pytest.mark.parametrize("seed", few_of(range(2030, 2036), 1))
def test_whatever_a_profile_says_neighbours_move_by_no_more(seed: int, tmp_path: Path) -> None:
    """Profiles are drawn at random and say nothing that is true."""
    assert replay_stream(seed, 60, tmp_path, profiles=True) > 15


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_never_exceed_the_declared_sensitivity_over_2000_questions(
    seed: int, tmp_path: Path
) -> None:
    replay_stream(seed, 510, tmp_path)
