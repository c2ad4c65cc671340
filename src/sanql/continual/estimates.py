"""What releases of a continual count tell: how many there are so far and how many are new.

Reading counts off releases needs no rows. The noise of a count is a weighted sum of independent discrete
Gaussians whose deviation is hundreds of steps; such a sum is normal up to a relative error far below that
of floating point, so an interval is of the normal law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sanql.continual.stream import Stream
from sanql.continual.weights import readings


@dataclass(frozen=True)
class PeriodCount:
    """One period: what there was by its end, and what came in it, each within ± at the confidence."""

    period: str
    so_far: float
    so_far_within: float
    new: float
    new_within: float

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class ContinualCounts:
    """What is released of a continual count."""

    name: str
    confidence: float
    periods: tuple[PeriodCount, ...]
    remaining: int

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "confidence": self.confidence,
            "periods": [period.to_dict() for period in self.periods],
            "remaining": self.remaining,
        }


def read_counts(stream: Stream, released: Sequence[int], confidence: float) -> ContinualCounts:
    """Return the counts that the releases so far tell, period by period."""
    declared = stream.declared
    own = readings(declared.releases)
    change = np.diff(own, prepend=0.0)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * stream.noise.standard_deviation
    noisy = np.array(released, dtype=np.float64)
    found = []
    for place in range(len(released)):
        latest = noisy[: place + 1][::-1]
        found.append(
            PeriodCount(
                stream.periods[place],
                float(own[: place + 1] @ latest),
                reach * float(np.linalg.norm(own[: place + 1])),
                float(change[: place + 1] @ latest),
                reach * float(np.linalg.norm(change[: place + 1])),
            )
        )
    left = declared.releases - len(released)
    return ContinualCounts(declared.name, confidence, tuple(found), left)
