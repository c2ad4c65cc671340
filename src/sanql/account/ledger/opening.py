"""What a policy declares of an account, brought onto its record: terms, limits, tables, columns.

Terms never change, but they may grow (`terms` says why). Limits may change: other budgets or another
accounting are one more record.
"""

from __future__ import annotations

from collections.abc import Mapping

from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.chain import FORMAT_OF_TRANCHES, format_for
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.limits_record import limits_content
from sanql.account.ledger.moments import Clock, record_time
from sanql.account.ledger.raising import (
    author_named,
    check_signed,
    digest_of_limits,
    needs_signature,
)
from sanql.account.ledger.refusals import check_terms
from sanql.account.ledger.scratch import check_scratch
from sanql.account.ledger.terms import DeclaredTerms, Joining
from sanql.errors import LedgerError
from sanql.policy import Policy


class Opening:
    """The side of one ledger that a policy declares."""

    def __init__(
        self,
        journal: Journal,
        policy: Policy,
        terms: Mapping[str, str],
        clock: Clock,
        author: str | None = None,
    ) -> None:
        self._author = author
        self._journal = journal
        self._policy = policy
        self._declared = DeclaredTerms.of(policy, terms)
        self._clock = clock

    def start(self) -> None:
        """Begin the account, or go on with it under the limits and public tables of the policy."""
        journal, limits = self._journal, BudgetLimits.of(self._policy)
        with journal.reading():
            settled = journal.books.limits == limits
            if journal.books.opening:
                settled = self._goes_on() and settled
        if not settled:
            with journal.writing():
                if journal.books.head.sequence == 0:
                    journal.append("open", self._first_record())
                known = self._goes_on()
                if journal.books.limits != limits:
                    self._go_on_in(format_for(limits.kinds, paced=limits.paced))
                    check_signed(journal.books.limits, limits, journal.books.signed)
                    journal.append("limits", limits_content(journal.books, limits) | self._said())
                if not known:
                    joining = journal.books.terms.lacking(self._declared)
                    self._append_tables(joining.public_alone())
        journal.pin()

    def approve(self, officer: str) -> list[str]:
        """Put an officer's signature under the policy's limits on record; return what they give more."""
        journal, limits = self._journal, BudgetLimits.of(self._policy)
        with journal.writing():
            if journal.books.opening:
                self._goes_on()
            wanted = needs_signature(journal.books.limits, limits)
            if not wanted:
                raise LedgerError(
                    "signature_needless",
                    "the policy gives nothing that would need an officer's signature",
                    "open the policy as it is",
                )
            signed: dict[str, object] = {"limits": digest_of_limits(limits), "officer": officer}
            journal.append("approve", signed | {"time": record_time(self._clock)})
        journal.pin()
        return wanted

    def keep_tables(self) -> None:
        """Put tables and columns on record that the policy has and the account lacks, while writing.

        Private ones join with a charge, not before: nothing holds an owner to what was only tried.
        """
        terms = self._journal.books.terms
        check_terms(terms, self._declared)
        joining = terms.lacking(self._declared)
        if joining.anything:
            self._append_tables(joining)

    def _first_record(self) -> dict[str, object]:
        marks: dict[str, object] = {"scratch": True} if self._policy.scratch else {}
        limits = BudgetLimits.of(self._policy)
        form = format_for(limits.kinds, paced=limits.paced)
        return self._declared.opening() | {"format": form} | marks

    def _go_on_in(self, form: int) -> None:
        """Go on in a later format where limits need one."""
        if form == FORMAT_OF_TRANCHES and self._journal.books.format < form:
            self._journal.append("format", {"format": form})

    def _goes_on(self) -> bool:
        """Return whether all public tables are on record; raise where the account cannot go on."""
        books = self._journal.books
        check_scratch(
            self._policy.ledger_place, recorded=books.scratch, wanted=self._policy.scratch
        )
        check_terms(books.terms, self._declared)
        closed = books.ownership.retired is not None  # nothing joins it any more
        return closed or not books.terms.lacking(self._declared).public

    def _said(self) -> dict[str, object]:
        """Return by whom and when limits are declared."""
        return {"author": author_named(self._author), "time": record_time(self._clock)}

    def _append_tables(self, joining: Joining) -> None:
        self._journal.append("tables", joining.to_dict() | {"time": record_time(self._clock)})
