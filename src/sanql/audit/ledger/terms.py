"""The auditor's own reading of an account's terms: whom each table protects, and what is public."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass
class TermsAudit:
    """The unit of every private table, and every table that was ever public, by folded names."""

    units: dict[str, str] = field(default_factory=dict)
    public: set[str] | None = None  # nobody knows

    def open(self, body: dict[str, Any], format_: int) -> str | None:
        """Take the first record; return what is wrong with it, or None."""
        for key, unit in body["terms"].items():
            if key.startswith("unit of "):
                self.units[_fold(key[len("unit of ") :])] = unit
        if "public" in body:
            if format_ < 2:
                return "says what is public, which format 1 does not"
            self.public = {_fold(name) for name in body["public"]}
            if self.public & set(self.units):
                return "says of a table that it is private and public"
        return None

    def take(self, body: dict[str, Any]) -> str | None:
        """Take tables that were declared later; return what is wrong with them, or None."""
        if set(body) != {"private", "public", "time"} or not (body["private"] or body["public"]):
            return "does not say what a record of its kind says"
        datetime.fromisoformat(body["time"])
        if self.public is None:
            return "adds tables to an account that does not know what was public"
        private = {_fold(name): unit for name, unit in body["private"].items()}
        public = {_fold(name) for name in body["public"]}
        if set(private) & (set(self.units) | self.public | public):
            return "makes a table private that is known otherwise"
        if public & set(self.units):
            return "makes a private table public"
        ends = {_end(unit) for unit in self.units.values()}
        if ends and not {_end(unit) for unit in private.values()} <= ends:
            return "adds a table with a unit that the account does not protect"
        self.units |= private
        self.public |= public
        return None

    def merge(self) -> None:
        """Take charges of another account: what was public for them is not known."""
        self.public = None


def _end(unit: str) -> str:
    """Return whom a chain of references leads to."""
    return _fold(unit.rpartition(": ")[2]) if " = " in unit else _fold(unit)


def _fold(name: str) -> str:
    composed = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", composed)
