"""The auditor's own reading of an account's terms: whom each table protects, what is public, columns."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sanql.audit.ledger.renames import RenamesAudit


@dataclass
class TermsAudit:
    """The unit of every private table, every table that was ever public and their columns, folded."""

    units: dict[str, str] = field(default_factory=dict)
    public: set[str] | None = None  # nobody knows
    columns: set[tuple[str, str]] = field(default_factory=set)
    renames: RenamesAudit = field(default_factory=RenamesAudit)
    kinds: bool = False  # there are several kinds of unit, each with accounts of its own

    def open(self, body: dict[str, Any], format_: int) -> str | None:
        """Take the first record; return what is wrong with it, or None."""
        self.kinds = "kinds of units" in body["terms"]
        for key, unit in body["terms"].items():
            if key.startswith("unit of "):
                self.units[_fold(key[len("unit of ") :])] = unit
        if "public" in body:
            if format_ < 2:
                return "says what is public, which format 1 does not"
            self.public = {_fold(name) for name in body["public"]}
            if self.public & set(self.units):
                return "says of a table that it is private and public"
        if ("columns" in body) is (format_ < 3):
            return "says which columns there are before format 3, or does not since"
        return self._add_columns(body.get("columns", {}))

    def take(self, body: dict[str, Any], format_: int) -> str | None:
        """Take what was declared later; return what is wrong with it, or None."""
        words = {"private", "public", "time"} | ({"columns"} if format_ >= 3 else set())
        if set(body) != words or not any(body[word] for word in words - {"time"}):
            return "does not say what a record of its kind says"
        datetime.fromisoformat(body["time"])
        if self.public is None and (body["private"] or body["public"]):
            return "adds tables to an account that does not know what was public"
        private = {_fold(name): unit for name, unit in body["private"].items()}
        public = {_fold(name) for name in body["public"]}
        if len(private) < len(body["private"]):
            return "makes a table private twice"
        if set(private) & (set(self.units) | (self.public or set()) | public):
            return "makes a table private that is known otherwise"
        if public & set(self.units):
            return "makes a private table public"
        ends = self._ends(self.units)
        if ends and not self._ends(private) <= ends:
            return "adds a table with a unit that the account does not protect"
        self.units |= private
        if self.public is not None:
            self.public |= public
        return self._add_columns(body.get("columns", {}))

    def forget_public(self) -> None:
        """Take charges of another account, or ones that are missing: what was public is not known."""
        self.public = None

    def rename(self, body: dict[str, Any]) -> str | None:
        """Take that something has another name; return what is wrong with it, or None."""
        return self.renames.take(body, self)

    @property
    def tables(self) -> set[str]:
        """Every table on record."""
        return set(self.units) | (self.public or set())

    def fold(self, name: str) -> str:
        """Return a name as SQL compares it."""
        return _fold(name)

    def _ends(self, units: dict[str, str]) -> set[str]:
        """Return whom tables lead to; of several kinds of unit a row may belong to two at once."""
        ends = [_end(unit) for unit in units.values()]
        if not self.kinds:
            return set(ends)
        return {f"{part.rstrip(')')})" for end in ends for part in end.split("), ")}

    def naming_kinds(self) -> set[str]:
        """Return the columns that identify units, where there are several kinds of them."""
        return {end.rpartition(" (")[0] for end in self._ends(self.units)} if self.kinds else set()

    def _add_columns(self, listed: dict[str, Any]) -> str | None:
        for table, names in listed.items():
            if _fold(table) not in self.tables:
                return "lists columns of a table that nobody has declared"
            if not isinstance(names, list) or not names:
                return "lists no columns of a table"
        pairs = [(_fold(t), _fold(name)) for t, names in listed.items() for name in names]
        if len(set(pairs)) < len(pairs) or self.columns & set(pairs):
            return "lists a column that is on record"
        if len({_fold(table) for table in listed}) < len(listed):
            return "lists the columns of a table twice"
        self.columns |= set(pairs)
        return None


def _end(unit: str) -> str:
    """Return whom a chain of references leads to."""
    return _fold(unit.rpartition(": ")[2]) if " = " in unit else _fold(unit)


def _fold(name: str) -> str:
    composed = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", composed)
