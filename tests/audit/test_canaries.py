"""The audit's statistic against closed forms and simulation of the best attack."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sanql.audit import CanaryAudit, audit_answer


@pytest.mark.parametrize(("guesses", "correct"), [(1, 0), (1, 1), (5, 3), (6, 6), (8, 0)])
def test_the_p_value_is_the_tail_of_independent_guesses(guesses: int, correct: int) -> None:
    odds = Fraction(3)  # epsilon = ln 3: a guess is right three times in four
    tail = sum(
        odds ** sum(outcome) / (1 + odds) ** guesses
        for outcome in product([0, 1], repeat=guesses)
        if sum(outcome) >= correct
    )
    audit = CanaryAudit(guesses, correct)
    assert math.isclose(audit.p_value(math.log(3)), float(tail), rel_tol=1e-12)


def test_the_lower_epsilon_is_where_rejection_begins() -> None:
    audit = CanaryAudit(5000, 4000)
    edge = audit.epsilon_lower(1e-9)
    assert audit.rejects(edge - 1e-6, 1e-9)
    assert not audit.rejects(edge + 1e-6, 1e-9)


def test_guesses_that_show_nothing_give_no_lower_epsilon() -> None:
    assert CanaryAudit(1000, 500).epsilon_lower(1e-9) == 0
    assert CanaryAudit(1000, 0).epsilon_lower(1e-9) == 0


def test_a_silent_mechanism_loses_every_coin() -> None:
    coins = np.arange(40) % 3 == 0
    audit = audit_answer(coins, coins.astype(np.int64))
    assert audit == CanaryAudit(40, 40)
    assert audit.rejects(epsilon=0.5, alpha=1e-6)


def test_impossible_counts_are_faults_of_the_caller() -> None:
    with pytest.raises(ValueError):
        CanaryAudit(3, 4)
    with pytest.raises(ValueError):
        audit_answer(np.array([True]), np.array([1, 2]))
