"""What needs no exact comparison, because floats show by a margin that it is not the largest.

A mass is a float to within half a unit in the last place. A quotient of two is within two units, and
a sum of m differences p − γq, each rounded three times, within (m + 4)(1 + γ) units of 2^-52. What
floats do not decide is decided in whole numbers, so results are exact; on large channels floats
decide nearly every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
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
_MARGIN = 64 * _UNIT
_MASS_LEAST = 1e-280
_GAMMA_MOST = 10**15
_QUOTIENT_MOST = 1e250
_OPEN_MOST = 200
"""Beyond that, whole numbers for all outputs are as quick."""


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

        rows = np.array([[m.numerator / m.denominator for m in row] for row in channel.rows])
        small = np.argwhere(rows <= _MASS_LEAST).tolist()
        held = not any(channel.rows[x][t] for x, t in small)
        return cls(channel, rows) if held else None

    def ratio_at_most(self, left: Database, right: Database, gamma: Fraction) -> bool:
        """Return whether no output is more than gamma times as likely on the left.

        Floats rule out most outputs; those that they leave open are compared exactly.
        """
        import numpy as np

        if gamma > _GAMMA_MOST:
            return False
        p, q = self._pair(left, right)
        left_open = np.flatnonzero(p > q * (float(gamma) * (1 - 8 * _UNIT))).tolist()
        if len(left_open) > _OPEN_MOST:
            return False
        above, below = self.channel.masses(left), self.channel.masses(right)
        return all(above[t] <= gamma * below[t] for t in left_open)

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

    def highest_spreads(self, groups: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """Return where the largest of max p / min p within a group may be: (group, output) in order.

        Groups are rows by their places. A quotient of 0 by 0 counts as nothing, by 0 as infinite.
        """
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spreads = [
                np.nan_to_num(p.max(axis=0) / p.min(axis=0), nan=0.0, posinf=np.inf)
                for p in (self.rows[list(group)] for group in groups)
            ]
        return _nearly_largest(spreads)

    def highest_shifts(
        self, seen: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> tuple[float, list[tuple[int, int]]]:
        """Return the largest of max w / min w within a group, nearly, and where it may be.

        w is p over the mass of the row in `seen`; 0/0 is skipped, and whatever is infinite counts so.
        """
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            w = self.rows / self.rows[list(seen)]
            spreads = []
            for group in groups:
                part = w[list(group)]
                skipped = np.isnan(part)
                high = np.where(skipped, -np.inf, part).max(axis=0)
                low = np.where(skipped, np.inf, part).min(axis=0)
                spread = np.where((low == 0) | (high == np.inf), np.inf, high / low)
                spreads.append(np.where(skipped.all(axis=0), 1.0, spread))
        return max(float(each.max()) for each in spreads), _nearly_largest(spreads)

    def extreme_rows(self, seen: Sequence[int], group: Sequence[int], place: int) -> list[int]:
        """Return the rows of a group whose shift at an output may be the largest or the least."""
        import numpy as np

        rows = np.array(group)
        column = self.rows[:, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            w = column[rows] / column[np.array(seen)[rows]]
        if np.isnan(w).all():
            return [group[0]]
        high, low = np.nanmax(w), np.nanmin(w)
        chosen: list[int] = rows[(w >= high * (1 - _MARGIN)) | (w <= low * (1 + _MARGIN))].tolist()
        return chosen

    def _pair(
        self, left: Database, right: Database
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.rows[self.channel.index(left)], self.rows[self.channel.index(right)]


def _nearly_largest(spreads: Sequence[NDArray[np.float64]]) -> list[tuple[int, int]]:
    """Return (array, place) of every entry that may be the largest, in order."""
    import numpy as np

    floor = open_above(max(float(each.max()) for each in spreads))
    return [
        (k, place)
        for k, each in enumerate(spreads)
        for place in np.flatnonzero(each >= floor).tolist()
    ]


def open_above(largest: float) -> float:
    """Return from where on floats leave open which quotient is the largest.

    Quotients of quotients err by far less than 64 units, and what is huge may have overflowed.
    """
    return min(largest * (1 - _MARGIN), _QUOTIENT_MOST)
