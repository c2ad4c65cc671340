"""A policy beside the ledger that keeps its account: what the next question would meet and change."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sanql.account import Comparison, Owner, is_there
from sanql.sources.ownership.claimed_ledgers import check_newest, check_not_begun, claims_on

if TYPE_CHECKING:
    from sanql.policy import Policy


def compare_with_ledger(policy: Policy) -> Comparison | None:
    """Return what would become of the policy's account; None where it has none yet. Nothing is written.

    LedgerError where the ledger is missing, cannot be read, or is not that of the data.
    """
    if not is_there(policy.ledger_place):
        check_not_begun(policy)
        return None
    claims = None if policy.scratch else claims_on(policy)
    with closing(Owner.open(policy.ledger_place)) as owner:
        found = owner.compare(policy)
        if claims is not None and not found.faults:
            check_newest(owner, claims, policy)
    return found
