"""The auditor's look at the newest checkpoint: is it what the records before it add up to?

Whoever opens a ledger starts there. The chain is read in full and taken by the books as if there were no
checkpoint, and what they come to is compared with what is kept. Divergences are computed in floating
point, and the machine that wrote the checkpoint may round another way: sums are compared to ten digits,
everything else exactly. (Whether each charge kept to its budget is judged apart, by the auditor's own
arithmetic and from the records alone.)
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction

from sanql.account import (
    BEGINNING,
    CHECKPOINT,
    CHECKPOINT_FORM,
    NEWEST_CHECKPOINT,
    Books,
    LedgerReader,
    checkpoint_named,
    linked,
    segment_key,
    state_after,
)

_SUMS = ("charged", "balances")
_NEARLY = 1e-10


def checkpoint_fault(reader: LedgerReader) -> tuple[int, str] | None:
    """Return what is wrong with the newest checkpoint, and its record; None where nothing is.

    One that is missing, or of a form that nobody here starts from, is no fault: then the ledger is read
    in full. The chain must have been found sound.
    """
    note = reader.note(CHECKPOINT, NEWEST_CHECKPOINT)
    if note is None:
        return None
    try:
        state = json.loads(note)
        if state["form"] != CHECKPOINT_FORM:
            return None
        sequence, segments = int(state["sequence"]) + 1, [*state["segments"]]
        kept = [(digest, reader.note(CHECKPOINT, segment_key(end))) for end, digest in segments]
    except (ValueError, KeyError, TypeError):
        return 1, "the checkpoint kept beside the ledger cannot be read"
    books = Books()
    for record in linked(reader.rows(0), BEGINNING):
        if record.sequence == sequence:
            break
        books.apply(record)
    else:
        return sequence, "is missing, and a checkpoint is kept that it would name"
    named = checkpoint_named(record.content) if record.kind == CHECKPOINT else None
    if named != hashlib.sha256(note).hexdigest():
        return sequence, "does not name the checkpoint that is kept beside it"
    if any(each is not None and hashlib.sha256(each).hexdigest() != own for own, each in kept):
        return sequence, "its checkpoint has a segment that is not the one that was kept"
    if not _same_state(state, json.loads(state_after(books))):
        return sequence, "names a checkpoint that is not what the records before it add up to"
    return None


def _same_state(kept: dict[str, object], found: dict[str, object]) -> bool:
    return kept.keys() == found.keys() and all(
        _alike(kept[key], found[key]) if key in _SUMS else kept[key] == found[key] for key in kept
    )


def _alike(one: object, other: object) -> bool:
    """Return whether two sums are the same but for how divergences were rounded."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_alike(one[k], other[k]) for k in one)
        case list(), list():
            return len(one) == len(other) and all(map(_alike, one, other))
        case int(), int():
            return math.isclose(one, other, rel_tol=_NEARLY)
        case str(), str():
            return one == other or _close(one, other)
        case _:
            return one == other


def _close(one: str, other: str) -> bool:
    try:
        first, second = (
            Fraction(*(int(part, 16) for part in text.split("/"))) for text in (one, other)
        )
    except (ValueError, TypeError, ZeroDivisionError):
        return False
    return abs(first - second) <= Fraction(_NEARLY) * max(abs(first), abs(second))
