"""What the auditor finds in a ledger, as data: balances, exact releases, texts, the first fault."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from sanql.audit.ledger.exact import VerifiedExact
from sanql.audit.ledger.ownership import VerifiedLoss
from sanql.audit.ledger.texts import NO_TEXTS, VerifiedTexts
from sanql.numbers import show_upper
from sanql.policy import LedgerPlace


@dataclass(frozen=True)
class RecordFault:
    """The first thing wrong with a ledger, and the record it is wrong at."""

    sequence: int
    message: str
    code: str = "ledger_damaged"  # of the error that whoever opens the ledger meets

    def __str__(self) -> str:
        return f"record {self.sequence}: {self.message}"


@dataclass(frozen=True)
class VerifiedAccount:
    """One account as the auditor recomputed it."""

    kind: str
    name: str
    charges: int
    epsilon_spent_upper: Fraction
    delta_spent_upper: Fraction
    protects: str | None = None

    @property
    def named(self) -> str:
        """What account it is, in words."""
        whom = "" if self.protects is None else f" ({self.protects})"
        return f"{self.kind} {self.name}{whom}"


@dataclass(frozen=True)
class Verification:
    """What the auditor found: records read, balances, and the first fault if there is one."""

    path: LedgerPlace
    records: int
    accounts: tuple[VerifiedAccount, ...]
    fault: RecordFault | None
    exact: tuple[VerifiedExact, ...] = ()
    scratch: bool = False
    account: str | None = None
    texts: VerifiedTexts = NO_TEXTS
    losses: tuple[VerifiedLoss, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain data; every number is rounded up."""
        return {
            "sound": self.sound,
            "records": self.records,
            "accounts": [
                {
                    "kind": account.kind,
                    "name": account.name,
                    "charges": account.charges,
                    "epsilon": float(show_upper(account.epsilon_spent_upper)),
                    "delta": float(show_upper(account.delta_spent_upper)),
                    **({} if account.protects is None else {"protects": account.protects}),
                }
                for account in self.accounts
            ],
            "exact": [release.to_dict() for release in self.exact],
            "scratch": self.scratch,
            "missing": [
                {"records": loss.missing, "after": loss.kept, "reason": loss.reason}
                for loss in self.losses
            ],
            "texts": asdict(self.texts),
        }
