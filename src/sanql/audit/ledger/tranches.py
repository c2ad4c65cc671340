"""The auditor's own reading of tranches: how much of each paced account is open, recomputed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sanql.audit.ledger.accounts import AuditedAccount

_WORDS = {"author", "per", "period", "time"}
_LENGTHS = {"day": 10, "week": 8, "month": 7, "quarter": 7, "year": 4}


@dataclass
class TranchesAudit:
    """The newest period of each length for which a tranche is on record."""

    newest: dict[str, str] = field(default_factory=dict)

    def take(
        self, body: Mapping[str, Any], format_: int, accounts: Iterable[AuditedAccount]
    ) -> str | None:
        """Open a tranche; return what is wrong with it, or None."""
        datetime.fromisoformat(body["time"])
        if format_ < 6 or set(body) != _WORDS or not isinstance(body["author"], str):
            return "does not say what a tranche says"
        per, period = body["per"], body["period"]
        if not _is_named(per, period):
            return f"is no {str(per)[:10]} by its name"
        if self.newest.get(per, "") >= period:
            return "opens a tranche for a period that has one, or is before one that has"
        self.newest[per] = period
        more = [account for account in accounts if _opens(account, per)]
        return None if more else "opens a tranche of nothing"


def _opens(account: AuditedAccount, per: str) -> bool:
    """Add a tranche to what is open of an account; return whether it opens more."""
    if account.tranche is None or account.tranche[0] != per:
        return False
    before = account.open or Fraction(0)
    account.open = max(before, min(account.epsilon, before + account.tranche[1]))
    return account.open > before


def _is_named(per: object, period: object) -> bool:
    if not isinstance(per, str) or not isinstance(period, str) or not period.isascii():
        return False
    if len(period) != _LENGTHS[per]:
        return False
    match per:
        case "day":
            return str(date.fromisoformat(period)) == period
        case "week":
            year, _, week = period.partition("-W")
            return date.fromisocalendar(int(year), int(week), 1) is not None
        case "month":
            return str(date.fromisoformat(f"{period}-01")) == f"{period}-01"
        case "quarter":
            return period[:4].isdigit() and period[4:] in ("-Q1", "-Q2", "-Q3", "-Q4")
        case _:
            return period.isdigit()
