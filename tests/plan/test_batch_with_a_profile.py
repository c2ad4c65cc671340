"""With a profile every question of a batch is about as good as alone, at its share of the best split."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from plan.test_averages_with_counts import heavy
from plan.test_known_norms import asked
from sanql.measurements import Measured
from sanql.plan import BatchPlan, Outline, Plan, plan_batch, price
from sanql.plan.known_norms import with_known_norms
from sanql.plan.known_units import KnownUnits
from sanql.plan.level import Level
from sanql.policy import Budget
from support.volume import few_of

WORSE_MOST = 4.0
"""How many times as large the squared error of one question may be as at an even share of epsilon.

Of a question whose norm takes away more than its noise adds, more noise costs little.
"""
LARGER_MOST = 1.1
"""How much larger the error of all may be than by an even split: the best is found by prices nearby."""
KNOWN = KnownUnits(
    heavy(1500, 40),
    norms={"month": heavy(1500, 15)},
    sizes={"delay": Fraction(20), "miles": Fraction(900)},
)
POOL = [
    "SELECT month, AVG(delay) FROM flights GROUP BY month",
    "SELECT month, COUNT(*) FROM flights GROUP BY month",
    "SELECT month, AVG(delay), COUNT(*) FROM flights GROUP BY month",
    "SELECT carrier, AVG(delay) FROM flights GROUP BY carrier",
    "SELECT carrier, SUM(miles) FROM flights GROUP BY carrier",
    "SELECT carrier, AVG(miles), AVG(delay) FROM flights GROUP BY carrier",
    "SELECT AVG(delay) FROM flights",
    "SELECT COUNT(*) FROM flights",
    "SELECT COUNT(DISTINCT plane) FROM flights",
    "SELECT carrier, COUNT(DISTINCT plane) FROM flights GROUP BY carrier",
    "SELECT STDDEV(delay) FROM flights",
]
ONE = Fraction(1)


def known_outline(sql: str, within: Budget) -> Outline:
    return with_known_norms(asked(sql), {"flights": KNOWN}, within)


def batch(questions: list[str], delta: Fraction) -> tuple[list[Outline], BatchPlan]:
    within = Budget(ONE / len(questions), delta)
    outlines = [known_outline(sql, within) for sql in questions]
    return outlines, plan_batch(outlines, ONE, delta)


def error_of(plan: Plan, alone: Plan) -> float:
    """Return the error of a question's own numbers, each mattering as it does where it is alone."""
    return sum(
        level_error(level, own) for level, own in zip(plan.levels, alone.levels, strict=True)
    )


def level_error(level: Level, alone: Level) -> float:
    """Return the squared error of what a level's aggregates rest on, what norms take away included."""
    total, norms = 0.0, level.outline.measuring.unit_norms
    weights = {(part.kind, part.expression): part for part in alone.measurements}
    for place in {place for estimate in level.estimates for place in estimate.measurements}:
        part = level.measurements[place]
        like = weights[part.kind, part.expression]
        factor, missed = 1.0, 0.0
        if norms is not None and part.norm is not None:
            of = part.expression if part.kind is Measured.SUM else None
            factor, missed = norms.taken(part.norm, of, part.size)
        noise = level.noises[place].standard_deviation / (part.size * part.scale)
        total += like.weight * (part.size / like.size) ** 2 * (factor * noise**2 + missed)
    return total


@pytest.mark.parametrize("sql", POOL)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_a_batch_of_one_question_is_that_question(sql: str, delta: Fraction) -> None:
    (outlined,), found = batch([sql], delta)
    alone = price(outlined, ONE, delta)
    for level, own in zip(found.levels, alone.levels, strict=True):
        assert [part.norm for part in level.measurements] == [p.norm for p in own.measurements]
        for noise, expected in zip(level.noises, own.noises, strict=True):
            assert noise.standard_deviation == pytest.approx(expected.standard_deviation, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(40), 10))
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_no_question_of_a_batch_starves(seed: int, delta: Fraction) -> None:
    """Errors are in parts of what each question has alone: counts of rows leave those of units theirs."""
    rng = random.Random(seed)
    questions = rng.sample(POOL, rng.randint(2, 5))
    outlines, found = batch(questions, delta)
    assert found.error <= found.error_apart * (1 + 1e-9)
    even = [
        price(each, ONE / len(outlines), delta / len(outlines) if delta else delta)
        for each in outlines
    ]
    whole = [price(each, ONE, delta) for each in outlines]
    total = 0.0
    for planned, apart, alone in zip(found.questions, even, whole, strict=True):
        beside = error_of(planned.plan, alone) / error_of(apart, alone)
        assert beside <= WORSE_MOST, planned.plan.query.aggregates
        total += error_of(planned.plan, alone) / error_of(alone, alone)
    assert total <= LARGER_MOST * sum(
        error_of(apart, alone) / error_of(alone, alone)
        for apart, alone in zip(even, whole, strict=True)
    )


def test_units_keep_their_share_beside_rows() -> None:
    """Red where errors are in rows: units had a twentieth of epsilon beside a count of rows."""
    rows, units = "SELECT COUNT(*) FROM flights", "SELECT COUNT(DISTINCT plane) FROM flights"
    outlines, found = batch([rows, units], Fraction(0))
    for planned, outlined in zip(found.questions, outlines, strict=True):
        half = price(outlined, ONE / 2, Fraction(0))
        assert error_of(planned.plan, half) <= 1.2 * error_of(half, half)
