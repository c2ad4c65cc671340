"""delta of a sum of coins of two kinds, for many numbers of each at once.

Coins fall heads with probability beta or 1 − beta. Few coins, and those whose maximum is within some
steps of all heads, are taken from the law of their sum, written out from the top; many by Fourier
sums (`rising`), the pairs in stretches that share a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from sanql.mechanisms.noiseless.numbers import as_ball, upper
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
    for near, stretch in _stretches(coins, pairs, float(epsilon)):
        if near:
            found += [top_delta(coins, pair, epsilon) for pair in stretch]
        else:
            found += run_deltas(coins, stretch, Fraction(1), epsilon)
    return found


def rough_coins_deltas(beta: Fraction, pairs: Sequence[Pair], epsilon: float) -> list[float]:
    """Return the same in floats, for searching only."""
    coins = (Coin(beta), Coin(1 - beta))
    found: list[float] = []
    for near, stretch in _stretches(coins, pairs, epsilon):
        saddle = shared_saddle(coins, stretch[0], stretch[-1], 1.0, epsilon) if not near else None
        if near:
            found += [top_delta(coins, pair, Fraction(epsilon)) for pair in stretch]
        elif saddle is None:
            found += [rough_delta(parts_of(coins, stretch[0]), 1.0, epsilon)] * len(stretch)
        else:
            found += maxima(coins, stretch, 1.0, epsilon, saddle).deltas.tolist()
    return found


def _stretches(
    coins: tuple[Coin, Coin], pairs: Sequence[Pair], epsilon: float
) -> Iterator[tuple[bool, list[Pair]]]:
    """Yield pairs that are to be taken from the top, and those that are not, in turn."""
    for near, group in groupby(
        pairs, lambda pair: sum(pair) <= FEW_MAX or near_edge(coins, pair, 1.0, epsilon)
    ):
        found = list(group)
        for i in range(0, len(found), _STRETCH):
            yield near, found[i : i + _STRETCH]


def top_delta(coins: tuple[Coin, Coin], pair: Pair, epsilon: Fraction) -> float:
    """Return delta from the law of the sum, written out from all heads downwards.

    G(t) = P(S ≥ t − 1) − g·P(S ≥ t) rises to one maximum as t falls, and then falls; more is written
    out until it surely has.
    """
    from flint import arb, ctx

    if sum(pair) == 0:
        return 1.0
    total, written = sum(pair), min(sum(pair), _FROM_TOP)
    with ctx.workprec(160):
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
