"""A copy of a ledger before it is put back: read and judged in memory, and gone on with there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path

from sanql.account.claims.losses import Loss
from sanql.account.claims.owner import Owner
from sanql.account.claims.ownership import Ownership
from sanql.account.ledger.chain import BEGINNING, linked
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock
from sanql.account.ledger.opening import Opening
from sanql.account.stores.backup import LedgerCopy
from sanql.account.stores.memory import MemoryContents, MemoryStore
from sanql.errors import LedgerError
from sanql.policy import Policy


class GoingOn:
    """A copy of a ledger; LedgerError where its records make no sense."""

    def __init__(self, place: Path, copied: LedgerCopy, clock: Clock) -> None:
        self._copied = copied
        rows: list[tuple[object, ...]] = [astuple(record) for record in copied.records]
        self._kept = MemoryContents(
            rows, dict(copied.answers), copied.head, notes=dict(copied.notes)
        )
        self._journal, self._clock = Journal(MemoryStore(place, self._kept)), clock
        self._owner = Owner(self._journal, clock)
        self.state: Ownership = self._owner.state
        """Whose account it is, and what became of it."""
        self.scratch: bool = self._owner.scratch
        """Whether it is a scratch account's."""

    def without(self, loss: Loss, policy: Policy, terms: Mapping[str, str]) -> LedgerCopy:
        """Return the copy with the owner's word for what is missing as its last record.

        Which tables joined in the records that are missing nobody knows. Those of the policy are put on
        record before, where the account can go on with them; afterwards no private one joins.
        """
        opening = Opening(self._journal, policy, terms, self._clock)
        with suppress(LedgerError), self._journal.writing():
            opening.keep_tables()
        self._owner.accept_loss(loss)
        records = tuple(linked(self._kept.rows, BEGINNING))
        return replace(self._copied, records=records)
