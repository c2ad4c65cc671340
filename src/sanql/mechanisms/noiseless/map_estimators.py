"""Adversaries against whom the output of a maximum-a-posteriori (MAP) estimator is private.

The records are drawn from one of k public laws f_1 … f_k over the same values; which one is
unknown. The estimator returns the index with the largest weight·likelihood, the first if there are
several. With n unknown other records and L known ones,

    delta = max over θ, x of max{Σ_{a≠θ} min_s B_s, Σ_{a≠θ} min_s B_s·(f_a(x)/f_θ(x))^s},
    B_s = (π_a/π_θ)^s · (max_z f_a(z)/f_θ(z))^{sL} · (Σ f_a^s f_θ^{1−s})^n,

a union bound over wrong outputs without and with the record, by Chernoff. The larger is enough where
the source adds them: the output laws R and I differ on a set T by R(T) − I(T), which is at most the
probability of a wrong output without the record if θ is in T, with it if not. Where enumeration is
feasible, `map_enumeration` gives the exact delta. Beyond that `map_tails` encloses the probabilities
of wrong outputs themselves: a Chernoff bound leaves out the factor of about 1/√n by which a large
deviation is rarer, and that a record only matters near a tie (bench/LOOSENESS.md has both). The least
of what is known is the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    Number,
    as_ball,
    checked_count,
    checked_epsilon,
    checked_known,
    checked_probability,
    exact,
    refusal,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 128
SIZE_MAX = 512
_ENUMERATED_LEAST = 1e-9
"""Below this the slack for rounding in the enumeration may be more than what it adds up."""


@dataclass(frozen=True)
class MapAdversary:
    """The class of a MAP estimator: `laws[i][x]` is the probability of value x under law i."""

    others: int
    laws: tuple[tuple[Number, ...], ...]
    weights: tuple[Number, ...] = ()
    known: int = 0

    def __post_init__(self) -> None:
        checked_count(self.others, "the number of other records", least=1)
        checked_known(self.known, self.others)
        laws = tuple(tuple(exact(p, "a probability") for p in law) for law in self.laws)
        _check_laws(laws)
        given = self.weights or (Fraction(1, len(laws)),) * len(laws)
        weights = tuple(checked_probability(w, "a weight", most=Fraction(10**9)) for w in given)
        if len(weights) != len(laws):
            raise refusal(
                "weights",
                f"there are {len(weights)} weights for {len(laws)} laws",
                "give one weight a law",
            )
        object.__setattr__(self, "laws", laws)
        object.__setattr__(self, "weights", weights)

    @property
    def unknown(self) -> int:
        """The number of unknown other records."""
        return self.others - self.known

    @property
    def rational_laws(self) -> tuple[tuple[Fraction, ...], ...]:
        """The laws as rationals."""
        return tuple(tuple(Fraction(p) for p in law) for law in self.laws)

    @property
    def rational_weights(self) -> tuple[Fraction, ...]:
        """The weights as rationals."""
        return tuple(Fraction(weight) for weight in self.weights)

    @property
    def name(self) -> str:
        """The class in a few words."""
        return (
            f"{self.unknown} unknown records drawn independently from one of {len(self.laws)} "
            "public laws, which one being unknown"
        )

    @property
    def theorem(self) -> str:
        """The theorem used."""
        if self.known:
            return "Bassily, Groce, Katz, Smith, Theorem 15, corrected by the factor M^{sL}"
        return "Bassily, Groce, Katz, Smith, Theorem 13, sharpened pair by pair"

    @property
    def printed(self) -> str:
        """How the paper's own statement differs."""
        if self.known:
            return "n replaced by n - L alone, which is false for the worst known records"
        return "(k-1)·tau·(M+1)·e^{-nu}, valid and looser"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary."""
        return (
            "all records are drawn independently from one of the declared laws",
            f"the adversary knows at most {self.known} of the {self.others} other records",
            "the estimator breaks ties towards the first law",
            "only the index of the law is released",
        )

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta; the exact one where enumeration is feasible."""
        from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta, feasible
        from sanql.mechanisms.noiseless.map_tails import tail_delta

        level, bounds = checked_epsilon(epsilon), []
        if feasible(self):
            bounds.append(Bound(enumerated_delta(self, level), ("exact enumeration of counts",)))
            if bounds[0].delta_upper > _ENUMERATED_LEAST:
                return bounds[0]
        bounds.append(Bound(chernoff_delta(self), ("Chernoff bound over pairs of laws",)))
        tails = ("tails of log-likelihood ratios by a smoothed contour integral",)
        bounds.append(Bound(tail_delta(self, level), tails))
        return min(bounds, key=lambda bound: bound.delta_upper)

    def rough_delta(self, epsilon: float) -> float:
        """Return about delta at epsilon, for searching."""
        from sanql.mechanisms.noiseless.map_enumeration import feasible
        from sanql.mechanisms.noiseless.map_tails import NODES_OF_A_CASE, tail_delta

        level = Fraction(epsilon)
        if feasible(self):
            return self.bound(level).delta_upper
        return min(chernoff_delta(self), tail_delta(self, level, NODES_OF_A_CASE // 20))

    def with_others(self, others: int) -> MapAdversary:
        """Return the same class with another number of other records."""
        return replace(self, others=others)

    def with_known(self, known: int) -> MapAdversary:
        """Return the same class with another number of known records."""
        return replace(self, known=known)


@lru_cache(maxsize=16)
def chernoff_delta(adversary: MapAdversary) -> float:
    """Return the bound of delta at every epsilon ≥ 0 by Chernoff's method.

    >>> coin = MapAdversary(10, ((0.9, 0.1), (0.1, 0.9)))
    >>> round(chernoff_delta(coin), 7)
    0.0172537
    """
    from flint import arb

    laws = adversary.rational_laws
    powers, logs = _best_powers(adversary)
    # floats are right to a ten-thousandth by far, so what they put a hundredth below is smaller
    totals = np.logaddexp.reduce(logs, axis=1)
    places = [tuple(map(int, place)) for place in np.argwhere(totals >= totals.max() - 0.01)]
    with precision(_PRECISION):
        worst = arb(0)
        for theta, x, used in places if totals.max() < 0 else []:
            total = arb(0)
            for a in range(len(laws)):
                if a != theta:
                    record = laws[a][x] / laws[theta][x] if used else Fraction(1)
                    total += _chernoff(adversary, a, theta, record, powers[theta, a, x, used])
            worst = worst.max(total)
        return min(1.0, upper(worst)) if worst > 0 else 1.0


def sharpened_epsilon(adversary: MapAdversary, least_prior: Number) -> float:
    """Return epsilon of the pure guarantee when every law has prior probability ≥ `least_prior`.

    Theorem 14 sharpened: with o = (1−λ)M/λ, A = τ^s e^{−nu}, B = (τM)^s e^{−nu},
    epsilon = max{ln[(1+oA)/(1−(k−1)B)], ln[(1+oB)/(1−(k−1)A)]}; infinite if a denominator is not
    positive. No known records.
    """
    from flint import arb

    count = len(adversary.laws)
    prior = checked_probability(least_prior, "the least prior", most=Fraction(1, count))
    if adversary.known:
        raise refusal(
            "known",
            "the pure guarantee is proved without known records",
            "use the (0, delta) certificate",
        )
    spread, ratio = _extremes(adversary)
    laws = adversary.rational_laws

    def both(s: float) -> tuple[arb, arb]:
        rate = arb(0)
        for f, h in permutations(laws, 2):
            rate = rate.max(_affinity(f, h, s))
        a = as_ball(spread) ** _ball(s) * rate**adversary.others
        return a, a * as_ball(ratio) ** _ball(s)

    with precision(_PRECISION):
        o = as_ball((1 - prior) / prior * ratio)

        def level(s: float) -> float:
            a, b = both(s)
            if not ((count - 1) * b < 1 and (count - 1) * a < 1):
                return math.inf
            first = ((1 + o * a) / (1 - (count - 1) * b)).log()
            return upper(first.max(((1 + o * b) / (1 - (count - 1) * a)).log()))

        return level(_best(level))


def printed_delta(adversary: MapAdversary) -> float:
    """Return (k−1)τ(M+1)e^{−(n−L)u} as printed, at its best s: false when records are known."""
    spread, ratio = _extremes(adversary)
    laws = adversary.rational_laws

    def value(s: float) -> float:
        rate = max(float(_affinity(f, h, s)) for f, h in permutations(laws, 2))
        return (len(laws) - 1) * float(spread) * (float(ratio) + 1) * rate**adversary.unknown

    return value(_best(value))


def _check_laws(laws: Sequence[Sequence[Fraction]]) -> None:
    if len(laws) < 2 or len(laws[0]) < 2 or len({len(law) for law in laws}) > 1:
        raise refusal(
            "laws",
            f"{len(laws)} laws over {sorted({len(law) for law in laws})} values",
            "give at least two laws over the same two or more values",
        )
    if len(laws) * len(laws[0]) > SIZE_MAX:
        raise refusal(
            "laws",
            f"{len(laws)} laws over {len(laws[0])} values",
            f"give laws that have at most {SIZE_MAX} probabilities together: merge values",
        )
    for law in laws:
        if min(law) < SMALLEST or abs(sum(law, Fraction(0)) - 1) > Fraction(1, 10**9):
            raise refusal(
                "laws",
                f"a law is {[shown(p) for p in law[:12]]}; its probabilities must be above 0 (at "
                f"least {SMALLEST:g}) and add up to 1",
                "every value must be possible under every law (the theorem's M is then finite)",
            )
    if len({tuple(law) for law in laws}) < len(laws):
        raise refusal("laws", "two laws are the same", "leave one of them out")


def _extremes(adversary: MapAdversary) -> tuple[Fraction, Fraction]:
    """Return tau, the largest ratio of weights, and M, the largest ratio of likelihoods."""
    laws, weights = adversary.rational_laws, adversary.rational_weights
    return max(weights) / min(weights), max(
        f[x] / h[x] for f in laws for h in laws for x in range(len(f))
    )


def _chernoff(adversary: MapAdversary, a: int, theta: int, record: Fraction, power: float) -> arb:
    """Return B_s·record^s; every s is valid."""
    laws, weights = adversary.rational_laws, adversary.rational_weights
    reach = max(p / q for p, q in zip(laws[a], laws[theta], strict=True))
    s = _ball(float(power))
    base = as_ball(weights[a] / weights[theta] * record) ** s
    known = as_ball(reach) ** (s * adversary.known)
    return base * known * _affinity(laws[a], laws[theta], float(power)) ** adversary.unknown


def _best_powers(adversary: MapAdversary) -> tuple[np.ndarray, np.ndarray]:
    """Return about the best s for every θ, a, x, without and with the record, and log B_s·record^s.

    The logarithm, s·slope + n·log Σ f^s h^{1−s}, is convex in s (Hölder), so halving by the sign of
    its derivative gets there. Where a is θ it is −∞.
    """
    law = np.array([[_log(p) for p in f] for f in adversary.rational_laws])
    weight = np.array([_log(w) for w in adversary.rational_weights])
    gap = law[None, :, :] - law[:, None, :]  # θ, a, value
    slope = (weight[None, :] - weight[:, None] + adversary.known * gap.max(axis=2))[:, :, None]
    slopes = np.stack([slope + np.zeros_like(gap), slope + gap], axis=3)  # θ, a, x, record
    low, high = np.zeros_like(slopes), np.ones_like(slopes)
    spread, start = gap[:, :, None, None, :], law[:, None, None, None, :]
    for _ in range(26):
        s = (low + high) / 2
        terms = np.exp(s[..., None] * spread + start)
        mean = (terms * spread).sum(axis=-1) / terms.sum(axis=-1)
        rising = slopes + adversary.unknown * mean > 0
        low, high = np.where(rising, low, s), np.where(rising, s, high)
    powers = np.clip((low + high) / 2, 1e-6, 1 - 1e-6)
    sums = np.exp(powers[..., None] * spread + start).sum(axis=-1)
    logs = powers * slopes + adversary.unknown * np.log(sums)
    logs[np.eye(len(law), dtype=bool)] = -np.inf
    return powers, logs  # θ, a, x, and 1 with the record


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _affinity(f: Sequence[Fraction], h: Sequence[Fraction], s: float) -> arb:
    """Return Σ f^s h^{1−s}."""
    from flint import arb

    power = _ball(s)
    return sum(
        (as_ball(p) ** power * as_ball(q) ** (1 - power) for p, q in zip(f, h, strict=True)), arb(0)
    )


def _ball(value: float) -> arb:
    from flint import arb

    return arb(value)


def _best(value_of: Callable[[float], float]) -> float:
    """Return about the best s in (0, 1): the best of a grid, then golden section around it."""
    places = [i / 32 for i in range(1, 32)]
    start = min(range(31), key=lambda i: value_of(places[i]))
    low, high = max(1e-6, places[start] - 1 / 32), min(1 - 1e-6, places[start] + 1 / 32)
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = value_of(left), value_of(right)
    for _ in range(24):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = value_of(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = value_of(right)
    return min((low, left, right, high, places[start]), key=value_of)
