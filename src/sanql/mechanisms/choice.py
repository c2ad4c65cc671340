"""Permute and flip, exactly: one of very many candidates, the nearer the likelier.

Candidates come in random order; one whose score is d below the best is taken with probability
p = exp(-d/scale), and else the next one's turn comes. The best is always taken, so somebody is (McKenna &
Sheldon, NeurIPS 2020). Coins do not depend on the order: it is as if all flipped, and one of those with
heads were chosen, each as likely as the others.

*Privacy.* Give each candidate exponential noise of this scale. It reaches d with probability p, and what
it has beyond d is then exponential again: candidates that reach it are equally likely to have the largest
noisy score, and no other has. So permute and flip picks the largest noisy score (Ding et al., 2021).
Given the others' noise a candidate wins when its own reaches some number; if no score moves by more than
D from one dataset to its neighbour, that number moves by at most 2D, and the chance of reaching it by a
factor of at most exp(2D/scale).

*How it is drawn.* Let each candidate arrive again and again, at the times of a Poisson process of rate
one of its own, and flip its coin whenever it does. First arrivals are a random order, so the first heads
of a first arrival is the choice. Heads of a candidate are a process of rate p, tails one of rate 1 - p,
independent of each other. So the next heads of all is an exponential time with rate L, the sum of all p,
away, and is a candidate's with probability p/L, whatever came before. It is a first arrival unless the
candidate had heads before, which were not first ones then, or tails, of which the first is at an
exponential time with rate 1 - p. What is drawn, then, is from the exponential mechanism, weights p, and a
candidate that would have had tails before is passed over. Where very many are nearly as good as the best,
that is rare; of a single best and one far behind it halves the chance of the latter.

Candidates at one distance are equally likely; side by side they are a *run*. So it does not matter how
many candidates there are, only how many distances: a wheel (wheel.py) chooses one of them, by how many
candidates it has times what each weighs. What is far away weighs next to nothing together. It is left
out as long as the digits drawn so far cannot land on it; the wheel knows what it weighs at most, and asks
for more where it must. Times are compared likewise, by as many digits as it takes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from sanql.entropy import Entropy
from sanql.mechanisms.enclosure import exp_minus
from sanql.mechanisms.exponential import Exponential
from sanql.mechanisms.geometric import powers
from sanql.mechanisms.wheel import Weights, Wheel

_FEW_BITS = 8  # of a time, which mostly do
_GUARD = 16


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
    """Return one candidate by permute and flip, whose coins show heads with exp(-distance/scale)."""
    if candidates.count == 1:
        return candidates.runs(None).starts[0]
    heads = Heads(scale, candidates)
    wheel = Wheel(heads.weights)
    waits: list[Exponential] = []
    passed_over = set()
    while True:
        distance, candidate = heads.of(int(wheel.spin(entropy, 1)[0]), entropy)
        waits.append(Exponential(entropy))
        if candidate in passed_over:
            continue
        if distance == 0 or not heads.after_tails(distance, waits, Exponential(entropy)):
            return candidate
        passed_over.add(candidate)


class Heads:
    """The heads of all candidates: how often they are whose, and how long they are waited for."""

    def __init__(self, scale: Fraction, candidates: Candidates) -> None:
        self._scale = scale
        self._candidates = candidates
        self._runs = Runs((), (), (), candidates.count)
        self._sizes: dict[int, int] = {}
        self._known: dict[int, Weights] = {}

    def weights(self, bits: int) -> Weights:
        """Return what the candidates at each distance weigh together."""
        if bits not in self._known:
            candidates = self._candidates
            # 0.7 > log 2: all others weigh less than 2^-bits together
            reach = math.ceil(
                self._scale * (bits + candidates.count.bit_length()) * Fraction(7, 10)
            )
            runs = candidates.runs(reach)
            sizes = _sizes_by_distance(runs)
            if len(sizes) > len(self._sizes):
                self._runs, self._sizes = runs, sizes
            lower, upper = _weights(self._scale, sizes, candidates.step, bits)
            self._known[bits] = Weights(lower, upper, 1 if runs.others else 0)
        return self._known[bits]

    def of(self, number: int, entropy: Entropy) -> tuple[int, int]:
        """Return the distance of this number and one of the candidates there, each equally likely."""
        distance, size = list(self._sizes.items())[number]
        left = _below(size, entropy)
        for place in range(bisect_left(self._runs.distances, distance), len(self._runs.sizes)):
            if left < self._runs.sizes[place]:
                return distance, self._runs.starts[place] + left
            left -= self._runs.sizes[place]
        raise AssertionError("a number below the size of all runs is in one of them")

    def after_tails(self, distance: int, waits: list[Exponential], first: Exponential) -> bool:
        """Return whether a candidate at this distance has had tails when these waits are over.

        Its first tails are at first/(1 - p), and the waits over at their sum/L.
        """
        bits = _FEW_BITS
        while True:
            fine = max(
                bits + _GUARD, min(self._known)
            )  # what the wheel has asked for will mostly do
            weights, heads = self.weights(fine), exp_minus(distance / self._scale, fine)
            drawn, waited = first.floor(bits), sum(wait.floor(bits) for wait in waits)
            earliest = drawn * sum(weights.lower)
            latest = (drawn + 1) * (sum(weights.upper) + weights.rest_upper)
            if latest <= waited * ((1 << fine) - heads.upper):
                return True
            if (waited + len(waits)) * ((1 << fine) - heads.lower) <= earliest:
                return False
            bits *= 2


def _sizes_by_distance(runs: Runs) -> dict[int, int]:
    """Return how many candidates are at each distance, in the order of distances."""
    distances = np.array(runs.distances, dtype=np.int64)
    first = np.flatnonzero(np.diff(distances, prepend=-1))
    sizes = np.add.reduceat(np.array(runs.sizes, dtype=np.int64), first)
    return dict(zip(distances[first].tolist(), sizes.tolist(), strict=True))


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


def _below(size: int, entropy: Entropy) -> int:
    """Return a whole number below the size, each as likely as the others."""
    bits = (size - 1).bit_length()
    while bits:
        drawn = int.from_bytes(entropy.bytes(-(-bits // 8)), "little") >> (-bits % 8)
        if drawn < size:
            return drawn
    return 0
