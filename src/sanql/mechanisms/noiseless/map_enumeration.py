"""The exact delta of a MAP estimator, by enumerating what the other records can be.

The estimator sees only how often each value occurs, so the count vectors of the unknown others are
enumerated, with the multinomial law of each f_θ; the protected record and the worst known records
are added. The divergence is convex in the prior over the laws, so the vertices suffice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from sanql.mechanisms.noiseless.map_estimators import MapAdversary
from sanql.mechanisms.noiseless.numbers import Number, checked_probability, refusal

VECTORS_MAX = 60_000
KNOWN_MAX = 500
ENUMERATED_MAX = 30_000
WORK_MAX = 4_000_000
_MARGIN = 1 + 1e-9
"""Logarithms of factorials up to 30,000 and four-ulp exponentials err by far less."""
_NEAR = 1e-7
"""Scores closer than this are compared again in whole numbers."""


def feasible(adversary: MapAdversary) -> bool:
    """Return whether the enumeration is small enough."""
    values = len(adversary.laws[0])
    unknown = math.comb(adversary.unknown + values - 1, values - 1)
    known = math.comb(adversary.known + values - 1, values - 1)
    within = unknown <= VECTORS_MAX and known <= KNOWN_MAX and adversary.others <= ENUMERATED_MAX
    return within and unknown * known * values <= WORK_MAX


def enumerated_delta(adversary: MapAdversary, epsilon: Fraction) -> float:
    """Return the exact delta at epsilon, rounded up.

    >>> coin = MapAdversary(10, ((0.9, 0.1), (0.1, 0.9)))
    >>> round(enumerated_delta(coin, Fraction(0)), 10)
    0.0014880348
    """
    g = math.exp(float(epsilon))
    slack = 1e-15 * (adversary.others + 10)
    worst = 0.0
    for real, ideal in _cached_outputs(adversary):
        for p, q in ((real, ideal), (ideal, real)):
            # a difference of nearly equal masses keeps few of their digits, so each gets its own
            # slack: their logarithms are sums of about n·ln n, off by some units in the last place
            above = np.maximum(p * (1 + slack) - g * q * (1 - slack), 0)
            worst = max(worst, float(above.sum(axis=-1).max()))
    return min(1.0, worst * _MARGIN + 1e-300)


def enumerated_epsilon(adversary: MapAdversary, least_prior: Number) -> float:
    """Return the least pure epsilon when every law has prior probability ≥ `least_prior`.

    Ratios of linear functions of the prior are largest at a vertex of the priors allowed. No known
    records: they would weigh the laws as well.
    """
    if adversary.known:
        raise refusal(
            "known",
            "the pure guarantee is proved without known records",
            "use the (0, delta) certificate",
        )
    count = len(adversary.laws)
    least = float(checked_probability(least_prior, "the least prior", most=Fraction(1, count)))
    priors = np.full((count, count), least) + np.eye(count) * (1 - count * least)
    likelihood = np.array([[float(p) for p in law] for law in adversary.rational_laws])
    worst = 0.0
    for x, (real, ideal) in enumerate(_outputs(adversary)):
        posterior = priors * likelihood[:, x % likelihood.shape[1]]
        mixed, plain = posterior @ real, posterior @ ideal
        if np.any((mixed == 0) != (plain == 0)):
            return math.inf
        seen = mixed > 0
        worst = max(worst, float(np.abs(np.log(mixed[seen] / plain[seen])).max()))
    return worst * _MARGIN


@lru_cache(maxsize=4)
def _cached_outputs(adversary: MapAdversary) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return what does not depend on epsilon, so that searching for one is quick."""
    return tuple(_outputs(adversary))


def _outputs(adversary: MapAdversary) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for known records z and a record x in turn, P(output | θ) with and without x.

    The last index of the pairs runs over x, so that the k-th pair has x = k modulo the values.
    """
    if not feasible(adversary):
        raise refusal(
            "enumeration",
            f"{adversary.others} records over {len(adversary.laws[0])} values are too many",
            "use the Chernoff bound instead",
        )
    values, laws = len(adversary.laws[0]), adversary.rational_laws
    counts = _vectors(adversary.unknown, values)
    chances = _multinomial(counts, laws)
    for known in _vectors(adversary.known, values):
        ideal = _law(_argmax(adversary, counts + known), chances, len(laws))
        for x in range(values):
            record = known + np.eye(values, dtype=np.int64)[x]
            yield _law(_argmax(adversary, counts + record), chances, len(laws)), ideal


def _law(outputs: np.ndarray, chances: np.ndarray, count: int) -> np.ndarray:
    """Return P(output = t | law θ), one row for each law."""
    return np.stack([np.bincount(outputs, weights=row, minlength=count) for row in chances])


def _vectors(total: int, values: int) -> np.ndarray:
    """Return every vector of `values` counts that add up to `total`."""
    bars = np.array(list(combinations(range(total + values - 1), values - 1)), dtype=np.int64)
    bars = bars.reshape(-1, values - 1)
    ends = np.full((len(bars), 1), total + values - 1)
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, ends], axis=1)
    vectors: np.ndarray = np.diff(edges, axis=1) - 1
    return vectors


def _multinomial(counts: np.ndarray, laws: tuple[tuple[Fraction, ...], ...]) -> np.ndarray:
    """Return the multinomial probability of every count vector under every law."""
    total = int(counts[0].sum())
    table = np.array([math.lgamma(k + 1) for k in range(total + 1)])
    ways = table[total] - table[counts].sum(axis=1)
    logs = np.array([[math.log(p) for p in law] for law in laws])
    raw = np.exp(ways[None, :] + logs @ counts.T)
    chances: np.ndarray = raw / raw.sum(axis=1, keepdims=True)
    return chances


def _argmax(adversary: MapAdversary, counts: np.ndarray) -> np.ndarray:
    """Return the estimator's output for every count vector, ties decided exactly."""
    laws, weights = adversary.rational_laws, adversary.rational_weights
    logs = np.array([[math.log(p) for p in law] for law in laws])
    scores = np.array([math.log(w) for w in weights])[:, None] + logs @ counts.T
    best: np.ndarray = scores.argmax(axis=0)
    near = (scores >= scores.max(axis=0) - _NEAR).sum(axis=0) > 1
    for i in np.flatnonzero(near):
        exact_scores = [
            weight * math.prod(p ** int(c) for p, c in zip(law, counts[i], strict=True))
            for weight, law in zip(weights, laws, strict=True)
        ]
        best[i] = exact_scores.index(max(exact_scores))
    return best
