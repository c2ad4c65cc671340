"""delta of a sum of coins of two kinds, for many numbers of each at once.

Coins fall heads with probability beta or 1 − beta. Few coins, those whose maximum is within some
steps of all heads, and those that rarely fall on their rarer side, are taken from the law of their
sum, written out; many by Fourier sums (`rising`), the pairs in stretches that share a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from sanql.mechanisms.noiseless.numbers import SMALLEST, UNIT_ROUNDOFF, as_ball, upper
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.rising import run_deltas
from sanql.mechanisms.noiseless.saddle import (
    maxima,
    near_edge,
    parts_of,
    rough_delta,
    shared_saddle,
)
from sanql.mechanisms.noiseless.summands import Coin

if TYPE_CHECKING:
    from flint import arb_poly

FEW_MAX = 64
_STRETCH = 64
_FEW_EXPECTED, _RARE_MAX = 8, 160
_RARE, _TOP, _FOURIER = "rare", "top", "fourier"
_FROM_TOP = 32
"""How much of the law is written out first."""

Pair = tuple[int, int]


def coins_deltas(beta: Fraction, pairs: Sequence[Pair], epsilon: Fraction) -> list[float]:
    """Return upper bounds of delta for sums of pair[0] coins with beta and pair[1] with 1 − beta.

    Pairs must lie on a straight way: the first numbers rising by equal steps (or nearly), the second
    falling.
    """
    coins = (Coin(beta), Coin(1 - beta))
    found: list[float] = []
    for kind, stretch in _stretches(coins, pairs, float(epsilon)):
        if kind is _FOURIER:
            found += run_deltas(coins, stretch, Fraction(1), epsilon)
        else:
            found += _written_out(coins, stretch, epsilon, rare=kind is _RARE)
    return found


def rough_coins_deltas(beta: Fraction, pairs: Sequence[Pair], epsilon: float) -> list[float]:
    """Return the same in floats, for searching only."""
    coins = (Coin(beta), Coin(1 - beta))
    found: list[float] = []
    for kind, stretch in _stretches(coins, pairs, epsilon):
        if kind is not _FOURIER:
            found += _written_out(coins, stretch, Fraction(epsilon), rare=kind is _RARE)
            continue
        saddle = shared_saddle(coins, stretch[0], stretch[-1], 1.0, epsilon)
        if saddle is None:
            found += [rough_delta(parts_of(coins, stretch[0]), 1.0, epsilon)] * len(stretch)
        else:
            found += maxima(coins, stretch, 1.0, epsilon, saddle).deltas.tolist()
    return found


def _stretches(
    coins: tuple[Coin, Coin], pairs: Sequence[Pair], epsilon: float
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield pairs by how they are to be computed, in turn."""
    beta, tilted = float(coins[0].heads), coins[0].slope(epsilon)[0]

    def kind(pair: Pair) -> str:
        if max(pair) * beta <= _FEW_EXPECTED and pair[0] * tilted <= _RARE_MAX:
            return _RARE
        few = sum(pair) <= FEW_MAX or near_edge(coins, pair, 1.0, epsilon)
        return _TOP if few else _FOURIER

    for name, group in groupby(pairs, kind):
        found = list(group)
        for i in range(0, len(found), _STRETCH):
            yield name, found[i : i + _STRETCH]


def _written_out(
    coins: tuple[Coin, Coin], pairs: Sequence[Pair], epsilon: Fraction, *, rare: bool
) -> list[float]:
    """Return delta from the law of the sum, in floats whose rounding is bounded by counting.

    The law is written out over J + 1 numbers of each kind of coin that did something rare: fell
    tails, counting from all heads down; or (`rare`) fell on their rarer side. Masses are products
    and sums of positive numbers: at most 2·J factors with 7 roundings each, and 3·J additions, so
    less than 18·J + 60 roundings, and some for e^epsilon; what lies beyond J is below a geometric
    series. G rises to one maximum, so if it is surely lower at the ends of what is written, the
    maximum is among it; else balls decide.
    """
    numbers = np.array(pairs, dtype=np.float64)
    beta, tilted = float(coins[0].heads), coins[0].slope(float(epsilon))[0]
    # where the maximum is, about `tilted` of the first coins fall on their rarer side
    last = FEW_MAX + (int(1.5 * tilted * numbers[:, 0].max()) if rare else 0)
    last = int(min(numbers.sum(axis=1).max(), last))
    odds = np.array([beta / (1 - beta), beta / (1 - beta)])
    logs = numbers.sum(axis=1) * math.log1p(-beta)
    if not rare:
        odds[0] = 1 / odds[0]
        logs = numbers @ np.array([math.log(beta), math.log1p(-beta)])
    k = np.arange(last, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        ratios = np.maximum(numbers[:, :, None] - k, 0) / (k + 1) * odds[:, None]
        first, second = np.moveaxis(np.cumprod(np.insert(ratios, 0, 1.0, axis=2), axis=2), 1, 0)
        law = _differences(first, second) if rare else _sums(first, second)
        tails = np.cumsum(law, axis=1)
        before = np.insert(tails[:, :-1], 0, 0.0, axis=1)
        slack = (18 * last + 4 * float(epsilon) + 60) * UNIT_ROUNDOFF
        g = math.exp(float(epsilon))
        beyond = _beyond(first, second, numbers > last)[:, None] if rare else 0.0
        values = (tails + beyond) * (1 + slack) - g * before * (1 - slack)
        surely = tails * (1 - slack) - g * (before + beyond) * (1 + slack)
        best, low = values.max(axis=1), surely.max(axis=1)
        fallen = (values[:, -1] < low) & ((values[:, 0] < low) | (not rare))
        whole = numbers.max(axis=1) <= last if rare else numbers.sum(axis=1) <= last
        rounding = 1e-14 * np.abs(logs) + 4 * UNIT_ROUNDOFF * numbers.sum(axis=1) + 1e-12
        bounds = best * np.exp(logs + rounding)
        done = (fallen | whole) & np.isfinite(bounds) & (best < 1e300) & (logs > -600)
    return [
        min(1.0, max(bound, SMALLEST)) if sure else _in_balls(coins, pair, epsilon)
        for pair, bound, sure in zip(pairs, bounds.tolist(), done.tolist(), strict=True)
    ]


def _sums(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the law of the sum of two numbers, as far as they are written out."""
    law = np.zeros_like(first)
    for j in range(first.shape[1]):
        law[:, j:] += first[:, j : j + 1] * second[:, : first.shape[1] - j]
    return law


def _differences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the law of the first number minus the second, the largest first."""
    size = first.shape[1]
    law = np.zeros((len(first), 2 * size - 1))
    for j in range(size):  # the difference is i − j, at place size − 1 − (i − j)
        law[:, j : j + size] += first[:, ::-1] * second[:, j : j + 1]
    return law


def _beyond(first: np.ndarray, second: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return a bound of what is beyond, where there is more: at most eight being expected, masses
    fall by more than three quarters from one to the next there."""
    whole = first.sum(axis=1), second.sum(axis=1)
    last = first[:, -1] * more[:, 0], second[:, -1] * more[:, 1]
    return np.asarray(0.5 * (last[0] * whole[1] + last[1] * whole[0]))


def _in_balls(coins: tuple[Coin, Coin], pair: Pair, epsilon: Fraction) -> float:
    near = sum(pair) <= FEW_MAX or near_edge(coins, pair, 1.0, float(epsilon))
    return (
        top_delta(coins, pair, epsilon)
        if near
        else run_deltas(coins, [pair], Fraction(1), epsilon)[0]
    )


def top_delta(coins: tuple[Coin, Coin], pair: Pair, epsilon: Fraction) -> float:
    """Return delta from the law of the sum, written out from all heads downwards.

    G(t) = P(S ≥ t − 1) − g·P(S ≥ t) rises to one maximum as t falls, and then falls; more is written
    out until it surely has.
    """
    from flint import arb

    if sum(pair) == 0:
        return 1.0
    total, written = sum(pair), min(sum(pair), _FROM_TOP)
    with precision(160):
        g = as_ball(epsilon).exp()
        while True:
            tails = [_tails(coin, n, written) for coin, n in zip(coins, pair, strict=True)]
            law = (tails[0] * tails[1]).coeffs()[: written + 1]
            best, above, value = arb(0), arb(0), arb(1)
            for mass in law:
                value, above = above + mass - g * above, above + mass
                best = best.max(value)
            if written == total:
                return min(1.0, upper(best.max(above - g * above)))
            if value < best:
                return min(1.0, upper(best))
            written = min(total, 2 * written)


def _tails(coin: Coin, number: int, most: int) -> arb_poly:
    """Return the law of how many coins are not heads, up to `most`."""
    from flint import arb_poly

    heads = as_ball(coin.heads)
    odds = (1 - heads) / heads
    masses = [heads**number]
    for k in range(min(number, most)):
        masses.append(masses[-1] * odds * (number - k) / (k + 1))
    return arb_poly(masses)
