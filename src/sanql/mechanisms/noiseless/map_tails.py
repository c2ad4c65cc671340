"""The delta of a MAP estimator beyond enumeration, from tails of its log-likelihood ratios.

Under law θ write i_a = P(a beats θ) without the record and r_a with it, both enclosed by
`ratio_tails`, and x_a = Σ_b P(a beats θ, b beats a), which Chernoff's method bounds with two
parameters. The estimator outputs a ≠ θ with a probability between i_a − x_a and i_a, and θ is the
complement, so for every set T of outputs and g = e^epsilon

    R(T) − g·I(T) ≤ Σ_a max(0, r_a − g·(i_a − x_a))              θ not in T,
    R(T) − g·I(T) ≤ 1 − g + Σ_a max(0, g·i_a − (r_a − x_a))      θ in T,

and the same with R and I exchanged. Of all cases, a law θ and what the known records can be,
the one with the largest bound is looked at more closely, by few nodes and then by many, until the
largest is one that was looked at by many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heapify, heapreplace
from itertools import combinations_with_replacement

import numpy as np

from sanql.mechanisms.noiseless.map_estimators import MapAdversary
from sanql.mechanisms.noiseless.ratio_tails import Ratios, log_of, tails

LAWS_MAX = 6
VALUES_MAX = 32
KNOWN_MAX = 1_000
STEPS_MAX = 30
_SHARES = (20, 1)
NODES_OF_A_CASE = 400_000
_POWERS = np.linspace(0, 1, 129)[1:]
_GRID = np.linspace(-1, 1, 9)

Bounds = tuple[float, float]


def tail_delta(adversary: MapAdversary, epsilon: Fraction, nodes: int = NODES_OF_A_CASE) -> float:
    """Return a bound of delta at epsilon, or 1 where there are too many laws, values or cases.

    >>> coin = MapAdversary(10, ((0.9, 0.1), (0.1, 0.9)))
    >>> round(tail_delta(coin, Fraction(0)), 6)  # the exact one is 0.0014880348
    0.001488
    """
    values = len(adversary.laws[0])
    known = math.comb(adversary.known + values - 1, values - 1)
    if len(adversary.laws) > LAWS_MAX or values > VALUES_MAX or known * values > KNOWN_MAX:
        return 1.0
    heap = [(-most, 0, theta, records) for most, theta, records in _cases(adversary)]
    heapify(heap)
    for _ in range(STEPS_MAX):
        most, looked, theta, records = heap[0]
        if looked == len(_SHARES):
            break
        pairs = _pairs(adversary, theta, records, nodes // _SHARES[looked])
        found = max(pair.delta(float(epsilon)) for pair in pairs)
        heapreplace(heap, (max(most, -found), looked + 1, theta, records))
    return min(1.0, -heap[0][0] * (1 + 1e-9) + 1e-300)


@dataclass(frozen=True)
class _Pair:
    """What encloses the law of the output without a record and with it, one a law but the true."""

    without: tuple[Bounds, ...]
    having: tuple[Bounds, ...]
    third_without: tuple[float, ...]
    third_having: tuple[float, ...]

    def delta(self, epsilon: float) -> float:
        """Return the greatest of the four bounds."""
        plain = self.without, self.third_without
        record = self.having, self.third_having
        return max(_above(epsilon, *record, *plain), _above(epsilon, *plain, *record))


def _above(
    epsilon: float,
    p: Sequence[Bounds],
    third_p: Sequence[float],
    q: Sequence[Bounds],
    third_q: Sequence[float],
) -> float:
    """Return a bound of P(T) − e^epsilon·Q(T) over all sets T of outputs."""
    g = math.exp(epsilon)
    low, high = g * (1 - 1e-15), g * (1 + 1e-15)
    outside = sum(
        max(0.0, at_most - low * max(0.0, least - third))
        for (_, at_most), (least, _), third in zip(p, q, third_q, strict=True)
    )
    inside = sum(
        max(0.0, high * at_most - max(0.0, least - third))
        for (least, _), (_, at_most), third in zip(p, q, third_p, strict=True)
    )
    return max(outside, inside - (low - 1 if epsilon > 0 else 0.0))


def _cases(adversary: MapAdversary) -> list[tuple[float, int, tuple[int, ...]]]:
    """Return Chernoff's bound, the true law and the known records of every case."""
    logs = _logs(adversary)
    laws = range(len(logs))
    rates = np.array([[_rates(logs, theta, a) for a in laws] for theta in laws])
    weight = np.array([log_of(w) for w in adversary.rational_weights])
    cases: list[tuple[float, int, tuple[int, ...]]] = []
    for records in combinations_with_replacement(range(logs.shape[1]), adversary.known):
        given = weight + logs[:, list(records)].sum(axis=1)
        scores = np.concatenate([given[:, None], given[:, None] + logs], axis=1)  # law, record
        gap = scores[None] - scores[:, None]  # true law, law, record
        powers = adversary.unknown * rates[:, :, None] + _POWERS * gap[..., None]
        rare = np.exp(np.minimum(powers.min(axis=3), 0))
        rare[np.eye(len(logs), dtype=bool)] = 0
        most = rare.sum(axis=1).max(axis=1) * (1 + 1e-12 * (adversary.others + 100))
        cases += [(float(most[theta]), theta, records) for theta in laws]
    return cases


def _logs(adversary: MapAdversary) -> np.ndarray:
    return np.array([[log_of(p) for p in law] for law in adversary.rational_laws])


def _rates(logs: np.ndarray, theta: int, a: int) -> np.ndarray:
    """Return ln Σ f_θ^{1−s} f_a^s at every power s."""
    mixed = np.outer(1 - _POWERS, logs[theta]) + np.outer(_POWERS, logs[a])
    rates: np.ndarray = np.log(np.exp(mixed).sum(axis=1))
    return rates


@lru_cache(maxsize=1024)
def _pairs(
    adversary: MapAdversary, theta: int, records: tuple[int, ...], nodes: int
) -> tuple[_Pair, ...]:
    """Return what is known of the output for every value of the protected record."""
    laws = adversary.rational_laws
    scores = [
        weight * math.prod((law[z] for z in records), start=Fraction(1))
        for weight, law in zip(adversary.rational_weights, laws, strict=True)
    ]
    others = [a for a in range(len(laws)) if a != theta]
    values = range(len(laws[0]))
    columns = []
    for a in others:
        step = [p / q for p, q in zip(laws[a], laws[theta], strict=True)]
        start = scores[a] / scores[theta]
        levels = [(start, a < theta)] + [(start * step[x], a < theta) for x in values]
        ratios = Ratios(laws[theta], tuple(step))
        columns.append(tails(ratios, adversary.unknown, levels, nodes // len(others)))
    scored = [scores] + [[s * law[x] for s, law in zip(scores, laws, strict=True)] for x in values]
    thirds = [tuple(_third(adversary, theta, a, given) for a in others) for given in scored]
    rows = list(zip(*columns, strict=True))
    return tuple(_Pair(rows[0], rows[1 + x], thirds[0], thirds[1 + x]) for x in values)


def _third(adversary: MapAdversary, theta: int, a: int, scores: Sequence[Fraction]) -> float:
    """Return a bound of Σ_b P(a beats θ and b beats a, or they are level)."""
    logs, total = _logs(adversary), 0.0
    for b in range(len(scores)):
        if b not in (theta, a):
            ahead = log_of(scores[a] / scores[theta]), log_of(scores[b] / scores[a])
            total += _both(logs[[theta, a, b]], adversary.unknown, *ahead)
    return total


def _both(logs: np.ndarray, count: int, first: float, second: float) -> float:
    """Return about the least e^{s·first + t·second} (Σ f_θ^{1−s} f_a^{s−t} f_b^t)^n; all are bounds."""
    centre, width, best = np.array([0.5, 0.5]), 0.5, 0.0
    for _ in range(7):
        s, t = (np.maximum(c + width * _GRID, 0) for c in centre)
        s, t = (m.ravel() for m in np.meshgrid(s, t))
        mixed = np.outer(1 - s, logs[0]) + np.outer(s - t, logs[1]) + np.outer(t, logs[2])
        powers = count * np.log(np.exp(mixed).sum(axis=1)) + s * first + t * second
        least = int(powers.argmin())
        best = min(best, float(powers[least]))
        centre, width = np.array([s[least], t[least]]), width / 2.5
    return min(1.0, math.exp(best) * (1 + 1e-12 * (count + 100)))
