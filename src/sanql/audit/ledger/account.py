"""The whole account of a policy, verified: its ledger, wherever its head is pinned, and its data."""

from __future__ import annotations

from functools import partial

from sanql.account import RESTORE
from sanql.audit.ledger.findings import Verification
from sanql.audit.ledger.verification import verify
from sanql.errors import LedgerError
from sanql.policy import Policy
from sanql.sources import check_kept_here, check_ledger_exists, known_heads

_FAULTS = {
    "ledger_rolled_back": "has been put back to an earlier state",
    "ledger_head_missing": "cannot be trusted",
}


def verify_account(policy: Policy) -> Verification:
    """Return what the auditor found of an account that is sound; LedgerError where it is not."""
    check_ledger_exists(policy)
    verification = verify(policy.ledger_place, partial(known_heads, policy))
    if verification.fault is not None:
        what = _FAULTS.get(verification.fault.code, "is damaged")
        raise LedgerError(
            verification.fault.code, f"the ledger {what}: {verification.fault}", RESTORE
        )
    check_kept_here(policy, verification.account)
    return verification
