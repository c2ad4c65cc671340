"""Distances between large distributions: float arrays, every result rounded to the safe side.

The masses are taken at face value (each float is an exact number); only our own arithmetic rounds,
and it rounds toward more privacy loss. A million outcomes take a fraction of a second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Real, as_gamma, as_probability, float_lower, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Masses: TypeAlias = NDArray[np.float64]

_UNIT = 2.0**-52
_TINIEST = math.ulp(0.0)
_SUM_TOLERANCE = 1e-9


def hockey_stick_upper(p: ArrayLike, q: ArrayLike, gamma: Real) -> float:
    """Return an upper bound on H_gamma(P||Q), within a few units of rounding of it.

    >>> hockey_stick_upper([0.75, 0.25], [0.25, 0.75], 2) >= 0.25
    True
    """
    masses_p, masses_q = _pair(p, q)
    # a level rounded down only raises the excess
    level = float_lower(as_gamma(gamma))
    with _out_of_range():
        return min(1.0, _excess_upper(masses_p, masses_q, level))


def tight_epsilon_upper(p: ArrayLike, q: ArrayLike, delta: Real = 0) -> float:
    """Return an upper bound on the least epsilon for (epsilon, delta)-indistinguishability.

    >>> round(tight_epsilon_upper([0.75, 0.25], [0.25, 0.75], 0.25), 12) == round(math.log(2), 12)
    True
    """
    masses_p, masses_q = _pair(p, q)
    level = float_lower(as_probability(delta, "delta"))
    if level == 1:
        return 0.0
    with _out_of_range():
        gamma = max(
            _gamma_upper(masses_p, masses_q, level), _gamma_upper(masses_q, masses_p, level)
        )
    return gamma if gamma in (0.0, INFINITE) else (0.0 if gamma == 1 else up(math.log(gamma)))


def _gamma_upper(p: Masses, q: Masses, delta: float) -> float:
    """Climb by Newton steps, exact at a convex piecewise linear root, then verify from above."""
    inside = q > 0
    # fsum rounds the exact sum once, so its sign is right
    left = -math.fsum([-delta, *p[~inside]])
    if left < 0:
        return INFINITE
    p, q = p[inside], q[inside]
    if left == 0:
        return max(1.0, up(float((p / q).max(initial=0.0))))
    left = math.nextafter(left, 0.0)
    gamma = 1.0
    while True:
        chosen = p > gamma * q
        below = float(q[chosen].sum())
        reached = (float(p[chosen].sum()) - left) / below if below > 0 else gamma
        if reached <= gamma * (1 + _UNIT):
            return _verified(p, q, gamma, left)
        gamma = reached


def _verified(p: Masses, q: Masses, gamma: float, delta: float) -> float:
    """Return the first gamma, in growing steps, whose excess is surely at most delta."""
    step = _UNIT
    while _excess_upper(p, q, gamma) > delta:
        gamma *= 1 + step
        step *= 2
    return gamma


def _excess_upper(p: Masses, q: Masses, gamma: float) -> float:
    """Bound sum (p - gamma q)_+ from above: each term errs by at most two roundings."""
    cost = gamma * q
    gain = p - cost
    gain += _UNIT * (p + cost)
    gain[p > 0] += _TINIEST  # below the normal floats a product errs by half a unit of them
    total = float(gain[gain > 0].sum())
    # numpy sums pairwise in blocks of 128: at most 128 + log2(m) roundings of 2^-53 relative size
    return total * (1 + 256 * _UNIT)


def _out_of_range() -> np.errstate:
    """A cost beyond the floats is infinite and its gain negative: no warning is due."""
    import numpy as np

    return np.errstate(over="ignore", under="ignore", invalid="ignore")


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[Masses, Masses]:
    masses_p, masses_q = _checked(p, "P"), _checked(q, "Q")
    if masses_p.shape != masses_q.shape:
        raise TheoryError(
            "lengths",
            f"P has {masses_p.size} outcomes and Q has {masses_q.size}",
            "give both over the same outcomes, in the same order",
        )
    return masses_p, masses_q


def _checked(values: ArrayLike, name: str) -> Masses:
    import numpy as np

    try:
        masses = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TheoryError(
            "not_a_number", f"{name} is not a list of numbers: {error}", "give a list of floats"
        ) from error
    if masses.ndim != 1 or masses.size == 0:
        raise TheoryError(
            "empty", f"{name} has shape {masses.shape}", "give a non-empty list of masses"
        )
    if not np.isfinite(masses).all():
        raise TheoryError(
            "not_a_number", f"{name} has a mass that is not finite", "give finite masses"
        )
    if (masses < 0).any():
        raise TheoryError(
            "negative_mass",
            f"{name} has the mass {float(masses.min())}, masses are at least 0",
            "give masses between 0 and 1",
        )
    total = float(masses.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise TheoryError(
            "mass_sum",
            f"the masses of {name} sum to {total!r}, they must sum to 1 within {_SUM_TOLERANCE}",
            "divide by the sum yourself if these are weights",
        )
    return masses
