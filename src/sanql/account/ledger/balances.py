"""The accounts of a ledger as they are shown, and whether one more charge fits them all.

Everything here is a function of the books, and is called while the ledger is read or written.
"""

from __future__ import annotations

from collections.abc import Iterable

from sanql.account.accountants.filter import Spent
from sanql.account.charge import Charge
from sanql.account.ledger.budget_limits import Account, shown_of
from sanql.account.ledger.refusals import exceeded, exceeded_together
from sanql.account.ledger.state import Books
from sanql.policy import Budget
from sanql.results import Balance


def balances_of(books: Books, accounts: Iterable[Account]) -> list[Balance]:
    """Return these accounts as they stand."""
    return [balance_of(books, account, books.running(account).spent) for account in accounts]


def balances_after(books: Books, analyst: str, charge: Charge) -> list[Balance] | None:
    """Return what an analyst is shown as a charge would leave it; None if it does not fit."""
    accounts = books.accounts_of(analyst, charge.protects)
    shown = shown_of(accounts)
    now = [books.running(account) for account in accounts]
    after = [balance.accountant.take(balance.spent, charge) for balance in now]
    fit = [each.accountant.fits(each.spent, charge) for each in now]
    if not all(fit):
        return None
    return [
        balance_of(books, account, spent)
        for account, spent in zip(accounts, after, strict=True)
        if account in shown
    ]


def balance_of(books: Books, account: Account, spent: Spent) -> Balance:
    """Return one account as it would be with this spent."""
    accountant = books.running(account).accountant
    return Balance(
        account.name,
        account.kind,
        account.budget,
        accountant.spent_upper(spent),
        accountant.remaining_lower(spent),
        _pending_of(books, account),
        account.protects,
        books.tranches.open.get(account.identity),
    )


def spent_without_budget(books: Books) -> list[tuple[str, Budget]]:
    """Return what each analyst without a budget of their own has spent at most, by name.

    It is counted as the dataset's account counts it.
    """
    limits = books.current_limits
    own = {account.name for account in limits.accounts if account.kind == "analyst"}
    whole = {a.protects: limits.accountant_of(a) for a in limits.accounts if a.kind == "dataset"}
    return [
        (name if kind is None else f"{name} ({kind})", whole[kind].spent_before([charged]))
        for (name, kind), charged in sorted(
            books.charges.items(), key=lambda charged: (charged[0][0], charged[0][1] or "")
        )
        if name not in own
    ]


def check_fits(books: Books, analyst: str, charge: Charge) -> None:
    """Raise BudgetExceeded unless a charge fits every account that takes this analyst's charges.

    What is left of an account that others share is told to nobody with an account of their own.
    """
    accounts = books.accounts_of(analyst, charge.protects)
    shown = shown_of(accounts)
    states = [
        (account, balance.accountant, balance.spent)
        for account, balance in zip(accounts, map(books.running, accounts), strict=True)
    ]
    full = [state for state in states if not state[1].fits(state[2], charge)]
    known = [state for state in full if state[0] in shown]
    if known:
        binding = min(known, key=lambda state: state[1].remaining_lower(state[2]).epsilon)
        told = [state[1:] for state in states if state[0] in shown]
        raise exceeded(*binding, charge, told)
    if full:
        raise exceeded_together(full[0][0], charge)


def _pending_of(books: Books, account: Account) -> int:
    """Return how many open reservations count against the account."""
    whom = books.current_limits.whom
    return sum(
        account.takes(reservation.analyst) and account.protects in whom(reservation.protects)
        for reservation in books.pending.values()
    )
