"""Levels of a question: ordinary outlines over the same rows, priced together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from plan.conftest import TABLES
from sanql.account.events import FailureEvent, GaussianEvent, leak, pure_epsilon
from sanql.errors import Refused
from sanql.options import Accuracy
from sanql.parse.question import parse
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.keys import OneGroup, PrivateKeys, PublicKeys
from sanql.plan.level import Level, LevelOutline, outline_level
from sanql.plan.plan import Outline, Plan, outline, price
from sanql.plan.pricing import expected_error
from sanql.policy.model import Neighbours
from sanql.results import Budget
from support.one_level import outline_of, plan_of

CUBE = "SELECT sex, member, COUNT(*), SUM(age) FROM visits GROUP BY CUBE (sex, member)"
MIXED = "SELECT sex, city, COUNT(*) FROM visits GROUP BY CUBE (sex, city)"
SINGLE = "SELECT sex, city, COUNT(*) FROM people GROUP BY CUBE (sex, city)"  # one row a unit
DELTA = Fraction(1, 10**6)


def outlined(sql: str, neighbours: Neighbours = "add-remove") -> Outline:
    return outline(parse(sql, TABLES).query, TABLES, neighbours)


def planned(sql: str, epsilon: str = "1", delta: Fraction = Fraction(0)) -> Plan:
    return price(outlined(sql), Fraction(epsilon), delta)


def alone(sql: str, neighbours: Neighbours = "add-remove") -> LevelOutline:
    """Return the only level of a question with one grouping set."""
    return outline_level(parse(sql, TABLES).query, TABLES, neighbours)


def test_a_question_with_one_set_is_outlined_and_planned_as_ever() -> None:
    sql = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"
    assert outlined(sql).levels == (alone(sql),)
    (level,) = (found := price(outlined(sql), Fraction(1), DELTA)).levels
    assert (
        found == replace(plan_of(level), within=Budget(Fraction(1), DELTA))
        and found.sets == ((0,),)
        and not found.several
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_level_has_the_limits_and_measurements_of_its_own_question(
    neighbours: Neighbours,
) -> None:
    whole = outlined(CUBE, neighbours)
    assert whole.sets == ((1, 0), (1,), (0,), ())
    for keys, level in zip(("member, sex", "member", "sex", "()"), whole.levels, strict=True):
        own = alone(f"SELECT COUNT(*), SUM(age) FROM visits GROUP BY {keys}", neighbours)
        assert (level.limits, level.measuring, level.keys) == (own.limits, own.measuring, own.keys)


def test_a_row_counts_in_every_public_level_or_in_none() -> None:
    whole = outlined(CUBE)
    filtering = [
        [getattr(each.key, "name", "") for each in level.filtering_keys] for level in whole.levels
    ]
    assert filtering == [[], ["sex"], ["member"], ["member", "sex"]]


def test_keys_that_are_not_public_leave_nothing_out_and_are_selected_level_by_level() -> None:
    whole = outlined(MIXED)
    kinds = [type(level.keys) for level in whole.levels]
    assert kinds == [PrivateKeys, PrivateKeys, PublicKeys, OneGroup]
    filtering = [
        [getattr(each.key, "name", "") for each in level.filtering_keys] for level in whole.levels
    ]
    assert filtering == [[], [], [], ["sex"]]
    assert [level.selects_keys for level in whole.levels] == [True, True, False, False]


def test_a_key_that_every_row_has_leaves_nothing_out() -> None:
    whole = outlined(
        "SELECT age IS NULL AS unknown, COUNT(*) FROM visits GROUP BY ROLLUP (unknown)"
    )
    assert [level.filtering_keys for level in whole.levels] == [(), ()]


def test_a_total_is_not_public_where_rows_are_left_out_of_it() -> None:
    # under change-one neighbours the number of all rows is public, that of rows with a sex is not
    sql = "SELECT {0}, COUNT(*) FROM rows GROUP BY ROLLUP ({0})"
    *_, all_rows = outlined(sql.format("city"), "change-one").levels
    *_, with_sex = outlined(sql.format("sex"), "change-one").levels
    assert all_rows.measuring.measurements[0].sensitivity.zero
    assert not with_sex.measuring.measurements[0].sensitivity.zero


def test_the_same_sets_in_another_order_or_twice_are_the_same_question() -> None:
    listed = "SELECT sex, member, COUNT(*), SUM(age) FROM visits GROUP BY GROUPING SETS "
    names = {
        planned(sql).digest("data")
        for sql in (
            CUBE,
            f"{CUBE} HAVING COUNT(*) > 3 ORDER BY GROUPING(sex) LIMIT 2",
            f"{listed} ((), (sex), (member), (sex, member))",
            f"{listed} ((member, sex), (sex), (), (member), (sex), ())",
        )
    }
    assert len(names) == 1
    assert planned(f"{listed} ((), (sex), (sex, member))").digest("data") not in names
    assert planned(CUBE, "2").digest("data") not in names
    assert planned(CUBE).digest("other") not in names


def test_every_level_is_part_of_the_name() -> None:
    sql = "SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((sex, member), ({}))"
    one, other = planned(sql.format("sex")), planned(sql.format("member"))
    assert one.levels[0] == other.levels[0]
    assert one.digest("data") != other.digest("data")


def test_one_level_shown_twice_is_the_ordinary_question() -> None:
    twice = planned("SELECT sex, COUNT(*) FROM visits GROUP BY GROUPING SETS ((sex), (sex))")
    once = planned("SELECT sex, COUNT(*) FROM visits GROUP BY sex")
    assert twice.levels == (replace(once.levels[0], outline=twice.levels[0].outline),)
    assert twice.digest("data") == once.digest("data")


@pytest.mark.parametrize(
    "sql", [CUBE, MIXED, SINGLE, MIXED.replace("COUNT(*)", "MEDIAN(age), AVG(age)")]
)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "7"])
def test_all_levels_together_cost_what_was_asked_exactly(sql: str, epsilon: str) -> None:
    whole = planned(sql, epsilon, DELTA)
    events = [event for level in whole.levels for event in level.charge.events]
    assert list(whole.charge.events) == events
    assert whole.charge.epsilon == Fraction(epsilon)
    if any(isinstance(event, GaussianEvent) for event in events):
        assert whole.charge.delta == DELTA
    else:
        assert pure_epsilon(events) == Fraction(epsilon)
        assert whole.charge.delta == leak(events)
    assert leak(events) <= DELTA
    selecting = [level for level in whole.levels if level.priced.threshold is not None]
    assert len(selecting) == sum(level.outline.selects_keys for level in whole.levels)


def test_gaussian_levels_share_one_conversion() -> None:
    sql = "SELECT COUNT(*), SUM(age), SUM(score) FROM visits GROUP BY CUBE (sex, member, region)"
    whole = planned(sql, "1", DELTA)
    assert all(isinstance(event, GaussianEvent) for event in whole.charge.events)
    count = len(whole.levels)
    for level in whole.levels:
        alone = price(outline_of(level.outline), Fraction(1, count), DELTA / count)
        assert _deviation(level) < 0.7 * _deviation(alone.levels[0])


def _deviation(level: Level) -> float:
    """Return the noise of a level's first measurement, in steps of its grid."""
    return level.noises[0].standard_deviation / level.measurements[0].scale


def test_levels_that_select_share_the_failure_probability() -> None:
    whole = planned(MIXED, "1", DELTA)
    failures = [event.delta for event in whole.charge.events if isinstance(event, FailureEvent)]
    assert failures == [DELTA / 4, DELTA / 4]


def test_the_split_among_levels_has_the_least_expected_error() -> None:
    whole = outlined("SELECT member, COUNT(*), SUM(age) FROM visits GROUP BY ROLLUP (member)")
    best = price(whole, Fraction(1), Fraction(0))
    shares = [level.charge.epsilon for level in best.levels]
    assert sum(shares) == 1 and shares[0] != shares[1]

    def error(parts: list[Fraction]) -> float:
        pairs = zip(whole.levels, parts, strict=True)
        plans = [price(outline_of(level), part, Fraction(0)).levels[0] for level, part in pairs]
        return sum(expected_error(p.outline.measuring, p.priced) for p in plans)

    least = error(shares)
    for moved in (Fraction(1, 20), Fraction(-1, 20)):
        assert error([shares[0] + moved, shares[1] - moved]) > least


def test_unknown_keys_at_any_level_need_a_delta() -> None:
    with pytest.raises(Refused) as refused:
        price(outlined(MIXED), Fraction(1), Fraction(0))
    assert refused.value.code == "delta_needed"


@pytest.mark.parametrize("width", [20, 200])
def test_an_accuracy_is_reached_at_every_level(width: int) -> None:
    whole = outlined("SELECT sex, member, COUNT(*) FROM visits GROUP BY CUBE (sex, member)")
    wanted = Accuracy(Fraction(width))
    epsilon = least_epsilon(whole, Fraction(0), wanted)

    def widths(planned: Plan) -> list[Fraction | None]:
        return [half_width(level, 0, wanted.confidence) for level in planned.levels]

    found = price(whole, epsilon, Fraction(0))
    assert all(w is not None and w <= width for w in widths(found))
    cheaper = price(whole, epsilon * Fraction(99, 100), Fraction(0))
    assert any(w is not None and w > width for w in widths(cheaper))


def test_nothing_is_charged_for_levels_of_a_public_table() -> None:
    whole = price(
        outlined("SELECT city, COUNT(*) FROM open GROUP BY ROLLUP (city)"), Fraction(1), Fraction(0)
    )
    assert (whole.charge.events, whole.charge.epsilon) == ((), 0)


def test_levels_are_named_as_sql_lists_them() -> None:
    sql = "SELECT sex AS s, COUNT(*) FROM visits GROUP BY CUBE (sex, member, age // 10)"
    assert planned(sql, delta=DELTA).names[0] == "(s, member, key 3)"
    assert planned(sql, delta=DELTA).names[-1] == "()"
