"""Samplers of the tests: silent, recording, and deliberately wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms import Candidates, ExactSampler, Geometric, Noise

SECRET = 1_234_567_890_123


@dataclass(frozen=True)
class SilentSampler:
    """Draws zeros, and remembers what it was asked for."""

    asked: list[tuple[Noise, int]] = field(default_factory=list)

    def sample(self, noise: Noise, count: int) -> NDArray[np.int64]:
        """Return no noise at all."""
        self.asked.append((noise, count))
        return np.zeros(count, dtype=np.int64)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return the first of the best."""
        self.asked.append((noise, 1))
        return candidates.runs(0).starts[0]

    def secret(self) -> int:
        """Return the same key every time."""
        return SECRET


@dataclass(frozen=True)
class TamperedSampler:
    """Draws real noise of another distribution than it was asked for."""

    change: Callable[[Noise], Noise]
    exact: ExactSampler = field(default_factory=ExactSampler)

    def sample(self, noise: Noise, count: int) -> NDArray[np.int64]:
        """Return draws of the changed noise."""
        return self.exact.sample(self.change(noise), count)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return a candidate chosen with the changed noise."""
        changed = self.change(noise)
        assert isinstance(changed, Geometric)
        return self.exact.choose(changed, candidates)

    def secret(self) -> int:
        """Return a fresh key."""
        return self.exact.secret()


@dataclass(frozen=True)
class ExtremeSampler:
    """Draws what noise could reach at the very most: beyond it everything saturates."""

    def sample(self, noise: Noise, count: int) -> NDArray[np.int64]:
        """Return the two ends and zero in turn."""
        return np.resize(np.array([2**62, -(2**62), 0], dtype=np.int64), count)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return the last of the worst."""
        runs = candidates.runs(None)
        return runs.starts[-1] + runs.sizes[-1] - 1

    def secret(self) -> int:
        """Return the same key every time."""
        return SECRET
