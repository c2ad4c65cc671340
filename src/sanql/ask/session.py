"""A session: one dataset open for questions, shared by all analysts and by threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from sanql.account import Balance, Ledger, account_terms
from sanql.ask.data import Data
from sanql.ask.earlier_batches import EarlierBatches
from sanql.ask.profiles import Profiles
from sanql.ask.public_ranges import PublicRanges
from sanql.ask.repeats import Repeats
from sanql.catalog import Description
from sanql.engines import check_no_snapshot
from sanql.errors import Refused
from sanql.examine import chosen_in_words
from sanql.mechanisms import ExactSampler, Sampler
from sanql.policy import Budget, Policy, Table, load
from sanql.sources import HeldClaim, claim, open_claimed, take_first_snapshot


class Session:
    """A policy, its data, its ledger and the source of noise: what every question needs.

    It is nobody's in particular: who asks is said by each request.
    """

    def __init__(
        self,
        policy: Policy | str | Path,
        *,
        sampler: Sampler | None = None,
        progress: Callable[[str], None] | None = None,
        author: str | None = None,
    ) -> None:
        policy = policy if isinstance(policy, Policy) else load(policy)
        self.policy = policy
        self.sampler: Sampler = sampler or ExactSampler()
        take_first_snapshot(policy, check_no_snapshot)
        self.ledger: Ledger = self._open_ledger(author)
        self.ledger.call_before_charges(self._claim)
        self.data = self._open_data(progress)
        self.repeats = Repeats(self.ledger)
        self.earlier_batches = EarlierBatches(self.ledger)
        self.profiles = Profiles(self)
        self.public_ranges = PublicRanges(self)
        self._claim_held = HeldClaim(self.ledger, policy)
        self._claimed: object = self  # what of the data was open when they were last claimed
        self._tables: tuple[object, Mapping[str, Table]] = self, {}
        self._closed = False
        self.chosen_looking = chosen_in_words(policy)
        """What certificates say of values that were chosen looking at the data; mostly nothing."""
        self.stopping = False
        """Whether the operator is ending what runs."""

    @property
    def description(self) -> Description:
        """The data's names and types; no row has been read for it."""
        return self.data.describe()

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the policy; a public table without declared columns has the source's."""
        known = self.data.columns()
        of, tables = self._tables
        if of is not known:  # the same while the source is: much is remembered about them
            tables = {
                name: replace(table, columns=known[name])
                if name in known and not table.columns
                else table
                for name, table in self.policy.tables.items()
            }
            self._tables = known, tables
        return tables

    def named_table(self, typed: str) -> str:
        """Return the name of a table as the policy has it, however it was typed."""
        for name in self.tables:
            if name.lower() == typed.lower():
                return name
        raise Refused(
            "table_unknown",
            f"there is no table {typed[:60]}",
            f"the tables are {', '.join(self.tables) or 'none'}",
        )

    def name_of_data(self, version: int) -> str:
        """Return the name of a version of the dataset in digests."""
        return f"{self.policy.name}, version {version}"

    def balances(self, analyst: str) -> tuple[Balance, ...]:
        """Return the accounts that an analyst is shown: their own, or else those they share."""
        return self.ledger.balances_of(analyst)

    def budgets(self, analyst: str) -> list[Budget]:
        """Return every budget that a question of this analyst is charged to."""
        return budgets_of(self.policy, analyst)

    def check_open(self) -> None:
        """Refuse questions to a session that has been closed."""
        if self._closed:
            raise closed()

    def stop(self) -> None:
        """End whatever runs, as the operator's doing: its charge stays; take no more questions."""
        self.stopping = self._closed = True
        self.data.close()

    def close(self) -> None:
        """Stop the engine and close the ledger."""
        self._closed = True
        self.data.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open_ledger(self, author: str | None) -> Ledger:
        return open_claimed(self.policy, account_terms(self.policy), author)

    def _open_data(self, progress: Callable[[str], None] | None) -> Data:
        return Data(self.policy, self.ledger, progress)

    def _claim(self) -> None:
        """See that the data belong to the ledger's account, and still do, before each charge."""
        if not self._is_claimed():
            # alone: a claim that is half made would be taken for another account's
            with self.data.looking:
                if not self._is_claimed():
                    opened = self.data.opened
                    claim(self.ledger, self.policy)
                    self.data.keep_secret()
                    self._claimed = opened

    def _is_claimed(self) -> bool:
        return self._claimed is self.data.opened and self._claim_held.stands()


def closed() -> Refused:
    """Return the refusal of whatever is asked after the end."""
    return Refused("closed", "this San has been closed", "open the policy again with sanql.open(…)")


def budgets_of(policy: Policy, analyst: str) -> list[Budget]:
    """Return every budget of a policy that a question of an analyst is charged to."""
    own = policy.analysts.get(analyst)
    return [
        policy.budget,
        *([own.budget] if own is not None and own.budget is not None else []),
        *(group.budget for group in policy.coalitions.values() if analyst in group.members),
    ]
