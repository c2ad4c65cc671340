"""Questions planned together: what is shared is measured once, and no split of epsilon does better."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from plan.conftest import TABLES
from sanql.errors import Refused
from sanql.mechanisms import SummedNoise
from sanql.parse.question import parse
from sanql.plan import BatchPlan, Outline, Plan, outline, plan_batch, price
from sanql.plan.pricing import expected_error, price_best
from sanql.policy.model import Neighbours
from support.volume import few_of

ONE, NONE, SOME = Fraction(1), Fraction(0), Fraction(1, 10**8)
BAND = "CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'older' ELSE 'old' END"
KNOWN = "age IS NULL"
POOL = [
    "SELECT COUNT(*) FROM people",
    "SELECT SUM(age) FROM people",
    "SELECT AVG(income), COUNT(*) FROM people",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex ORDER BY 2 DESC",
    f"SELECT {BAND}, COUNT(*), SUM(age) FROM people GROUP BY 1",
    f"SELECT {BAND}, {KNOWN}, COUNT(*) FROM people GROUP BY 1, 2",
    f"SELECT {KNOWN}, COUNT(*) FROM people GROUP BY 1",
    "SELECT MEDIAN(age) FROM people",
    "SELECT STDDEV(age), COUNT(*) FROM people",
    "SELECT COUNT(*) FROM visits",
    "SELECT sex, COUNT(*) FROM visits GROUP BY ROLLUP (sex)",
    "SELECT COUNT(*) FROM people WHERE age > 40",
    "SELECT sex, member, COUNT(*) FROM visits GROUP BY sex, member",
    "SELECT member, sex, SUM(age) FROM visits GROUP BY member, sex",
    "SELECT MODE(sex), COUNT(*) FROM rows",
]
SELECTING = [
    "SELECT city, COUNT(*) FROM people GROUP BY city",
    "SELECT city, AVG(age) FROM people GROUP BY city",
    "SELECT city, sex, COUNT(*) FROM visits GROUP BY CUBE (city, sex)",
]


def outlined(sql: str, neighbours: Neighbours = "add-remove") -> Outline:
    return outline(parse(sql, TABLES).query, TABLES, neighbours)


def batch(*questions: str, delta: Fraction = NONE, epsilon: Fraction = ONE) -> BatchPlan:
    return plan_batch([outlined(sql) for sql in questions], epsilon, delta)


def error_of(plan: Plan) -> float:
    """Return the mean weighted variance of a question's aggregates, in rows."""
    aggregates = sum(len(level.query.aggregates) for level in plan.levels)
    return sum(
        sum(
            part.weight * (noise.standard_deviation / part.size) ** 2
            for part, noise in zip(level.measurements, level.noises, strict=True)
        )
        / max(1, aggregates)
        + (level.priced.threshold or 0) ** 2
        for level in plan.levels
    )


def error_beside_alone(plan: Plan, outlined: Outline, delta: Fraction) -> float:
    """Return a question's error in parts of the one that it has alone, at an epsilon of one."""
    alone = error_of(price(outlined, ONE, delta))
    return error_of(plan) / alone if alone else 0.0


def drawn_split(rng: random.Random, number: int) -> list[Fraction]:
    """Return positive shares of one."""
    shares = [rng.randint(1, 1000) for _ in range(number)]
    return [Fraction(share, sum(shares)) for share in shares]


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(25), 8))
@pytest.mark.parametrize("delta", [NONE, SOME])
def test_no_split_among_questions_one_by_one_has_a_smaller_error(
    seed: int, delta: Fraction
) -> None:
    rng = random.Random(seed)
    asked = rng.sample([*POOL, *(SELECTING if delta else [])], rng.randint(2, 5))
    asked += rng.choices(asked, k=rng.randint(0, 2))
    neighbours: Neighbours = rng.choice(["add-remove", "change-one"])
    outlines = [outlined(sql, neighbours) for sql in asked]
    found = plan_batch(outlines, ONE, delta)
    assert found.error <= found.error_apart
    for _ in range(30):
        shares, deltas = drawn_split(rng, len(asked)), drawn_split(rng, len(asked))
        alone = [
            price(each, share, delta * part)
            for each, share, part in zip(outlines, shares, deltas, strict=True)
        ]
        errors = (
            error_beside_alone(plan, each, delta)
            for plan, each in zip(alone, outlines, strict=True)
        )
        assert found.error <= sum(errors) * (1 + 1e-4)


@pytest.mark.parametrize("delta", [NONE, SOME])
@pytest.mark.parametrize("sql", few_of(POOL, 8))
def test_a_batch_of_one_question_is_no_worse_than_the_question(sql: str, delta: Fraction) -> None:
    alone = price(outlined(sql), ONE, delta)
    found = plan_batch([outlined(sql)], ONE, delta)
    assert found.error <= error_of(alone) * (1 + 1e-4)
    assert found.charge.epsilon <= ONE


def test_a_batch_of_one_number_has_the_name_of_the_question() -> None:
    """Red where its weight is in parts of its own error: what was paid for would be paid again."""
    asking = outlined("SELECT COUNT(*) FROM people")
    assert plan_batch([asking], ONE, NONE).digest("data") == price(asking, ONE, NONE).digest("data")


def test_questions_with_nothing_in_common_have_equal_shares_whatever_their_numbers_are_of() -> None:
    """Red where errors are in rows: what a unit moves by more took most of epsilon."""
    asked = ["SELECT COUNT(*) FROM people", "SELECT sex, SUM(age) FROM visits GROUP BY sex"]
    outlines = [outlined(sql) for sql in asked]
    found = plan_batch(outlines, ONE, NONE)
    assert found.charge.epsilon == ONE
    for level in found.levels:
        assert float(level.charge.epsilon) == pytest.approx(1 / 2, rel=0.1)


def test_a_measurement_that_two_questions_need_is_one() -> None:
    found = batch(
        "SELECT sex, COUNT(*) FROM people GROUP BY sex",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 10 ORDER BY n",
    )
    (level,) = found.levels
    alone = price(outlined("SELECT sex, COUNT(*) FROM people GROUP BY sex"), ONE, NONE)
    assert level.noises == alone.levels[0].noises
    assert found.charge == alone.charge


def test_keys_in_another_order_are_the_same_level() -> None:
    found = batch(
        "SELECT sex, member, COUNT(*) FROM visits GROUP BY sex, member",
        "SELECT member, sex, COUNT(*) FROM visits GROUP BY member, sex",
    )
    assert [question.reads[0].keys for question in found.questions] == [(0, 1), (1, 0)]
    assert len(found.levels) == 1


def test_other_rows_or_other_limits_are_another_level() -> None:
    found = batch(
        "SELECT COUNT(*) FROM people",
        "SELECT COUNT(*) FROM people WHERE age > 40",
        "SELECT COUNT(*) FROM visits",
    )
    assert len(found.levels) == 3
    few = outline(parse("SELECT COUNT(*) FROM visits", TABLES).query, TABLES, "add-remove", None)
    less = outline(
        parse("SELECT COUNT(*) FROM visits", TABLES).query, TABLES, "add-remove", rows_asked=2
    )
    assert len(plan_batch([few, less], ONE, NONE).levels) == 2


def test_a_total_of_groups_that_every_row_is_in_is_added_up() -> None:
    found = batch(
        f"SELECT {BAND}, COUNT(*), SUM(age) FROM people GROUP BY 1",
        "SELECT COUNT(*), SUM(age) FROM people",
    )
    (level,), total = found.levels, found.questions[1]
    assert total.reads[0].cells == 3
    assert total.plan.levels[0].noises == tuple(SummedNoise(noise, 3) for noise in level.noises)
    assert found.error < found.error_apart


@pytest.mark.parametrize(
    ("finer", "coarser"),
    [
        # rows whose sex is no declared one are in no group, and in the total
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex", "SELECT COUNT(*) FROM people"),
        # other rows
        (f"SELECT {BAND}, COUNT(*) FROM people GROUP BY 1", "SELECT COUNT(*) FROM rows"),
        (
            f"SELECT {BAND}, COUNT(*) FROM people WHERE age > 1 GROUP BY 1",
            "SELECT COUNT(*) FROM people",
        ),
        # fewer rows of a unit in one group than in several
        (f"SELECT {BAND}, COUNT(*) FROM visits GROUP BY 1", "SELECT COUNT(*) FROM visits"),
        # quantiles and distinct values do not add up
        (f"SELECT {BAND}, MEDIAN(age) FROM people GROUP BY 1", "SELECT MEDIAN(age) FROM people"),
        (
            f"SELECT {BAND}, COUNT(DISTINCT city) FROM people GROUP BY 1",
            "SELECT COUNT(DISTINCT city) FROM people",
        ),
        # units in several groups are counted in each
        (
            f"SELECT {BAND}, COUNT(DISTINCT person_id) FROM visits GROUP BY 1",
            "SELECT COUNT(DISTINCT person_id) FROM visits",
        ),
    ],
)
def test_what_is_not_a_sum_of_the_other_is_measured(finer: str, coarser: str) -> None:
    found = batch(finer, coarser)
    assert all(reads.cells == 1 for question in found.questions for reads in question.reads)
    assert len(found.levels) == 2


@pytest.mark.parametrize(("first", "second"), [(1, 3), (3, 1), (2, 2)])
def test_as_many_values_of_a_unit_count_as_each_question_of_a_batch_says(
    first: int, second: int
) -> None:
    query = parse("SELECT COUNT(DISTINCT age) FROM visits", TABLES).query
    asked = [outline(query, TABLES, "add-remove", values_asked=most) for most in (first, second)]
    found = plan_batch(asked, ONE, NONE)
    measured = [question.plan.levels[0].measurements[0] for question in found.questions]
    assert [part.values_per_unit for part in measured] == [first, second]
    assert [part.sensitivity.l1 for part in measured] == [first, second]
    assert len(found.levels) == len({first, second})


def test_many_cells_are_not_added_up_where_measuring_is_less_noisy() -> None:
    found = batch(
        "SELECT age, COUNT(*) FROM (SELECT person_id, COALESCE(age, 0) AS age FROM people) p "
        "GROUP BY age",
        "SELECT COUNT(*) FROM (SELECT person_id, COALESCE(age, 0) AS age FROM people) p",
    )
    assert [question.reads[0].cells for question in found.questions] == [1, 1]
    assert [numbers for _, numbers in found.families] == [(0, 1)]  # and fitted to each other


def test_levels_that_limits_may_cut_unevenly_are_shared_with_no_other_question() -> None:
    cube = "SELECT sex, member, COUNT(*) FROM visits GROUP BY CUBE (sex, member)"
    found = batch(cube, "SELECT sex, COUNT(*) FROM visits GROUP BY sex")
    assert len(found.levels) == 5


def test_keys_are_not_selected_without_a_delta() -> None:
    with pytest.raises(Refused) as caught:
        batch("SELECT COUNT(*) FROM people", SELECTING[0])
    assert caught.value.code == "delta_needed"


def test_what_nobody_can_change_stays_free() -> None:
    found = plan_batch([outlined("SELECT COUNT(*) FROM rows", "change-one")], ONE, NONE)
    assert found.charge.epsilon == 0


@pytest.mark.parametrize(("groups", "rows", "cells"), [(3, 6, 3), (2, 6, 1), (1, 6, 1), (1, 1, 3)])
def test_what_loses_groups_is_not_added_up_to_what_does_not(
    groups: int, rows: int, cells: int
) -> None:
    limited = replace(
        TABLES["visits"],
        rows_per_unit_max=rows,
        rows_per_group_max=None,
        groups_per_unit_max=groups,
    )
    tables = {**TABLES, "visits": limited}
    asked = [f"SELECT {BAND}, COUNT(*) FROM visits GROUP BY 1", "SELECT COUNT(*) FROM visits"]
    outlines = [outline(parse(sql, tables).query, tables, "add-remove") for sql in asked]
    found = plan_batch(outlines, ONE, NONE)
    assert found.questions[1].reads[0].cells == cells


def test_questions_that_want_different_noise_are_priced_one_by_one() -> None:
    many = replace(
        TABLES["visits"], rows_per_unit_max=20, rows_per_group_max=1, groups_per_unit_max=20
    )
    tables = {**TABLES, "visits": many}
    asked = ["SELECT COUNT(*) FROM people", "SELECT age, COUNT(*) FROM visits GROUP BY age"]
    outlines = [outline(parse(sql, tables).query, tables, "add-remove") for sql in asked]
    found = plan_batch(outlines, ONE, Fraction(1, 10**9))
    measured = [level.outline.measuring for level in found.levels]
    way, alike, _ = price_best([measured], ONE, Fraction(1, 10**9))
    assert found.error < sum(map(expected_error, way, alike))
    assert found.error == found.error_apart
    assert len({level.priced.mechanism for level in found.levels}) == 2
    assert (found.charge.epsilon, found.charge.delta) == (1, Fraction(1, 10**9))


@pytest.mark.slow
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**6), Fraction(60), Fraction(900), Fraction(5000)]
)
@pytest.mark.parametrize("delta", [NONE, SOME])
def test_a_batch_has_a_price_whatever_its_epsilon_is(epsilon: Fraction, delta: Fraction) -> None:
    """Noise on whole numbers vanishes faster than any power of epsilon; shares must not."""
    for asked in (POOL[:1], POOL[:6], POOL):
        found = batch(*asked, epsilon=epsilon, delta=delta)
        assert found.error <= found.error_apart
        assert found.charge.epsilon <= epsilon and found.charge.delta <= delta
