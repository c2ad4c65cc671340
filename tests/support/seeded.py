"""Noise that is the same every time a test runs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from sanql.mechanisms import ExactSampler


@dataclass
class SeededEntropy:
    """Bytes of a seeded generator in the place of the operating system's."""

    seed: int
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def bytes(self, count: int) -> bytes:
        """Return the next bytes."""
        return self.rng.randbytes(count)


def seeded(seed: int) -> ExactSampler:
    """Return the real sampler, with draws that are the same every time."""
    return ExactSampler(SeededEntropy(seed))
