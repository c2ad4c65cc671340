"""Who was charged of whose privacy: what is pending, and what each account's members have ever paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sanql.account.accountants.totals import ChargeHistory
from sanql.account.charge import Charge
from sanql.account.ledger.budget_limits import Account
from sanql.account.ledger.chain import FORMAT_OF_KINDS

Charged = tuple[str, str | None]
"""Who was charged, and of which kind of unit's privacy where there are several."""


@dataclass(frozen=True)
class PendingReservation:
    """A reservation that has neither been spent nor voided."""

    analyst: str
    question: str
    time: datetime
    protects: tuple[str, ...] = ()


def pending_of(
    analyst: str, question: str, moment: datetime, charge: Charge, written_in: int
) -> PendingReservation:
    """Return what a record reserves; ValueError where its format does not say whom a charge protects."""
    if charge.protects and written_in < FORMAT_OF_KINDS:
        raise ValueError("a charge says since format 5 whom it protects")
    return PendingReservation(analyst, question, moment, charge.protects)


def history_of(charges: Mapping[Charged, ChargeHistory], account: Account) -> list[ChargeHistory]:
    """Return what the members of an account were charged of the privacy that it protects."""
    return [
        history
        for (analyst, kind), history in charges.items()
        if account.takes(analyst) and account.protects == kind
    ]
