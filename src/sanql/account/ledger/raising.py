"""What of new limits would give more than the limits before, and the signature that it may need.

Where the limits on record ask for a second signature, none of this is in force before an officer has
signed exactly the new limits, by a record of its own. That the limits ask for it is part of them, so that
leaving it out of a policy needs the signature too. Each signature is good for the next change only.
"""

from __future__ import annotations

import hashlib
import os
import pwd
from collections.abc import Mapping
from datetime import datetime

from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.chain import canonical_json
from sanql.errors import LedgerError
from sanql.numbers import show_upper
from sanql.policy import Budget, PacedBudget


def raises(before: BudgetLimits | None, after: BudgetLimits) -> list[str]:
    """Return, each in words, what may be spent under new limits that might not under those before.

    Another way of counting can always give more: of the charges that one way counts together, another
    may leave more delta. So can an account that is gone, also where it came back with other members.
    """
    if before is None:
        return []
    found = []
    if after.accounting != before.accounting:
        found.append(f"accounting is {after.accounting}, and was {before.accounting}")
    if before.second_signature and not after.second_signature:
        found.append("second_signature is left out")
    now = {account.identity: account.budget for account in after.accounts}
    for account in before.accounts:
        name, then = account.named, account.budget
        budget = now.get(account.identity)
        if budget is None:
            found.append(f"{name} is gone, or has other members")
            continue
        if isinstance(then, PacedBudget) and _opens_sooner(then, budget):
            found.append(f"{name} opens sooner than by {show_upper(then.tranche)} a {then.per}")
        for key in ("epsilon", "delta"):
            old, new = getattr(then, key), getattr(budget, key)
            if new > old:
                found.append(f"{key} of {name} is {show_upper(new)}, and was {show_upper(old)}")
    return found


def _opens_sooner(before: PacedBudget, after: Budget) -> bool:
    """Return whether other tranches, or none, may open more of a budget in the same time."""
    if not isinstance(after, PacedBudget):
        return True
    return after.per != before.per or after.tranche > before.tranche


def needs_signature(before: BudgetLimits | None, after: BudgetLimits) -> list[str]:
    """Return what an officer must sign before new limits are in force; empty where nothing need be."""
    return raises(before, after) if before is not None and before.second_signature else []


def digest_of_limits(limits: BudgetLimits) -> str:
    """Return the hash by which limits are signed."""
    return hashlib.sha256(canonical_json(limits.to_dict()).encode("ascii")).hexdigest()


def signed_limits(content: Mapping[str, object]) -> str:
    """Return the hash of the limits that a record signs; anything else is a ValueError."""
    match dict(content):
        case {"limits": str(digest), "officer": str(), "time": str(time), **rest} if not rest:
            datetime.fromisoformat(time)
            return digest
        case _:
            raise ValueError("not the signature of an officer")


def check_signed(before: BudgetLimits | None, after: BudgetLimits, signed: set[str]) -> None:
    """Refuse limits that want a signature and have none."""
    wanted = needs_signature(before, after)
    if wanted and digest_of_limits(after) not in signed:
        raise LedgerError(
            "limits_unsigned",
            f"the policy gives more than the account's record allows without a second signature:"
            f" {'; '.join(wanted)}",
            "let an officer run `sanql account approve` over this very policy, or put the old numbers"
            " back; lowering them needs no signature",
        )


def release_unsigned() -> LedgerError:
    """Return the refusal to give data to another account, and so another budget, without an officer."""
    return LedgerError(
        "release_unsigned",
        "released data may have another account with a budget of its own, and the account's record wants"
        " a second signature for that",
        "let an officer say it: `sanql account retire … --release …` with their token in SANQL_TOKEN",
    )


def author_named(author: str | None) -> str:
    """Return who writes: whoever was named, or else the user of the operating system."""
    if author:
        return author
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"
