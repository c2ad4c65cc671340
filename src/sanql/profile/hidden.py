"""How many units a profile's noise may hide beyond the largest that it tells from noise.

A bin is empty as far as can be told, and may still have as many units as its noise is wide. Thirty large
customers of three thousand can have a third of all rows, and no bin in which they are rises above noise:
a norm chosen as if they were not there loses most of theirs. So it is reckoned what the noisy counts of
all bins beyond say of three guesses:

    none      no unit is beyond                                                         4/10
    fewer     bins go on having fewer units, each a fixed share of the one before       4/10
    apart     n units are in up to four bins next to each other, with no more rows      2/10
              than all units that are seen

Within each all shares, places and numbers (in steps of a half) count alike. With noise of the scale b
counts c are as likely as exp(-Σ|c - n|/b) where there are n units, which weighs the guesses. What is lost
of rows is an error that counts by its square: so a bin is taken to have the root of the mean square of
its units. It decides which norm is chosen and nothing else. Wrong guesses cost accuracy, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sanql.profile.histogram import SizeCounts

FEWER, APART = 0.4, 0.2
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_WIDTHS = (1, 2, 3, 4)
_STEP = 1.5

Guess = tuple[float, ...]
"""How many units each bin beyond the end has."""


def hidden_units(counted: SizeCounts, end: int) -> Guess:
    """Return how many units each bin from `end` on may well have, by noisy counts."""
    seen = [max(0.0, float(count)) for count in counted.counts[:end]]
    counts = counted.counts[end:]
    if not end or not counts:
        return (0.0,) * len(counts)
    sizes = [float(size) for size in counted.middles]
    rows = sum(units * size for units, size in zip(seen, sizes, strict=False))
    apart = list(_apart(sizes[end:], rows))
    fewer = [tuple(seen[-1] * share ** (k + 1) for k in range(len(counts))) for share in _SHARES]
    guesses = [((0.0,) * len(counts), 1 - FEWER - APART)]
    guesses += [(guess, FEWER / len(fewer)) for guess in fewer]
    guesses += [(guess, APART / len(apart)) for guess in apart]
    return _mean_squares(guesses, counts, float(counted.noise.scale))


def _apart(sizes: Sequence[float], rows: float) -> Iterator[Guess]:
    """Yield so many units in equal parts in bins next to each other, with no more rows than are seen."""
    for first in range(len(sizes)):
        for width in _WIDTHS[: len(sizes) - first]:
            within = range(first, first + width)
            each = sum(sizes[place] for place in within) / width
            units = 1.0
            while units * each <= rows:
                yield tuple(
                    units / width if place in within else 0.0 for place in range(len(sizes))
                )
                units *= _STEP


def _mean_squares(
    guesses: Sequence[tuple[Guess, float]], counts: Sequence[int], scale: float
) -> Guess:
    """Return the root of the mean square of each bin's units, guesses weighed by noisy counts."""
    far = [
        sum(abs(count - units) for count, units in zip(counts, guess, strict=True)) / scale
        for guess, _ in guesses
    ]
    nearest = min(far)
    weights = [
        share * math.exp(nearest - each) for (_, share), each in zip(guesses, far, strict=True)
    ]
    whole = math.fsum(weights)
    squares = (
        math.fsum(
            weight * guess[place] ** 2 for weight, (guess, _) in zip(weights, guesses, strict=True)
        )
        for place in range(len(counts))
    )
    return tuple(math.sqrt(square / whole) for square in squares)
