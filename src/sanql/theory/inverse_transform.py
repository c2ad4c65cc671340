"""Laplace noise from one uniform number, as Figure 21.2 of the lecture has it: shown, never used.

In real numbers the procedure is exact. In floating point it reaches only some numbers, and other ones
around every true answer, so that the low bits of an answer tell answers apart that differ by one: see
`attackers.low_bits`. The database draws exact integers instead (`mechanisms`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sanql.theory.exact import as_rate, as_width


@dataclass(frozen=True)
class Drawn:
    """One run of the procedure, step by step."""

    uniform: float
    centred: float
    noise: float


def laplace_from_uniform(uniform: float, scale: float) -> Drawn:
    """Return the three steps: u, u' = u − 1/2, and −b·sgn(u')·ln(1 − 2|u'|).

    >>> laplace_from_uniform(0.75, 1.0).noise == math.log(2)
    True
    >>> laplace_from_uniform(0.0, 1.0).noise
    -inf
    """
    drawn = as_rate(uniform, "uniform")
    return _steps(drawn, as_width(scale, "scale"))


def noise_at(step: int, steps: int, scale: float) -> float:
    """Return the noise at u = step/steps, where a generator of so many steps arrives."""
    return _steps(step / steps, scale).noise


def _steps(uniform: float, scale: float) -> Drawn:
    centred = uniform - 0.5
    left = 1.0 - 2.0 * abs(centred)
    size = math.inf if left <= 0.0 else -math.log(left)
    return Drawn(uniform, centred, math.copysign(scale * size, centred) if centred else 0.0)
