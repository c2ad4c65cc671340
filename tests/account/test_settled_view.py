"""Who only looks need not wait for who writes, and sees all that anybody has been told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores.memory import MemoryStore
from sanql.errors import LedgerError
from sanql.policy.model import Budget, Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
TERMS = {"neighbours": "add-remove"}
SECONDS_MAX = 30.0
ONE, TWO = "1" * 64, "2" * 64


class HeldStore(MemoryStore):
    """A store whose next commit takes until it is let go, and then may fail."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.hold = False
        self.fails = False
        self.reached, self.go = threading.Event(), threading.Event()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with super().writing():
            yield
            if self.hold:
                self.hold = False
                self.reached.set()
                assert self.go.wait(SECONDS_MAX)
                if self.fails:
                    raise OSError(5, "Input/output error")


@pytest.fixture
def policy(make_policy: MakePolicy) -> Policy:
    return make_policy(budget=Budget(Fraction(100), Fraction(0)), analysts={}, coalitions={})


def test_who_looks_for_what_is_not_there_does_not_wait_for_a_commit(
    policy: Policy, laplace: Laplace
) -> None:
    store = HeldStore(policy.ledger)
    with Ledger.open(policy, TERMS, store=store) as ledger:
        first = ledger.versions.open({"people": "a" * 64})
        store.hold = True
        writer = threading.Thread(target=ledger.reserve, args=("ana", ONE, laplace("1")))
        writer.start()
        assert store.reached.wait(SECONDS_MAX)
        found: list[object] = []
        looking = threading.Thread(
            target=lambda: found.extend([ledger.find("ana", TWO), ledger.versions.newest()])
        )
        looking.start()
        looking.join(SECONDS_MAX / 3)
        alive = looking.is_alive()
        store.go.set()
        writer.join()
        looking.join()
        assert not alive and found == [None, first]


def test_an_answer_that_may_not_be_durable_yet_is_waited_for(
    policy: Policy, laplace: Laplace
) -> None:
    store = HeldStore(policy.ledger)
    with Ledger.open(policy, TERMS, store=store) as ledger:
        made = ledger.reserve("ana", ONE, laplace("1"))
        store.hold = store.fails = True
        faults: list[LedgerError] = []

        def spend() -> None:
            try:
                ledger.spend(made, b"answer")
            except LedgerError as fault:
                faults.append(fault)

        writer = threading.Thread(target=spend)
        writer.start()
        assert store.reached.wait(SECONDS_MAX)
        found: list[object] = []

        def look() -> None:
            try:
                found.append(ledger.find("ana", ONE))
            except LedgerError as fault:
                found.append(fault.code)

        looking = threading.Thread(target=look)
        looking.start()
        looking.join(0.05)
        store.go.set()
        writer.join()
        looking.join()
        assert faults and found == [faults[0].code]  # the answer was never kept


def test_a_ledger_put_back_while_its_books_were_in_doubt_is_noticed(
    policy: Policy, laplace: Laplace
) -> None:
    store = HeldStore(policy.ledger)
    with Ledger.open(policy, TERMS, store=store) as ledger:
        ledger.reserve("ana", ONE, laplace("1"))
        ledger.reserve("ana", TWO, laplace("1"))
        with pytest.raises(KeyboardInterrupt), ledger._journal.writing():
            ledger._journal.append("failures_reset", {"time": "2026-01-01T00:00:00+00:00"})
            raise KeyboardInterrupt  # the books hold what is not kept, and are read anew
        del store.kept.rows[-1]
        for look in (ledger.balances, lambda: ledger.reserve("ana", ONE, laplace("1"))):
            with pytest.raises(LedgerError) as refused:
                look()
            assert refused.value.code == "ledger_rolled_back"


def test_what_another_process_has_written_is_seen_at_once(policy: Policy, laplace: Laplace) -> None:
    with Ledger.open(policy, TERMS) as here, Ledger.open(policy, TERMS) as there:
        assert here.find("ana", ONE) is None and here.versions.newest() is None
        opened = there.versions.open({"people": "a" * 64})
        there.spend(there.reserve("ana", ONE, laplace("1")), b"answer")
        assert here.versions.newest() == opened
        assert here.find("ana", ONE) == b"answer"


def test_a_spent_reservation_tells_what_is_left_just_then(policy: Policy, laplace: Laplace) -> None:
    with Ledger.open(policy, TERMS) as ledger:
        first, second = (ledger.reserve("ana", name, laplace("1")) for name in (ONE, TWO))
        (left,) = ledger.spend(first, b"answer")
        assert (left.spent_upper.epsilon, left.reserved) == (2, 1)
        assert ledger.spend(second, b"answer") == ledger.balances_of("ana")
