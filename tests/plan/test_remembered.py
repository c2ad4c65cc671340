"""What is remembered of questions changes nothing of the next: not its measurements, price or name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from plan.golden import QUESTIONS, planned
from sanql.itself import Itself
from sanql.parse.question import parse
from sanql.plan import digest, level, price, pricing
from sanql.plan.plan import Plan, outline
from sanql.policy.model import Column, ColumnUnit, ListedDomain, Table
from sanql.question import forms

REMEMBERING: list[Any] = [
    forms._facts,
    forms._column,
    digest._measurements,
    digest._table,
    digest._price_of,
    level._reading,
    level._measuring,
    pricing._price_best,
]
# pairs that Python takes for equal and a digest must not: 1, 1.0 and true
TWINS = {
    "t": Table(
        "t",
        ColumnUnit("who"),
        {
            "whole": Column("whole", "integer", (0, 9), domain=ListedDomain((0, 1))),
            "real": Column("real", "decimal", (Fraction(0), Fraction(9)), Fraction(1)),
            "truth": Column("truth", "boolean", domain=ListedDomain((False, True))),
        },
        1,
        None,
        1,
    )
}
ALIKE = [
    "SELECT COUNT(*) FROM t WHERE whole = 1",
    "SELECT COUNT(*) FROM t WHERE whole = 1.0",
    "SELECT COUNT(*) FROM t WHERE truth = TRUE",
    "SELECT SUM(whole + 1) FROM t",
    "SELECT SUM(whole + 1.0) FROM t",
    "SELECT SUM(real) FROM t",
    "SELECT SUM(whole) FROM t",
    "SELECT SUM(whole) FROM t WHERE whole < 5",
    "SELECT SUM(whole) FROM t WHERE whole < 7",
    "SELECT whole, COUNT(*) FROM t GROUP BY whole",
    "SELECT truth, COUNT(*) FROM t GROUP BY truth",
    "SELECT MODE(whole) FROM t",
    "SELECT MODE(truth) FROM t",
]


def forget() -> None:
    for remembering in REMEMBERING:
        remembering.cache_clear()


def plan_of(sql: str, tables: Mapping[str, Table] = TWINS, epsilon: str = "0.1") -> Plan:
    query = parse(sql, tables).private
    return price(outline(query, tables, "add-remove"), Fraction(epsilon), Fraction(1, 10**6))


def test_golden_questions_have_the_same_names_in_any_order() -> None:
    afresh = {}
    for title in QUESTIONS:
        forget()
        afresh[title] = planned(title).digest("data")
    assert {title: planned(title).digest("data") for title in reversed(QUESTIONS)} == afresh


def test_what_python_takes_for_equal_keeps_its_own_name() -> None:
    afresh = {}
    for sql in ALIKE:
        forget()
        afresh[sql] = plan_of(sql).digest("data")
    assert len(set(afresh.values())) == len(ALIKE)
    for again in (ALIKE, ALIKE[::-1]):
        assert {sql: plan_of(sql).digest("data") for sql in again} == afresh


def test_another_price_table_or_bound_gives_another_plan() -> None:
    people = TWINS["t"]
    wider = {**people.columns, "whole": Column("whole", "integer", (0, 90))}
    plans = [
        plan_of("SELECT SUM(whole) FROM t"),
        plan_of("SELECT SUM(whole) FROM t", epsilon="0.2"),
        plan_of("SELECT SUM(whole) FROM t", {"t": replace(people, columns=wider)}),
        plan_of("SELECT SUM(whole) FROM t WHERE whole < 4"),
    ]
    assert len({plan.levels[0].noises for plan in plans}) == len(plans)


def test_the_same_question_but_for_its_condition_is_priced_once() -> None:
    forget()
    first = plan_of("SELECT AVG(real) FROM t WHERE whole > 3")
    second = plan_of("SELECT AVG(real) FROM t WHERE whole > 4")
    assert first.levels[0].priced is second.levels[0].priced
    assert first.digest("data") != second.digest("data")


@pytest.mark.parametrize("remembering", REMEMBERING, ids=lambda each: each.__qualname__)
def test_not_everything_is_remembered_for_ever(remembering: Any) -> None:
    assert 0 < remembering.cache_info().maxsize <= 1024


def test_a_key_is_equal_to_that_of_the_same_object_alone() -> None:
    one, other = {"a": 1}, {"a": 1}
    assert len({Itself(one), Itself(one), Itself(other)}) == 2
