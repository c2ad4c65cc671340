"""Verdicts: which of a few outputs scores best, where one record rarely changes which it is.

A verdict is argmax_a Σ_x N_x·S_a(x) over how often each value occurs, the first output among equals.
With the scores S it is

    the mode          S_a(x) = 1 if a = x else 0
    a share test      S_yes(x) = 1[x counts] − q, S_no = 0: whether a share of at least q counts
    a lower median    S_v(x) = −|place of x − place of v|, values in order
    a MAP estimate    S_a(x) = ln f_a(x), and ln π_a once

To the adversary the records are drawn independently from one of the declared laws f_θ, which one
being unknown. Let a* be the output that f_θ favours. Whatever else it says, the verdict with the
protected record and that without differ on a set of outputs by at most the probability that one of
them is not a* (Theorem 11; the larger of the two is enough, see `map_estimators`). With D = S_a −
S_a* and M = max D, L known records and the protected one move the difference of two scores by at most
(L + 1)·M, so by Chernoff

    delta = max over θ of Σ_{a ≠ a*} min over s of e^{s(L + 1)M} (Σ_x f_θ(x) e^{sD(x)})^n

at every epsilon ≥ 0. Where it is below 1 it falls with n: a certificate for n records is one for more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.map_estimators import MapAdversary, chernoff_delta
from sanql.mechanisms.noiseless.multiplicative import sign_of_product
from sanql.mechanisms.noiseless.numbers import (
    Number,
    as_ball,
    checked_epsilon,
    checked_probability,
    refusal,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 128
_POWER_MAX = 2.0**40

Scores = tuple[tuple[Fraction, ...], ...]
"""Of every output, the score of every value."""


@dataclass(frozen=True)
class Verdict:
    """A function of counts that says which output scores best; without scores it is the MAP estimate."""

    name: str
    scores: Scores | None = None


MAP = Verdict("the law that fits best (MAP)")


def mode(values: int) -> Verdict:
    """Return the most frequent value, the first listed among equals."""
    unit = [Fraction(0)] * values
    scores = tuple((*unit[:a], Fraction(1), *unit[a + 1 :]) for a in range(values))
    return Verdict("the most frequent value", scores)


def lower_median(values: int) -> Verdict:
    """Return the lower median of values in the order in which they are listed."""
    scores = tuple(tuple(Fraction(-abs(x - v)) for x in range(values)) for v in range(values))
    return Verdict("the lower median", scores)


def share_test(counted: Sequence[bool], share: Number) -> Verdict:
    """Return whether at least a share of the records have a value that counts: output 0 is yes."""
    least = checked_probability(share, "the share")
    yes = tuple(int(counts) - least for counts in counted)
    return Verdict("whether at least a share has it", (yes, (Fraction(0),) * len(yes)))


@dataclass(frozen=True)
class VerdictAdversary:
    """The class of a verdict: every record is drawn from one of the laws, which one being unknown.

    `laws[i][x]` is the probability of value x; `weights` are those of the MAP estimate.

    >>> coin = VerdictAdversary(400, ((0.9, 0.1), (0.1, 0.9)), mode(2))
    >>> coin.bound(0).delta_upper < 1e-38
    True
    """

    others: int
    laws: tuple[tuple[Number, ...], ...]
    verdict: Verdict
    weights: tuple[Number, ...] = ()
    known: int = 0

    def __post_init__(self) -> None:
        checked = self.as_map  # checks the laws, the weights and the counts
        object.__setattr__(self, "laws", checked.laws)
        object.__setattr__(self, "weights", checked.weights)
        scores = self.verdict.scores
        if scores is not None and {len(row) for row in scores} != {len(self.laws[0])}:
            raise refusal(
                "verdict",
                f"the verdict scores other values than the {len(self.laws[0])} of the laws",
                "give laws over the values that the verdict is about",
            )

    @property
    def as_map(self) -> MapAdversary:
        """The MAP estimate under the same laws."""
        return MapAdversary(self.others, self.laws, self.weights, self.known)

    @property
    def unknown(self) -> int:
        """The number of unknown other records."""
        return self.others - self.known

    @property
    def name(self) -> str:
        """The class in a few words."""
        return self.as_map.name

    @property
    def theorem(self) -> str:
        """The theorem used."""
        if self.verdict.scores is None:
            return self.as_map.theorem
        return (
            "Bassily, Groce, Katz, Smith, Theorem 11, the instability bounded by Chernoff's method"
        )

    @property
    def printed(self) -> str:
        """How the paper's own statement differs."""
        return self.as_map.printed if self.verdict.scores is None else ""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary."""
        return (
            "all records are drawn independently from one of the declared laws",
            f"the adversary knows at most {self.known:,} of the {self.others:,} other records",
            f"only {self.verdict.name} is released, the first listed among equals",
        )

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta, which is one at every epsilon."""
        checked_epsilon(epsilon)
        scores = self.verdict.scores
        if scores is None:
            return Bound(chernoff_delta(self.as_map), ("Chernoff bound over pairs of laws",))
        laws = self.as_map.rational_laws
        with precision(_PRECISION):
            deltas = [self._delta(law, scores) for law in laws]
        return Bound(max(deltas), ("Chernoff bound over pairs of outputs",))

    def _delta(self, law: Sequence[Fraction], scores: Scores) -> float:
        from flint import arb

        expected = [
            sum((p * s for p, s in zip(law, row, strict=True)), Fraction(0)) for row in scores
        ]
        right = expected.index(max(expected))
        total = arb(0)
        for a, row in enumerate(scores):
            if a == right:
                continue
            if expected[a] == expected[right]:
                return 1.0
            gaps = [s - best for s, best in zip(row, scores[right], strict=True)]
            total += self._beaten(law, gaps)
        return min(1.0, upper(total))

    def _beaten(self, law: Sequence[Fraction], gaps: Sequence[Fraction]) -> arb:
        """Return a bound of the probability that an output catches up with the right one."""
        from flint import arb

        reach = (self.known + 1) * max(gaps)
        if reach < 0:  # no record speaks for it
            return arb(0)
        power = as_ball(Fraction(_best_power(law, gaps, self.unknown, float(reach))))
        mean = sum((as_ball(p) * (power * as_ball(d)).exp() for p, d in zip(law, gaps, strict=True)),
                   arb(0))  # fmt: skip
        return (power * as_ball(reach)).exp() * mean**self.unknown

    def rough_delta(self, epsilon: float) -> float:
        """Return delta at epsilon, for searching."""
        return self.bound(Fraction(epsilon)).delta_upper

    def with_others(self, others: int) -> VerdictAdversary:
        """Return the same class with another number of other records."""
        return replace(self, others=others)

    def with_known(self, known: int) -> VerdictAdversary:
        """Return the same class with another number of known records."""
        return replace(self, known=known)

    def decide(self, counts: Sequence[int]) -> int:
        """Return the verdict on counts of every value, decided in whole numbers.

        >>> VerdictAdversary(9, ((0.75, 0.25), (0.25, 0.75)), MAP).decide([5, 5])
        0
        """
        best = 0
        outputs = len(self.laws if self.verdict.scores is None else self.verdict.scores)
        for a in range(1, outputs):
            if self._exceeds(a, best, counts):
                best = a
        return best

    def _exceeds(self, a: int, b: int, counts: Sequence[int]) -> bool:
        scores = self.verdict.scores
        if scores is not None:
            return (
                sum(n * (s - t) for n, s, t in zip(counts, scores[a], scores[b], strict=True)) > 0
            )
        model = self.as_map
        laws, weights = model.rational_laws, model.rational_weights
        factors = [(weights[a], 1), (weights[b], -1)]
        for n, p, q in zip(counts, laws[a], laws[b], strict=True):
            factors += [(p, n), (q, -n)]
        return sign_of_product(factors) > 0


@cache
def _powers() -> list[float]:
    return [2.0**k for k in range(-20, 41)]


def _best_power(
    law: Sequence[Fraction], gaps: Sequence[Fraction], records: int, reach: float
) -> float:
    """Return about the s that makes e^{s·reach} (Σ f e^{s·gap})^n least; every s is valid."""
    masses, steps = [float(p) for p in law], [float(d) for d in gaps]
    top = max(steps)

    def slope(s: float) -> float:
        weights = [p * math.exp(s * (d - top)) for p, d in zip(masses, steps, strict=True)]
        return reach + records * sum(w * d for w, d in zip(weights, steps, strict=True)) / sum(
            weights
        )

    high = next((s for s in _powers() if slope(s) > 0), _POWER_MAX)
    low = 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return (low + high) / 2
