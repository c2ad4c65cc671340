"""The auditor's own reading of who declared limits, and of the signatures under those that give more."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

_WORDS = {"accounting", "accounts", "author", "second_signature", "time"}


@dataclass
class SigningAudit:
    """The limits in force, in the ledger's words, and what was signed since."""

    limits: dict[str, Any] | None = None
    signed: set[str] = field(default_factory=set)

    def declare(self, body: dict[str, Any], format_: int) -> str | None:
        """Take a record of limits; return what is wrong with it, or None."""
        if format_ >= 3:
            datetime.fromisoformat(body["time"])
            if set(body) != _WORDS or not isinstance(body["author"], str):
                return "does not say by whom limits were declared"
            if type(body["second_signature"]) is not bool:
                return "does not say whether limits are signed"
        before, self.limits = self.limits, body
        signed, self.signed = self.signed, set()
        asks = before is not None and before.get("second_signature", False)
        if before is not None and asks and _gives_more(before, body) and _hash(body) not in signed:
            return "gives more than the limits before it, without an officer's signature"
        return None

    def sign(self, body: dict[str, Any]) -> str | None:
        """Take a signature; return what is wrong with it, or None."""
        datetime.fromisoformat(body["time"])
        if set(body) != {"limits", "officer", "time"} or not isinstance(body["officer"], str):
            return "does not say what a record of its kind says"
        self.signed.add(body["limits"])
        return None


def _gives_more(before: dict[str, Any], after: dict[str, Any]) -> bool:
    if before["accounting"] != after["accounting"] or not after.get("second_signature", False):
        return True
    now = {_identity(account): account for account in after["accounts"]}
    for account in before["accounts"]:
        new = now.get(_identity(account))
        if (
            new is None
            or _opens_sooner(account.get("tranche"), new.get("tranche"))
            or any(Fraction(new[key]) > Fraction(account[key]) for key in ("epsilon", "delta"))
        ):
            return True
    return False


def _opens_sooner(before: dict[str, Any] | None, after: dict[str, Any] | None) -> bool:
    if before is None:
        return False
    more = after is None or Fraction(after["epsilon"]) > Fraction(before["epsilon"])
    return more or (after is not None and after["per"] != before["per"])


def _identity(account: dict[str, Any]) -> str:
    words = ("kind", "name", "members", "protects")
    return json.dumps([account.get(word) for word in words])


def _tranche(account: dict[str, Any]) -> dict[str, Any]:
    if "tranche" not in account:
        return {}
    return {"tranche": {word: account["tranche"][word] for word in ("epsilon", "per")}}


def _hash(body: dict[str, Any]) -> str:
    words = {"kind", "name", "members", "epsilon", "delta", "protects"}
    declared = {
        "accounting": body["accounting"],
        "second_signature": body["second_signature"],
        "accounts": [
            {word: account[word] for word in words & account.keys()} | _tranche(account)
            for account in body["accounts"]
        ],
    }
    text = json.dumps(declared, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
