"""Record and replay with a row of other groups: whichever keys appear, what the noise is added to
differs between neighbours by no more than the plan declares and the charge pays for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from privacy.grammar import Grammar
from privacy.other_groups import Side, moves
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
from sanql import errors
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.compile.statement import compile_plan
from sanql.kernel.messages import Statement
from sanql.measurements.measurement import Measured
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace
from sanql.noise.other_groups import OtherGroups
from sanql.plan.level import Level
from sanql.plan.other_groups import adds_up
from sanql.policy.model import Neighbours, Policy
from support.cells import priced

pytestmark = pytest.mark.slow

ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")
PRICES = [("8", "1e-9"), ("0.05", "1e-2")]  # Laplace noise is cheaper at one, Gaussian at the other
SPREAD = Bounding(
    8, 8, 1
)  # one row in each of many groups: what is merged is longer than its parts
QUESTIONS = [
    "SELECT city, COUNT(*), SUM(swing), AVG(income) FROM {} GROUP BY city",
    "SELECT city, COUNT(DISTINCT big), COUNT(age), SUM(age), SUM(share) FROM {} GROUP BY city",
    "SELECT city, big, COUNT(*), STDDEV(temp) FROM {} GROUP BY city, big",
    "SELECT big, SUM(swing) FROM {} WHERE flag GROUP BY big",
    "SELECT free_day, COUNT(*), SUM(COALESCE(level, 3)) FROM {} GROUP BY free_day",
]


def planned(sql: str, policy: Policy, paid: tuple[str, str]) -> Level:
    epsilon, delta = paid
    asked = policy.tables, policy.neighbours
    return priced(sql, *asked, epsilon=epsilon, delta=delta, other=True).levels[0]


Replay = tuple[str, Level, Statement, Database, Database]


def replays(seed: int, count: int, folder: Path) -> Iterator[Replay]:
    """Yield questions with other groups over ever new worlds, limits and neighbour relations."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    ours, theirs = Database(), Database()
    accepted = 0
    while accepted < count:
        neighbours = rng.choice(ORDERS)
        limits = {
            table: draw_bounding(rng) if rng.random() < 0.6 else SPREAD
            for table, unit in UNITS.items()
            if unit is not None
        }
        policy = write_policy(folder, neighbours, limits)
        for table in UNITS:
            units = draw_units(rng, table)
            there = neighbour_of(rng, table, units, neighbours)
            ours.load(table, [row for unit in units for row in unit])
            theirs.load(table, [row for unit in there for row in unit])
        for _ in range(12):
            table = rng.choice(list(UNITS))
            ready = rng.random() < 0.6
            sql = rng.choice(QUESTIONS).format(table) if ready else grammar.question(table)
            try:
                found = planned(sql, policy, rng.choice(PRICES))
                sent = compile_plan(found, source_of(policy), rng.getrandbits(63))
            except errors.Refused:
                continue
            accepted += 1
            yield sql, found, sent, ours, theirs


def check_paid(plan: Level) -> None:
    """Assert that the charge has an event with the declared norms for each measurement's noise."""
    for index, part in enumerate(plan.measurements):
        bounds, noise = part.sensitivity, plan.noises[index]
        match noise:
            case DiscreteLaplace(scale):
                most = part.choices[-1] if part.choices else 1  # noise for one value is charged
                own = LaplaceEvent(scale / most, bounds.l1 // most, bounds.linf // most)
                assert own in plan.charge.events
            case DiscreteGaussian(sigma2):
                assert GaussianEvent(sigma2, Fraction(bounds.l2_squared)) in plan.charge.events
            case _:
                assert index == plan.outline.measuring.selection or part.picked or bounds.zero


def replay_stream(seed: int, count: int, folder: Path) -> None:
    rng = random.Random(seed)
    attained = dict.fromkeys((Measured.ROWS, Measured.SUM, Measured.OTHER_GROUPS), 0)
    longer = 0
    mechanisms = set()
    for sql, plan_, sent, ours, theirs in replays(seed, count, folder):
        left, right = (Side(plan_, side.cells(sent)) for side in (ours, theirs))
        check_paid(plan_)
        mechanisms.add(plan_.priced.mechanism.name)
        reached = set()
        try:
            for _, part, moved in moves(left, right, rng):
                reached |= {part.kind} if 0 < part.sensitivity.l1 == moved.l1 else set()
                apart = plan_.outline.limits.row_norms[2]
                longer += part.kind is Measured.ROWS and moved.l2_squared > 2 * apart
        except AssertionError as error:
            raise AssertionError(sql) from error
        for kind in reached & attained.keys():
            attained[kind] += 1
    assert min(attained.values()) >= count // 100, f"hardly any bound is attained: {attained}"
    assert longer, "merging never made a change longer, so nothing was tried"
    assert mechanisms == {"discrete Laplace", "discrete Gaussian"}


def test_neighbours_move_other_groups_by_no_more_than_declared(tmp_path: Path) -> None:
    replay_stream(6, 120, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [101, 102])
def test_neighbours_never_exceed_the_declared_sensitivity_of_other_groups(
    seed: int, tmp_path: Path
) -> None:
    replay_stream(seed, 150, tmp_path)


@pytest.mark.parametrize("neighbours", ORDERS)
def test_every_number_of_the_row_is_accounted_for(neighbours: Neighbours, tmp_path: Path) -> None:
    """The row has exactly what adds up, and the count that selects only as OTHER_GROUPS."""
    limits = {table: draw_bounding(random.Random(3)) for table in ("visits", "stays")}
    policy = write_policy(tmp_path, neighbours, limits)
    for sql in (question.format(table) for question in QUESTIONS for table in UNITS):
        found = planned(sql, policy, PRICES[0])
        measuring = found.outline.measuring
        zeros = {f"m{i}": [0] for i, p in enumerate(found.measurements) if p.of is None}
        expected = {
            index
            for index, part in enumerate(found.measurements)
            if adds_up(part, found.outline.limits) and index != measuring.selection
        }
        assert set(OtherGroups(found).add(pa.table(zeros)).exact()) == expected, sql
        assert measuring.selection not in expected
