"""How format 1 counts: each record of limits judges the whole history of an account anew.

It added up claims, or counted all charges together with half of delta for the conversion. Later formats
fix at its opening what an odometer aims at (`accountants.filter` says why) and go on with the last one
that format 1 left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from sanql.account.accountants.filter import Spent
from sanql.account.accountants.pure import PureAccountant
from sanql.account.accountants.renyi import Odometer, RenyiComposition
from sanql.account.accountants.totals import Totals
from sanql.account.charge import Charge
from sanql.policy import Accounting, Budget


def spent_in_format_1(accounting: Accounting, budget: Budget, charges: Sequence[Charge]) -> Spent:
    """Return what an account has spent, as format 1 sees it: its whole past by these limits."""
    match accounting:
        case "pure":
            return PureAccountant(budget).take_all(Spent(), charges)
        case "renyi":
            odometer = Odometer(budget.epsilon, budget.delta / 2)
            return Spent(together=RenyiComposition(odometer, Totals.of_many(charges)))
        case _:
            assert_never(accounting)
