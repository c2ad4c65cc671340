"""The owner's word, on record, that a table or a column of the data has another name now."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sanql.account import Owner, Rename, check_no_scratch
from sanql.sources.ownership.claimed_ledgers import (
    check_heads,
    check_ledger_exists,
    claims_on,
)

if TYPE_CHECKING:
    from sanql.policy import Policy


def rename_on_record(policy: Policy, rename: Rename, reason: str) -> list[str]:
    """Record a rename in the policy's account; return what of the policy is still otherwise, in words.

    The policy may have the names before or after it, or be between the two where several things were
    renamed: whose the data are is looked at, and not yet whom they protect.
    """
    check_no_scratch(policy.ledger_place, scratch=policy.scratch)
    check_ledger_exists(policy)
    claims = claims_on(policy)
    with closing(Owner.open(policy.ledger_place)) as owner:
        if claims is not None:
            claims.check_kept(owner.holder)
            check_heads(owner, claims, policy)
        owner.rename(rename, reason)
        return owner.still_otherwise(policy)
