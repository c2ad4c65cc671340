"""What the ledger says when it refuses: a charge that does not fit, failures, other terms."""

from __future__ import annotations

from pathlib import Path

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.paced import PacedAccountant
from sanql.account.accountants.protocol import Accountant
from sanql.account.charge import Charge
from sanql.account.claims.ownership import Ownership
from sanql.account.events import leak
from sanql.account.ledger.budget_limits import Account
from sanql.account.ledger.chain import GIVE_UP, read_pinned
from sanql.account.ledger.terms import AccountTerms, DeclaredTerms
from sanql.errors import BudgetExceeded, LedgerError, Refused, Unavailable
from sanql.numbers import show_lower, show_upper


def failed_too_often(what: str, key: str) -> Unavailable:
    """Return the refusal of whoever, or all, had too many failures."""
    return Unavailable(
        "failure_quota",
        f"{what} have failed, as many as the policy allows ({key})",
        "the data owner must find the cause, then run `sanql ledger reset-failures`",
    )


def exceeded(
    account: Account,
    accountant: Accountant,
    spent: Spent,
    charge: Charge,
    states: list[tuple[Accountant, Spent]],
) -> BudgetExceeded:
    """Return the refusal of a charge, with the epsilon or delta that would fit every account."""
    remaining = accountant.remaining_lower(spent)
    largest = [accountant.largest(spent, charge) for accountant, spent in states]
    fitting = [epsilon for epsilon in largest if epsilon is not None]
    remedy = "ask the data owner for a greater budget; identical questions stay free"
    if isinstance(accountant, PacedAccountant) and accountant.open < account.budget.epsilon:
        remedy = "wait for the owner to open the next tranche; identical questions stay free"
    if len(fitting) == len(states):
        fits = min(fitting)
        why = " (answers together spend less than their sum)" if fits > remaining.epsilon else ""
        remedy = f"ask with epsilon {show_lower(fits)} or less{why}, or {remedy}"
    elif charge.delta > remaining.delta and charge.epsilon <= remaining.epsilon:
        remedy = f"{_less_delta(charge, states)}{remedy}"
    return BudgetExceeded(
        "budget_exceeded",
        f"the query costs epsilon {show_upper(charge.epsilon)}, delta {show_upper(charge.delta)}; "
        f"{account.named} has epsilon "
        f"{show_lower(remaining.epsilon)}, delta {show_lower(remaining.delta)} left"
        f"{_of_open(accountant)}",
        remedy,
    )


def _of_open(accountant: Accountant) -> str:
    """Return how much of a budget is open, where not all of it is."""
    if not isinstance(accountant, PacedAccountant) or accountant.open >= accountant.budget.epsilon:
        return ""
    return (
        f" of epsilon {show_lower(accountant.open)} that is open, of"
        f" {show_lower(accountant.budget.epsilon)} in all"
    )


def _less_delta(charge: Charge, states: list[tuple[Accountant, Spent]]) -> str:
    """Return what helps where delta is used up and epsilon is not: less of it, or known keys."""
    left = min(accountant.remaining_lower(spent).delta for accountant, spent in states)
    less = f"ask with delta {show_lower(left)} or less, or " if left > 0 else ""
    if leak(charge.events) == 0:
        return less
    return (
        f"{less}let the owner declare the domain of the columns in GROUP BY (keys that are "
        "declared need no delta), or "
    )


def exceeded_together(account: Account, charge: Charge) -> BudgetExceeded:
    """Return the refusal that says nothing of what others have left."""
    return BudgetExceeded(
        "budget_exceeded",
        f"the query costs epsilon {show_upper(charge.epsilon)}, delta {show_upper(charge.delta)}; "
        f"your own account has that left, but {account.named}, which "
        "others are charged to as well, has not",
        "ask with a smaller epsilon, or ask the data owner for a greater budget; "
        "identical questions stay free",
    )


def check_never_pinned(place: Path) -> None:
    """Refuse to start a ledger where the second head of one is pinned."""
    if read_pinned(place) is not None:
        raise LedgerError(
            "ledger_missing",
            f"the ledger is missing, but its head is pinned at {str(place)!r}",
            "restore the ledger file; an account that has been used is never started anew. Where it is"
            f" lost for good, {GIVE_UP} says so on record",
        )


def check_terms(terms: AccountTerms, declared: DeclaredTerms) -> None:
    """Refuse a policy with which the account cannot go on, saying why."""
    changed = [*terms.changes(declared)]
    if changed:
        raise LedgerError(
            "ledger_terms",
            f"the ledger was opened on other terms than the policy has: {'; '.join(changed)}",
            "put the old terms back: what has been spent was promised on them. Where a table or a column"
            " is the same under another name, `sanql account rename TABLE NEW --because 'WHY'` (or"
            " TABLE.COLUMN) says so on record. Other terms need another account, and what both promise"
            " adds up: `sanql account retire --release other-terms --because 'WHY'` closes this one",
        )


def check_exact_open(ownership: Ownership) -> None:
    """Refuse a new exact release of data of which cells may have left under an account before."""
    if ownership.exact_closed:
        raise Refused(
            "exact_closed",
            "an account before this one has released exact cells of the same data, or was lost with its"
            " book, or records of this one are missing; what differs between two exact releases may be"
            " one person's",
            "ask with noise: pass an epsilon; data about other people have exact answers in a place of"
            " their own",
        )
