"""A batch enters accounts as its events, and not as one claim by its privacy loss distribution.

It is fixed in advance, so such a claim would be sound. Laplace noise counted so could be smaller at a
delta; but wherever that is worth a part in a thousand, Gaussian noise is smaller still, and that is what
the planner takes. The distribution is worked out by another library.
"""

from __future__ import annotations

import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting import pld

from sanql.account import gaussian_rho_lower

DELTA = 1e-8


def deviation_claimed(events: int) -> float:
    """Return the least deviation of so many Laplace noises whose joint claim is (1, DELTA), nearly."""
    low, high = 0.3 * events, 1.001 * events
    for _ in range(14):
        middle = (low + high) / 2
        accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
        accountant.compose(dp_accounting.LaplaceDpEvent(middle), events)
        if accountant.get_epsilon(DELTA) <= 1:
            high = middle
        else:
            low = middle
    return math.sqrt(2) * low


@pytest.mark.slow
@pytest.mark.parametrize("events", [1, 5, 14, 20, 60])
def test_a_joint_claim_gains_nothing_beside_the_better_noise(events: int) -> None:
    rho = float(gaussian_rho_lower(Fraction(1), Fraction(1, 10**8)))
    by_events = min(math.sqrt(2) * events, math.sqrt(events / (2 * rho)))
    assert by_events < 1.001 * deviation_claimed(events)
