"""Exact integer noise for whole columns.

Draws are exact (see wheel.py, geometric.py, gaussian.py for the arguments) and independent: one
per cell, never shared. They are confined to ±2^62, as is every sum with them. At the largest
scale allowed (2^52) a draw reaches that far with probability below exp(-1000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, assert_never

import numpy as np

from sanql.entropy import Entropy, OsEntropy
from sanql.mechanisms.choice import Candidates, draw_choice
from sanql.mechanisms.gaussian import draw_gaussian
from sanql.mechanisms.geometric import (
    SATURATION,
    draw_geometric,
    draw_laplace,
    draw_truncated,
)
from sanql.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    SummedNoise,
    TruncatedGeometric,
)
from sanql.mechanisms.wheel import Integers

_LANES = 1 << 16  # drawn together: their working arrays stay in the processor's cache


class Sampler(Protocol):
    """What draws noise and secrets."""

    def sample(self, noise: Noise, count: int) -> Integers:
        """Return `count` independent draws."""
        ...

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return one of many candidates, the nearer to the best the likelier."""
        ...

    def secret(self) -> int:
        """Return a fresh 63-bit key for hashing."""
        ...


@dataclass(frozen=True)
class ExactSampler:
    """The sampler whose draws have exactly the stated probabilities."""

    entropy: Entropy = field(default_factory=OsEntropy)

    def sample(self, noise: Noise, count: int) -> Integers:
        """Return `count` independent draws."""
        match noise:
            case NoNoise():
                return np.zeros(count, dtype=np.int64)
            case DiscreteLaplace(scale):
                return self._filled(partial(draw_laplace, scale), count)
            case DiscreteGaussian(sigma2):
                return self._filled(partial(draw_gaussian, sigma2), count)
            case TruncatedGeometric(epsilon, limit):
                return self._filled(partial(draw_truncated, epsilon, limit), count)
            case Geometric(scale):
                return self._filled(partial(draw_geometric, scale), count)
            case SummedNoise():
                raise AssertionError("a sum of noisy cells has its noise already")
            case _:
                assert_never(noise)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return one of many candidates, with a probability proportional to exp(-distance/scale)."""
        return draw_choice(noise.scale, candidates, self.entropy)

    def secret(self) -> int:
        """Return a fresh 63-bit key for hashing."""
        return int.from_bytes(self.entropy.bytes(8), "little") >> 1

    def _filled(self, draw: Callable[[Entropy, int], Integers], count: int) -> Integers:
        """Return `count` draws from a procedure that may return fewer than it is asked for."""
        drawn = np.empty(count, dtype=np.int64)
        done = 0
        while done < count:
            some = draw(self.entropy, min(_LANES, count - done))
            drawn[done : done + some.size] = some
            done += some.size
        return drawn


def add_saturating(values: Integers, noise: Integers) -> Integers:
    """Return values + noise, held within ±2^62 and never wrapped.

    Values are first brought within ±2^62, which moves neighbours no further apart.
    """
    values = np.clip(values, -SATURATION, SATURATION)
    room_above = SATURATION - np.maximum(values, 0)
    room_below = -SATURATION - np.minimum(values, 0)
    return values + np.clip(noise, room_below, room_above)
