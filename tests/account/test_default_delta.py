"""The delta of questions that name none lasts as long as epsilon, however small they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from sanql.account.charge import Charge
from sanql.account.events import leak
from sanql.account.ledger.ledger import Ledger
from sanql.errors import BudgetExceeded
from sanql.parse.question import parse
from sanql.plan import price
from sanql.plan.delta import default_delta
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.plan import outline
from sanql.policy.model import Accounting, Budget, Column, ColumnUnit, Policy, Table

MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}
PEOPLE = {"people": Table("people", ColumnUnit("id"), {"city": Column("city", "text")}, 1)}
BY_CITY = "SELECT city, COUNT(*) FROM people GROUP BY city"
DATASET = Budget(Fraction(4), Fraction(1, 10**6))


def selecting(epsilon: Fraction, delta: Fraction) -> Charge:
    outlined = outline(parse(BY_CITY, PEOPLE).query, PEOPLE, "add-remove")
    return price(outlined, epsilon, delta).charge


def answered(ledger: Ledger, charge: Charge) -> Iterator[int]:
    """Yield numbers while the same charge fits once more."""
    number = 0
    while True:
        try:
            ledger.reserve("cy", f"{number:064x}", charge)
        except BudgetExceeded:
            return
        yield number
        number += 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accounting", "epsilon"),
    [("pure", "0.04"), ("pure", "0.4"), ("pure", "4"), ("renyi", "0.2"), ("renyi", "1"), ("renyi", "4")],
)  # fmt: skip
def test_questions_with_the_default_are_stopped_by_epsilon_never_by_delta(
    make_policy: MakePolicy, accounting: Accounting, epsilon: str
) -> None:
    exact = Fraction(epsilon)
    charge = selecting(exact, default_delta(exact, [DATASET], accounting))
    policy = make_policy(accounting=accounting, budget=DATASET, analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        count = sum(1 for _ in answered(ledger, charge))
        (dataset,) = ledger.balances()
        assert count >= int(DATASET.epsilon / exact)  # what pure accounting allows, at the least
        assert (
            dataset.remaining_lower.delta >= leak(charge.events)
            or dataset.remaining_lower.epsilon < exact
        )


def test_the_smallest_share_of_all_accounts_is_taken() -> None:
    analyst = Budget(Fraction(1), Fraction(1, 10**7))
    found = default_delta(Fraction(1, 10), [DATASET, analyst], "pure")
    assert found == Fraction(1, 10**8)  # a tenth of the analyst's; of the dataset's a fortieth
    assert default_delta(Fraction(100), [analyst], "pure") == analyst.delta
    assert default_delta(Fraction(1), [Budget(Fraction(1), Fraction(0))], "pure") == 0


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
@pytest.mark.parametrize("used_up", [False, True])
def test_where_delta_is_used_up_the_remedy_names_a_delta_that_fits_or_a_domain(
    make_policy: MakePolicy, accounting: Accounting, used_up: bool
) -> None:
    policy = make_policy(accounting=accounting, budget=DATASET, analysts={}, coalitions={})
    epsilon = Fraction(1, 100)
    with Ledger.open(policy, TERMS) as ledger:
        while used_up and ledger.balances()[0].remaining_lower.delta > 0:
            left = ledger.balances()[0].remaining_lower.delta
            ledger.reserve("cy", f"{len(list(ledger.records())):064x}", leaking(epsilon, left))
        left = ledger.balances()[0].remaining_lower.delta
        with pytest.raises(BudgetExceeded) as refused:
            ledger.would_fit("cy", leaking(epsilon, 3 * DATASET.delta))
        remedy = refused.value.remedy
        assert "declare the domain" in remedy
        assert ("ask with delta" in remedy) is not used_up
        if not used_up:
            ledger.would_fit("cy", leaking(epsilon, left))


def leaking(epsilon: Fraction, delta: Fraction) -> Charge:
    """Return the charge of selecting keys with Laplace noise, all of whose delta may leak."""
    outlined = outline(parse(BY_CITY, PEOPLE).query, PEOPLE, "add-remove")
    (priced,) = LaplaceMechanism().price([outlined.levels[0].measuring], epsilon, delta)
    return priced.charge


def test_without_keys_to_select_no_domain_is_named(
    make_policy: MakePolicy, gaussian: Callable[[str, str], Charge]
) -> None:
    policy = make_policy(budget=DATASET, analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger, pytest.raises(BudgetExceeded) as refused:
        ledger.would_fit("cy", gaussian("0.1", "0.25"))
    assert "ask with delta 1e-6 or less" in refused.value.remedy
    assert "domain" not in refused.value.remedy
