"""What all answers of an account so far mean, beside what one means."""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.results import Balance, Budget, after_everything


def test_it_is_the_odds_that_the_epsilon_spent_allows() -> None:
    """By hand: of odds 1 to 9, times e and divided by it."""
    spent = Budget(Fraction(1), Fraction(0))
    balance = Balance("ana", "analyst", Budget(Fraction(2), Fraction(0)), spent, spent, 0)
    said = after_everything(balance, 0.1)
    high, low = math.e / (math.e + 9), 1 / (1 + 9 * math.e)
    assert said.startswith("After everything that analyst ana has been told: ")
    assert said.endswith(f"{math.floor(low * 1000) / 10}% to {math.ceil(high * 1000) / 10}%.")
