"""What a stretch of the chain adds to the books besides sums: the part of a checkpoint that only grows.

A segment goes from one checkpoint to the next and is a function of the records in it. It has a hash of
all its records, so that whoever starts from it still sees whether one of them was changed; the records
that declare something, whole, which are taken once more; and where answers are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from sanql.account.ledger.chain import LedgerRecord, canonical_json

if TYPE_CHECKING:
    from sanql.account.ledger.chain import Kind


CHECKPOINT: Literal["checkpoint"] = "checkpoint"
"""The kind of the record, and of the notes: one for each segment by its end, and the newest state."""

CHECKPOINT_FORM = 1
"""The form in which this version writes the state: another one is not started from."""

_HASH = re.compile(r"[0-9a-f]{64}")


class RecordedAnswer(NamedTuple):
    """Where an answer is kept, the hash it must have, and the digest of its question if it has noise."""

    reservation: int
    sha256: str
    question: str = ""


class RecordsDigest:
    """One hash of records in a row, byte for byte as they are kept; stores compute the same."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def take(self, record: LedgerRecord) -> None:
        """Take one more record: its five parts, each with an end of line."""
        parts = (record.sequence, record.kind, record.body, record.previous, record.hash, "")
        self._hash.update("\n".join(map(str, parts)).encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        """Return the hash so far."""
        return self._hash.hexdigest()


class Segment:
    """The records since a checkpoint, as the books take them."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.count = 0
        self._records = RecordsDigest()
        self._declared: list[LedgerRecord] = []
        self._spent: dict[str, list[RecordedAnswer]] = {}
        self._asked: dict[str, list[int]] = {}

    def take(self, record: LedgerRecord, *, declares: bool) -> None:
        """Take one more record; whether it `declares` something, and is no charge nor its end."""
        self.count += 1
        self._records.take(record)
        if declares:
            self._declared.append(record)

    def spend(self, analyst: str, answer: RecordedAnswer) -> None:
        """Take where the answer to an analyst's question is kept."""
        self._spent.setdefault(analyst, []).append(answer)

    def ask(self, analyst: str, sequence: int) -> None:
        """Take whose a question is."""
        self._asked.setdefault(analyst, []).append(sequence)

    def to_bytes(self) -> bytes:
        """Return the segment as it is kept."""
        declared = [[r.sequence, r.kind, r.body, r.previous, r.hash] for r in self._declared]
        shape = {
            "after": self.after,
            "until": self.after + self.count,
            "records": self._records.hexdigest(),
            "declared": declared,
            "spent": self._spent,
            "asked": self._asked,
        }
        return canonical_json(shape).encode("ascii")


class Segments:
    """All segments of a chain: the ends and hashes of those before, and the one that is still open."""

    def __init__(self, ended: Iterable[Sequence[object]] = ()) -> None:
        self.ended = [(cast(int, end), str(digest)) for end, digest in ended]
        self.unkept: dict[int, bytes] = {}
        """Those that were ended here, by their ends: perhaps they are not kept yet."""
        self.open = Segment(self.ended[-1][0] if self.ended else 0)

    def end(self) -> None:
        """Take that there is a checkpoint of the records so far."""
        if not self.open.count:
            return  # the books were started from this very checkpoint
        until, kept = self.open.after + self.open.count, self.open.to_bytes()
        self.ended.append((until, hashlib.sha256(kept).hexdigest()))
        self.unkept[until] = kept
        self.open = Segment(until)

    def ended_now(self) -> list[tuple[int, str]]:
        """Return the ends and hashes as they would be if there were a checkpoint now."""
        last = self.open.after + self.open.count, hashlib.sha256(self.open.to_bytes()).hexdigest()
        return [*self.ended, last]


class KeptSegment:
    """A segment as it was kept; ValueError, KeyError or TypeError where it is none."""

    def __init__(self, kept: bytes) -> None:
        shape = json.loads(kept)
        self.after, self.until = cast(int, shape["after"]), cast(int, shape["until"])
        self.records = cast(str, shape["records"])
        """The hash of all its records."""
        rows = cast("list[tuple[int, Kind, str, str, str]]", shape["declared"])
        self.declared = [LedgerRecord(*row) for row in rows]
        spent = cast("dict[str, list[tuple[int, str, str]]]", shape["spent"])
        self.spent = {who: [*map(RecordedAnswer._make, rows)] for who, rows in spent.items()}
        self.asked = cast("dict[str, list[int]]", shape["asked"])


def segment_key(until: int) -> str:
    """Return the key of a segment's note."""
    return f"{until:012}"


def checkpoint_named(content: Mapping[str, object]) -> str | None:
    """Return the hash of the checkpoint that a record names; None where it is of a form not known here.

    Anything else is a ValueError.
    """
    match dict(content):
        case {"form": int(form), "sha256": str(digest), **rest} if not rest and _HASH.fullmatch(
            digest
        ):
            return digest if form == CHECKPOINT_FORM else None
        case _:
            raise ValueError("not a checkpoint")
