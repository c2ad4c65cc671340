"""Real processes, really killed: a charge that was acknowledged is there, and none is ever lost.

Children are forked, not spawned, so that hundreds fit in a minute; they share nothing with the
parent but the ledger's files and a pipe on which they say what has returned.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sanql.account
from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger, Reservation
from sanql.account.stores import sqlite as store
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Budget, Policy
from support.volume import few_of

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
FILES = {
    str(path)
    for folder in ("ledger", "stores")
    for path in Path(sanql.account.__file__).with_name(folder).glob("*.py")
}


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Child:
    """A forked process; what it says is read when it has ended."""

    def __init__(self, work: Callable[[Callable[[str], None]], None]) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                work(lambda word: void(os.write(write, f"{word}\n".encode())))
                status = 0
            finally:
                os._exit(status)
        os.close(write)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> tuple[list[str], int]:
        with os.fdopen(self._read) as pipe:
            said = pipe.read().split()
        _, status = os.waitpid(self.pid, 0)
        return said, os.waitstatus_to_exitcode(status)


def void(_: object) -> None:
    return None


def die_at_line(number: int) -> None:
    """Kill this process at the n-th line of the ledger's code that it executes from now on."""
    at_line(number, lambda: os.kill(os.getpid(), signal.SIGKILL))


def interrupt_at_line(number: int) -> None:
    """Raise what Ctrl-C raises at the n-th line of the ledger's code."""

    def interrupt() -> None:
        sys.settrace(None)
        raise KeyboardInterrupt

    at_line(number, interrupt)


def at_line(number: int, act: Callable[[], None]) -> None:
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                act()
        return trace

    sys.settrace(trace)


def first_visits(prepare: Callable[[], Any], work: Callable[[Any], None]) -> list[int]:
    """Count the lines of the ledger's code that some work executes; return when each comes first."""

    def watch(say: Callable[[str], None]) -> None:
        seen: set[tuple[str, int]] = set()
        count = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal count
            if frame.f_code.co_filename not in FILES:
                return None
            if event == "line":
                count += 1
                place = (frame.f_code.co_filename, frame.f_lineno)
                if place not in seen:
                    seen.add(place)
                    say(str(count))
            return trace

        prepared = prepare()
        sys.settrace(trace)
        work(prepared)
        sys.settrace(None)

    said, _ = Child(watch).ended()
    return [int(word) for word in said]


def remove(policy: Policy) -> None:
    for path in policy.ledger.parent.glob("hospital.ledger*"):
        path.unlink()


def ask_killed_at(policy: Policy, charge: Charge, number: int) -> bool:
    """Ask on a new ledger, killed at that line; check it; return whether the end was reached."""
    remove(policy)
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
    first = verify(policy.ledger)
    assert first.sound, (number, first.fault)
    with Ledger.open(policy, TERMS) as ledger:
        reserved = [record.kind for record in ledger.records()].count("reserve")
        assert reserved in ((2,) if "reserved" in said else (1, 2))
        assert ledger.balances()[0].spent_upper.epsilon == reserved * charge.epsilon
        found = ledger.find("bob", question("q"))
        assert found in ((b"answer",) if "spent" in said else (None, b"answer"))
        ledger.reserve("bob", question("after"), charge)
    assert verify(policy.ledger).sound
    return status == 0


@pytest.fixture
def generous(make_policy: MakePolicy) -> Iterator[Policy]:
    """A large budget, in memory where possible: SIGKILL takes no written page with it."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield make_policy(
            ledger=Path(folder) / "hospital.ledger",
            budget=Budget(Fraction(1000), Fraction(0)),
            coalitions={},
            failures_max=10**6,
        )


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


@pytest.mark.slow
@pytest.mark.parametrize("first", few_of(range(2), 1))
def test_killed_at_every_line_of_a_query_the_ledger_stays_sound(
    generous: Policy, laplace: Laplace, first: int
) -> None:
    """Every second line, and in `make soak` those between them."""
    policy, charge = generous, laplace("0.5")
    *lines, end = lines_of_a_query(policy, charge)
    ended = [ask_killed_at(policy, charge, number) for number in [*lines[first::2], end]]
    assert ended.count(False) > 100
    assert ended[-1]


@pytest.mark.slow
def test_interrupted_at_lines_throughout_a_query_the_same_handle_goes_on_correctly(
    generous: Policy, laplace: Laplace
) -> None:
    policy, charge = generous, laplace("0.5")
    for number in lines_of_a_query(policy, charge)[::3]:
        remove(policy)

        def ask(say: Callable[[str], None], number: int = number) -> None:
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
        assert verify(policy.ledger).sound


@pytest.mark.slow
def test_killed_at_lines_throughout_the_creation_of_a_ledger_it_can_still_be_opened(
    generous: Policy, laplace: Laplace
) -> None:
    policy = generous
    Ledger.open(policy, TERMS).close()  # what is imported on the way is there
    remove(policy)
    numbers = first_visits(lambda: None, lambda _: Ledger.open(policy, TERMS).close())
    assert len(numbers) > 100
    for number in numbers[::2]:
        remove(policy)

        def create(_: Callable[[str], None], number: int = number) -> None:
            die_at_line(number)
            Ledger.open(policy, TERMS).close()

        assert Child(create).ended()[1] == -signal.SIGKILL
        with Ledger.open(policy, TERMS) as ledger:
            ledger.reserve("bob", question("q"), laplace("0.5"))
        assert verify(policy.ledger).sound


def test_eight_processes_at_once_get_exactly_what_the_budget_holds(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(budget=Budget(Fraction(1), Fraction(0)), coalitions={})
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
    verification = verify(policy.ledger)
    assert verification.sound
    assert verification.accounts[0].epsilon_spent_upper == 1


@pytest.mark.slow
def test_eight_processes_killed_at_random_never_overspend_and_never_lose_a_charge(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    seed = random.Random(20261115)
    policy = make_policy(budget=Budget(Fraction(4), Fraction(0)), coalitions={}, failures_max=10**6)
    charge, acknowledged, killed = laplace("0.01"), 0, 0

    def work(say: Callable[[str], None]) -> None:
        with Ledger.open(policy, TERMS) as ledger:
            for i in range(1000):
                try:
                    reservation = ledger.reserve("bob", question(f"{os.getpid()} {i}"), charge)
                except BudgetExceeded:
                    return
                say("reserved")
                ledger.spend(reservation, b"answer")

    for _ in range(8):
        children = [Child(work) for _ in range(8)]
        time.sleep(seed.uniform(0.05, 0.4))
        for child in seed.sample(children, 8):
            child.kill()
            time.sleep(seed.uniform(0, 0.01))
        for child in children:
            said, status = child.ended()
            acknowledged += len(said)
            killed += status == -signal.SIGKILL
        verification = verify(policy.ledger)
        assert verification.sound, verification.fault
    with Ledger.open(policy, TERMS) as ledger:
        reserved = [record.kind for record in ledger.records()].count("reserve")
        assert acknowledged <= reserved <= 400
        assert ledger.balances()[0].spent_upper.epsilon == reserved * charge.epsilon
    assert killed > 12


def test_a_disk_that_fails_while_pinning_stops_the_ledger(
    generous: Policy, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = generous
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


def test_a_ledger_held_by_another_writer_is_busy_not_broken(
    generous: Policy, laplace: Laplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = generous
    Ledger.open(policy, TERMS).close()
    monkeypatch.setattr(store, "LOCK_SECONDS", 0.05)
    with Ledger.open(policy, TERMS) as ledger:
        other = sqlite3.connect(policy.ledger, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError) as error:
            ledger.reserve("bob", question("q"), laplace("0.5"))
        assert error.value.code == "ledger_busy"
        other.execute("ROLLBACK")
        other.close()
        ledger.reserve("bob", question("q"), laplace("0.5"))


def test_a_forked_process_must_open_the_ledger_for_itself(
    generous: Policy, laplace: Laplace
) -> None:
    with Ledger.open(generous, TERMS) as ledger:

        def ask(say: Callable[[str], None]) -> None:
            try:
                ledger.reserve("bob", question("q"), laplace("0.5"))
            except LedgerError as error:
                say(error.code)

        assert Child(ask).ended() == (["ledger_forked"], 0)
        ledger.reserve("bob", question("q"), laplace("0.5"))


def test_threads_share_a_ledger_and_get_exactly_what_the_budget_holds(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(budget=Budget(Fraction(1), Fraction(0)), coalitions={})
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
    assert verify(policy.ledger).sound
