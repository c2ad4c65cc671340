"""The default delta of a question that selects keys: delta is used up no faster than epsilon.

A question that spends the share r of an account's epsilon may use of the account's delta D

- r D under pure accounting, where epsilons add up: after 1/r such questions both are used up;
- r² D / 2 under Rényi accounting, where about 1/r² questions fit (a budget of Gaussian noise falls with
  the square of epsilon) and half of D at the least is there for keys that surface.

Thresholds grow with the logarithm of 1/delta, so that a much smaller delta hides few groups more.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sanql.account import accountant_for
from sanql.errors import Refused
from sanql.numbers import round_down_to_digits
from sanql.policy import Accounting, Budget

DIGITS = 3
TYPICAL = Fraction(1, 100)  # of epsilon, while an accuracy has not yet said how much is needed


def default_delta(
    epsilon: Fraction | None, budgets: Iterable[Budget], accounting: Accounting
) -> Fraction:
    """Return the delta for a question of this epsilon that is charged to all these accounts.

    >>> account = Budget(Fraction(10), Fraction(1, 10**6))
    >>> [f"{float(default_delta(Fraction(1, 10), [account], kind)):g}" for kind in ("pure", "renyi")]
    ['1e-08', '5e-11']
    """
    return min(_share(epsilon, budget, accounting) for budget in budgets)


def check_selection_delta(budgets: Iterable[Budget]) -> None:
    """Refuse to select keys where an account has no delta: no delta that is passed would fit it."""
    if any(budget.delta == 0 for budget in budgets):
        raise Refused(
            "delta_needed",
            "the groups of this question are not declared, so they are selected privately, which needs "
            "a delta above zero, and a budget that pays for it has delta 0",
            "group by columns with a declared domain or bounds, or leave GROUP BY out; the owner may "
            "declare the column's domain, or give the budget a delta",
        )


def _share(epsilon: Fraction | None, budget: Budget, accounting: Accounting) -> Fraction:
    spent = TYPICAL if epsilon is None else min(Fraction(1), epsilon / budget.epsilon)
    delta = budget.delta * accountant_for(accounting, budget).delta_share(spent)
    return round_down_to_digits(delta, DIGITS) if delta else delta
