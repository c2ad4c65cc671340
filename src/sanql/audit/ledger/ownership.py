"""The auditor's own reading of what became of an account, from the records' plain words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RECORD_KEYS = {
    "claim": {"account", "after", "source", "time"},
    "move": {"ledger", "time"},
    "pin": {"head", "time"},
    "merge": {"account", "charges", "hash", "sequence", "time"},
    "retire": {"into", "reason", "statement", "time"},
}
_ENDS = {"closed", "merged", "other-data", "other-terms"}


@dataclass
class OwnershipAudit:
    """Whose account it is, which accounts it has taken over, and whether it is closed."""

    account: str | None = None
    taken: list[str] = field(default_factory=list)
    closed: bool = False
    exact_closed: bool = False

    def take(self, kind: str, body: dict[str, Any]) -> str | None:
        """Take a record; return what is wrong with it after the ones before, or None."""
        closes = kind == "claim" and body.get("exact") == "closed"
        if set(body) - ({"exact"} if closes else set()) != RECORD_KEYS[kind]:
            return "does not say what a record of its kind says"
        datetime.fromisoformat(body["time"])
        self.exact_closed |= closes
        match kind:
            case "claim":
                return self._claim(body)
            case "merge":
                return self._merge(body)
            case "retire":
                self.closed = True
                merged = body["statement"] == "merged"
                if body["statement"] not in _ENDS or merged != (body["into"] is not None):
                    return "ends the account without a statement that is known"
        return None

    def _claim(self, body: dict[str, Any]) -> str | None:
        if len(body["account"]) != 32 or int(body["account"], 16) < 0:
            return "names no account"
        if self.account not in (None, body["account"]):
            return "claims data for another account"
        self.account = body["account"]
        return None

    def _merge(self, body: dict[str, Any]) -> str | None:
        if self.account is None or body["account"] in (self.account, *self.taken):
            return "takes an account over twice"
        self.taken.append(body["account"])
        return None
