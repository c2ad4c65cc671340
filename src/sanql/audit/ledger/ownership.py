"""The auditor's own reading of what became of an account, from the records' plain words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

RECORD_KEYS = {
    "claim": {"account", "after", "source", "time"},
    "move": {"ledger", "time"},
    "pin": {"head", "time"},
    "merge": {"account", "charges", "hash", "sequence", "time"},
    "restore": {"by", "declares", "kept", "lost", "reason", "spent", "taken", "time"},
    "retire": {"into", "reason", "statement", "time"},
}
_ENDS = {"closed", "merged", "other-data", "other-terms"}


@dataclass(frozen=True)
class VerifiedLoss:
    """Records that are missing by the owner's word: the last one before, and the heads that were known.

    `spent` is the epsilon and delta that the owner states were charged in them at most, or None.
    """

    kept: int
    heads: tuple[tuple[int, str], ...]
    spent: tuple[Fraction, Fraction] | None
    reason: str

    @property
    def missing(self) -> int:
        """How many records are missing at least."""
        return max(1, *(sequence - self.kept for sequence, _ in self.heads))


@dataclass
class OwnershipAudit:
    """Whose account it is, which accounts it has taken over, and whether it is closed."""

    account: str | None = None
    taken: list[str] = field(default_factory=list)
    closed: bool = False
    exact_closed: bool = False
    losses: list[VerifiedLoss] = field(default_factory=list)

    def has_given_up(self, head: dict[str, Any]) -> bool:
        """Return whether the owner has said that a head that was known is missing for good."""
        known = head["sequence"], head["hash"]
        return any(known in loss.heads for loss in self.losses)

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
            case "restore":
                self.exact_closed = True
                return self._restore(body)
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

    def _restore(self, body: dict[str, Any]) -> str | None:
        heads = tuple((head["sequence"], head["hash"]) for head in body["lost"])
        spent = None
        if body["spent"] is not None:
            spent = Fraction(body["spent"]["epsilon"]), Fraction(body["spent"]["delta"])
            if min(spent) < 0:
                return "counts backwards"
        if not all(isinstance(body[word], str) for word in ("by", "reason", "taken")):
            return "does not say who lost what, and why"
        if not heads or not all(type(n) is int and len(str(digest)) == 64 for n, digest in heads):
            return "names nothing that is missing"
        self.losses.append(VerifiedLoss(body["kept"]["sequence"], heads, spent, body["reason"]))
        return None
