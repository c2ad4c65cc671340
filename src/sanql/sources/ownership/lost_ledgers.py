"""An account whose ledger is lost is given up: its data are released, and what is left is set aside.

A ledger is lost where its file is gone, where it cannot be read to the end, and where it is older than
what is known of it, as an old backup is. Nothing is deleted. What is left of it gets another name, and
beside it the file `LEDGER.lost-….json` says when and why; the claims that are released say so, too.
Whether one in a database is lost the database says; while it does not answer, nobody knows.
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
    head_path,
    is_there,
    own_heads,
    set_aside,
)
from sanql.errors import LedgerError
from sanql.sources.ownership.claimable import claimable
from sanql.sources.ownership.claimed_ledgers import known_heads

if TYPE_CHECKING:
    from sanql.policy import LedgerPlace, Policy

LOST = "ledger-lost"
"""The statement on claims whose ledger is gone for good: nothing else is left to record it in."""

_BEYOND_REPAIR = {"ledger_rolled_back", "ledger_damaged", "ledger_head_damaged"}
_PARTS = ("", "-wal", "-shm", "-journal", ".asking")


def retire_lost(policy: Policy, reason: str) -> list[LedgerPlace]:
    """Let go of data whose account's ledger is gone for good; the next account names it on record.

    Returns the files that were left of it, under the names that they have now. Run again after a crash
    it finishes what was begun.
    """
    check_no_scratch(policy.ledger_place, scratch=policy.scratch)
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
    place = _reached(claim.ledger, policy)
    if is_there(place) and _account_in(place, policy) == claim.account:
        raise _not_lost(f"the ledger {str(place)!r} is there")


def _check_not_moved(held: list[Claim], policy: Policy) -> None:
    """Refuse to give up an account whose ledger is the policy's, only not where it was."""
    place = policy.ledger_place
    there = is_there(place) and _account_in(place, policy)
    if there and there in {claim.account for claim in held}:
        raise LedgerError(
            "account_not_lost",
            f"the policy's ledger {str(place)!r} is that of the account, moved or restored",
            "run `sanql account move`: the account goes on with it",
        )


def _reached(place: LedgerPlace, policy: Policy) -> LedgerPlace:
    """Return a place as the policy reaches it, where it is the policy's own."""
    own = policy.ledger_database
    return own if own is not None and place == own else place


def _account_in(ledger: LedgerPlace, policy: Policy) -> str | None:
    """Return the account that is kept in a place, or None where it is lost or has claimed nothing."""
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


def _left(policy: Policy, held: list[Claim]) -> list[LedgerPlace]:
    """Return what is left of lost ledgers: what would keep the next account from being started.

    The ledger of another account that is sound is not among it.
    """
    named: LedgerPlace = policy.ledger_database or policy.ledger.resolve()
    claimed = {claim.ledger for claim in held}
    left: list[LedgerPlace] = []
    for ledger in dict.fromkeys([named, *sorted(claimed, key=str)]):
        there = is_there(ledger)
        if there and (ledger not in claimed or _account_in(ledger, policy) is not None):
            continue
        heads = own_heads(policy) if ledger == named else []
        if isinstance(ledger, Path):
            files = [ledger.with_name(ledger.name + ending) for ending in _PARTS]
            heads = [*files, head_path(ledger), *heads]
        elif there:
            left.append(ledger)
        left += [path for path in heads if path.exists()]
    return left


def _set_aside(ledger: Path, left: list[LedgerPlace], reason: str) -> list[LedgerPlace]:
    """Give what is left other names, after saying why beside the ledger."""
    if not left:
        return []
    now = datetime.now(UTC)
    mark = f".lost-{now:%Y%m%dT%H%M%S%f}"
    said = {"files": [str(place) for place in left], "reason": reason, "time": now.isoformat()}
    ledger.with_name(f"{ledger.name}{mark}.json").write_text(canonical_json(said) + "\n", "ascii")
    return [set_aside(place, mark) for place in left]


def _not_lost(message: str) -> LedgerError:
    return LedgerError(
        "account_not_lost",
        message,
        "open the policy as it is; only an account that is lost is given up without its ledger",
    )
