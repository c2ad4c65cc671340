"""The deliberate changes of an account: it is moved, merged with another or closed, each on record.

Each can be run again after a crash and then finishes what was begun. Records come before claims: what
is recorded twice as far as claims go counts once, and nothing that was spent is ever forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import (
    RELEASING,
    Claim,
    Claims,
    ClosingStatement,
    Holder,
    Ledger,
    Owner,
    Ownership,
    check_no_scratch,
    claimed_by_another,
    is_there,
    kept_elsewhere,
)
from sanql.errors import LedgerError, LedgerUnreadable
from sanql.sources.ownership.claimable import claimable
from sanql.sources.ownership.claimed_ledgers import (
    check_newest,
    check_not_begun,
    claims_on,
    open_claimed,
)
from sanql.sources.ownership.moved_files import move_stamps_and_copies

if TYPE_CHECKING:
    from sanql.policy import LedgerPlace, Policy


@dataclass(frozen=True)
class AccountStatus:
    """An account and the claims on its data, those that were released too.

    `fault` is why nobody can ask under it, where its ledger is missing, damaged or has been put back;
    `reason` is what its owner said when it was closed.
    """

    ledger: LedgerPlace
    state: Ownership | None
    claims: tuple[Claim, ...]
    scratch: bool = False
    fault: LedgerError | None = None
    reason: str = ""
    missing: bool = False


def show_account(policy: Policy) -> AccountStatus:
    """Return whose the policy's data are and what became of its account; nothing is written."""
    claims = Claims(claimable(policy))
    listed = tuple(claims.found())
    ledger = policy.ledger_place
    if not is_there(ledger):
        fault = _fault(lambda: check_not_begun(policy))
        return AccountStatus(ledger, None, listed, policy.scratch, fault, missing=True)
    try:
        with closing(Owner.open(ledger)) as owner:
            state, scratch, reason = owner.state, owner.scratch, owner.reason
            fault = None if scratch else _fault(lambda: check_newest(owner, claims, policy))
    except LedgerUnreadable:
        raise
    except LedgerError as broken:
        return AccountStatus(ledger, None, listed, policy.scratch, broken)
    return AccountStatus(ledger, state, listed, scratch, fault, reason)


def _fault(check: Callable[[], None]) -> LedgerError | None:
    try:
        check()
    except LedgerUnreadable:
        raise
    except LedgerError as fault:
        return fault
    return None


def move_account(policy: Policy, terms: Mapping[str, str], *, head_lost: bool = False) -> bool:
    """Record that the account goes on in the policy's ledger, which was moved or restored there.

    It must be the account of the data and hold every record that is known; where it was before, there
    must be nothing left. Stamps and prepared copies that were left there are taken along. Returns
    whether the data are known by their stamps; they may be lost.
    """
    check_no_scratch(policy.ledger_place, scratch=policy.scratch)
    claims = Claims(claimable(policy))
    _check_there(policy.ledger_place)
    with Ledger.open(policy, terms, head_lost=head_lost) as ledger:
        account = ledger.owner.state.account
        holder = ledger.owner.holder
        for claim in claims.live():
            if claim.account != holder.account:
                raise claimed_by_another(claim, policy.ledger_place)
            moved = claim.ledger != holder.ledger and not holder.keeps(claim)
            if moved and is_there(claim.ledger):
                raise _left_behind(claim)
        if account is None:
            return True
        for place in claims.heads(account):
            ledger.owner.check_pinned(place)
        left = [claim.ledger for claim in claims.live() if claim.ledger != holder.ledger]
        before = [place for place in left if isinstance(place, Path)]
        stamped = move_stamps_and_copies(ledger, policy.ledger, dict.fromkeys(before))
        ledger.owner.move(holder.ledger)
        _claim(claims, ledger, holder, {account})
        return stamped


def merge_accounts(policy: Policy, terms: Mapping[str, str], other: LedgerPlace) -> int:
    """Close another account over the same data, and have all its charges count in the policy's.

    Returns how many charges those are.
    """
    check_no_scratch(policy.ledger_place, scratch=policy.scratch)
    site = claimable(policy)
    claims = Claims(site)
    _check_there(policy.ledger_place)
    if isinstance(other, Path) and other.exists() and _is_same_file(other, policy):
        raise _itself(other)
    with Ledger.open(policy, terms) as ledger, closing(Owner.open(other)) as giving:
        if giving.holder.identity == ledger.owner.holder.identity:
            raise _itself(other)
        check_no_scratch(other, scratch=giving.scratch)
        _check_terms(ledger.owner, giving)
        _check_newest(giving, claims, other)
        both = {ledger.owner.state.account, giving.state.account}
        for claim in claims.live():
            if claim.account not in both:
                raise claimed_by_another(claim, policy.ledger_place)
        given = giving.claim(site.root.path, []) if giving.state.retired is None else ""
        name = ledger.owner.claim(site.root.path, [])
        bequest = giving.bequeath(name)
        ledger.owner.inherit(bequest)
        _claim(claims, ledger, ledger.owner.holder, {given or bequest.account})
        return len(bequest.charges)


def retire_account(
    policy: Policy,
    terms: Mapping[str, str],
    statement: ClosingStatement,
    reason: str,
    officer: str | None = None,
) -> None:
    """Close the account forever; with a releasing statement the data may have another one.

    That an `officer` has signed the release is needed where the account's record says so.
    """
    check_no_scratch(policy.ledger_place, scratch=policy.scratch)
    with open_claimed(policy, terms) as ledger:
        retired = ledger.owner.state.retired
        if retired is None:
            ledger.owner.retire(statement, reason, officer=officer)
        elif retired != statement:
            raise LedgerError(
                "account_retired",
                f"the account has been closed already, with the statement {retired!r}",
                "an account is closed once; see `sanql account show`",
            )
        if statement in RELEASING:
            claims = Claims(claimable(policy))
            claims.release(
                ledger.owner.holder, statement, exact_closed=ledger.owner.exact_cells_left
            )


def approve_limits(policy: Policy, terms: Mapping[str, str], officer: str) -> list[str]:
    """Record an officer's signature under the policy's limits; return what they give more, in words."""
    check_no_scratch(policy.ledger, scratch=policy.scratch)
    _check_there(policy.ledger_place)
    claims = claims_on(policy)
    with closing(Owner.open(policy.ledger_place)) as owner:
        if claims is not None:
            check_newest(owner, claims, policy)
    return Ledger.approve(policy, terms, officer)


def statement_of(release: str | None) -> ClosingStatement:
    """Return the statement with which an account is closed."""
    return next((known for known in RELEASING if known == release), "closed")


def _claim(claims: Claims, ledger: Ledger, holder: Holder, taken: set[str]) -> None:
    for place in claims.make(holder, taken):
        ledger.owner.pin_in_registry(place)


def _left_behind(claim: Claim) -> LedgerError:
    return LedgerError(
        "account_elsewhere",
        f"the ledger that the account was kept in, {str(claim.ledger)!r}, is still there: two files would"
        " be two budgets",
        "move that file itself; or delete it, if the policy's ledger has all of its records",
    )


def _is_same_file(other: Path, policy: Policy) -> bool:
    return policy.ledger_database is None and other.samefile(policy.ledger)


def _itself(other: LedgerPlace) -> LedgerError:
    return LedgerError(
        "account_merge_itself",
        f"{str(other)!r} is the policy's own ledger",
        "name the ledger of the other account",
    )


def _check_there(ledger: LedgerPlace) -> None:
    if not is_there(ledger):
        raise LedgerError(
            "ledger_missing",
            f"the policy's ledger {str(ledger)!r} is missing",
            "put the file of the account there first, with its head",
        )


def _check_newest(giving: Owner, claims: Claims, place: LedgerPlace) -> None:
    """Refuse a copy of the ledger of an account that is to be merged, or an old one."""
    account = giving.state.account
    if account is None:
        return
    holder = giving.holder
    for claim in claims.live():
        if claim.account == account and not holder.keeps(claim):
            raise kept_elsewhere(claim, place)
    for head in claims.heads(account):
        giving.check_pinned(head)


def _check_terms(taking: Owner, giving: Owner) -> None:
    if taking.terms != giving.terms:
        raise LedgerError(
            "account_merge_terms",
            "the two accounts promise on different terms (neighbours, units), so that their charges do"
            " not add up to one number",
            "keep one of them and close the other with `sanql account retire --because 'WHY'`",
        )
