"""The records of a ledger with what was asked and what became of it, for owners and officers.

A charge is a record of what was measured; beside the chain lies what was typed, and a later record says
how it ended. Here they are put together, in one view of the ledger, and nothing is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from sanql.account import ASKED, AskedNote, LedgerReader, note_key
from sanql.audit.ledger.exporting import exported, opened_reader
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace
from sanql.results import Budget, spent_to_dict

CHARGES = ("reserve", "exact")
"""The kinds of records that are questions."""


@dataclass(frozen=True)
class RecordChoice:
    """Which records are listed: those after a sequence; of questions alone, whose, since when, the last.

    `limit` is how many at most, of which the first are taken.
    """

    after: int = 0
    limit: int | None = None
    questions: bool = False
    analyst: str | None = None
    since: datetime | None = None
    last: int | None = None

    @property
    def only_questions(self) -> bool:
        """Whether other records are left out: only questions are somebody's, and have an end."""
        chosen = (self.analyst, self.since, self.last)
        return self.questions or any(each is not None for each in chosen)

    def takes(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is meant, apart from how many are."""
        if record["sequence"] <= self.after:
            return False
        if not self.only_questions:
            return True
        body = record["body"]
        return record["kind"] in CHARGES and (
            self.analyst in (None, body["analyst"])
            and (self.since is None or datetime.fromisoformat(body["time"]) >= self.since)
        )


def list_records(place: LedgerPlace, choice: RecordChoice) -> list[dict[str, Any]]:
    """Return records as plain data, checked, oldest first; those of questions have `question` besides."""
    with opened_reader(place) as reader:
        records, ends = _chosen(exported(reader), choice)
        return [
            record | {"question": _question(reader, record, ends.get(record["sequence"]))}
            if record["kind"] in CHARGES
            else record
            for record in records
        ]


def _chosen(
    records: Iterator[dict[str, Any]], choice: RecordChoice
) -> tuple[Iterable[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Return the records that are meant, and by reservation the records that ended questions."""
    found: deque[dict[str, Any]] = deque(maxlen=choice.last)
    ends: dict[int, dict[str, Any]] = {}
    for record in records:
        if record["kind"] in ("spend", "void"):
            ends[record["body"]["reservation"]] = record
        full = choice.limit is not None and len(found) >= choice.limit
        if (choice.last is not None or not full) and choice.takes(record):
            found.append(record)
    return [*found][: choice.limit], ends


def _question(
    reader: LedgerReader, record: Mapping[str, Any], end: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return who asked what for how much, and what became of it; `sql` is None where it is not kept."""
    body = record["body"]
    charge = body.get("charge", {"epsilon": "0", "delta": "0"})  # an exact answer costs nothing
    note = _note(reader, body["analyst"], record["sequence"])
    said = None if note is None else note.asked
    return {
        "analyst": body["analyst"],
        "time": body["time"],
        "door": None if note is None else note.door,
        "price": spent_to_dict(Budget(Fraction(charge["epsilon"]), Fraction(charge["delta"]))),
        "outcome": _outcome(end),
        "reason": _reason(end),
        "exact": record["kind"] == "exact",
        "purpose": "" if note is None else note.purpose,
        "version": None if note is None else note.version,
        "sql": None if said is None else said.text,
        "parameters": None if said is None else said.parameters,
        "options": None if said is None else said.options,
        "erased": note is not None and said is None,
        **({"protects": charge["protects"]} if "protects" in charge else {}),
    }


def _outcome(end: Mapping[str, Any] | None) -> str:
    if end is None:
        return "open"
    return "answered" if end["kind"] == "spend" else "void"


def _reason(end: Mapping[str, Any] | None) -> str | None:
    """Return why a question has no answer: its code, or, in earlier formats, who ended it."""
    if end is None or end["kind"] == "spend":
        return None
    body = end["body"]
    return str(body.get("reason") or body.get("refusal") or body.get("ended_by") or "engine")


def _note(reader: LedgerReader, analyst: str, sequence: int) -> AskedNote | None:
    """Return what is kept beside a charge; one that cannot be read is as one that is not there."""
    kept = reader.note(ASKED, note_key(analyst, sequence))
    try:
        return None if kept is None else AskedNote.from_bytes(kept)
    except LedgerError:
        return None
