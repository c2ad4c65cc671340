"""The auditor's own reading of what was asked: texts beside the chain against the hashes in it.

A text that was erased, or lost, breaks no promise and is counted; one that is not what was asked is a
fault of the ledger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class VerifiedTexts:
    """How many questions have their text beside the chain, and how many no more."""

    kept: int = 0
    erased: int = 0
    missing: int = 0


NO_TEXTS = VerifiedTexts()
"""Of a ledger in which no text was looked for."""


@dataclass
class TextsAudit:
    """The hash of what was asked with each record, and by whom."""

    asked: dict[int, tuple[str, str]] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)

    def take(self, sequence: int, body: dict[str, Any], format_: int) -> None:
        """Take a charge; ValueError where it does not say what one of its format says."""
        if ("asked" in body) != (format_ >= 3):
            raise ValueError("a charge has the hash of what was asked since format 3")
        if "asked" in body:
            if len(body["asked"]) != 64 or int(body["asked"], 16) < 0:
                raise ValueError("not a hash")
            self.asked[sequence] = body["analyst"], body["asked"]

    def erase(self, body: dict[str, Any], format_: int) -> str | None:
        """Take a record of texts that were erased; return what is wrong with it, or None."""
        numbers, by = body["reservations"], body["by"]
        datetime.fromisoformat(body["time"])
        if format_ < 3 or set(body) != {"reservations", "by", "time"}:
            return "is no record of erased texts, or of a format without them"
        if not numbers or not by or numbers != sorted({int(number) for number in numbers}):
            return "does not say which texts were erased, or by whom"
        if not all(number in self.asked for number in numbers):
            return "erases a text that nobody had asked with"
        self.erased |= set(numbers)
        return None

    def check(self, notes: Iterable[tuple[str, bytes]]) -> VerifiedTexts | tuple[int, str]:
        """Return what became of the texts, or the first record with another text, and what is wrong."""
        kept = erased = 0
        for key, note in notes:
            whose, _, number = key.partition("/")
            sequence = int(number) if number.isdecimal() else 0
            analyst, expected = self.asked.get(sequence, ("", ""))
            name = hashlib.sha256(analyst.encode("utf-8", "surrogatepass")).hexdigest()
            if not expected or whose != name[:32]:
                return sequence, "a text is kept beside it that nobody asked with it"
            found = _hash(note)
            if found is not None and sequence in self.erased:
                return sequence, "the text kept beside it had been erased"
            if found not in (None, expected):
                return sequence, "the text kept beside it is not the one that was asked"
            erased += found is None
            kept += found is not None
        return VerifiedTexts(kept, erased, len(self.asked) - kept - erased)


def _hash(note: bytes) -> str | None:
    """Return the hash of what a note says was asked, None where it says nothing."""
    try:
        said = json.loads(note)
        if "text" not in said:
            return None
        typed = [said["salt"], said["text"], said["parameters"], said["options"]]
    except (ValueError, KeyError, TypeError):
        return "unreadable"
    return hashlib.sha256(
        json.dumps(typed, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()
