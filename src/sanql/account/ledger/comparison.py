"""What would become of an account under a policy, said before anything is written or spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.chain import LEDGER_FORMAT
from sanql.account.ledger.raising import check_signed, needs_signature, raises
from sanql.account.ledger.refusals import check_terms
from sanql.account.ledger.scratch import check_scratch
from sanql.account.ledger.terms import DeclaredTerms, account_terms
from sanql.errors import LedgerError
from sanql.numbers import show_upper
from sanql.policy import declaration_digest, first_declaration_digest, fold

if TYPE_CHECKING:
    from sanql.account.ledger.state import Books
    from sanql.policy import Policy


@dataclass(frozen=True)
class Comparison:
    """A policy beside the record of its account, each difference in words.

    `joins` will be put on record, `left` stays there and is asked no more, `limits` are other than they
    were, `exact` declarations are not what their cells were released under. `faults` keep the policy
    from going on.
    """

    records: int
    closed: bool
    joins: tuple[str, ...]
    left: tuple[str, ...]
    limits: tuple[str, ...]
    exact: tuple[str, ...]
    faults: tuple[LedgerError, ...]


def compare(books: Books, policy: Policy) -> Comparison:
    """Return what the next question under a policy would meet and change."""
    declared = DeclaredTerms.of(policy, account_terms(policy))
    limits = BudgetLimits.of(policy)
    checks: list[Callable[[], None]] = [
        lambda: check_scratch(policy.ledger_place, recorded=books.scratch, wanted=policy.scratch),
        lambda: check_terms(books.terms, declared),
        lambda: check_signed(books.limits, limits, books.signed),
    ]
    return Comparison(
        books.head.sequence,
        books.ownership.retired is not None,
        tuple(_joins(books, declared)),
        tuple(_left(books, policy, declared)),
        tuple(_limits(books, limits)),
        tuple(_exact(books, policy)),
        tuple(fault for fault in map(_fault, checks) if fault is not None),
    )


def _fault(check: Callable[[], None]) -> LedgerError | None:
    try:
        check()
    except LedgerError as fault:
        return fault
    return None


def _joins(books: Books, declared: DeclaredTerms) -> Iterator[str]:
    joining = books.terms.lacking(declared)
    if books.format < LEDGER_FORMAT:
        yield f"the ledger is of format {books.format}, and goes on in format {LEDGER_FORMAT}"
    for table, unit in joining.private.items():
        yield f"private table {table}, unit {unit}"
    yield from (f"public table {table}" for table in joining.public)
    for table, columns in joining.columns.items():
        yield from (f"column {table}.{column}" for column in columns)


def _left(books: Books, policy: Policy, declared: DeclaredTerms) -> Iterator[str]:
    terms = books.terms
    there = {fold(name) for name in policy.tables}
    gone = {table for table in terms.tables - there if (table, None) not in terms.former}
    public = gone & (terms.public or set())
    yield from (f"private table {table}" for table in sorted(gone - public))
    yield from (f"public table {table}" for table in sorted(public))
    listed = {
        table.name: declared.columns.get(table.name, ())
        for table in policy.tables.values()
        if table.columns or not table.public
    }
    for table, columns in terms.columns.left(listed).items():
        for column in columns:
            if (fold(table), fold(column)) not in terms.former:
                yield f"column {table}.{column}"


def _limits(books: Books, after: BudgetLimits) -> Iterator[str]:
    before = books.limits
    if before is None or before == after:
        return
    signed = " (signed by an officer)" if needs_signature(before, after) else ""
    yield from (f"{line}{signed}" for line in raises(before, after))
    if after.second_signature and not before.second_signature:
        yield "second_signature is asked for from now on"
    then = {account.identity: account.budget for account in before.accounts}
    for account in after.accounts:
        name, budget = account.named, then.get(account.identity)
        if budget is None:
            yield f"{name} is new; it begins with what its analysts have spent"
            continue
        for key in ("epsilon", "delta"):
            old, new = _of(budget, key), _of(account.budget, key)
            if new < old:
                yield f"{key} of {name} is {show_upper(new)}, and was {show_upper(old)}"


def _of(budget: object, key: str) -> Fraction:
    number: Fraction = getattr(budget, key)
    return number


def _exact(books: Books, policy: Policy) -> Iterator[str]:
    for name, entry in books.exact.entries.items():
        now = policy.exact.get(name)
        if now is None:
            yield f"[exact.{name}] is left out; its cells can be shown once it is back as it was"
        elif entry.claim.declaration not in (
            declaration_digest(now),
            first_declaration_digest(now),
        ):
            yield (
                f"[exact.{name}] is not what it was when record {entry.sequence} released its cells:"
                " it is answered only as it was"
            )
    for name, exact in policy.exact.items():
        if name not in books.exact.entries and fold(exact.table) in books.exact.renamed:
            yield f"[exact.{name}] is not answered: its table, or a column of it, had another name"
