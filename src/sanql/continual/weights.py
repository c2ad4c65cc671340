"""How much a row counts in a release by its age in periods, and how counts are read off releases.

Counts of everything so far are A x, where x are the rows of each period and A is all ones on and below
the diagonal. A is written as a product L R; R x is released with independent noise, and L, which needs no
rows, makes counts of it. R has the weights w[0] >= w[1] >= … >= 1 along its diagonals: those of the
square root of A, binom(2k, k) / 4^k (Fichtenberger, Henzinger and Upadhyay, 2023), in steps of 1/256, so
that what is released is a whole number. L = A / R is worked out for these very steps: it is exact but for
floating point, in which no promise is made. docs/continual.md has the proof and the error.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

STEPS = 256


@lru_cache(maxsize=32)
def weights(releases: int) -> tuple[int, ...]:
    """Return by how much a row counts that is 0, 1, 2, … periods old, never more than a younger one.

    >>> weights(6)
    (256, 128, 96, 80, 70, 63)
    """
    exact, found = 1.0, []
    for age in range(releases):
        exact *= (2 * age - 1) / (2 * age) if age else 1.0
        found.append(max(1, round(STEPS * exact)))
    return tuple(found)


@lru_cache(maxsize=32)
def readings(releases: int) -> NDArray[np.float64]:
    """Return by how much a release counts that is 0, 1, 2, … periods old in what there is so far.

    >>> float(readings(3)[0] * weights(3)[0])
    1.0
    """
    own = np.array(weights(releases), dtype=np.float64)
    found = np.zeros(releases)
    for age in range(releases):
        found[age] = (1.0 - own[1 : age + 1] @ found[:age][::-1]) / own[0]
    return found
