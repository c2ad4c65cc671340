"""Which pairs of rows need no exact comparison, because floats show by a margin that they are nearer.

A mass is a float to within half a unit in the last place. A quotient of two is within two units, and
a sum of m differences p − γq, each rounded three times, within (m + 4)(1 + γ) units of 2^-52. What
floats do not decide is decided in whole numbers, so results are exact; on large channels floats
decide nearly every pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.theory.channels import Channel, Database

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ENTRIES_LEAST = 4096
"""On smaller channels whole numbers are as quick."""
_UNIT = 2.0**-52
_MASS_LEAST = 1e-280
_GAMMA_MOST = 10**15


@dataclass(frozen=True)
class NearlyExact:
    """The rows of a channel in floats."""

    channel: Channel
    rows: NDArray[np.float64]

    @classmethod
    def of(cls, channel: Channel) -> NearlyExact | None:
        """Return the rows in floats; None where that is no quicker or floats do not hold them."""
        if len(channel.databases) * len(channel.outputs) < _ENTRIES_LEAST:
            return None
        import numpy as np

        rows = np.array([[float(mass) for mass in row] for row in channel.rows])
        held = all(mass == 0 or mass > _MASS_LEAST for row in channel.rows for mass in row)
        return cls(channel, rows) if held else None

    def ratio_at_most(self, left: Database, right: Database, gamma: Fraction) -> bool:
        """Return whether surely no output is more than gamma times as likely on the left."""
        import numpy as np

        p, q = self._pair(left, right)
        return gamma <= _GAMMA_MOST and bool(np.all(p <= q * (float(gamma) * (1 - 8 * _UNIT))))

    def excess_at_most(
        self, left: Database, right: Database, gamma: Fraction, delta: Fraction
    ) -> bool:
        """Return whether surely sum (p − gamma q)_+ is at most delta."""
        import numpy as np

        if gamma > _GAMMA_MOST or delta <= 0:
            return False
        p, q = self._pair(left, right)
        level = float(gamma)
        found = float(np.maximum(p - level * q, 0.0).sum())
        return found + (len(p) + 8) * (1 + level) * 2 * _UNIT < float(delta)

    def _pair(
        self, left: Database, right: Database
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.rows[self.channel.index(left)], self.rows[self.channel.index(right)]
