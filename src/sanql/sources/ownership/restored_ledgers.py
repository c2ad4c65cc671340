"""A ledger is put back from a backup, or goes on as an older copy of itself, on its owner's word.

A backup that has every record that is known anywhere only moves the account. One that lacks some is a
rollback: wherever a head was pinned it is refused until a record of the chain says what is missing, why,
and what counts as spent since. That record is in the copy before it is put in its place, so a crash
leaves either what was there or an account that says what it lacks.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import (
    BEGINNING,
    GIVE_UP,
    BudgetLimits,
    Claim,
    Claims,
    GoingOn,
    Head,
    Ledger,
    LedgerCopy,
    Loss,
    Owner,
    Ownership,
    check_no_scratch,
    claimed_by_another,
    copy_of,
    go_on,
    head_path,
    heads_given_up,
    is_there,
    leave,
    linked,
    put_back,
    read_pinned,
    reader_at,
)
from sanql.errors import LedgerError, LedgerUnreadable
from sanql.sources.ownership.account_changes import move_account
from sanql.sources.ownership.claimable import claimable
from sanql.sources.ownership.claimed_ledgers import known_heads

if TYPE_CHECKING:
    from sanql.policy import Budget, LedgerPlace, Policy


@dataclass(frozen=True)
class Restoration:
    """What was put back: its newest record, what is missing, and what was left of ledgers before it."""

    records: int
    loss: Loss | None
    aside: tuple[LedgerPlace, ...]


@dataclass(frozen=True)
class _There:
    """What is in the policy's place: all of it, or the part that can be read, up to a record."""

    copied: LedgerCopy | None
    readable: Head


def restore_account(
    policy: Policy,
    terms: Mapping[str, str],
    backup: LedgerCopy | None,
    *,
    reason: str = "",
    spent: Budget | None = None,
) -> Restoration:
    """Put a backup in the policy's place; without one, go on with what is there and lacks records.

    `spent` is the owner's word for what was charged at most by records that are missing. Nothing that is
    there is deleted: it gets another name.
    """
    place = policy.ledger_place
    check_no_scratch(place, scratch=policy.scratch)
    claims, there = Claims(claimable(policy)), _look(place)
    wanted = _chosen(backup, there, place)
    going_on = GoingOn(policy.ledger, wanted, lambda: datetime.now(UTC))
    check_no_scratch(place, scratch=going_on.scratch)
    elsewhere = _check_owner(claims.live(), going_on.state, place)
    lost = _lost(wanted, there, _pinned(policy, going_on.state))
    if backup is None and not lost:
        raise _nothing_missing(place)
    declares = BudgetLimits.of(policy).accounts
    loss = None
    if lost:
        _check_explained(wanted, lost, reason)
        loss = Loss(wanted.head, tuple(lost), declares, spent, reason, _user(), wanted.taken)
    final = wanted if loss is None else going_on.without(loss, policy, terms)
    if loss is not None:
        loss = Loss.from_dict(final.records[-1].content)  # as it is on record
    mark = f".before-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    aside = _leave(elsewhere, place, wanted, mark)
    if backup is None:
        go_on(place, final, len(wanted.records))
    else:
        aside += put_back(place, final, mark)
    if elsewhere:
        move_account(policy, terms)
    else:
        Ledger.open(policy, terms).close()  # pins it wherever it was pinned
    return Restoration(len(final.records), loss, tuple(aside))


def _look(place: LedgerPlace) -> _There:
    """Return what is in a place, as far as it can be read."""
    if not is_there(place):
        return _There(None, BEGINNING)
    with reader_at(place) as reader:
        try:
            copied = copy_of(reader)
            return _There(copied if copied.records else None, copied.head)
        except LedgerError as fault:
            if isinstance(fault, LedgerUnreadable) or fault.code != "ledger_damaged":
                raise
        readable = BEGINNING
        faults: tuple[type[Exception], ...] = (LedgerError, *reader.faults)
        try:
            for record in linked(reader.rows(0), BEGINNING):
                readable = Head(record.sequence, record.hash)
        except faults:
            pass
        return _There(None, readable)


def _chosen(backup: LedgerCopy | None, there: _There, place: LedgerPlace) -> LedgerCopy:
    """Return what is to go on; LedgerError where it is not the better of what there is."""
    kept = there.copied
    if backup is None:
        if kept is None:
            raise LedgerError(
                "ledger_missing",
                f"there is no ledger at {str(place)!r} that could go on, or it is damaged",
                "name a backup: `sanql ledger restore BACKUP --because 'WHY'`",
            )
        return kept
    if kept is not None and kept.has(backup.head):
        raise LedgerError(
            "restore_not_needed",
            f"the ledger {str(place)!r} is there with {len(kept.records)} records, and has all"
            f" {len(backup.records)} of the backup",
            "leave it as it is; where it is refused because newer records are missing, run"
            " `sanql ledger restore --because 'WHY'` without a backup",
        )
    if kept is not None and not backup.has(kept.head):
        raise LedgerError(
            "restore_other_ledger",
            f"the ledger {str(place)!r} is there, and the backup is of another one, or of one that went"
            " on otherwise",
            "put the backup of this account back, or move what is there away if it is not the account's",
        )
    return backup


def _check_owner(live: list[Claim], state: Ownership, place: LedgerPlace) -> list[LedgerPlace]:
    """Return where else the account was kept; LedgerError where the data are another's."""
    own = place.resolve() if isinstance(place, Path) else place
    for claim in live:
        if claim.account != state.account and state.account is None:
            raise LedgerError(
                "backup_too_old",
                "the backup is from before its account was first charged, and the data have been claimed"
                " since",
                f"put a later one back; where there is none, {GIVE_UP} gives the account up on record",
            )
        if claim.account != state.account:
            raise claimed_by_another(claim, place)
    return list(dict.fromkeys(claim.ledger for claim in live if claim.ledger != own))


def _pinned(policy: Policy, state: Ownership) -> list[Head]:
    """Return every head of the account that is pinned somewhere on this machine."""
    places = known_heads(policy, state.account)
    places += [head_path(policy.ledger)] + ([Path(state.head)] if state.head is not None else [])
    return [head for place in dict.fromkeys(places) if (head := read_pinned(place)) is not None]


def _lost(wanted: LedgerCopy, there: _There, pinned: list[Head]) -> list[Head]:
    """Return the heads that are known and are not in a copy, the newest last."""
    given_up = heads_given_up(wanted.records)
    known = {head for head in (*pinned, there.readable) if not wanted.has(head)} - given_up
    return sorted(known, key=lambda head: (head.sequence, head.hash))


def _check_explained(wanted: LedgerCopy, lost: list[Head], reason: str) -> None:
    """Refuse to go on without records that are known where the owner has not said why."""
    if not reason.strip():
        missing = lost[-1].sequence - len(wanted.records)
        raise LedgerError(
            "restore_unexplained",
            f"record {lost[-1].sequence} had been written, and the copy that is to go on ends with"
            f" {len(wanted.records)}" + (f": {missing} records are missing" if missing > 0 else ""),
            "say why with --because 'WHY', which is recorded. What was charged since is not known:"
            " everything that the budgets allow counts as spent, unless --spent-since says how much it"
            " was",
        )


def _leave(
    elsewhere: list[LedgerPlace], place: LedgerPlace, wanted: LedgerCopy, mark: str
) -> list[LedgerPlace]:
    """Set aside the ledger of the account in the places that it leaves; return what it is called now."""
    aside: list[LedgerPlace] = []
    own = _identity(place)
    for left in elsewhere:
        if not is_there(left) or (own is not None and _identity(left) == own):
            continue
        renamed = leave(left, mark, wanted.has)
        if renamed is None:
            raise LedgerError(
                "account_elsewhere",
                f"the ledger that the account was kept in, {str(left)!r}, is still there and has records"
                " that the backup lacks",
                "stop whoever uses it, and back that one up: `sanql ledger backup` with its policy",
            )
        aside += renamed
    return aside


def _identity(place: LedgerPlace) -> str | None:
    if not is_there(place):
        return None
    try:
        with closing(Owner.open(place)) as owner:
            return owner.holder.identity
    except LedgerError:
        return None


def _nothing_missing(place: LedgerPlace) -> LedgerError:
    return LedgerError(
        "restore_not_needed",
        f"the ledger {str(place)!r} has every record that is known on this machine",
        "there is nothing to record; name a backup to put one back",
    )


def _user() -> str:
    """Return who runs this, as the machine knows them."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
