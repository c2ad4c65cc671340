"""Where questions that San asks for an analyst are paid: the record, the check of a price, measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import Balance, Charge
from sanql.plan import Plan
from sanql.release.cells import NoisyCells


@dataclass(frozen=True)
class Till:
    """One analyst's account, as San's own questions need it.

    `recorded` returns the cells of a plan that has been paid for, `check_fits` raises BudgetExceeded
    where a charge does not fit, `measure` returns cells from the record or pays for them.
    """

    recorded: Callable[[Plan], NoisyCells | None]
    check_fits: Callable[[Charge], None]
    measure: Callable[[Plan], NoisyCells]
    balances: Callable[[], tuple[Balance, ...]]


def together(charges: Sequence[Charge]) -> Charge:
    """Return several charges as one: epsilons and deltas add up."""
    if len(charges) == 1:
        return charges[0]
    return Charge(
        tuple(event for charge in charges for event in charge.events),
        sum((charge.epsilon for charge in charges), Fraction(0)),
        sum((charge.delta for charge in charges), Fraction(0)),
    )
