"""The auditor's own reading of the versions of the data, from the records' plain words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class VersionAudit:
    """The version in force, and the tables whose stamps it has."""

    begun: int = 0  # the format in which the ledger was begun
    number: int = 0
    tables: set[str] = field(default_factory=set)

    def take(self, body: dict[str, Any]) -> str | None:
        """Take a record; return what is wrong with it after the ones before, or None."""
        number, stamps = body["version"], body["stamps"]
        formerly = body.get("formerly")
        if type(number) is not int or not stamps or set(body) - _WORDS:
            return "is no version of the data"
        if any(len(stamp) != 64 or int(stamp, 16) < 0 for stamp in stamps.values()):
            return "has a stamp that is none"
        if "." in stamps and len(stamps) > 1:
            return "stamps a database and tables besides"
        if number == self.number:
            if "." in self.tables | set(stamps) or self.tables & set(stamps) or formerly:
                return "stamps a table of a version anew"
            self.tables |= set(stamps)
            return None
        skips = self.number == 0 and number == 2 and self.begun == 1
        if number != self.number + 1 and not skips:
            return f"opens version {number} after version {self.number}"
        if formerly and not (self.begun == 1 and number == 1):
            return "names a source that no earlier format can have read"
        self.number, self.tables = number, set(stamps)
        return None


_WORDS = {"version", "stamps", "time", "formerly"}
