"""What is asked of a town of canaries, and what answers give away of it.

A game is one question. Its p-value is the chance, at most, that a system which keeps its promise gives
away as much; several guessers of one game share its level (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanql.audit.canaries import CanaryAudit, Coins, guess_presence
from sanql.audit.town import ACCOUNTING_SLACK, AMOUNT_MAX, ROWS_MAX, SELECTION_DELTA, Town

EPSILON = 1.0

Rows = Sequence[tuple[Any, ...]]
Counts = NDArray[np.float64]
Guesser = Callable[[Counts], Coins]


@dataclass(frozen=True)
class AttackFound:
    """What one attack found: its p-value against the claim, and in words what was seen.

    `epsilon_lower` is an epsilon that the system does not achieve, at the level of the audit; None where
    the attack does not measure one.
    """

    attack: str
    through: str
    questions: int
    p_value: float
    seen: str
    epsilon_lower: float | None = None

    def refutes(self, alpha: float) -> bool:
        """Return whether the claim is refuted, wrongly with a probability of at most alpha."""
        return self.p_value <= alpha


@dataclass(frozen=True)
class PresenceGame:
    """Whose coin fell on being there, guessed from one noisy number for each seat."""

    attack: str
    sql: str
    most: int  # what somebody who is there adds to the number of their seat, at most

    def played(self, town: Town, rows: Rows, through: str, alpha: float) -> AttackFound:
        """Return what an answer gives away."""
        numbers = np.zeros(town.people)
        for seat, number in rows:
            numbers[int(seat)] = float(number)
        audits = [_audit(guess(numbers), town.coins) for guess in self._guessers()]
        best = max(audits, key=lambda audit: audit.correct)
        tried = len(audits)
        return AttackFound(
            self.attack,
            through,
            1,
            min(1.0, tried * best.p_value(EPSILON)),
            f"{best.correct:,} of {best.guesses:,} coins guessed",
            best.epsilon_lower(alpha / tried),
        )

    def _guessers(self) -> tuple[Guesser, ...]:
        """Return the guessers: by the likelier side, and by the middle of all where noise is shared."""

        def likelier(numbers: Counts) -> Coins:
            if self.most == 1:
                return guess_presence(numbers.astype(np.int64))
            return np.asarray(2 * numbers > self.most)

        def around_the_middle(numbers: Counts) -> Coins:
            return np.asarray(2 * numbers > numbers.min() + numbers.max())

        return likelier, around_the_middle


PRESENCE = (
    PresenceGame("counts", "SELECT seat, COUNT(*) AS n FROM single GROUP BY seat", 1),
    PresenceGame(
        "rows beyond the limit", "SELECT seat, COUNT(*) AS n FROM several GROUP BY seat", ROWS_MAX
    ),
    PresenceGame(
        "sums", "SELECT seat, SUM(amount) AS n FROM several GROUP BY seat", ROWS_MAX * AMOUNT_MAX
    ),
)

KEYS_SQL = "SELECT name, COUNT(*) AS n FROM alone GROUP BY name"


def keys_that_surface(town: Town, rows: Rows, through: str) -> AttackFound:
    """Return what it means that so many names appear which one person each has.

    Each appears with a probability of at most delta, by noise of its own: their number is stochastically
    dominated by Binomial(people, delta).
    """
    from scipy.stats import binom

    shown, delta = len(rows), float(Fraction(SELECTION_DELTA))
    return AttackFound(
        "names that one person has",
        through,
        1,
        float(binom.sf(shown - 1, town.people, delta)),
        f"{shown:,} of {town.people:,} appear; {town.people * delta:,.0f} may, on average",
    )


def overspending(answered: int, allowed: int, through: str) -> AttackFound:
    """Return what it means that so many questions were answered of those that a budget allows."""
    return AttackFound(
        "a budget that ends",
        through,
        answered + 1,
        0.0 if answered > allowed else 1.0,
        f"{answered} questions answered where {allowed} are paid for",
    )


def repeated(first: Rows, again: Rows, through: str) -> AttackFound:
    """Return what it means that a question asked again had this answer: noise is drawn once."""
    same = list(map(tuple, first)) == list(map(tuple, again))
    seen = "the same numbers" if same else "other numbers, of which a mean has less noise"
    return AttackFound("the same question again", through, 2, 1.0 if same else 0.0, seen)


def account_kept(expected: Fraction, spent: Fraction, through: str) -> AttackFound:
    """Return what it means that an account says to have spent so much of what answers said they cost."""
    return AttackFound(
        "what the account says",
        through,
        1,
        0.0 if spent < expected - ACCOUNTING_SLACK else 1.0,
        f"{float(spent):g} spent where answers said {float(expected):g}",
    )


def _audit(guessed: Coins, coins: Coins) -> CanaryAudit:
    return CanaryAudit(len(coins), int(np.count_nonzero(guessed == coins)))
