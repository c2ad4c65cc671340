"""What `sanql check` says of the account: how a policy and the ledger's record differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanql.errors import Fault, LedgerError, LedgerUnreadable

if TYPE_CHECKING:
    from sanql.account import Comparison
    from sanql.policy import Policy

_AWAY = {"ledger_unavailable", "ledger_busy", "ledger_password_file", "postgres_missing"}
"""Why a ledger cannot be looked at here or now, which says nothing of the policy."""


@dataclass(frozen=True)
class ComparedLedger:
    """What was found of the policy's ledger: nothing yet, a comparison, or why there is none."""

    place: str
    found: Comparison | None
    broken: LedgerError | None

    @property
    def exit_code(self) -> int:
        """What the command ends with: a ledger that is only out of reach is no fault."""
        fault = self.broken
        out_of_reach = isinstance(fault, LedgerUnreadable) or (fault and fault.code in _AWAY)
        return 0 if fault is None or out_of_reach else fault.exit_code

    @property
    def faults(self) -> Sequence[Fault]:
        """What keeps the policy from going on with its account."""
        faults = () if self.found is None else self.found.faults
        return [
            Fault("ledger", f"[{fault.code}] {fault.message}", fault.remedy) for fault in faults
        ]

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        found = self.found
        return {
            "place": self.place,
            "begun": found is not None,
            "records": 0 if found is None else found.records,
            "closed": found is not None and found.closed,
            "joins": [] if found is None else list(found.joins),
            "left": [] if found is None else list(found.left),
            "limits": [] if found is None else list(found.limits),
            "exact": [] if found is None else list(found.exact),
            "fault": None if self.broken is None else self.broken.to_dict()["error"],
        }

    def lines(self) -> Iterator[str]:
        """Yield it in words."""
        if self.broken is not None:
            broken = self.broken
            yield f"ledger: {broken.message} [{broken.code}]; {broken.remedy}"
        elif self.found is None:
            yield f"ledger: there is none yet; the first question begins it at {self.place}"
        else:
            yield from _lines(self.found)


def compared_ledger(policy: Policy) -> ComparedLedger:
    """Return what would become of the account at the next question; nothing is written or spent."""
    from sanql.sources import compare_with_ledger

    try:
        return ComparedLedger(str(policy.ledger_place), compare_with_ledger(policy), None)
    except LedgerError as broken:
        return ComparedLedger(str(policy.ledger_place), None, broken)


def _lines(found: Comparison) -> Iterator[str]:
    changes = (*found.joins, *found.left, *found.limits, *found.exact)
    end = "" if changes else ", and the policy is as they say"
    yield f"ledger: {found.records} records{end}"
    if found.closed:
        yield "ledger: the account is closed; only what was answered can be repeated"
    yield from (f"  joins on record with the next charge: {line}" for line in found.joins)
    yield from (f"  has left, and stays on record: {line}" for line in found.left)
    yield from (f"  other limits from the next opening on: {line}" for line in found.limits)
    yield from (f"  exact: {line}" for line in found.exact)
    tables = [line for line in found.joins if "table" in line]
    if tables and any("table" in line for line in found.left):
        yield (
            "  where one that joins is one that has left, under another name, say so first:"
            " `sanql account rename TABLE NEW --because 'WHY'`"
        )
