"""One row more for the groups that do not appear: what is measured for it, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from plan.pricing import gaussian_of, laplace_of
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.errors import Refused
from sanql.measurements.measurement import Measured
from sanql.mechanisms import DiscreteLaplace
from sanql.options.values import parse_accuracy
from sanql.plan import price
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.level import Level, LevelOutline
from sanql.plan.other_groups import is_known_of_other_groups
from support.one_level import outline_of, plan_of

Outlined = Callable[..., LevelOutline]
Planned = Callable[..., Level]
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
APART = [  # questions whose rows are measured apart from the units that select keys
    "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "SELECT city, SUM(age), SUM(rated), COUNT(age) FROM visits GROUP BY city",
    "SELECT city, AVG(income), STDDEV(age), CORR(age, score) FROM visits GROUP BY city",
    "SELECT city, COUNT(DISTINCT person_id) FROM visits GROUP BY city",
    "SELECT city, MEDIAN(age), COUNT(DISTINCT age) FROM visits GROUP BY city",
    "SELECT city FROM people GROUP BY city",
    "SELECT city, COUNT(age), SUM(age) FROM people GROUP BY city",
]
TOGETHER = [  # questions that show the count that selects keys
    "SELECT city, COUNT(*) FROM people GROUP BY city",
    "SELECT city, COUNT(*) FROM rows GROUP BY city",
    "SELECT city, COUNT(DISTINCT person_id) FROM people GROUP BY city",
    "SELECT ever, COUNT(*), AVG(GREATEST(0, LEAST(9, COALESCE(age, 0)))) FROM people GROUP BY ever",
]


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", APART)
def test_laplace_noise_is_the_same_with_other_groups_as_without(
    outlined: Outlined, sql: str, relation: str
) -> None:
    plain, other = (outlined(sql, relation, other=flag) for flag in (False, True))
    without, with_it = (laplace_of(each.measuring, EPSILON, DELTA) for each in (plain, other))
    assert with_it.noises == without.noises
    assert with_it.threshold == without.threshold
    assert (with_it.charge.epsilon, with_it.charge.delta) == (EPSILON, DELTA)
    for part, (mine, theirs) in zip(
        [p for p in other.measuring.measurements if not p.sensitivity.zero],
        zip(with_it.charge.events, without.charge.events, strict=True),
        strict=True,
    ):
        assert isinstance(mine, LaplaceEvent) == isinstance(theirs, LaplaceEvent)
        if isinstance(mine, LaplaceEvent) and isinstance(theirs, LaplaceEvent):
            assert replace(mine, linf=theirs.linf) == theirs
            if part.kind in (Measured.ROWS, Measured.VALUES) and relation == "add-remove":
                assert mine.linf == mine.l1  # all of a unit's rows may be in one cell


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", APART)
def test_gaussian_noise_answers_for_a_longer_change(
    outlined: Outlined, sql: str, relation: str
) -> None:
    plain, other = (outlined(sql, relation, other=flag).measuring for flag in (False, True))
    priced = gaussian_of(other, EPSILON, DELTA)
    if priced is None:
        return
    squares = [e.l2_squared for e in priced.charge.events if isinstance(e, GaussianEvent)]
    declared = [
        part.sensitivity.l2_squared
        for part in other.measurements
        if not part.picked and not part.sensitivity.zero
    ]
    assert squares == declared
    for mine, theirs in zip(other.measurements, plain.measurements, strict=True):
        assert mine.sensitivity.l1 == theirs.sensitivity.l1
        assert mine.sensitivity.l2_squared >= theirs.sensitivity.l2_squared
        if mine.kind is Measured.ROWS and relation == "add-remove":
            assert (
                mine.sensitivity.l2_squared
                == mine.sensitivity.l1**2
                > theirs.sensitivity.l2_squared
            )


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", TOGETHER)
def test_other_groups_of_the_count_that_selects_have_a_share_of_their_own(
    outlined: Outlined, sql: str, relation: str
) -> None:
    measuring = outlined(sql, relation, other=True).measuring
    assert measuring.other_groups is not None
    part = measuring.measurements[measuring.other_groups]
    assert (part.kind, part.of) == (Measured.OTHER_GROUPS, measuring.selection)
    sensitivity = part.sensitivity
    assert (sensitivity.l1, sensitivity.linf, sensitivity.l2_squared) == (1, 1, 1)
    priced = laplace_of(measuring, EPSILON, DELTA)
    noise = priced.noises[measuring.other_groups]
    assert isinstance(noise, DiscreteLaplace)
    assert LaplaceEvent(noise.scale, 1, 1) in priced.charge.events
    alone = laplace_of(outlined(sql, relation).measuring, EPSILON, DELTA)
    assert priced.charge.epsilon == alone.charge.epsilon  # shared, not added
    assert len(priced.charge.events) == len(alone.charge.events) + 1


@pytest.mark.parametrize("sql", APART)
def test_a_count_that_is_not_shown_has_no_rest(outlined: Outlined, sql: str) -> None:
    assert outlined(sql, other=True).measuring.other_groups is None


def test_what_does_not_add_up_is_not_shown_of_other_groups(outlined: Outlined) -> None:
    sql = (
        "SELECT city, COUNT(*), SUM(age), AVG(age), STDDEV(age), CORR(age, score), "
        "COUNT(DISTINCT person_id), COUNT(DISTINCT age), MEDIAN(age) FROM {} GROUP BY city"
    )
    for table, one_group in (("visits", False), ("people", True)):
        found = outlined(sql.format(table), other=True)
        known = [
            is_known_of_other_groups(e, found.measuring, found.limits)
            for e in found.measuring.estimates
        ]
        assert known == [True] * 5 + [one_group, False, False]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex",
        "SELECT member, COUNT(*) FROM visits GROUP BY member",
        "SELECT city, COUNT(*) FROM open GROUP BY city",
    ],
)
def test_other_groups_are_refused_where_every_group_appears(outlined: Outlined, sql: str) -> None:
    with pytest.raises(Refused) as caught:
        outlined(sql, other=True)
    assert caught.value.code == "other_needless"


@pytest.mark.parametrize("sql", [*APART, *TOGETHER])
def test_the_name_of_a_question_says_whether_other_groups_are_added_up(
    planned: Planned, sql: str
) -> None:
    names = {
        plan_of(planned(sql, "1", "1e-6", other=flag)).digest("source") for flag in (False, True)
    }
    assert len(names) == 2


def test_widths_and_accuracy_cover_the_row_of_other_groups(outlined: Outlined) -> None:
    outline = outlined(TOGETHER[0], other=True)
    wanted = parse_accuracy("50 at 0.9")
    epsilon = least_epsilon(outline_of(outline), DELTA, wanted)
    made = price(outline_of(outline), epsilon, DELTA).levels[0]
    assert outline.measuring.other_groups is not None and outline.measuring.selection is not None
    widths = [
        made.noises[index].half_width(wanted.confidence)
        for index in (outline.measuring.selection, outline.measuring.other_groups)
    ]
    assert half_width(made, 0, wanted.confidence) == max(widths) <= 50
