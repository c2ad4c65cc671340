"""From the attacker to the guarantee: what may be learned of one person decides epsilon.

Either a belief (whoever holds something about a person for true with probability `prior` may hold it
with at most `posterior_at_most` after any answer) or a test (one that accuses the innocent with
probability `false_alarms` may find the guilty with at most `hits_at_most`). Every epsilon is rounded
down, so that the attacker gets no more than was stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    Real,
    as_count,
    as_probability,
    exp_upper,
    float_lower,
    float_upper,
    log_lower,
    quoted,
)

GROUP_MAX = 1000


@dataclass(frozen=True)
class Attacker:
    """What an attacker may learn of a person, or of a group of `group_of` people at once.

    With a delta above 0 some answer may tell everything, so a posterior is then bounded except with
    probability `failure`, ten times delta unless stated.
    """

    prior: Real | None = None
    posterior_at_most: Real | None = None
    false_alarms: Real | None = None
    hits_at_most: Real | None = None
    group_of: int = 1
    delta: Real = 0
    failure: Real | None = None

    def __post_init__(self) -> None:
        stated = tuple(
            value is not None
            for value in (self.prior, self.posterior_at_most, self.false_alarms, self.hits_at_most)
        )
        if stated not in ((True, True, False, False), (False, False, True, True)):
            raise TheoryError(
                "attacker",
                "an attacker is a belief or a test, and one of them",
                "give prior and posterior_at_most, or false_alarms and hits_at_most",
            )
        as_count(self.group_of, "group_of", most=GROUP_MAX)
        if self.failure is not None and self._delta == 0:
            raise TheoryError(
                "failure",
                "failure is given, and without a delta nothing fails",
                "leave failure out, or give a delta above 0",
            )
        if self.level <= 1:
            raise TheoryError(
                "attacker",
                "no epsilon above 0 keeps the attacker to that",
                "allow more than is had without any answer, a smaller delta or a larger failure",
            )

    @property
    def level(self) -> Fraction:
        """The largest e^epsilon of the group that keeps the attacker to what was stated.

        A test with false alarms alpha has hits of at most min(delta + g·alpha, 1 − (1−delta−alpha)/g).
        Odds move by at most g, or (failure·g + delta)/(failure − delta) except with probability
        failure (the sharp form of Claim 3.3(2)).
        """
        delta = self._delta
        if self.prior is not None:
            prior = _inside(self.prior, "prior")
            most = _inside(self.posterior_at_most, "posterior_at_most")
            odds = most * (1 - prior) / (prior * (1 - most))
            if delta == 0:
                return odds
            failure = self.usual_failure
            return (odds * (failure - delta) - delta) / failure
        alarms = _inside(self.false_alarms, "false_alarms")
        hits = _inside(self.hits_at_most, "hits_at_most")
        return max((hits - delta) / alarms, (1 - delta - alarms) / (1 - hits))

    @property
    def usual_failure(self) -> Fraction:
        """How often a posterior may be beyond the bound where delta is above 0."""
        if self.failure is None:
            return min(Fraction(1), 10 * self._delta)
        return as_probability(self.failure, "failure")

    @property
    def epsilon(self) -> float:
        """The largest epsilon for one person, rounded down: that of the group over its size."""
        return float_lower(Fraction(log_lower(self.level)) / self.group_of)

    @property
    def delta_of_one(self) -> float:
        """The delta for one person that makes the group's: delta·(g − 1)/(g^k − 1), rounded down."""
        if self.group_of == 1 or self._delta == 0:
            return float_lower(self._delta)
        gamma = Fraction(exp_upper(self.epsilon))
        shares = sum((gamma**i for i in range(self.group_of)), Fraction(0))
        return float_lower(self._delta / shares)

    @property
    def _delta(self) -> Fraction:
        return as_probability(self.delta, "delta")

    def sentence(self) -> str:
        """Return what was stated in words."""
        whom = "a person" if self.group_of == 1 else f"{self.group_of} people together"
        if self.prior is not None:
            usually = ""
            if self._delta > 0:
                usually = f", except with probability {float(self.usual_failure):.3g}"
            return (
                f"whoever believes something about {whom} with probability {quoted(self.prior)} "
                f"believes it with at most {quoted(self.posterior_at_most)} after any answer{usually}"
            )
        return (
            f"a test about {whom} with a false alarm rate of {quoted(self.false_alarms)} has hits of "
            f"at most {quoted(self.hits_at_most)}"
        )


def laplace_count(epsilon: float) -> tuple[float, int]:
    """Return the deviation of a count with discrete Laplace noise, and its error 19 times of 20.

    >>> deviation, error = laplace_count(math.log(2))
    >>> round(deviation, 6), error
    (2.0, 4)
    """
    ratio = math.exp(-epsilon)
    deviation = float_upper(math.sqrt(2 * ratio) / -math.expm1(-epsilon))
    error = max(0, math.ceil(math.log(0.05 * (1 + ratio) / 2) / math.log(ratio) - 1))
    return deviation, error


def _inside(value: Real | None, name: str) -> Fraction:
    number = as_probability(0 if value is None else value, name)
    if not 0 < number < 1:
        raise TheoryError(
            "attacker",
            f"{name} is {quoted(value)}; it must lie strictly between 0 and 1",
            "state a probability that leaves something to learn",
        )
    return number
