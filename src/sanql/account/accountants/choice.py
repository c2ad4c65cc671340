"""Which accountant counts an account: the one list of them, by the word of a policy or a ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sanql.account.accountants.protocol import Accountant
from sanql.account.accountants.pure import PureAccountant
from sanql.account.accountants.renyi import RenyiAccountant
from sanql.errors import LedgerError
from sanql.policy import Accounting, Budget

ACCOUNTANTS: Mapping[Accounting, Callable[[Budget], Accountant]] = {
    "pure": PureAccountant,
    "renyi": RenyiAccountant,
}


def accountant_for(accounting: Accounting, budget: Budget) -> Accountant:
    """Return the accountant of an account with this budget."""
    return ACCOUNTANTS[known_accounting(accounting)](budget)


def known_accounting(word: object) -> Accounting:
    """Return a way of counting that this version knows; anything else is a LedgerError."""
    for known in ACCOUNTANTS:
        if word == known:
            return known
    raise LedgerError(
        "ledger_accounting_unknown",
        f"the accounts are counted by {str(word)[:20]!r}, and this version of SanQL knows"
        f" {' and '.join(map(repr, ACCOUNTANTS))}",
        "open the ledger with the version that wrote it, or a newer one; nothing has been changed",
    )
