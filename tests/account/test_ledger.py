"""The ledger's rules, as tables of operations and what each must end in."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.chain import head_path
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError, Refused, SanqlError, Unavailable
from sanql.policy.model import Analyst, Budget, Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Gaussian = Callable[[str, str], Charge]

TERMS = {"neighbours": "add-remove", "unit.people": "person_id"}


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([("ana", "0.1", "ok")] * 10 + [("ana", "0.1", "analyst 'ana'")], id="own"),
        pytest.param([("bob", "2", "ok"), ("bob", "0.1", "coalition 'both'")], id="coalition"),
        pytest.param([("ana", "1", "ok"), ("bob", "1", "ok"), ("bob", "0.1", "both")], id="pooled"),
        pytest.param([("eve", "0.1", "analyst_unknown")], id="unknown"),
        pytest.param([("ana", "5", "analyst 'ana'")], id="least_left_of_three"),
        pytest.param(
            [("ana", "0.9", "ok"), ("ana", "0.2", "'ana'"), ("ana", "0.1", "ok")], id="smaller"
        ),
    ],
)
@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_each_charge_must_fit_every_account_it_counts_in(
    operations: list[tuple[str, str, str]],
    accounting: str,
    make_policy: MakePolicy,
    laplace: Laplace,
) -> None:
    policy = make_policy(accounting=accounting)
    with Ledger.open(policy, TERMS) as ledger:
        for i, (analyst, epsilon, expected) in enumerate(operations):
            try:
                ledger.reserve(analyst, question(str(i)), laplace(epsilon))
                outcome = "ok"
            except SanqlError as error:
                outcome = f"{error.code} {account_named(error)}"
            assert expected in outcome
    assert verify(policy.ledger).sound


def account_named(error: SanqlError) -> str:
    return error.message.replace(" account '", " '")


def test_a_refusal_says_what_was_asked_what_is_left_where_and_what_would_fit(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        ledger.reserve("ana", question("first"), laplace("0.75"))
        before = list(ledger.records())
        for ask in (
            lambda: ledger.reserve("ana", question("second"), laplace("0.5")),
            lambda: ledger.would_fit("ana", laplace("0.5")),
        ):
            with pytest.raises(BudgetExceeded) as refusal:
                ask()
            assert refusal.value.code == "budget_exceeded"
            for part in ("epsilon 0.5", "analyst account 'ana'", "epsilon 0.25"):
                assert part in refusal.value.message
            assert "epsilon 0.25 or less" in refusal.value.remedy
        assert list(ledger.records()) == before
        ledger.would_fit("ana", laplace("0.25"))
        ledger.reserve("ana", question("third"), laplace("0.25"))


def test_an_epsilon_that_fits_and_is_more_than_what_is_left_is_explained(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    policy = make_policy(accounting="renyi", analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(20):
            ledger.reserve("ana", question(str(number)), gaussian("0.3", "1e-9"))
        (balance,) = ledger.balances()
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.would_fit("ana", gaussian("50", "1e-9"))
        fitting = re.search(r"epsilon ([0-9.]+) or less", refusal.value.remedy)
        assert fitting is not None and Fraction(fitting[1]) > balance.remaining_lower.epsilon
        assert "answers together spend less than their sum" in refusal.value.remedy


def test_a_delta_that_does_not_fit_is_answered_with_one_that_does(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        for epsilon, named in (("0.1", True), ("5", False)):
            with pytest.raises(BudgetExceeded) as refusal:
                ledger.would_fit("ana", gaussian(epsilon, "0.25"))
            assert ("ask with delta 1e-7 or less" in refusal.value.remedy) is named


def test_what_a_charge_would_leave_is_what_it_leaves(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        ledger.reserve("bob", question("first"), laplace("0.5"))
        after = ledger.balances_after("ana", laplace("0.25"))
        assert after is not None and ledger.balances_after("ana", laplace("1.25")) is None
        ledger.reserve("ana", question("second"), laplace("0.25"))
        assert [balance.remaining_lower for balance in after] == [
            balance.remaining_lower for balance in ledger.balances_of("ana")
        ]
        shared = ledger.balances_after("bob", laplace("0.25"))
        ledger.reserve("bob", question("third"), laplace("0.25"))
        assert shared is not None
        assert [balance.remaining_lower for balance in shared] == [
            balance.remaining_lower for balance in ledger.balances_of("bob")
        ]


def test_an_analyst_with_an_account_sees_nothing_of_what_others_have_spent(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    """Balances, forecasts and refusals are the same whatever bob was answered and asked next."""
    seen = []
    for number, bobs in enumerate(("0.5", "1.5")):
        ledger_path = make_policy().ledger.with_name(f"{number}.ledger")
        with Ledger.open(make_policy(ledger=ledger_path), TERMS) as ledger:
            ledger.reserve("ana", question("first"), laplace("0.25"))
            ledger.reserve("bob", question("first"), laplace(bobs))
            after = ledger.balances_after("ana", laplace("0.125"))
            assert [balance.kind for balance in ledger.balances_of("ana")] == ["analyst"]
            with pytest.raises(BudgetExceeded) as own:
                ledger.reserve("ana", question("second"), laplace("2"))
            seen.append((ledger.balances_of("ana"), after, str(own.value)))
            kinds = [balance.kind for balance in ledger.balances_of("bob")]
            assert kinds == ["dataset", "coalition"]
    assert seen[0] == seen[1]


def test_a_refusal_for_want_of_a_shared_budget_says_no_number_of_it(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    messages = set()
    for number, bobs in enumerate(("1.5", "1.75")):
        ledger_path = make_policy().ledger.with_name(f"{number}.ledger")
        with Ledger.open(make_policy(ledger=ledger_path), TERMS) as ledger:
            ledger.reserve("bob", question("first"), laplace(bobs))
            with pytest.raises(
                BudgetExceeded, match="coalition account 'both', which others"
            ) as no:
                ledger.reserve("ana", question("first"), laplace("0.75"))
            messages.add(str(no.value))
    assert len(messages) == 1


def test_analysts_without_a_budget_are_listed_with_what_they_spent(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        assert ledger.spent_without_budget() == []
        ledger.reserve("ana", question("first"), laplace("0.25"))
        ledger.reserve("bob", question("first"), laplace("0.5"))
        assert ledger.spent_without_budget() == [("bob", Budget(Fraction(1, 2), Fraction(0)))]


def test_the_same_question_of_the_same_analyst_finds_the_recorded_answer_and_no_other_does(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        assert ledger.find("ana", question("q")) is None
        reservation = ledger.reserve("ana", question("q"), laplace("0.1"))
        assert ledger.find("ana", question("q")) is None
        ledger.spend(reservation, b"\x00answer")
        assert ledger.find("bob", question("q")) is None
        assert ledger.find("ana", question("other")) is None
    with Ledger.open(policy, TERMS) as ledger:
        assert ledger.find("ana", question("q")) == b"\x00answer"
        with pytest.raises(Refused, match="eve"):
            ledger.find("eve", question("q"))


def test_a_charge_stays_whether_it_is_spent_voided_or_forgotten(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        ledger.spend(ledger.reserve("ana", question("1"), laplace("0.25")), b"answer")
        ledger.void(ledger.reserve("ana", question("2"), laplace("0.25")), reason="cancelled")
        ledger.reserve("ana", question("3"), laplace("0.25"))
        spent = {b.account: (b.spent_upper.epsilon, b.reserved) for b in ledger.balances()}
        assert spent == {
            "hospital": (Fraction(3, 4), 1),
            "ana": (Fraction(3, 4), 1),
            "both": (Fraction(3, 4), 1),
        }


def test_a_reservation_is_settled_once(make_policy: MakePolicy, laplace: Laplace) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger:
        spent = ledger.reserve("ana", question("1"), laplace("0.1"))
        ledger.spend(spent, b"answer")
        voided = ledger.reserve("ana", question("2"), laplace("0.1"))
        ledger.void(voided, reason="engine")
        never = replace(spent, sequence=99)
        before = list(ledger.records())
        for reservation in (spent, voided, never):
            for settle in (
                lambda r=reservation: ledger.spend(r, b"other"),
                lambda r=reservation: ledger.void(r, reason="engine"),
            ):
                with pytest.raises(LedgerError) as error:
                    settle()
                assert error.value.code == "reservation_closed"
        assert list(ledger.records()) == before
        assert ledger.find("ana", question("1")) == b"answer"


def test_a_reservation_whose_process_died_counts_as_a_failure_once_the_deadline_is_long_over(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    policy = make_policy(failures_max=1)
    with Ledger.open(policy, TERMS, clock=lambda: now) as ledger:
        ledger.reserve("ana", question("1"), laplace("0.1"))
        now += timedelta(seconds=80)
        ledger.reserve("ana", question("2"), laplace("0.1"))
        now += timedelta(seconds=20)
        with pytest.raises(Unavailable):
            ledger.reserve("ana", question("3"), laplace("0.1"))


def test_where_no_analyst_is_declared_any_name_asks_and_only_the_dataset_counts(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(analysts={}, coalitions={}, failures_max=1)
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("anyone", question("1"), laplace("3"))
        reservation = ledger.reserve("someone", question("1"), laplace("0.5"))
        assert [balance.account for balance in ledger.balances()] == ["hospital"]
        with pytest.raises(BudgetExceeded, match="dataset account 'hospital' has epsilon 0"):
            ledger.would_fit("a third", laplace("0.6"))
        ledger.void(reservation, reason="engine")
        with pytest.raises(Unavailable):  # a new name does not start a new ration of failures
            ledger.reserve("a third", question("1"), laplace("0.1"))


def test_other_limits_are_recorded_and_hold_for_what_was_already_spent(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("bob", question("1"), laplace("1"))
    lower = replace(policy, budget=Budget(Fraction(1, 2), Fraction(0)))
    with Ledger.open(lower, TERMS) as ledger:
        assert [record.kind for record in ledger.records()] == [
            "open",
            "limits",
            "reserve",
            "limits",
        ]
        with pytest.raises(BudgetExceeded):
            ledger.reserve("bob", question("2"), laplace("0.1"))
    assert verify(policy.ledger).sound
    late = {"bob": Analyst("bob", Budget(Fraction(3, 2), Fraction(0)))}
    with Ledger.open(make_policy(analysts=late, coalitions={}), TERMS) as ledger:
        with pytest.raises(BudgetExceeded, match=r"analyst account 'bob' has epsilon 0\.5,"):
            ledger.reserve("bob", question("2"), laplace("0.6"))
        ledger.reserve("bob", question("2"), laplace("0.5"))
    assert verify(policy.ledger).sound


def test_accounting_may_change_and_still_counts_everything(
    make_policy: MakePolicy, gaussian: Gaussian
) -> None:
    policy = make_policy(accounting="renyi", analysts={}, coalitions={})
    with Ledger.open(policy, TERMS) as ledger:
        for i in range(20):
            ledger.reserve("ana", question(str(i)), gaussian("0.3", "1e-9"))
    with Ledger.open(replace(policy, accounting="pure"), TERMS) as ledger:
        counted = ledger.balances()[0].spent_upper.epsilon
        assert 1 < counted < 2  # what was counted together stays so, and the next is added to it
        ledger.reserve("ana", question("x"), gaussian("0.3", "1e-9"))
        assert ledger.balances()[0].spent_upper.epsilon == counted + Fraction(3, 10)
        with pytest.raises(BudgetExceeded):
            ledger.reserve("ana", question("y"), gaussian("3", "1e-9"))
    assert verify(policy.ledger).sound


def test_opening_again_with_the_same_policy_writes_nothing(make_policy: MakePolicy) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    first = list(Ledger.open(policy, TERMS).records())
    assert list(Ledger.open(policy, TERMS).records()) == first
    assert [record.kind for record in first] == ["open", "limits"]


@pytest.mark.parametrize(
    ("terms", "changed"),
    [
        (TERMS | {"neighbours": "change-one"}, "neighbours is change-one, and was add-remove"),
        ({"neighbours": "add-remove"}, "unit.people is no more, and was person_id"),
        (TERMS | {"unit.visits": "row"}, "unit.visits is row, and was not there"),
        ({}, "neighbours is no more"),
    ],
)
def test_terms_never_change(terms: dict[str, str], changed: str, make_policy: MakePolicy) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, terms)
    assert error.value.code == "ledger_terms"
    assert f"the policy has: {changed}" in error.value.message
    assert "old terms" in error.value.remedy
    with pytest.raises(LedgerError):
        Ledger.open(replace(policy, name="clinic"), TERMS)


def test_two_open_ledgers_see_each_other(make_policy: MakePolicy, laplace: Laplace) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as one, Ledger.open(policy, TERMS) as other:
        reservation = one.reserve("ana", question("q"), laplace("0.6"))
        with pytest.raises(BudgetExceeded):
            other.reserve("ana", question("r"), laplace("0.6"))
        one.spend(reservation, b"answer")
        assert other.find("ana", question("q")) == b"answer"
        assert one.balances() == other.balances()


def test_only_the_owners_user_may_read_the_files(make_policy: MakePolicy, laplace: Laplace) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", question("q"), laplace("0.1"))
        for path in policy.ledger.parent.glob("hospital.ledger*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert head_path(policy.ledger).exists()


def test_a_folder_that_cannot_be_written_is_an_error_of_the_ledger(make_policy: MakePolicy) -> None:
    policy = make_policy()
    with pytest.raises(LedgerError) as error:
        Ledger.open(replace(policy, ledger=policy.ledger.parent / "missing" / "x.ledger"), TERMS)
    assert error.value.code == "ledger_unwritable"
    assert f"there is no folder {str(policy.ledger.parent / 'missing')!r}" in error.value.message


def test_a_question_must_be_a_digest(make_policy: MakePolicy, laplace: Laplace) -> None:
    with Ledger.open(make_policy(), TERMS) as ledger, pytest.raises(ValueError, match="digest"):
        ledger.reserve("ana", "SELECT 1", laplace("0.1"))
