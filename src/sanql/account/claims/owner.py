"""What an owner does with an account: claim data, pin its head elsewhere, move, merge and retire it.

Each deed is one record of the ledger, appended like a charge and never taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from sanql.account.claims.claims import Holder
from sanql.account.claims.losses import Loss
from sanql.account.claims.ownership import RELEASING, ClosingStatement, Ownership
from sanql.account.ledger.chain import (
    Head,
    LedgerRecord,
    OwnershipKind,
    read_pinned,
)
from sanql.account.ledger.comparison import Comparison, compare
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock, record_time
from sanql.account.ledger.pinning import second_head_missing
from sanql.account.ledger.raising import author_named, release_unsigned
from sanql.account.ledger.renames import Rename, refused_rename
from sanql.account.ledger.terms import DeclaredTerms, account_terms
from sanql.account.stores.opening import is_there, store_at
from sanql.entropy import OsEntropy
from sanql.errors import LedgerError
from sanql.policy import LedgerPlace, Policy


@dataclass(frozen=True)
class Bequest:
    """What a merger takes from an account: its name, its last record, and every charge."""

    account: str
    head: Head
    charges: tuple[dict[str, object], ...]


class Owner:
    """The owner's side of one ledger."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._account: str | None = None

    @property
    def account(self) -> str | None:
        """The account's name; None while it has claimed nothing. A name that was given never changes."""
        if self._account is None:
            self._account = self.state.account
        return self._account

    @property
    def state(self) -> Ownership:
        """Whose data the account is about and what became of it, as of now."""
        with self._journal.reading():
            return replace(self._journal.books.ownership)

    @property
    def terms(self) -> dict[str, object]:
        """What the account's numbers mean."""
        with self._journal.reading():
            return dict(self._journal.books.terms.known)

    @property
    def scratch(self) -> bool:
        """Whether it is a scratch account's ledger."""
        with self._journal.reading():
            return self._journal.books.scratch

    @property
    def reason(self) -> str:
        """Why the account was closed, in its owner's words; empty while it is not."""
        ends = [record for record in self._journal.records() if record.kind == "retire"]
        return str(ends[0].content["reason"]) if ends else ""

    @property
    def exact_cells_left(self) -> bool:
        """Whether exact cells of the data have left, under this account or perhaps one before it."""
        with self._journal.reading():
            books = self._journal.books
            return bool(books.exact.entries) or books.ownership.exact_closed

    @classmethod
    def open(cls, ledger: LedgerPlace) -> Owner:
        """Return the owner's side of a ledger that is there, whatever its policy; close it afterwards."""
        if not is_there(ledger):
            raise LedgerError(
                "ledger_missing",
                f"there is no ledger {str(ledger)!r}",
                "name the file of an account",
            )
        return cls(Journal(store_at(ledger)), lambda: datetime.now(UTC))

    @property
    def holder(self) -> Holder:
        """The account and where it is kept, as claims see it; OSError where it is gone."""
        holder = Holder.of(self.account, self._journal.place, self._journal.identity())
        with self._journal.reading():
            return replace(holder, former_units=dict(self._journal.books.terms.former_units))

    @property
    def holder_now(self) -> Holder | None:
        """The same; None where the place is gone, and with it the account."""
        try:
            return self.holder
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Let go of where it is kept."""
        self._journal.close()

    def claim(self, source: Path, after: Sequence[str], *, exact_closed: bool = False) -> str:
        """Record that the data at this place belong to the account; return the account's name.

        `after` names the accounts that have let go of the same data; where one of them may have released
        exact cells, exact answers are closed to this one.
        """
        with self._journal.reading():
            known = self._journal.books.ownership
            if known.account is not None and str(source) in known.sources:
                return known.account
        with self._journal.writing():
            state = self._journal.books.ownership
            name = state.account or OsEntropy().bytes(16).hex()
            if str(source) not in state.sources:
                content: dict[str, object] = {"account": name, "source": str(source)}
                content |= {"after": sorted(set(after))} | (
                    {"exact": "closed"} if exact_closed else {}
                )
                self._journal.append("claim", self._timed(content))
        self._journal.pin()
        return name

    def move(self, ledger: LedgerPlace) -> None:
        """Record that the account goes on in this place."""
        self._append("move", {"ledger": str(ledger)})

    def accept_loss(self, loss: Loss) -> None:
        """Record that the account goes on without records that are missing."""
        self._append("restore", loss.to_dict())

    def retire(
        self,
        statement: ClosingStatement,
        reason: str,
        into: str | None = None,
        officer: str | None = None,
    ) -> None:
        """Close the account forever.

        Data that are released may have another account with a budget of its own: where a greater budget
        needs an officer, so does that, and the record names them. Who they are must have been seen to.
        """
        with self._journal.reading():
            limits = self._journal.books.limits
        if statement in RELEASING and limits is not None and limits.second_signature:
            if officer is None:
                raise release_unsigned()
            reason = f"{reason} (signed by {officer}, an officer)"
        self._append("retire", {"into": into, "reason": reason, "statement": statement})

    def rename(self, rename: Rename, reason: str, author: str | None = None) -> None:
        """Record the owner's word that a table or a column has another name now, and is the same."""
        with self._journal.writing():
            why = self._journal.books.terms.why_not_renamed(rename)
            if why:
                raise refused_rename(rename, why)
            said: dict[str, object] = {"author": author_named(author), "reason": reason}
            self._journal.append("rename", self._timed(rename.to_dict() | said))
        self._journal.pin()

    def compare(self, policy: Policy) -> Comparison:
        """Return what would become of the account under a policy; nothing is written."""
        with self._journal.reading():
            return compare(self._journal.books, policy)

    def still_otherwise(self, policy: Policy) -> list[str]:
        """Return what of a policy the account cannot go on with as yet, each in words."""
        with self._journal.reading():
            declared = DeclaredTerms.of(policy, account_terms(policy))
            return [*self._journal.books.terms.changes(declared)]

    def bequeath(self, into: str) -> Bequest:
        """Close the account in favour of another, and return what that one must take.

        Done again after a crash, it finds the account closed and returns the same.
        """
        with self._journal.reading():
            books = self._journal.books
            if books.exact.entries or books.ownership.exact_closed:
                raise _exact_bequest()
        if books.ownership.retired is None:
            self.retire("merged", "merged into another account over the same data", into)
        if self.state.into != into:
            raise _bequeathed_elsewhere(self.state)
        records = list(self._journal.records())
        newest = Head(records[-1].sequence, records[-1].hash)
        charges = [charge for record in records for charge in _charges_of(record)]
        return Bequest(cast(str, self.state.account), newest, tuple(charges))

    def inherit(self, bequest: Bequest) -> None:
        """Take every charge of an account that was closed in favour of this one."""
        if bequest.account in self.state.merged:
            return
        self._append(
            "merge",
            {
                "account": bequest.account,
                "charges": list(bequest.charges),
                "hash": bequest.head.hash,
                "sequence": bequest.head.sequence,
            },
        )

    def pin_at(self, place: Path | None, *, lost: bool = False) -> None:
        """Pin the head at the second place that the policy names; a change of places is recorded.

        What is pinned there must lie on this chain. Where it was pinned before it must not be gone,
        unless the owner says that it is `lost`.
        """
        recorded = self.state.head
        if recorded is not None and not lost:
            if read_pinned(Path(recorded)) is None:
                raise second_head_missing(recorded)
            self.check_pinned(Path(recorded))
        if place is not None:
            # the file first: a crash in between leaves a head that nobody asks for, not one missing
            self._journal.pin_besides(place, durable=True)
        wanted = None if place is None else str(place)
        if wanted != recorded:
            self._append("pin", {"head": wanted})

    def pin_here(self, place: Path) -> None:
        """Pin the head on this machine too, durably; other servers pin theirs, so nothing is recorded."""
        self._journal.pin_besides(place, durable=True)

    def pin_in_registry(self, place: Path) -> None:
        """Pin the head in the registry too, without waiting for the disk.

        After a power cut it may be an earlier one, or empty, which says nothing.
        """
        if place.exists() and place.stat().st_size == 0:
            place.unlink()
        self._journal.pin_besides(place, durable=False)

    def check_pinned(self, place: Path) -> None:
        """Raise LedgerError if the ledger is older than a head pinned elsewhere, or another one."""
        pinned = read_pinned(
            place
        )  # first: whoever pins it meanwhile has written the record before
        with self._journal.reading():
            self._journal.check_pinned(pinned)

    def _append(self, kind: OwnershipKind, content: dict[str, object]) -> None:
        with self._journal.writing():
            self._journal.append(kind, self._timed(content))
        self._journal.pin()

    def _timed(self, content: Mapping[str, object]) -> dict[str, object]:
        return {**content, "time": record_time(self._clock)}


def _charges_of(record: LedgerRecord) -> list[dict[str, object]]:
    """Return the charges of a record: a reservation's, or those of an account merged before."""
    content = record.content
    match record.kind:
        case "reserve":
            return [{"analyst": content["analyst"], "charge": content["charge"]}]
        case "merge":
            return cast(list[dict[str, object]], content["charges"])
        case _:
            return []


def _exact_bequest() -> LedgerError:
    return LedgerError(
        "account_merge_exact",
        "the account to be merged, or one before it, has released exact cells, and a book of exact"
        " releases cannot be joined to another",
        "merge the other way round, into the account that has the exact releases",
    )


def _bequeathed_elsewhere(state: Ownership) -> LedgerError:
    return LedgerError(
        "account_retired",
        f"the account {state.account} has been closed ({state.retired}), not merged into this one",
        "see `sanql account show` for what became of it",
    )
