"""Random histories of a ledger against a model that is a list of charges and plain sums."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from sanql.account.accountants.conversion import gaussian_rho_lower
from sanql.account.charge import Charge
from sanql.account.events import GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.account.ledger.chain import head_path
from sanql.account.ledger.ledger import Ledger, Reservation
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, Unavailable
from sanql.policy.model import Analyst, Budget, Coalition, EngineLimits, Policy

pytestmark = pytest.mark.slow

TERMS = {"neighbours": "add-remove"}
ANALYSTS = ("ana", "bob", "eva")
EPSILONS = st.sampled_from(["0.01", "0.1", "0.25", "0.3", "1"]).map(Fraction)


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_policy(folder: Path) -> Policy:
    return Policy(
        path=folder / "policy.toml",
        name="hospital",
        source="data/",
        ledger=folder / "hospital.ledger",
        neighbours="add-remove",
        budget=Budget(Fraction(3), Fraction(1, 10**6)),
        accounting="pure",
        tables={},
        analysts={
            "ana": Analyst("ana", Budget(Fraction(1), Fraction(0))),
            "bob": Analyst("bob", Budget(Fraction(2), Fraction(1, 10**6))),
            "eva": Analyst("eva", None),
        },
        coalitions={
            "pair": Coalition(
                "pair", frozenset({"ana", "eva"}), Budget(Fraction(3, 2), Fraction(1, 10**6))
            )
        },
        engine=EngineLimits(memory_bytes=2**30, deadline_seconds=30.0, workers=1),
        delta_per_query=None,
        failures_max=3,
        failures_total_max=4,
    )


class LedgerMachine(RuleBasedStateMachine):
    """Two processes' worth of handles on one ledger; every outcome is foretold by plain sums."""

    reservations = Bundle("reservations")

    @initialize()
    def start(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.policy = make_policy(self.folder)
        self.ledgers = [Ledger.open(self.policy, TERMS) for _ in range(2)]
        self.charges: list[tuple[str, Fraction]] = []
        self.failures = dict.fromkeys(ANALYSTS, 0)
        self.answers: dict[tuple[str, str], bytes] = {}
        self.open = 0

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.folder)

    def accounts(self, analyst: str) -> list[tuple[Fraction, Fraction]]:
        """What each account that takes this analyst's charges has spent, and its budget."""
        groups: list[tuple[set[str], Budget | None]] = [
            (set(ANALYSTS), self.policy.budget),
            ({analyst}, self.policy.analysts[analyst].budget),
            *((set(c.members), c.budget) for c in self.policy.coalitions.values()),
        ]
        return [
            (sum((e for name, e in self.charges if name in members), Fraction(0)), budget.epsilon)
            for members, budget in groups
            if analyst in members and budget is not None
        ]

    def too_many_failures(self, analyst: str) -> bool:
        return self.failures[analyst] >= 3 or sum(self.failures.values()) >= 4

    @rule(
        target=reservations,
        which=st.integers(0, 1),
        analyst=st.sampled_from(ANALYSTS),
        number=st.integers(0, 5),
        epsilon=EPSILONS,
    )
    def reserve(self, which: int, analyst: str, number: int, epsilon: Fraction) -> object:
        charge = Charge((LaplaceEvent(1 / epsilon, 1, 1),), epsilon, Fraction(0))
        fits = all(spent + epsilon <= budget for spent, budget in self.accounts(analyst))
        try:
            made = self.ledgers[which].reserve(analyst, question(str(number)), charge)
        except Unavailable:
            assert self.too_many_failures(analyst)
            return multiple()
        except BudgetExceeded:
            assert not fits
            return multiple()
        assert fits
        assert not self.too_many_failures(analyst)
        self.charges.append((analyst, epsilon))
        self.open += 1
        return made

    @rule(which=st.integers(0, 1), reservation=consumes(reservations), answer=st.binary())
    def spend(self, which: int, reservation: Reservation, answer: bytes) -> None:
        self.ledgers[which].spend(reservation, answer)
        self.answers[reservation.analyst, reservation.question] = answer
        self.open -= 1

    @rule(which=st.integers(0, 1), reservation=consumes(reservations))
    def void(self, which: int, reservation: Reservation) -> None:
        self.ledgers[which].void(reservation, reason="engine")
        self.failures[reservation.analyst] += 1
        self.open -= 1

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        self.ledgers[which].close()
        self.ledgers[which] = Ledger.open(self.policy, TERMS)

    @rule(epsilon=EPSILONS)
    def change_limits(self, epsilon: Fraction) -> None:
        budget = Budget(2 + epsilon, Fraction(1, 10**6))
        self.policy = replace(self.policy, budget=budget)
        for which in range(2):
            self.reopen(which)

    @rule(which=st.integers(0, 1), analyst=st.sampled_from(ANALYSTS), number=st.integers(0, 5))
    def find(self, which: int, analyst: str, number: int) -> None:
        name = question(str(number))
        assert self.ledgers[which].find(analyst, name) == self.answers.get((analyst, name))

    @precondition(lambda self: len(self.charges) > 0)
    @rule()
    def lose_the_newest_head(self) -> None:
        """A crash after the commit and before the pin."""
        records = list(self.ledgers[0].records())
        before = records[-2]
        text = f'{{"hash":"{before.hash}","sequence":{before.sequence}}}\n'
        head_path(self.policy.ledger).write_text(text)

    @invariant()
    def balances_are_the_plain_sums(self) -> None:
        for which in range(2):
            balances = self.ledgers[which].balances()
            assert balances[0].spent_upper.epsilon == sum(e for _, e in self.charges)
            assert balances[0].reserved == self.open
            for balance in balances:
                left = max(Fraction(0), balance.budget.epsilon - balance.spent_upper.epsilon)
                assert balance.remaining_lower.epsilon == left

    @invariant()
    def the_auditor_agrees(self) -> None:
        verification = verify(self.policy.ledger)
        assert verification.sound, verification.fault
        audited = [(a.name, a.epsilon_spent_upper) for a in verification.accounts]
        kept = [(b.account, b.spent_upper.epsilon) for b in self.ledgers[0].balances()]
        assert audited == kept


LedgerMachine.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLedgerMachine = pytest.mark.slow(LedgerMachine.TestCase)


def test_under_renyi_accounting_the_auditor_finds_what_the_filter_kept_and_never_more() -> None:
    """Mixed charges until each account is full: the auditor's epsilon is at most the ledger's."""
    rho = gaussian_rho_lower(Fraction(1, 4), Fraction(1, 10**9))
    selection = SelectionEvent(Fraction(1, 50), Fraction(1, 10**9), 3)
    kinds = [
        Charge((LaplaceEvent(Fraction(30), 4, 2),), Fraction(4, 30), Fraction(0)),
        Charge((GaussianEvent(1 / (2 * rho), Fraction(1)),), Fraction(1, 4), Fraction(1, 10**9)),
        Charge((selection,), Fraction(3, 50), Fraction(3, 10**9)),
        Charge(
            (selection, GaussianEvent(1 / (2 * rho), Fraction(1))),
            Fraction(31, 100),
            Fraction(4, 10**9),
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        policy = replace(
            make_policy(Path(folder)),
            accounting="renyi",
            analysts={},
            coalitions={},
            failures_max=9,
        )
        with Ledger.open(policy, TERMS) as ledger:
            full, made = 0, 0
            while full < 4:
                full = 0
                for charge in kinds:
                    try:
                        ledger.reserve("ana", question(str(made)), charge)
                        made += 1
                    except BudgetExceeded:
                        full += 1
            (balance,) = ledger.balances()
        verification = verify(policy.ledger)
        assert verification.sound, verification.fault
        (audited,) = verification.accounts
        assert made > 20
        kept = balance.spent_upper
        assert (
            kept.epsilon * (1 - Fraction(1, 10**9)) <= audited.epsilon_spent_upper <= kept.epsilon
        )
        assert audited.delta_spent_upper == kept.delta
