"""An account whose ledger is lost is given up: its data are released, and what is left is set aside.

A ledger is lost where its file is gone, where it cannot be read to the end, and where it is older than
what is known of it, as an old backup is. Nothing is deleted. What is left of it gets another name, and
beside it the file `LEDGER.lost-….json` says when and why; the claims that are released say so, too.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import (
    Claim,
    Claims,
    Holder,
    Owner,
    canonical_json,
    check_no_scratch,
    check_readable,
    head_path,
)
from sanql.errors import LedgerError
from sanql.sources.ownership.claimable import claimable
from sanql.sources.ownership.claimed_ledgers import known_heads

if TYPE_CHECKING:
    from sanql.policy import Policy

LOST = "ledger-lost"
"""The statement on claims whose ledger is gone for good: nothing else is left to record it in."""

_BEYOND_REPAIR = {"ledger_rolled_back", "ledger_damaged", "ledger_head_damaged"}
_PARTS = ("", "-wal", "-shm", "-journal", ".asking")


def retire_lost(policy: Policy, reason: str) -> list[Path]:
    """Let go of data whose account's ledger is gone for good; the next account names it on record.

    Returns the files that were left of it, under the names that they have now. Run again after a crash
    it finishes what was begun.
    """
    check_no_scratch(policy.ledger, scratch=policy.scratch)
    claims = Claims(claimable(policy))
    held = claims.live()
    for claim in held:
        _check_lost(claim, policy)
    _check_not_moved(held, policy)
    left = _left(policy, held)
    if not held and not left:
        raise _not_lost("no account has claimed the data of the policy")
    aside = _set_aside(policy.ledger.resolve(), left, reason)
    for claim in held:
        holder = Holder(claim.account, claim.ledger, claim.ledger_identity)
        # nobody knows which exact cells its book has
        claims.release(holder, f"{LOST}: {reason}", exact_closed=True)
    return aside


def _check_lost(claim: Claim, policy: Policy) -> None:
    """Refuse to give up an account whose ledger is there and can go on."""
    if claim.ledger.exists() and _account_in(claim.ledger, policy) == claim.account:
        raise _not_lost(f"the ledger {str(claim.ledger)!r} is there")


def _check_not_moved(held: list[Claim], policy: Policy) -> None:
    """Refuse to give up an account whose ledger is the policy's, only not where it was."""
    there = policy.ledger.exists() and _account_in(policy.ledger, policy)
    if there and there in {claim.account for claim in held}:
        raise LedgerError(
            "account_not_lost",
            f"the policy's ledger {str(policy.ledger)!r} is that of the account, moved or restored",
            "run `sanql account move`: the account goes on with it",
        )


def _account_in(ledger: Path, policy: Policy) -> str | None:
    """Return the account that is kept in a file, or None where it is lost or has claimed nothing."""
    check_readable(ledger)
    try:
        with closing(Owner.open(ledger)) as owner:
            account = owner.state.account
            for place in known_heads(policy, account):
                owner.check_pinned(place)
            return account
    except LedgerError as fault:
        if fault.code not in _BEYOND_REPAIR:
            raise
        return None


def _left(policy: Policy, held: list[Claim]) -> list[Path]:
    """Return what is left of lost ledgers: files that would keep the next account from being started.

    The file of another account that is sound is not among them.
    """
    named, claimed = policy.ledger.resolve(), {claim.ledger for claim in held}
    left: list[Path] = []
    for ledger in dict.fromkeys([named, *sorted(claimed)]):
        there = ledger.exists()
        if there and (ledger not in claimed or _account_in(ledger, policy) is not None):
            continue
        files = [ledger.with_name(ledger.name + ending) for ending in _PARTS]
        heads = [head_path(ledger), *([policy.head] if policy.head and ledger == named else [])]
        left += [path for path in (*files, *heads) if path.exists()]
    return left


def _set_aside(ledger: Path, left: list[Path], reason: str) -> list[Path]:
    """Give what is left other names, after saying why beside the ledger."""
    if not left:
        return []
    now = datetime.now(UTC)
    mark = f".lost-{now:%Y%m%dT%H%M%S%f}"
    said = {"files": [str(path) for path in left], "reason": reason, "time": now.isoformat()}
    ledger.with_name(f"{ledger.name}{mark}.json").write_text(canonical_json(said) + "\n", "ascii")
    return [path.rename(path.with_name(path.name + mark)) for path in left]


def _not_lost(message: str) -> LedgerError:
    return LedgerError(
        "account_not_lost",
        message,
        "open the policy as it is; only an account that is lost is given up without its ledger",
    )
