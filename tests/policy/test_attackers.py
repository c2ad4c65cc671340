"""Budgets stated as attackers: the epsilon that allows no more, under either reading of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import load
from sanql.theory.meaning import posterior_band

Write = Callable[[str], Path]

POLICY = """
[dataset]
name = "school"
source = "school"
neighbours = "{neighbours}"
accounting = "{accounting}"
budget = {{ {budget} }}

[table.pupils]
privacy_unit = "pupil_id"
unique = true
[table.pupils.column]
mark = {{ type = "integer", bounds = [0, 20] }}
"""
BELIEF = "attacker = { prior = 0.1, posterior_at_most = 0.2 }"


def text(budget: str, neighbours: str = "change-one", accounting: str = "pure") -> str:
    return POLICY.format(budget=budget, neighbours=neighbours, accounting=accounting)


def test_a_belief_decides_epsilon_and_is_never_exceeded(write: Write) -> None:
    for neighbours, steps in (("change-one", 1), ("add-remove", 2)):
        budget = load(write(text(BELIEF, neighbours))).budget
        assert budget.delta == 0
        assert budget.epsilon.limit_denominator(10**6) == budget.epsilon
        most = math.log(9 / 4) / steps
        assert most - 1e-6 <= budget.epsilon <= most
        assert posterior_band(0.1, float(steps * budget.epsilon))[1] <= 0.2


def test_a_group_shares_epsilon(write: Write) -> None:
    group = "attacker = { false_alarms = 0.05, hits_at_most = 0.1, group_of = 4 }"
    budget = load(write(text(group))).budget
    assert math.log(2) / 4 - 1e-6 <= budget.epsilon <= math.log(2) / 4


@pytest.mark.parametrize(("neighbours", "steps"), [("change-one", 1), ("add-remove", 2)])
def test_a_delta_fails_as_seldom_as_said(write: Write, neighbours: str, steps: int) -> None:
    stated = "attacker = { prior = 0.1, posterior_at_most = 0.2, failure = 1e-4 }, delta = 1e-6"
    budget = load(write(text(stated, neighbours, "renyi"))).budget
    assert budget.delta == Fraction(1, 10**6)
    epsilon = float(budget.epsilon)
    faced = sum(1e-6 * math.exp(i * epsilon) for i in range(steps))
    band = posterior_band(0.1, steps * epsilon, faced, failure=1e-4)
    assert 0.195 < band[1] <= 0.2


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (f"epsilon = 1, {BELIEF}", "an attacker decides epsilon"),
        ("attacker = { prior = 0.1 }", "a belief or a test"),
        ("attacker = { prior = 0.3, posterior_at_most = 0.2 }", "no epsilon above 0"),
        ("attacker = { prior = 0.1, posterior_at_most = 0.2, failure = 0.1 }", "without a delta"),
        ("attacker = { prior = 0.1, posterior_at_most = 0.100000001 }", "six places"),
        ("attacker = { prior = 0.1, posterior = 0.2 }", "posterior"),
        ("attacker = 3", "attacker"),
    ],
)
def test_what_is_no_attacker_is_a_fault_with_a_remedy(
    write: Write, budget: str, words: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        load(write(text(budget)))
    assert words in str(refused.value)


def test_an_analysts_attacker_may_not_learn_more_than_everybodys(write: Write) -> None:
    more = "[analyst.ana]\nbudget = { attacker = { prior = 0.1, posterior_at_most = 0.5 } }\n"
    with pytest.raises(PolicyError) as refused:
        load(write(text(BELIEF) + more))
    assert "is more than the dataset's epsilon" in str(refused.value)
