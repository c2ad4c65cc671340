"""Checkpoints: what the records so far add up to, kept beside the chain and named by a record in it.

Whoever opens a ledger starts from the newest one and takes the records after it, so that opening does not
take longer the more was ever asked. Nothing is believed for it that the pinned head does not vouch for:

* the record of a checkpoint has the hash of its state, and the state the hash of each of its segments; so
  whoever writes another state must change that record, and every hash from there up to the pinned head. A
  checkpoint whose record is not at or before the pinned head is not used;
* a segment has a hash of all its records as they are kept, which is computed anew: a record that was
  changed, moved or taken away is found as ever;
* what does not match, is missing or is of another form is passed over, and the chain is read in full.

Somebody who can write ledger *and* every pinned head can forge a checkpoint, as they can put back an
earlier ledger with its earlier head. The auditor finds it: it reads the whole chain, judges every charge
by itself, and compares (`audit.ledger.checkpoints`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.renyi import RenyiComposition
from sanql.account.accountants.totals import ChargeHistory, Totals
from sanql.account.ledger.chain import Head, canonical_json, parse_body
from sanql.account.ledger.charged import Charged, PendingReservation
from sanql.account.ledger.running_balance import RunningBalance
from sanql.account.ledger.segments import (
    CHECKPOINT,
    CHECKPOINT_FORM,
    KeptSegment,
    Segments,
    checkpoint_named,
    segment_key,
)
from sanql.account.ledger.state import Books
from sanql.account.stores.protocol import Store
from sanql.errors import LedgerError
from sanql.numbers import parse_sum, sum_text
from sanql.policy import Budget

NEWEST_CHECKPOINT = "newest"
"""The key of the note with the newest state."""


def books_at_checkpoint(kept: Store, pinned: Head | None) -> Books | None:
    """Return the books as the newest checkpoint has them; None where it cannot be started from.

    They end with the record before the checkpoint's own: whoever goes on checks that it follows. Call
    it while reading or writing.
    """
    note = kept.note(CHECKPOINT, NEWEST_CHECKPOINT)
    if note is None or pinned is None:
        return None
    try:
        state = json.loads(note)
        head = Head(state["sequence"], state["hash"])
        row = next(iter(kept.rows(head.sequence)), None)
        if row is None or row[1] != CHECKPOINT or row[3] != head.hash:
            return None
        if checkpoint_named(parse_body(str(row[2]))) != hashlib.sha256(note).hexdigest():
            return None
        if not head.sequence < pinned.sequence or kept.hash_at(pinned.sequence) != pinned.hash:
            return None
        return restored(state, [*_segments(kept, state)])
    except (ValueError, KeyError, TypeError, AttributeError, LedgerError):
        return None


def _segments(kept: Store, state: Mapping[str, Any]) -> Iterator[KeptSegment]:
    """Yield the segments of a state, each as it was kept and with its records unchanged."""
    after = 0
    for until, digest in state["segments"]:
        note = kept.note(CHECKPOINT, segment_key(until))
        if note is None or hashlib.sha256(note).hexdigest() != digest:
            raise ValueError("not the segment that was kept")
        segment = KeptSegment(note)
        if (segment.after, segment.until) != (after, until):
            raise ValueError("segments that do not follow each other")
        if kept.records_digest(after, until) != segment.records:
            raise ValueError("records that have been changed")
        yield segment
        after = until
    if after != state["sequence"]:
        raise ValueError("segments that end elsewhere")


def restored(state: Mapping[str, Any], segments: list[KeptSegment]) -> Books:
    """Return the books that a state and its segments describe.

    Records that declare something are taken once more, in turn; what charges add up to comes from the
    state. ValueError, KeyError or TypeError where they describe none.
    """
    if state["form"] != CHECKPOINT_FORM:
        raise ValueError("a state of another form")
    books = Books()
    for record in (record for segment in segments for record in segment.declared):
        books.head = Head(record.sequence - 1, record.previous)
        books.apply(record)
    answers, spent = books.answers, books.spent
    asked: dict[str, list[int]] = {}
    for segment in segments:
        for analyst, rows in segment.spent.items():
            answers.update(zip(((analyst, row.question) for row in rows), rows, strict=True))
            spent.update(zip((row.reservation for row in rows), rows, strict=True))
        for analyst, sequences in segment.asked.items():
            asked.setdefault(analyst, []).extend(sequences)
    books.asked = asked
    _restore_sums(books, state)
    books.head = Head(state["sequence"], state["hash"])
    books.segments = Segments(state["segments"])
    return books


def _restore_sums(books: Books, state: Mapping[str, Any]) -> None:
    books.charges = {
        _charged(name, books): ChargeHistory(Totals.from_dict(totals))
        for name, totals in state["charged"].items()
    }
    limits = books.current_limits
    books.balances = {
        account.identity: RunningBalance(books.accountant_of(account), _spent(words))
        for account, words in zip(limits.accounts, state["balances"], strict=True)
    }
    books.pending = {
        sequence: PendingReservation(
            analyst, question, datetime.fromisoformat(time), tuple(protects)
        )
        for sequence, analyst, question, time, *protects in state["pending"]
    }
    books.failures = Counter(state["failures"])
    books.failures_seen_until = state["failures_seen_until"]
    books.published = state["published"]


def state_after(books: Books) -> bytes:
    """Return the state of the books with their segment ended, as it is kept; sums charges up."""
    shape = {
        "form": CHECKPOINT_FORM,
        "sequence": books.head.sequence,
        "hash": books.head.hash,
        "segments": books.segments.ended_now(),
        "charged": {
            _charged_name(who): charged.sum_up().to_dict() for who, charged in books.charges.items()
        },
        "balances": [
            _spent_words(books.running(account).spent) for account in books.current_limits.accounts
        ],
        "pending": [
            [sequence, each.analyst, each.question, each.time.isoformat(), *each.protects]
            for sequence, each in books.pending.items()
        ],
        "failures": dict(books.failures),
        "failures_seen_until": books.failures_seen_until,
        "published": books.published,
    }
    return canonical_json(shape).encode("ascii")


def _charged_name(who: Charged) -> str:
    """Return who was charged as one name: of several kinds of unit, with the kind before it."""
    analyst, kind = who
    return analyst if kind is None else f"{kind}/{analyst}"


def _charged(name: str, books: Books) -> Charged:
    """Return who was charged; no kind of unit has a slash in its name."""
    if not books.current_limits.kinds:
        return name, None
    kind, _, analyst = name.partition("/")
    return analyst, kind


def _spent_words(spent: Spent) -> dict[str, object]:
    together = spent.together
    if not isinstance(together, RenyiComposition | None):
        raise TypeError("charges that are counted together in a way that has no words")
    return {
        "epsilon": sum_text(spent.paid.epsilon),
        "delta": sum_text(spent.paid.delta),
        "together": None if together is None else together.to_dict(),
    }


def _spent(words: Mapping[str, Any]) -> Spent:
    together = words["together"]
    return Spent(
        Budget(parse_sum(words["epsilon"]), parse_sum(words["delta"])),
        None if together is None else RenyiComposition.from_dict(together),
    )
