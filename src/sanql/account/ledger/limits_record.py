"""The body of a record of limits: the accounts, and what those that are new begin with."""

from __future__ import annotations

from sanql.account.ledger.budget_limits import Account, BudgetLimits
from sanql.account.ledger.state import Books
from sanql.numbers import rational_text
from sanql.policy import Budget


def limits_content(books: Books, limits: BudgetLimits) -> dict[str, object]:
    """Return the body of a record of these limits, without who declares them and when.

    An account that is new, though its members are not, begins with what they have spent; one that
    begins to be paced has that open.
    """
    shape = limits.to_dict()
    for account, words in zip(limits.accounts, shape["accounts"], strict=True):
        before = _spent_before(books, limits, account)
        if account.identity not in books.balances and (before.epsilon or before.delta):
            words["spent_before"] = {
                "epsilon": rational_text(before.epsilon),
                "delta": rational_text(before.delta),
            }
        opened = books.tranches.begins_open(account, before.epsilon)
        if opened is not None:
            words["tranche"]["open"] = rational_text(opened)
    return shape


def _spent_before(books: Books, limits: BudgetLimits, account: Account) -> Budget:
    running = books.balances.get(account.identity)
    if running is not None:
        return running.accountant.spent_upper(running.spent)
    charged = limits.accountant_of(account).spent_before(books.history(account))
    return books.lost.before(charged)
