"""What every ledger keeps of charges, whoever is killed and wherever: one suite for each store.

Real processes, really killed: a charge that was acknowledged is there, and none is ever lost.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger, Reservation
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Budget, Policy
from support.children import Child, die_at_line, first_visits, interrupt_at_line, void
from support.volume import few_of

Laplace = Callable[[str], Charge]
NewLedger = Callable[..., Policy]

TERMS = {"neighbours": "add-remove"}
GENEROUS = Budget(Fraction(1000), Fraction(0))
FIRST = few_of(range(40), 1)  # at which line a stride begins


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def ask_killed_at(policy: Policy, charge: Charge, number: int) -> bool:
    """Ask on a new ledger, killed at that line; check it; return whether the end was reached."""
    with Ledger.open(policy, TERMS) as ledger:
        ledger.spend(ledger.reserve("bob", question("before"), charge), b"before")

    def ask(say: Callable[[str], None]) -> None:
        ledger = Ledger.open(policy, TERMS)
        die_at_line(number)
        reservation = ledger.reserve("bob", question("q"), charge)
        say("reserved")
        ledger.spend(reservation, b"answer")
        say("spent")
        sys.settrace(None)

    said, status = Child(ask).ended()
    assert status in (0, -signal.SIGKILL)
    first = verify(policy.ledger_place)
    assert first.sound, (number, first.fault)
    with Ledger.open(policy, TERMS) as ledger:
        reserved = [record.kind for record in ledger.records()].count("reserve")
        assert reserved in ((2,) if "reserved" in said else (1, 2))
        assert ledger.balances()[0].spent_upper.epsilon == reserved * charge.epsilon
        found = ledger.find("bob", question("q"))
        assert found in ((b"answer",) if "spent" in said else (None, b"answer"))
        ledger.reserve("bob", question("after"), charge)
    assert verify(policy.ledger_place).sound
    return status == 0


def lines_of_a_query(policy: Policy, charge: Charge) -> list[int]:
    """Every line of reserve, and every line of spend, where it is first executed."""

    def reserved() -> tuple[Ledger, Reservation]:
        ledger = Ledger.open(policy, TERMS)
        return ledger, ledger.reserve("bob", question("q"), charge)

    reserve = first_visits(
        lambda: Ledger.open(policy, TERMS),
        lambda ledger: void(ledger.reserve("bob", question("q"), charge)),
    )
    spend = first_visits(reserved, lambda made: made[0].spend(made[1], b"answer"))
    return [*reserve, *(reserve[-1] + number for number in spend), reserve[-1] + spend[-1] + 99]


class CrashContract:
    """The promises; a subclass says where a ledger is kept.

    Lines are tried in strides; `make soak` tries those between them.
    """

    STRIDE = 20

    @pytest.fixture
    def new_ledger(self) -> NewLedger:
        """Return what makes a policy whose ledger is not begun; bob may ask, and may fail."""
        raise NotImplementedError

    @pytest.fixture
    def new_place(self, new_ledger: NewLedger) -> NewLedger:
        """Return the same for a ledger where none has been before."""
        return new_ledger

    @pytest.mark.slow
    @pytest.mark.parametrize("first", FIRST)
    def test_killed_at_every_line_of_a_query_the_ledger_stays_sound(
        self, new_ledger: NewLedger, laplace: Laplace, first: int
    ) -> None:
        if first >= self.STRIDE:
            return  # every line has been tried
        charge = laplace("0.5")
        *lines, end = lines_of_a_query(new_ledger(), charge)
        assert len(lines) > 200
        tried = [*lines[first :: self.STRIDE], end]
        ended = [ask_killed_at(new_ledger(), charge, number) for number in tried]
        assert ended.count(False) > len(lines) // self.STRIDE - 5
        assert ended[-1]

    @pytest.mark.slow
    @pytest.mark.parametrize("first", FIRST)
    def test_interrupted_at_lines_throughout_a_query_the_same_handle_goes_on_correctly(
        self, new_ledger: NewLedger, laplace: Laplace, first: int
    ) -> None:
        if first >= self.STRIDE:
            return  # every line has been tried
        charge = laplace("0.5")
        for number in lines_of_a_query(new_ledger(), charge)[first :: self.STRIDE]:
            policy = new_ledger()

            def ask(
                say: Callable[[str], None], number: int = number, policy: Policy = policy
            ) -> None:
                ledger = Ledger.open(policy, TERMS)
                interrupt_at_line(number)
                try:
                    ledger.spend(ledger.reserve("bob", question("q"), charge), b"answer")
                except KeyboardInterrupt:
                    say("interrupted")
                sys.settrace(None)
                ledger.spend(ledger.reserve("bob", question("r"), charge), b"after")
                with Ledger.open(policy, TERMS) as other:
                    if other.balances() == ledger.balances():
                        say("agreed")
                    if other.find("bob", question("r")) == b"after":
                        say("found")

            said, status = Child(ask).ended()
            assert (said[-2:], status) == (["agreed", "found"], 0), number
            assert verify(policy.ledger_place).sound

    @pytest.mark.slow
    @pytest.mark.parametrize("first", FIRST)
    def test_killed_at_lines_throughout_the_creation_of_a_ledger_it_can_still_be_opened(
        self, new_place: NewLedger, laplace: Laplace, first: int
    ) -> None:
        if first >= self.STRIDE:
            return  # every line has been tried
        Ledger.open(new_place(), TERMS).close()  # what is imported on the way is there
        whole = new_place()
        numbers = first_visits(lambda: None, lambda _: Ledger.open(whole, TERMS).close())
        assert len(numbers) > 100
        tried, killed = numbers[first :: self.STRIDE], 0
        for number in tried:
            policy = new_place()

            def create(
                _: Callable[[str], None], number: int = number, policy: Policy = policy
            ) -> None:
                die_at_line(number)
                Ledger.open(policy, TERMS).close()

            status = Child(create).ended()[1]
            assert status in (-signal.SIGKILL, 0)  # it may be done in some lines less
            killed += status != 0
            with Ledger.open(policy, TERMS) as ledger:
                ledger.reserve("bob", question("q"), laplace("0.5"))
            assert verify(policy.ledger_place).sound
        assert killed > len(tried) - 5

    @pytest.mark.slow
    def test_eight_processes_at_once_get_exactly_what_the_budget_holds(
        self, new_ledger: NewLedger, laplace: Laplace
    ) -> None:
        policy = new_ledger(budget=Budget(Fraction(1), Fraction(0)))
        charge = laplace("0.05")

        def ask(who: int) -> Callable[[Callable[[str], None]], None]:
            def work(say: Callable[[str], None]) -> None:
                with Ledger.open(policy, TERMS) as ledger:
                    for i in range(20):
                        try:
                            reservation = ledger.reserve("bob", question(f"{who} {i}"), charge)
                        except BudgetExceeded:
                            break
                        say("reserved")
                        ledger.spend(reservation, b"answer")
                        say("spent")

            return work

        ended = [child.ended() for child in [Child(ask(who)) for who in range(8)]]
        assert [status for _, status in ended] == [0] * 8
        assert sum(said.count("reserved") for said, _ in ended) == 20
        assert sum(said.count("spent") for said, _ in ended) == 20
        verification = verify(policy.ledger_place)
        assert verification.sound
        assert verification.accounts[0].epsilon_spent_upper == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("turns", few_of([3, 8], 1))
    def test_eight_processes_killed_at_random_never_overspend_and_never_lose_a_charge(
        self, new_ledger: NewLedger, laplace: Laplace, turns: int
    ) -> None:
        seed = random.Random(20261115)
        # more than can be spent before all are killed, however quick the disk is
        policy = new_ledger(budget=Budget(Fraction(40), Fraction(0)))
        acknowledged = killed = 0

        def asking(charge: Charge) -> Callable[[Callable[[str], None]], None]:
            def work(say: Callable[[str], None]) -> None:
                with Ledger.open(policy, TERMS) as ledger:
                    for i in range(1000):
                        asked = question(f"{os.getpid()} {i}")
                        try:
                            reservation = ledger.reserve("bob", asked, charge)
                        except BudgetExceeded:
                            return
                        say("reserved")
                        ledger.spend(reservation, b"answer")

            return work

        for turn in range(turns):
            children = [Child(asking(laplace("0.01"))) for _ in range(8)]
            time.sleep(seed.uniform(0.05, 0.15 if turn < 2 else 0.4))
            for child in seed.sample(children, 8):
                child.kill()
                time.sleep(seed.uniform(0, 0.01))
            for child in children:
                said, status = child.ended()
                acknowledged += len(said)
                killed += status == -signal.SIGKILL
            verification = verify(policy.ledger_place)
            assert verification.sound, verification.fault
        ended = [child.ended() for child in [Child(asking(laplace("1"))) for _ in range(8)]]
        assert [status for _, status in ended] == [0] * 8
        acknowledged += sum(len(said) for said, _ in ended)
        with Ledger.open(policy, TERMS) as ledger:
            reserved = [record.kind for record in ledger.records()].count("reserve")
            assert acknowledged <= reserved
            assert 39 < ledger.balances()[0].spent_upper.epsilon <= 40
        verification = verify(policy.ledger_place)
        assert verification.sound, verification.fault
        assert killed > 12

    def test_a_disk_that_fails_while_pinning_stops_the_ledger(
        self, new_ledger: NewLedger, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        policy = new_ledger()
        with Ledger.open(policy, TERMS) as ledger:
            real = os.fsync

            def failing(_: int) -> None:
                raise OSError(5, "Input/output error")

            monkeypatch.setattr(os, "fsync", failing)
            with pytest.raises(LedgerError) as error:
                ledger.reserve("bob", question("q"), laplace("0.5"))
            assert error.value.code == "ledger_unwritable"
            monkeypatch.setattr(os, "fsync", real)
            with pytest.raises(LedgerError):
                ledger.reserve("bob", question("r"), laplace("0.5"))
        with Ledger.open(policy, TERMS) as ledger:
            assert ledger.balances()[0].spent_upper.epsilon == Fraction(1, 2)

    def test_a_forked_process_must_open_the_ledger_for_itself(
        self, new_ledger: NewLedger, laplace: Laplace
    ) -> None:
        with Ledger.open(new_ledger(), TERMS) as ledger:

            def ask(say: Callable[[str], None]) -> None:
                try:
                    ledger.reserve("bob", question("q"), laplace("0.5"))
                except LedgerError as error:
                    say(error.code)

            assert Child(ask).ended() == (["ledger_forked"], 0)
            ledger.reserve("bob", question("q"), laplace("0.5"))

    def test_threads_share_a_ledger_and_get_exactly_what_the_budget_holds(
        self, new_ledger: NewLedger, laplace: Laplace
    ) -> None:
        policy = new_ledger(budget=Budget(Fraction(1), Fraction(0)))
        charge = laplace("0.05")

        def ask(who: int) -> int:
            for i in range(100):
                try:
                    reservation = ledger.reserve("bob", question(f"{who} {i}"), charge)
                except BudgetExceeded:
                    return i
                ledger.spend(reservation, b"answer")
            raise AssertionError("the budget never ends")

        with Ledger.open(policy, TERMS) as ledger, ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(ask, range(4))) == 20
        assert verify(policy.ledger_place).sound
