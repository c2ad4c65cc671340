"""One-run audit: many people, a fair coin each, and one answer from which their coins are guessed.

Every canary is a person whose presence a fair coin decided. If the mechanism is epsilon-private for
adding or removing one person, then given everybody else's coin the posterior of one coin is between
1/(1+e^epsilon) and e^epsilon/(1+e^epsilon), so a guess is right with probability at most
p = e^epsilon/(1+e^epsilon), whatever was guessed before. Hence the number of right guesses among r is
stochastically dominated by Binomial(r, p) (Steinke, Nasr and Jagielski 2023, theorem 2.1, with
delta = 0). More right guesses than that distribution explains refute the claimed epsilon; one run of
the mechanism is enough.

The test is tight for discrete Laplace noise on counts of one: guessing "present" exactly when the
noisy count is at least 1 is right with probability e^epsilon/(1+e^epsilon).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Coins = NDArray[np.bool_]


@dataclass(frozen=True)
class CanaryAudit:
    """How many coins were guessed, and how many of the guesses were right.

    >>> CanaryAudit(guesses=5000, correct=3700).rejects(epsilon=1.0, alpha=1e-9)
    False
    >>> CanaryAudit(guesses=5000, correct=4400).rejects(epsilon=1.0, alpha=1e-9)
    True
    """

    guesses: int
    correct: int

    def __post_init__(self) -> None:
        """Check that no more guesses are right than were made."""
        if not 0 <= self.correct <= self.guesses:
            raise ValueError(f"{self.correct} of {self.guesses} guesses cannot be right")

    def p_value(self, epsilon: float) -> float:
        """Return P(so many right or more) at most, if the mechanism is epsilon-private.

        >>> CanaryAudit(guesses=2, correct=2).p_value(epsilon=0.0)
        0.25
        """
        from scipy.stats import binom

        right = 1 / (1 + math.exp(-epsilon))
        return float(binom.sf(self.correct - 1, self.guesses, right))

    def rejects(self, epsilon: float, alpha: float) -> bool:
        """Return whether the claim is refuted, wrongly with probability at most alpha."""
        return self.p_value(epsilon) <= alpha

    def epsilon_lower(self, alpha: float) -> float:
        """Return an epsilon that the mechanism does not achieve, at confidence 1 - alpha.

        It is 0 where the guesses show nothing (Clopper and Pearson's lower end of p, as odds).
        """
        from scipy.stats import beta

        if self.correct == 0:
            return 0.0
        right = float(beta.ppf(alpha, self.correct, self.guesses - self.correct + 1))
        return max(0.0, math.log(right / (1 - right)))


def guess_presence(noisy_counts: NDArray[np.integer]) -> Coins:
    """Return the likeliest coins when each canary is alone in its cell: present at 1 or more."""
    return np.asarray(noisy_counts) >= 1


def audit_answer(coins: Coins, noisy_counts: NDArray[np.integer]) -> CanaryAudit:
    """Return the audit of one answer: the canary of coin i is alone in cell i, if present.

    >>> audit_answer(np.array([True, False, True]), np.array([3, 0, 0]))
    CanaryAudit(guesses=3, correct=2)
    """
    if len(coins) != len(noisy_counts):
        raise ValueError(f"{len(coins)} coins need as many cells, not {len(noisy_counts)}")
    right = int(np.count_nonzero(guess_presence(noisy_counts) == coins))
    return CanaryAudit(len(coins), right)
