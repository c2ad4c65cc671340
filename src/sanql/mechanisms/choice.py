"""The exponential mechanism, exactly: one of very many candidates, the nearer the likelier.

A candidate whose score is d away from the best comes up with a probability proportional to exp(-d/scale).
If no score moves by more than D from one dataset to its neighbour, each weight and the sum of all of them
change by a factor of at most exp(D/scale), hence each probability by at most exp(2D/scale) (McSherry &
Talwar, FOCS 2007). Candidates at one distance are equally likely; side by side they are a *run*. So it
does not matter how many candidates there are, only how many distances: a wheel (wheel.py) chooses one of
them exactly, by how many candidates it has times what each weighs.

What is far away weighs next to nothing together. It is left out as long as the digits drawn so far cannot
land on it; the wheel knows what it weighs at most, and asks for more where it must.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sanql.entropy import Entropy
from sanql.mechanisms.enclosure import exp_minus
from sanql.mechanisms.geometric import powers
from sanql.mechanisms.wheel import Weights, Wheel


@dataclass(frozen=True)
class Runs:
    """Runs of candidates with one score: where each starts, how many it has, how far it is from the best.

    They are in ascending order of distance. `others` is how many candidates are left out.
    """

    starts: Sequence[int]
    sizes: Sequence[int]
    distances: Sequence[int]
    others: int


class Candidates(Protocol):
    """What may be chosen from, by whole numbers."""

    @property
    def count(self) -> int:
        """How many candidates there are."""
        ...

    @property
    def step(self) -> int:
        """What most differences between distances are multiples of; it only saves time."""
        ...

    def runs(self, reach: int | None) -> Runs:
        """Return the runs that are no further away than this; all of them for None.

        Those of a longer reach begin with those of a shorter one.
        """
        ...


def draw_choice(scale: Fraction, candidates: Candidates, entropy: Entropy) -> int:
    """Return one candidate, with a probability proportional to exp(-distance/scale)."""
    if candidates.count == 1:
        return candidates.runs(None).starts[0]
    furthest: list[Runs] = []

    def weights(bits: int) -> Weights:
        reach = math.ceil(scale * (bits + candidates.count.bit_length()) * Fraction(7, 10))
        runs = candidates.runs(reach)  # 0.7 > log 2: all others weigh less than 2^-bits together
        furthest.append(runs)
        lower, upper = _weights(scale, _sizes_by_distance(runs), candidates.step, bits)
        return Weights(lower, upper, 1 if runs.others else 0)

    number = int(Wheel(weights).spin(entropy, 1)[0])
    return _one_of(furthest[-1], number, entropy)


def _sizes_by_distance(runs: Runs) -> dict[int, int]:
    """Return how many candidates are at each distance, in the order of distances."""
    sizes: dict[int, int] = {}
    for size, distance in zip(runs.sizes, runs.distances, strict=True):
        sizes[distance] = sizes.get(distance, 0) + size
    return sizes


def _weights(
    scale: Fraction, sizes: dict[int, int], step: int, bits: int
) -> tuple[list[int], list[int]]:
    """Return enclosures of size · exp(-distance/scale), by few exponentials and many products."""
    lower, upper = powers(step / scale, max(sizes) // step + 1, bits)
    parts = {left: exp_minus(left / scale, bits) for left in {each % step for each in sizes}}
    lows, highs = [], []
    for distance, size in sizes.items():
        number, part = distance // step, parts[distance % step]
        lows.append(size * (lower[number] * part.lower >> bits))
        highs.append(size * -(-upper[number] * part.upper >> bits))
    return lows, highs


def _one_of(runs: Runs, number: int, entropy: Entropy) -> int:
    """Return one of the candidates at the distance of this number, each as likely as the others."""
    distance, size = list(_sizes_by_distance(runs).items())[number]
    left = _below(size, entropy)
    for place in range(bisect_left(runs.distances, distance), len(runs.sizes)):
        if left < runs.sizes[place]:
            return runs.starts[place] + left
        left -= runs.sizes[place]
    raise AssertionError("a number below the size of all runs is in one of them")


def _below(size: int, entropy: Entropy) -> int:
    """Return a whole number below the size, each as likely as the others."""
    bits = (size - 1).bit_length()
    while bits:
        drawn = int.from_bytes(entropy.bytes(-(-bits // 8)), "little") >> (-bits % 8)
        if drawn < size:
            return drawn
    return 0
