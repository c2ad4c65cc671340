"""delta_K, the divergence of a sum of K equal uniform records from its shift, for many K at once.

Three methods meet here, each where it is tight to nine digits: alternating sums for few records and
where the maximum is near the edge of the sum's range, Fourier sums elsewhere. delta_K falls with K,
because one more independent record is post-processing; so the least bound of any smaller K is a
bound too, and what is returned never rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanql.mechanisms.noiseless.irwin_hall import EXACT_MAX, few_delta
from sanql.mechanisms.noiseless.numbers import SMALLEST
from sanql.mechanisms.noiseless.rising import rising_deltas
from sanql.mechanisms.noiseless.saddle import edge_count, maxima, rough_delta, runs, shared_saddle
from sanql.mechanisms.noiseless.summands import Interval, Lattice

ALTERNATING = "exact alternating sums"
FOURIER = "Fourier sums in ball arithmetic"
_FLOAT_MIN = 18
"""Below this many records a float Fourier sum needs too many nodes."""
_EDGE_MAX = 200
_EDGE_STEPS_MAX = 64


def copies_deltas(
    part: Interval | Lattice, counts: Sequence[int], shift: Fraction, epsilon: Fraction
) -> tuple[NDArray[np.float64], set[str]]:
    """Return upper bounds of delta_K for rising K, none above the one before, and the methods.

    >>> copies_deltas(Interval(), [0, 1, 2], Fraction(1, 2), Fraction(1))[0].round(3).tolist()
    [1.0, 0.5, 0.198]
    """
    far = [k for k in counts if k <= _far(part, shift, float(epsilon))]
    edge = max(EXACT_MAX, _edge(part, shift, float(epsilon)))
    few = [k for k in counts[len(far) :] if k <= edge]
    many = list(counts[len(far) + len(few) :])
    found = [1.0 for _ in far]
    for k in few:
        deep = found and found[-1] <= SMALLEST  # more records have no larger delta
        found.append(SMALLEST if deep else few_delta(part, k, shift, epsilon))
    deep = found and found[-1] <= SMALLEST
    found += [SMALLEST] * len(many) if deep else rising_deltas(part, many, shift, epsilon)
    tiers = ({ALTERNATING} if few else set()) | ({FOURIER} if many else set())
    return np.minimum.accumulate(np.array(found)), tiers


def rough_deltas(
    part: Interval | Lattice, counts: Sequence[int], shift: Fraction, epsilon: float
) -> NDArray[Any]:
    """Return delta_K for rising K in floats, for searching only."""
    far = [k for k in counts if k <= _far(part, shift, epsilon)]
    edge = _edge(part, shift, epsilon)
    few = [k for k in counts[len(far) :] if k < _FLOAT_MIN or k <= edge]
    found = [1.0 for _ in far]
    for k in few:
        deep = found and found[-1] <= SMALLEST
        found.append(0.0 if deep else few_delta(part, k, shift, Fraction(epsilon)))
    for run in runs(counts[len(far) + len(few) :]):
        if found and found[-1] <= SMALLEST:
            break
        saddle = shared_saddle((part,), (run[0],), (run[-1],), float(shift), epsilon)
        if saddle is None:
            found.append(rough_delta([(part, run[0])], float(shift), epsilon))
            found += found[-1:] * (len(run) - 1)
        else:
            found += maxima(
                (part,), [(k,) for k in run], float(shift), epsilon, saddle
            ).deltas.tolist()
    return np.array(found + [0.0] * (len(counts) - len(found)))


def _far(part: Interval | Lattice, shift: Fraction, epsilon: float) -> float:
    """Return up to how many records delta is 1 to nine digits, and 1 will do.

    delta_K ≥ G(s/2) ≥ 1 − (1 + g)·P(S ≥ s/2), and that is at most e^{−s²/2K} for summands of width 1
    (Hoeffding).
    """
    width = part.points if isinstance(part, Lattice) else 1
    return (float(shift) / width) ** 2 / (2 * (epsilon + 22))


def _edge(part: Interval | Lattice, shift: Fraction, epsilon: float) -> float:
    """Return up to how many records the maximum is so near the edge that alternating sums are short.

    On an interval that is at most 2·epsilon records, unless one record reaches across a quarter of
    the whole range, where delta is near 1 anyway.
    """
    near = edge_count(part, float(shift), epsilon)
    if part.lattice and 2 * shift <= _EDGE_STEPS_MAX:
        return near
    return min(near, _EDGE_MAX)
