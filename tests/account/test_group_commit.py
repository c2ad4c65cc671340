"""Threads that write at the same moment share a commit and a pin, and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from sanql.account import account_terms
from sanql.account.charge import Charge
from sanql.account.ledger import group_commit, journal
from sanql.account.ledger.chain import Head, LedgerRecord
from sanql.account.ledger.group_commit import WaitingWrite
from sanql.account.ledger.ledger import Ledger, Reservation
from sanql.account.stores.memory import MemoryContents, MemoryReader, MemoryStore
from sanql.audit.ledger import verify
from sanql.audit.ledger.verification import verify_reader
from sanql.errors import BudgetExceeded, LedgerError, SanqlError
from sanql.policy.model import Budget, ColumnUnit, Policy, Table
from support.interrupts import interrupted_at

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
TERMS = {"neighbours": "add-remove"}
SECONDS_MAX = 30.0


class WatchedStore(MemoryStore):
    """A store that counts what it does, and whose next transaction can be held up or broken."""

    def __init__(self, place: Path, kept: MemoryContents | None = None) -> None:
        super().__init__(place, kept)
        self.commits: list[int] = []  # how many records each transaction added
        self.pins = 0
        self.hold: Callable[[], None] | None = None
        self.break_commit = False
        self._added = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        hold, self.hold = self.hold, None
        if hold is not None:
            hold()
        self._added = 0
        with super().writing():
            yield
            if self.break_commit and self._added:
                raise OSError(5, "Input/output error")
        if self._added:
            self.commits.append(self._added)

    def append(self, record: LedgerRecord) -> None:
        super().append(record)
        self._added += 1

    def pin(self, head: Head) -> None:
        super().pin(head)
        self.pins += 1


class Crowd:
    """A ledger over a watched store, and threads that are in line together."""

    def __init__(self, policy: Policy, kept: MemoryContents | None = None) -> None:
        self.store = WatchedStore(policy.ledger, kept)
        self.ledger = Ledger.open(policy, account_terms(policy), store=self.store)
        self._pool = ThreadPoolExecutor(32)
        self.store.commits.clear()
        self.store.pins = 0

    def close(self) -> None:
        self._pool.shutdown()
        self.ledger.close()

    def together(self, *deeds: Callable[[], object]) -> list[Future[object]]:
        """Do all but the first deed in one batch: the first is held until the others are in line."""
        self.store.hold = lambda: self.wait_for(len(deeds))
        first = self._pool.submit(deeds[0])
        wait_until(lambda: self.store.hold is None)
        done = [first, *(self._pool.submit(deed) for deed in deeds[1:])]
        for each in done:
            with suppress(SanqlError, ValueError):
                each.result(SECONDS_MAX)
        return done

    def submit(self, deed: Callable[[], object]) -> Future[object]:
        return self._pool.submit(deed)

    def wait_for(self, count: int) -> None:
        wait_until(lambda: self.waiting >= count)

    @property
    def waiting(self) -> int:
        return self.ledger._journal.waiting

    def kinds(self) -> Counter[str]:
        return Counter(record.kind for record in self.ledger.records())

    def check_sound(self) -> None:
        assert self.waiting == 0
        assert verify_reader(self.store.place, MemoryReader(self.store.kept)).sound


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


def digest(number: int) -> str:
    return f"{number:064x}"


@pytest.fixture
def crowd(make_policy: MakePolicy) -> Iterator[Callable[..., Crowd]]:
    """What makes a crowd under a policy without analysts of its own."""
    made: list[Crowd] = []

    def make(
        budget: int = 100,
        tables: Mapping[str, Table] | None = None,
        kept: MemoryContents | None = None,
    ) -> Crowd:
        policy = make_policy(
            budget=Budget(Fraction(budget), Fraction(0)),
            analysts={},
            coalitions={},
            tables=tables or {},
        )
        made.append(Crowd(policy, kept))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_those_who_wait_share_one_commit_and_one_pin(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd()
    one = laplace("1")
    deeds = [lambda n=n: many.ledger.reserve("ana", digest(n), one) for n in range(9)]
    made = [done.result() for done in many.together(*deeds)]
    assert many.store.commits == [1, 8] and many.store.pins == 2
    assert {r.question for r in made if isinstance(r, Reservation)} == set(map(digest, range(9)))
    assert many.ledger.balances()[0].spent_upper.epsilon == 9
    many.together(
        *(lambda r=r: many.ledger.spend(r, r.question.encode()) for r in made[:8]),
        lambda: many.ledger.void(made[8], reason="cancelled"),
    )
    assert many.store.commits == [1, 8, 1, 8] and many.store.pins == 4
    for number in range(8):
        assert many.ledger.find("ana", digest(number)) == digest(number).encode()
    many.check_sound()


def test_a_head_is_pinned_and_its_record_committed_before_anybody_returns(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd()

    def reserve(number: int) -> None:
        made = many.ledger.reserve("ana", digest(number), laplace("1"))
        kept = many.store.kept
        assert kept.head is not None and kept.head.sequence >= made.sequence
        assert len(kept.rows) >= made.sequence

    for done in many.together(*(lambda n=n: reserve(n) for n in range(9))):
        done.result()


def test_who_is_refused_hurts_nobody_in_the_same_batch(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd(budget=10)
    ledger = many.ledger
    open_one, closed = (ledger.reserve("ana", digest(n), laplace("1")) for n in (100, 101))
    ledger.void(closed, reason="cancelled")
    many.store.commits.clear()
    done = many.together(
        lambda: ledger.reserve("ana", digest(1), laplace("1")),
        lambda: ledger.reserve("ana", digest(2), laplace("8")),  # seven are left
        lambda: ledger.spend(closed, b"answer"),
        lambda: ledger.reserve("ana", digest(3), laplace("7")),
        lambda: ledger.reserve("ana", digest(4), laplace("1")),  # and now none
        lambda: ledger.spend(open_one, b"answer"),
        lambda: ledger.void(closed, reason="engine"),
    )
    faults = [each.exception() for each in done]
    assert [type(fault) for fault in faults] == [
        type(None), BudgetExceeded, LedgerError, type(None), BudgetExceeded, type(None), LedgerError
    ]  # fmt: skip
    assert {fault.code for fault in faults if isinstance(fault, LedgerError)} == {
        "reservation_closed"
    }
    assert many.store.commits == [1, 2]
    assert many.ledger.balances()[0].spent_upper.epsilon == 10
    assert ledger.find("ana", digest(100)) == b"answer"
    many.check_sound()


def test_a_batch_of_refusals_writes_nothing(crowd: Callable[..., Crowd], laplace: Laplace) -> None:
    many = crowd(budget=1)
    before = [*many.store.kept.rows]
    deeds = [lambda n=n: many.ledger.reserve("ana", digest(n), laplace("2")) for n in range(5)]
    assert all(isinstance(done.exception(), BudgetExceeded) for done in many.together(*deeds))
    assert many.store.kept.rows == before and many.store.commits == [] and many.store.pins == 0


def test_who_breaks_off_after_a_record_takes_nothing_of_the_others_along(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    """A private table joins with the first charge: its record precedes the check of the budget."""
    people = {"people": Table("people", ColumnUnit("id"), {})}
    visits = {"visits": Table("visits", ColumnUnit("id"), {})}
    before = crowd(budget=3, tables=people).store.kept
    many = crowd(budget=3, tables=people | visits, kept=before)
    ledger = many.ledger
    done = many.together(
        lambda: ledger.reserve("ana", digest(0), laplace("9")),  # holds the others up
        lambda: ledger.reserve("ana", digest(1), laplace("4")),
        lambda: ledger.reserve("ana", digest(2), laplace("1")),
        lambda: ledger.reserve("ana", digest(3), laplace("5")),
        lambda: ledger.reserve("ana", digest(4), laplace("2")),
    )
    assert [type(each.exception()) for each in done] == [
        BudgetExceeded, BudgetExceeded, type(None), BudgetExceeded, type(None)
    ]  # fmt: skip
    kinds = many.kinds()
    assert (kinds["tables"], kinds["reserve"]) == (1, 2)
    assert ledger.balances()[0].spent_upper.epsilon == 3
    many.check_sound()


def test_a_deed_that_fails_after_it_has_added_something_leaves_none_of_it(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd()
    journal = many.ledger._journal
    open_one = many.ledger.reserve("ana", digest(100), laplace("1"))

    def fail_halfway() -> LedgerRecord:
        journal.keep(open_one.sequence, b"half an answer")
        raise ValueError("halfway")

    done = many.together(
        lambda: many.ledger.reserve("ana", digest(0), laplace("1")),
        lambda: many.ledger.reserve("ana", digest(1), laplace("1")),
        lambda: journal.write(WaitingWrite(fail_halfway)),
        lambda: many.ledger.reserve("ana", digest(2), laplace("1")),
    )
    assert [type(each.exception()) for each in done].count(ValueError) == 1
    assert many.kinds()["reserve"] == 4
    many.ledger.spend(open_one, b"the answer")
    assert many.ledger.find("ana", digest(100)) == b"the answer"
    many.check_sound()


def test_a_fault_of_the_store_reaches_everybody_who_waits(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd()

    before = len(many.store.kept.rows)
    many.store.hold = lambda: many.wait_for(9)
    first = many.submit(lambda: many.ledger.reserve("ana", digest(0), laplace("1")))
    wait_until(lambda: many.store.hold is None)
    many.store.break_commit = True
    rest = [
        many.submit(lambda n=n: many.ledger.reserve("ana", digest(n), laplace("1")))
        for n in range(1, 9)
    ]
    faults = [each.exception(SECONDS_MAX) for each in (first, *rest)]
    assert {getattr(fault, "code", None) for fault in faults} == {"ledger_unwritable"}
    assert len({id(fault) for fault in faults[1:]}) == 8, "each thread raises one of its own"
    many.store.break_commit = False
    with pytest.raises(LedgerError):
        many.ledger.reserve("ana", digest(10), laplace("1"))
    assert len(many.store.kept.rows) == before


@pytest.mark.slow
@pytest.mark.parametrize("module", [group_commit, journal], ids=["group_commit", "journal"])
def test_an_interrupt_of_the_thread_that_serves_loses_nobody_and_charges_nobody_twice(
    crowd: Callable[..., Crowd], laplace: Laplace, module: ModuleType
) -> None:
    """At every line: the others get their reservations, and the interrupted one's is none or voided."""
    many, line, interrupted = crowd(budget=10**6), 0, True
    while interrupted:
        line += 1
        before = many.kinds()
        behind = Behind(many, laplace("1"))
        try:
            with interrupted_at(line, module, behind.left.set):
                many.ledger.reserve("ana", digest(9), laplace("1"))
            interrupted = False
        except KeyboardInterrupt:
            pass
        behind.served(line)
        kinds = many.kinds() - before
        own = kinds["reserve"] - 4
        assert own in ((0, 1) if interrupted else (1,)), line
        assert kinds["void"] == (own if interrupted else 0), line
    assert line > 20
    many.check_sound()


class Behind:
    """Three threads that stand in line behind the calling one, which will serve them."""

    def __init__(self, many: Crowd, charge: Charge) -> None:
        self._many, self._charge = many, charge
        self.left = threading.Event()  # the calling thread is interrupted
        many.store.hold = self._gather
        self._first = self._reserving(0)
        self._others: list[Future[object]] = []
        wait_until(lambda: many.store.hold is None)

    def _reserving(self, number: int) -> Future[object]:
        return self._many.submit(
            lambda: self._many.ledger.reserve("ana", digest(number), self._charge)
        )

    def _gather(self) -> None:
        """Hold the first until the calling thread stands in line, and three more behind it."""
        wait_until(lambda: self._many.waiting >= 2 or self.left.is_set())
        self._others = [self._reserving(number) for number in (1, 2, 3)]
        wait_until(lambda: self._many.waiting >= 4)

    def served(self, line: int) -> None:
        """See that all four have a reservation each, which is still open."""
        made = [self._first.result(SECONDS_MAX)]
        made += [other.result(SECONDS_MAX) for other in self._others]
        pending = self._many.ledger._journal.books.pending
        assert [pending[r.sequence].question for r in made if isinstance(r, Reservation)] == [
            digest(number) for number in range(4)
        ], line


def test_an_interrupt_of_a_thread_that_waits_gives_up_what_was_committed_for_it(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many, line, interrupted = crowd(budget=10**6), 0, True
    while interrupted:
        line += 1
        before = many.kinds()
        left = threading.Event()
        many.store.hold = lambda left=left: wait_until(lambda: many.waiting >= 3 or left.is_set())
        first = many.submit(lambda: many.ledger.reserve("ana", digest(1), laplace("1")))
        wait_until(lambda: many.store.hold is None)
        serving = many.submit(lambda: many.ledger.reserve("ana", digest(2), laplace("1")))
        wait_until(lambda: many.waiting >= 2)
        try:
            with interrupted_at(line, group_commit, left.set):
                many.ledger.reserve("ana", digest(3), laplace("1"))
            interrupted = False
        except KeyboardInterrupt:
            pass
        first.result(SECONDS_MAX)
        serving.result(SECONDS_MAX)
        kinds = many.kinds() - before
        own = kinds["reserve"] - 2
        assert own in ((0, 1) if interrupted else (1,)), line
        assert kinds["void"] == (own if interrupted else 0), line
    assert line > 8
    many.check_sound()


def test_threads_get_exactly_what_the_budget_holds(
    crowd: Callable[..., Crowd], laplace: Laplace
) -> None:
    many = crowd(budget=50)
    ready = threading.Barrier(16)

    def ask(who: int) -> int:
        ready.wait(SECONDS_MAX)
        for number in range(100):
            try:
                made = many.ledger.reserve("ana", digest(100 * who + number), laplace("1"))
            except BudgetExceeded:
                return number
            many.ledger.spend(made, b"answer")
        raise AssertionError("the budget never ends")

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(ask, range(16))) == 50
    kinds = many.kinds()
    assert (kinds["reserve"], kinds["spend"]) == (50, 50)
    many.check_sound()


@pytest.mark.slow
def test_threads_of_processes_that_are_killed_lose_nothing_and_overspend_nothing(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(
        budget=Budget(Fraction(300), Fraction(0)), analysts={}, coalitions={}, failures_max=10**6
    )
    Ledger.open(policy, TERMS).close()
    said, rounds = 0, 0
    for rounds in range(1, 7):
        acknowledged = killed_after(policy, laplace("1"), seconds=0.05 * rounds)
        said += acknowledged
        found = verify(policy.ledger)
        assert found.sound, found.fault
        with Ledger.open(policy, TERMS) as ledger:
            kinds = Counter(record.kind for record in ledger.records())
            assert said <= kinds["reserve"] <= 300
            assert ledger.balances()[0].spent_upper.epsilon == kinds["reserve"]
    assert said > 50


def killed_after(policy: Policy, charge: Charge, seconds: float) -> int:
    """Have two processes of eight threads each ask, then kill them; return how often one was charged."""
    pipes = [os.pipe() for _ in range(2)]
    pids = []
    for _, write in pipes:
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                ask_in_threads(policy, charge, write)
            os._exit(0)
        pids.append(pid)
        os.close(write)
    time.sleep(seconds + 0.3)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    said = 0
    for read, _ in pipes:
        with os.fdopen(read, "rb") as pipe:
            said += len(pipe.read())
    return said


def ask_in_threads(policy: Policy, charge: Charge, write: int) -> None:
    def ask(who: int) -> None:
        for number in range(10**6):
            name = f"{os.getpid():020x}{who:022x}{number:022x}"
            made = ledger.reserve("ana", name, charge)
            os.write(write, b"r")
            ledger.spend(made, b"answer")

    with Ledger.open(policy, TERMS) as ledger, ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
