"""What every store promises: one suite, inherited by one small test file for each of them.

A subclass says how a ledger is begun, opened once more, and what an operator can do to it behind its
back. Everything else is the same for a file on disk and for the memory of one process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger.chain import BEGINNING, Head, LedgerRecord, record_after
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.ledger import Ledger
from sanql.account.stores.protocol import Store
from sanql.audit.ledger.findings import Verification
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy.model import Budget, Policy

TERMS = {"neighbours": "add-remove"}
EIGHT = 8


def opening(**more: object) -> dict[str, object]:
    return {"dataset": "town", "format": 2, "public": [], "terms": TERMS} | more


def after(store: Store, kind: str = "open") -> LedgerRecord:
    """Return a record that follows what a store has; call it while reading or writing."""
    last, count = BEGINNING, 0
    for row in store.rows(0):
        count = int(str(row[0]))
        last = Head(count, str(row[4]))
    return record_after(last, kind, opening(number=count))  # type: ignore[arg-type]


def rows_of(store: Store) -> list[tuple[object, ...]]:
    with store.reading():
        return [*store.rows(0)]


def digest(number: int) -> str:
    return f"{number:064x}"


def tenth() -> Charge:
    return Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))


class Broken(Exception):
    """Raised in the middle of a write."""


class StoreContract:
    """The promises; a subclass says which store is held to them."""

    def begin(self, place: Path) -> Callable[[], Store]:
        """Return what opens a store at a new place, again and again: each one is a handle of its own."""
        raise NotImplementedError

    def cut(self, opened: Callable[[], Store], count: int) -> None:
        """Take away all records but the first few, behind the back of whoever has the store open."""
        raise NotImplementedError

    def change(self, opened: Callable[[], Store], sequence: int, body: str) -> None:
        """Write another body into a record, behind the back of whoever has the store open."""
        raise NotImplementedError

    def lose_head(self, opened: Callable[[], Store]) -> None:
        """Take away the pinned head."""
        raise NotImplementedError

    def verified(self, opened: Callable[[], Store]) -> Verification:
        """Return what the auditor finds."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        """What opens one store again and again; all that were opened are closed in the end."""
        begun, handles = self.begin(tmp_path / "town.ledger"), list[Store]()

        def open_once_more() -> Store:
            handles.append(begun())
            return handles[-1]

        yield open_once_more
        for handle in handles:
            handle.close()

    @pytest.fixture
    def policy(self, make_policy: Callable[..., Policy], tmp_path: Path) -> Policy:
        """A budget of one for everybody together."""
        return make_policy(
            ledger=tmp_path / "town.ledger",
            budget=Budget(Fraction(1), Fraction(0)),
            analysts={},
            coalitions={},
            failures_max=99,
        )

    # ---- rows

    def test_a_new_store_is_empty_and_has_no_head(self, opened: Callable[[], Store]) -> None:
        store = opened()
        with store.reading():
            assert [*store.rows(0)] == [] and store.hash_at(1) is None and store.hash_at(0) is None
        assert store.head() is None

    def test_what_was_appended_is_read_in_order_by_every_handle(
        self, opened: Callable[[], Store]
    ) -> None:
        one, other = opened(), opened()
        made = []
        for _ in range(3):
            with one.writing():
                made.append(after(one))
                one.append(made[-1])
        assert rows_of(one) == rows_of(other) == rows_of(opened())
        with other.reading():
            assert [row[0] for row in other.rows(0)] == [1, 2, 3]
            assert [row[0] for row in other.rows(2)] == [3]
            assert [*other.rows(3)] == []
            assert [other.hash_at(n) for n in (1, 2, 3)] == [record.hash for record in made]
            assert other.hash_at(4) is None
        first = made[0]
        assert rows_of(other)[0] == (1, "open", first.body, first.previous, first.hash)

    @given(st.lists(st.lists(st.binary(max_size=4), max_size=3), max_size=4), st.data())
    @settings(
        max_examples=20,
        deadline=None,
        suppress_health_check=[
            HealthCheck.differing_executors,
            HealthCheck.function_scoped_fixture,
        ],
    )
    def test_a_write_is_kept_as_a_whole_or_not_at_all(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        writes: list[list[bytes]],
        data: st.DataObject,
    ) -> None:
        opened = self.begin(tmp_path_factory.mktemp("store") / "town.ledger")
        store, kept = opened(), list[bytes]()
        for answers in writes:
            broken = data.draw(st.booleans())
            try:
                with store.writing():
                    for answer in answers:
                        record = after(store)
                        store.append(record)
                        store.keep(record.sequence, answer)
                        assert store.answer(record.sequence) == answer, "seen by who wrote it"
                    if broken:
                        raise Broken
                kept += answers
            except Broken:
                pass
            for handle in (store, opened()):
                with handle.reading():
                    assert len([*handle.rows(0)]) == len(kept)
                    found = [handle.answer(n + 1) for n in range(len(kept) + 1)]
                assert found == [*kept, None]

    def test_nothing_that_is_kept_is_ever_replaced(self, opened: Callable[[], Store]) -> None:
        store = opened()
        with store.writing():
            store.append(after(store))
            store.keep(1, b"first")
        before = rows_of(store)
        again = replace(after_of(store), sequence=1)
        with pytest.raises(store.faults), store.writing():
            store.append(again)
        with pytest.raises(store.faults), store.writing():
            store.keep(1, b"second")
        with store.reading():
            assert store.answer(1) == b"first"
        assert rows_of(store) == before

    # ---- notes

    def test_a_new_store_has_no_notes(self, opened: Callable[[], Store]) -> None:
        store = opened()
        with store.reading():
            assert store.note("text", "a") is None and [*store.notes("text")] == []

    def test_notes_are_written_replaced_and_erased_and_every_handle_sees_it(
        self, opened: Callable[[], Store]
    ) -> None:
        one, other = opened(), opened()
        for note in (b"first", b"second\x00\xff", None):
            with one.writing():
                one.write_note("text", "a", note)
                assert one.note("text", "a") == note
            with other.reading():
                assert other.note("text", "a") == note
                assert other.note("person", "a") is None, "kinds are apart"

    def test_what_is_not_erased_outlives_the_scrubbing_of_what_is(
        self, opened: Callable[[], Store]
    ) -> None:
        one, other = opened(), opened()
        one.scrub()
        with one.writing():
            for number in range(20):
                one.write_note("text", f"{number:02}", b"x" * number)
            one.write_note("text", "07", None)
        assert isinstance(one.scrub(), str)
        for store in (one, other):
            with store.reading():
                listed = [*store.notes("text")]
            assert listed == [(f"{n:02}", b"x" * n) for n in range(20) if n != 7]
        with other.writing():
            other.write_note("text", "07", b"anew")
        with one.reading():
            assert one.note("text", "07") == b"anew"

    def test_notes_are_listed_in_the_order_of_keys_by_prefix_and_after_a_key(
        self, opened: Callable[[], Store]
    ) -> None:
        store = opened()
        keys = [
            "a/1",
            "a/2",
            "a/10",
            "A/1",
            "a%",
            "ä/1",
            "b/1",
            "\U0001f600",
            "\uffff",
            "a\x00",
            "",
        ]
        with store.writing():
            for key in keys:
                store.write_note("text", key, key.encode())
            store.write_note("other", "a/3", b"")
        with store.reading():
            everything = [*store.notes("text")]
            assert everything == [(key, key.encode()) for key in sorted(keys) if key]
            assert store.note("text", "") == b"" and store.note("text", "a\x00") == b"a\x00"
            assert [key for key, _ in store.notes("text", "a/")] == ["a/1", "a/10", "a/2"]
            assert [key for key, _ in store.notes("text", "a/", "a/1")] == ["a/10", "a/2"]
            assert [key for key, _ in store.notes("text", "a%")] == ["a%"]

    def test_notes_of_a_block_that_raises_are_not_kept(self, opened: Callable[[], Store]) -> None:
        store = opened()
        with store.writing():
            store.write_note("text", "a", b"kept")
        with pytest.raises(Broken), store.writing():
            store.write_note("text", "a", None)
            store.write_note("text", "b", b"lost")
            raise Broken
        with store.reading():
            assert [*store.notes("text")] == [("a", b"kept")]

    # ---- views and locks

    def test_a_reader_sees_one_view_whatever_others_write_meanwhile(
        self, opened: Callable[[], Store]
    ) -> None:
        reader, writer = opened(), opened()
        with writer.writing():
            writer.append(after(writer))
        with reader.reading():
            before = [*reader.rows(0)]
            with writer.writing():
                writer.append(after(writer))
            assert [*reader.rows(0)] == before and reader.hash_at(2) is None
        assert len(rows_of(reader)) == 2

    def test_what_is_being_written_is_seen_by_nobody_else(
        self, opened: Callable[[], Store]
    ) -> None:
        reader, writer = opened(), opened()
        with writer.writing():
            writer.append(after(writer))
        with writer.writing():
            writer.append(after(writer))
            writer.keep(1, b"answer")
            with reader.reading():
                assert len([*reader.rows(0)]) == 1 and reader.answer(1) is None

    def test_one_writes_at_a_time_and_sees_what_the_one_before_has_written(
        self, opened: Callable[[], Store]
    ) -> None:
        """Eight threads that read the count and add one to it, forty times each."""

        def add(store: Store) -> None:
            for _ in range(40):
                with store.writing():
                    store.append(after(store))

        with ThreadPoolExecutor(EIGHT) as pool:
            for done in [pool.submit(add, opened()) for _ in range(EIGHT)]:
                done.result()
        sequences = [row[0] for row in rows_of(opened())]
        assert sequences == [*range(1, 40 * EIGHT + 1)]

    def test_whoever_asks_the_same_waits_and_whoever_asks_another_thing_does_not(
        self, opened: Callable[[], Store]
    ) -> None:
        one, other, order = opened(), opened(), list[str]()

        def ask(question: str) -> None:
            with other.asking("ana", question, 10):
                order.append(question)

        with one.asking("ana", "same", 10):
            threads = [threading.Thread(target=ask, args=(q,)) for q in ("same", "another")]
            threads[1].start()
            threads[1].join(10)
            threads[0].start()
            threads[0].join(0.1)
            order.append("first")
        threads[0].join(10)
        assert order == ["another", "first", "same"]

    def test_nobody_waits_longer_than_they_said(self, opened: Callable[[], Store]) -> None:
        one, other = opened(), opened()
        with one.asking("ana", "same", 10), other.asking("ana", "same", 0.05):
            pass

    # ---- the head

    def test_the_head_is_pinned_apart_from_the_records(self, opened: Callable[[], Store]) -> None:
        store = opened()
        with store.writing():
            record = after(store)
            store.append(record)
        assert store.head() is None
        head = Head(record.sequence, record.hash)
        with store.writing():
            store.pin(head)
        assert store.head() == opened().head() == head
        self.lose_head(opened)
        assert store.head() is None and len(rows_of(store)) == 1

    # ---- what a journal makes of it

    def test_a_chain_is_checked_as_it_is_read(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            ledger.reserve("ana", digest(1), tenth())
            records = [*ledger.records()]
            assert [record.sequence for record in records] == [1, 2, 3]
            for before, record in pairwise(records):
                assert record.previous == before.hash
        self.change(opened, 3, records[2].body.replace("1/10", "1/99"))
        with pytest.raises(LedgerError, match=r"record 3 .* has been changed"):
            Ledger.open(policy, TERMS, store=opened())
        found = self.verified(opened)
        assert found.fault is not None and found.fault.sequence == 3

    def test_a_store_put_back_to_an_earlier_state_is_refused_by_who_comes_and_by_who_was_there(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            for number in range(3):
                ledger.reserve("ana", digest(number), tenth())
            self.cut(opened, 3)
            with pytest.raises(LedgerError):
                ledger.reserve("ana", digest(9), tenth())
            with pytest.raises(LedgerError) as error:
                Ledger.open(policy, TERMS, store=opened())
        assert error.value.code == "ledger_rolled_back"
        assert "record 4 is missing" in error.value.message
        found = self.verified(opened)
        assert found.fault is not None and found.fault.code == "ledger_rolled_back"

    def test_records_that_were_replaced_by_others_of_a_chain_as_good_are_missed_by_who_was_there(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            ledger.reserve("ana", digest(1), tenth())
            body = [*ledger.records()][2].content | {"analyst": "somebody else"}
            self.cut(opened, 2)
            store = opened()
            with store.writing():
                *_, last = store.rows(0)
                other = record_after(Head(2, str(last[4])), "reserve", body)
                store.append(other)
                store.pin(Head(3, other.hash))
            with pytest.raises(LedgerError, match=r"record 3 .* is not the record that had been"):
                ledger.reserve("ana", digest(2), tenth())
        Ledger.open(policy, TERMS, store=opened()).close()

    def test_a_ledger_without_its_head_is_refused(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            ledger.reserve("ana", digest(1), tenth())
        self.lose_head(opened)
        with pytest.raises(LedgerError) as error:
            Ledger.open(policy, TERMS, store=opened())
        assert error.value.code == "ledger_head_missing"

    def test_a_crash_between_a_record_and_its_head_loses_nothing(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        Ledger.open(policy, TERMS, store=opened()).close()
        journal = Journal(opened())
        with journal.writing():
            asked: dict[str, object] = {"analyst": "ana", "question": digest(1)}
            time: dict[str, object] = {"time": "2026-01-01T00:00:00+00:00"}
            said: dict[str, object] = {"asked": digest(0), "charge": tenth().to_dict()}
            journal.append("reserve", asked | time | said)
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            assert ledger.balances()[0].spent_upper.epsilon == Fraction(1, 10)
        assert self.verified(opened).sound

    def test_recorded_answers_are_found_again_and_damaged_ones_are_not_shown(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            for number, answer in enumerate((b"", b"\x00\xff", b"x" * 70_000)):
                ledger.spend(ledger.reserve("ana", digest(number), tenth()), answer)
            assert ledger.find("ana", digest(1)) == b"\x00\xff"
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            assert ledger.find("ana", digest(0)) == b""
            assert ledger.find("ana", digest(2)) == b"x" * 70_000
            assert ledger.find("bob", digest(2)) is None
        assert self.verified(opened).sound

    def test_a_charge_that_was_refused_leaves_nothing(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        with Ledger.open(policy, TERMS, store=opened()) as ledger:
            before = rows_of(opened())
            two = Charge((LaplaceEvent(Fraction(1, 2), 1, 1),), Fraction(2), Fraction(0))
            with pytest.raises(BudgetExceeded):
                ledger.reserve("ana", digest(1), two)
            assert rows_of(opened()) == before
            ledger.reserve("ana", digest(1), tenth())

    def test_two_handles_agree_after_every_write(
        self, opened: Callable[[], Store], policy: Policy
    ) -> None:
        one, other = (Ledger.open(policy, TERMS, store=opened()) for _ in range(2))
        for number, ledger in enumerate([one, other, other, one]):
            ledger.spend(ledger.reserve("ana", digest(number), tenth()), str(number).encode())
            assert one.balances() == other.balances()
            assert one.find("ana", digest(number)) == other.find("ana", digest(number))
        assert [*one.records()] == [*other.records()]

    @pytest.mark.parametrize("shared", [True, False], ids=["one handle", "a handle each"])
    def test_eight_threads_at_once_get_exactly_what_the_budget_holds(
        self, opened: Callable[[], Store], policy: Policy, *, shared: bool
    ) -> None:
        """A budget of ten tenths, and eight threads that ask for five each."""
        first = Ledger.open(policy, TERMS, store=opened())
        ledgers = [
            first if shared else Ledger.open(policy, TERMS, store=opened()) for _ in range(EIGHT)
        ]
        ready = threading.Barrier(EIGHT)

        def spend(worker: int) -> int:
            ready.wait(30)
            taken = 0
            for number in range(5):
                try:
                    made = ledgers[worker].reserve("ana", digest(10 * worker + number), tenth())
                except BudgetExceeded:
                    continue
                ledgers[worker].spend(made, b"answer")
                taken += 1
            return taken

        with ThreadPoolExecutor(EIGHT) as pool:
            assert sum(pool.map(spend, range(EIGHT))) == 10
        assert first.balances()[0].spent_upper.epsilon == 1
        assert [record.kind for record in first.records()].count("spend") == 10
        assert self.verified(opened).sound


def after_of(store: Store) -> LedgerRecord:
    with store.reading():
        return after(store)
