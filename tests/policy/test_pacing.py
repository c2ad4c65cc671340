"""Budgets with tranches, shares that are reserved, and when to tell of what is spent."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import PacedBudget, load

Write = Callable[[str], Path]
PolicyText = Callable[..., str]
PEOPLE = "[analyst.ana]\n[analyst.ben]\n[analyst.wall]\n"
MONTHLY = '{ epsilon = 1, per = "month", total = 4, delta = 1e-6 }'


def test_a_budget_with_tranches_promises_its_total(write: Write, policy_text: PolicyText) -> None:
    own = '[analyst.ana]\nbudget = { epsilon = 0.5, per = "week", total = 2, delta = 1e-7 }\n'
    policy = load(write(policy_text({"budget": MONTHLY}, more=own)))
    whole = PacedBudget(Fraction(4), Fraction(1, 10**6), Fraction(1), "month")
    assert policy.budget == whole
    assert policy.analysts["ana"].budget == PacedBudget(
        Fraction(2), Fraction(1, 10**7), Fraction(1, 2), "week"
    )
    assert policy.alerts_at == (Fraction(4, 5),)


def test_a_share_is_kept_by_what_the_others_together_may_spend(
    write: Write, policy_text: PolicyText
) -> None:
    share = '[reserved.dashboards]\nmembers = ["wall"]\nshare = 0.25\n'
    policy = load(
        write(policy_text({"budget": MONTHLY, "alerts_at": "[0.9, 0.5]"}, more=PEOPLE + share))
    )
    others = policy.coalitions["all but dashboards"]
    assert others.members == {"ana", "ben"}
    assert others.budget == PacedBudget(
        Fraction(3), Fraction(3, 4 * 10**6), Fraction(3, 4), "month"
    )
    assert policy.alerts_at == (Fraction(1, 2), Fraction(9, 10))


@pytest.mark.parametrize(
    ("budget", "more", "said"),
    [
        ('{ epsilon = 1, per = "month", delta = 1e-6 }', "", "total is missing"),
        ("{ epsilon = 1, total = 4, delta = 1e-6 }", "", "per is missing"),
        ('{ epsilon = 5, per = "month", total = 4, delta = 1e-6 }', "", "less than a tranche of 5"),
        ('{ epsilon = 1, per = "hour", total = 4, delta = 1e-6 }', "", "hour"),
        ('{ epsilon = 1, per = "day", total = 0, delta = 1e-6 }', "", "not above 0"),
        (
            '{ attacker = { prior = 0.1, posterior_at_most = 0.2 }, per = "day", delta = 1e-9 }',
            "",
            "an attacker decides",
        ),
        (MONTHLY, '[reserved.x]\nmembers = ["eve"]\nshare = 0.5\n', "no analyst"),
        (MONTHLY, '[reserved.x]\nmembers = ["ana"]\nshare = 1\n', "between 0 and 1"),
        (MONTHLY, "[reserved.x]\nmembers = []\nshare = 0.5\n", "list of analysts"),
        (MONTHLY, '[reserved.x]\nmembers = ["ana", "ben", "wall"]\nshare = 0.5\n', "nobody else"),
        (
            MONTHLY,
            '[coalition.c]\nmembers = ["ana", "ben"]\nbudget = { epsilon = 2, per = "day", '
            "total = 5, delta = 1e-7 }",
            "5 is more than the dataset's epsilon 4",
        ),
    ],
)
def test_what_makes_no_sense_is_a_fault(
    budget: str, more: str, said: str, write: Write, policy_text: PolicyText
) -> None:
    with pytest.raises(PolicyError) as faulty:
        load(write(policy_text({"budget": budget}, more=PEOPLE + more)))
    assert said in str(faulty.value)


@pytest.mark.parametrize("levels", ["[0]", "[1.5]", "0.5", '["half"]'])
def test_alerts_are_shares(levels: str, write: Write, policy_text: PolicyText) -> None:
    with pytest.raises(PolicyError):
        load(write(policy_text({"alerts_at": levels})))
