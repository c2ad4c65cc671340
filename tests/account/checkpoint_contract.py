"""What every ledger keeps of its promises where it is opened from a checkpoint: one suite for each store.

A checkpoint comes after every few records here, so that each test goes through several.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sanql.account.charge import Charge
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.account.ledger import journal
from sanql.account.ledger.chain import BEGINNING, Head, canonical_json, linked, record_after
from sanql.account.ledger.checkpoints import NEWEST_CHECKPOINT, books_at_checkpoint, state_after
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.segments import CHECKPOINT, segment_key
from sanql.account.ledger.state import Books
from sanql.account.stores.protocol import Store
from sanql.audit.ledger.findings import Verification
from sanql.errors import LedgerError
from sanql.policy.model import Analyst, Budget, Policy

Kept = tuple[Policy, Callable[[], Store]]

TERMS = {"neighbours": "add-remove"}
EVERY = 7


def question(number: int) -> str:
    return f"{number:064x}"


def charge(number: int) -> Charge:
    """One of a few charges, with every kind of number in it."""
    if number % 3:
        scale = Fraction(100 + number)
        return Charge((LaplaceEvent(scale, 1, 1),), 1 / scale, Fraction(0))
    return Charge(
        (GaussianEvent(Fraction(10**5), Fraction(1)),), Fraction(1, 10), Fraction(1, 10**8)
    )


def use(ledger: Ledger, numbers: range) -> None:
    """Ask as two analysts: some are answered, some fail, some stay open."""
    for number in numbers:
        made = ledger.reserve(("ana", "bob")[number % 2], question(number), charge(number))
        if number % 5 == 3:
            ledger.void(made, reason="cancelled")
        elif number % 11 != 7:
            ledger.spend(made, f"answer {number}".encode())


def plain(books: Books) -> dict[str, Any]:
    """Return everything that the books know, in a form that can be compared."""
    shape = {
        each.name: getattr(books, each.name)
        for each in fields(books)
        if each.name not in ("segments", "charges", "balances")
    }
    shape["charges"] = {who: charged.totals for who, charged in books.charges.items()}
    shape["balances"] = {
        identity: (balance.accountant, balance.spent)
        for identity, balance in books.balances.items()
    }
    return shape | {"segments": books.segments.ended_now()}


class CheckpointContract:
    """The promises; a subclass says where a ledger is kept."""

    @pytest.fixture(autouse=True)
    def often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A checkpoint after every few records."""
        monkeypatch.setattr(journal, "CHECKPOINT_RECORDS", EVERY)

    def begin(self, place: Path) -> Callable[[], Store]:
        """Return what opens a store at a new place, again and again: each one is a handle of its own."""
        raise NotImplementedError

    def verified(self, opened: Callable[[], Store]) -> Verification:
        """Return what the auditor finds."""
        raise NotImplementedError

    def change(self, opened: Callable[[], Store], sequence: int, body: str) -> None:
        """Write another body into a record, behind everybody's back."""
        raise NotImplementedError

    def cut(self, opened: Callable[[], Store], count: int) -> None:
        """Take away all records but the first few, behind everybody's back."""
        raise NotImplementedError

    @pytest.fixture
    def kept(self, make_policy: Callable[..., Policy]) -> Kept:
        """A policy whose ledger is not begun, and what opens its store again and again."""
        own = Analyst("ana", Budget(Fraction(100), Fraction(1, 10**4)))
        analysts = {"ana": own, "bob": Analyst("bob", None)}
        budget = Budget(Fraction(1000), Fraction(1, 10**3))
        policy = make_policy(
            budget=budget, analysts=analysts, coalitions={}, accounting="renyi", failures_max=99
        )
        return policy, self.begin(policy.ledger)

    def ledger(self, kept: Kept) -> Ledger:
        policy, opened = kept
        return Ledger.open(policy, TERMS, store=opened())

    def started_from(self, kept: Kept) -> Books | None:
        """Return the books as somebody who opens the ledger now gets them without reading it all."""
        store = kept[1]()
        head = store.head()
        with store.reading():
            found = books_at_checkpoint(store, head)
        store.close()
        return found

    def write(self, kept: Kept, key: str, note: bytes | None) -> None:
        store = kept[1]()
        with store.writing():
            store.write_note(CHECKPOINT, key, note)
        store.close()

    def note(self, kept: Kept, key: str) -> bytes:
        store = kept[1]()
        with store.reading():
            found = store.note(CHECKPOINT, key)
        store.close()
        assert found is not None
        return found

    def in_full(self, kept: Kept) -> Books:
        """Return the books that the whole chain adds up to."""
        books, store = Books(), kept[1]()
        with store.reading():
            for record in linked(store.rows(0), BEGINNING):
                books.apply(record)
        store.close()
        return books

    def test_books_from_a_checkpoint_are_those_of_the_whole_chain(self, kept: Kept) -> None:
        for first in range(0, 40, 4):
            with self.ledger(kept) as ledger:
                use(ledger, range(first, first + 4))
                if first == 12:
                    ledger.failures.reset()
            started = self.started_from(kept)
            assert first < EVERY or started is not None
            again = Journal(kept[1]())
            with again.reading():
                assert plain(again.books) == plain(self.in_full(kept))
            again.close()
        assert started is not None and started.head.sequence > 40
        assert self.verified(kept[1]).sound

    def test_what_was_answered_stays_free_and_what_was_spent_spent(self, kept: Kept) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(20))
            balances, asked = ledger.balances(), ledger.questions.of("ana")
        with self.ledger(kept) as ledger:
            assert ledger._journal.books.head.sequence > 2 * EVERY
            assert ledger.balances() == balances
            assert ledger.questions.of("ana") == asked
            assert ledger.find("ana", question(2)) == b"answer 2"
            assert ledger.find("bob", question(2)) is None
            assert ledger.find("ana", question(8)) is None

    def test_an_account_that_is_declared_later_begins_with_what_its_members_had_spent(
        self, kept: Kept
    ) -> None:
        policy, opened = kept
        with self.ledger(kept) as ledger:
            use(ledger, range(20))
        assert self.started_from(kept) is not None
        more = {**policy.analysts, "bob": Analyst("bob", policy.budget)}
        raised = replace(policy, analysts=more)
        with Ledger.open(raised, TERMS, store=opened()) as ledger:
            (own,) = [each for each in ledger.balances() if each.account == "bob"]
        assert own.spent_upper.epsilon > 0
        assert self.verified(kept[1]).sound

    def test_two_handles_write_checkpoints_in_turn(self, kept: Kept) -> None:
        with self.ledger(kept) as one, self.ledger(kept) as other:
            for first in range(0, 32, 2):
                use((one, other)[first // 2 % 2], range(first, first + 2))
        started = self.started_from(kept)
        assert started is not None and len(started.segments.ended) > 3
        assert self.verified(kept[1]).sound

    @pytest.mark.parametrize("which", ["newest", "segment"])
    @pytest.mark.parametrize("how", ["missing", "changed", "no text"])
    def test_a_checkpoint_that_does_not_match_is_passed_over_and_reported(
        self, kept: Kept, which: str, how: str
    ) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(12))
            balances = ledger.balances()
        state = json.loads(self.note(kept, NEWEST_CHECKPOINT))
        key = NEWEST_CHECKPOINT if which == "newest" else segment_key(state["segments"][0][0])
        found = self.note(kept, key)
        another = {
            "missing": None,
            "changed": found.replace(b'"bob"', b'"eve"'),
            "no text": b"\xff\x00",
        }[how]
        assert another != found
        self.write(kept, key, another)
        assert self.started_from(kept) is None
        with self.ledger(kept) as ledger:
            assert ledger.balances() == balances
        fault = self.verified(kept[1]).fault
        assert (fault is None) == (how == "missing")
        assert fault is None or fault.code == "ledger_checkpoint_wrong"
        with self.ledger(kept) as ledger:
            use(ledger, range(12, 20))  # the next checkpoint puts it right
        assert self.started_from(kept) is not None
        assert self.verified(kept[1]).sound

    def forged(self, kept: Kept, *, pinned: bool) -> bytes:
        """Append a checkpoint according to which nothing was spent; return its state."""
        store = kept[1]()
        books = self.in_full(kept)
        with store.writing():
            segment = books.segments.open.to_bytes()
            state = json.loads(state_after(books))
            for words in state["balances"]:
                words.update(epsilon="0/1", delta="0/1", together=None)
            note = canonical_json(state).encode()
            content = {"form": 1, "sha256": sha256(note).hexdigest()}
            record = record_after(books.head, "checkpoint", content)
            store.append(record)
            store.write_note(CHECKPOINT, segment_key(books.head.sequence), segment)
            store.write_note(CHECKPOINT, NEWEST_CHECKPOINT, note)
            if pinned:
                store.pin(Head(record.sequence, record.hash))
        store.close()
        return note

    def test_a_forged_checkpoint_that_is_not_pinned_is_not_believed(self, kept: Kept) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(12))
            balances = ledger.balances()
        self.forged(kept, pinned=False)
        assert self.started_from(kept) is None
        store = kept[1]()
        head = store.head()
        again = Journal(store)
        with again.reading():
            spent = [balance.spent for balance in again.books.balances.values()]
        store.close()
        assert head is not None and all(each.epsilon_upper for each in spent)
        with self.ledger(kept) as ledger:
            assert ledger.balances() == balances
        fault = self.verified(kept[1]).fault
        assert fault is not None and fault.code == "ledger_checkpoint_wrong"

    def test_one_that_was_forged_together_with_the_pinned_head_is_found_by_the_auditor(
        self, kept: Kept
    ) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(12))
        self.forged(kept, pinned=True)
        assert self.started_from(kept) is not None, "only the auditor can tell"
        fault = self.verified(kept[1]).fault
        assert fault is not None and fault.code == "ledger_checkpoint_wrong"

    @pytest.mark.parametrize("sequence", [2, 5, 11, 16])
    def test_a_record_that_was_changed_before_a_checkpoint_is_refused_as_ever(
        self, kept: Kept, sequence: int
    ) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(12))
            body = [*ledger.records()][sequence - 1].body
        self.change(kept[1], sequence, body.replace("a", "b"))
        with pytest.raises(LedgerError) as error:
            self.ledger(kept)
        assert error.value.code == "ledger_damaged"
        assert f"record {sequence} " in error.value.message
        assert not self.verified(kept[1]).sound

    @pytest.mark.parametrize("count", [3, 9, 16, 20])
    def test_a_ledger_that_was_cut_short_is_refused_as_ever(self, kept: Kept, count: int) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(12))
        self.cut(kept[1], count)
        with pytest.raises(LedgerError) as error:
            self.ledger(kept)
        assert error.value.code == "ledger_rolled_back"

    def test_a_transaction_that_breaks_off_keeps_neither_record_nor_checkpoint(
        self, kept: Kept
    ) -> None:
        with self.ledger(kept) as ledger:
            use(ledger, range(3))
            before = [record.hash for record in ledger.records()]
            with suppress(ZeroDivisionError), ledger._journal.writing():
                for _ in range(EVERY):
                    ledger._journal.append("failures_reset", {"time": "2026-01-01T00:00:00+00:00"})
                ledger._journal._keep_checkpoint()
                raise ZeroDivisionError
            assert [record.hash for record in ledger.records()] == before
            use(ledger, range(3, 12))
        assert self.verified(kept[1]).sound
        assert self.started_from(kept) is not None
