"""Hypergeometric probabilities within 1e-7 of themselves, for any population, over whole arrays.

P(C = c) when t of P − 1 people are drawn and m of them are in the cell is, at any rate p,

    Bin(c; m, p) · Bin(t − c; P − 1 − m, p) / Bin(t; P − 1, p),

and at p = t/(P−1) none of the three is far from its mode. Each is computed as Loader does (*Fast and
accurate computation of binomial probabilities*, 2000): Stirling's error and the deviance
x·ln(x/μ) + μ − x, so that nothing large is subtracted from anything large.

How far the rounding goes, with u = 2^-53 and logarithms within 4 units in the last place, wherever
the probability is above e^-700: μ is within 3u of itself and moves the deviance by 3u·|x − μ|, where
|x − μ|²/(2·max(x, μ)) < 700; x and μ are at most 10¹², so that is below 2e-8. Where x is 0 or n the
logarithm is taken of whichever of p and 1 − p is the smaller, which are divided each by itself:
beside 700 it errs by 700·10u. Everything else is smaller. Below e^-700 only 0 may be returned.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_EXACT = np.array(
    [0.0]
    + [
        math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
        for n in range(1, 16)
    ]
)


def hypergeometric(c: Floats, t: Floats, m: Floats, population: int) -> Floats:
    """Return P(C = c) for arrays of counts, draws and members among population − 1 others.

    >>> c, t, m = (np.array([float(n)]) for n in (2, 5, 4))
    >>> round(float(hypergeometric(c, t, m, 11)[0]), 12) == round(6 * 20 / 252, 12)
    True
    """
    everybody = float(population - 1)
    rest, left = everybody - m, t - c
    inside = (c >= 0) & (left >= 0) & (c <= m) & (left <= rest)
    c, left, t = np.where(inside, c, 0.0), np.where(inside, left, 0.0), np.where(inside, t, 0.0)
    with np.errstate(under="ignore"):
        logs = (
            _log_binomial(c, m, t, everybody)
            + _log_binomial(left, rest, t, everybody)
            - _log_binomial(t, np.full_like(t, everybody), t, everybody)
        )
        found: Floats = np.where(inside, np.exp(logs), 0.0)
    return found


def _log_binomial(x: Floats, n: Floats, t: Floats, everybody: float) -> Floats:
    """Return ln Bin(x; n, t/everybody), where x is 0 or n also exactly."""
    p, q = t / everybody, (everybody - t) / everybody
    with np.errstate(divide="ignore", invalid="ignore"):
        # 1 − p has no digits left where p was rounded near 1, and q none near 1
        none = np.where(n == 0, 0.0, n * np.where(q < 0.5, np.log(q), np.log1p(-p)))
        every = np.where(n == 0, 0.0, n * np.where(p < 0.5, np.log(p), np.log1p(-q)))
        y = n - x
        middle = (
            _stirling_error(n)
            - _stirling_error(x)
            - _stirling_error(y)
            - _deviance(x, n * p)
            - _deviance(y, n * q)
            + 0.5 * np.log(n / (2 * np.pi * x * y))
        )
    logs: Floats = np.where(x == 0, none, np.where(y == 0, every, middle))
    return logs


def _stirling_error(n: Floats) -> Floats:
    """Return ln n! − ln(√(2πn)·(n/e)ⁿ), to 1e-16 absolutely."""
    whole = np.maximum(n, 1.0)
    square = whole * whole
    series = (
        1 / 12
        - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188) / square) / square) / square) / square
    ) / whole
    error: Floats = np.where(n < 16, _EXACT[np.minimum(n, 15).astype(np.int64)], series)
    return error


def _deviance(x: Floats, mean: Floats) -> Floats:
    """Return x·ln(x/mean) + mean − x without cancellation near the mean."""
    near = np.abs(x - mean) < 0.1 * (x + mean)
    v = np.where(near, (x - mean) / (x + mean), 0.0)
    total, power = (x - mean) * v, 2 * x * v
    for j in range(1, 10):
        power = power * v * v
        total = total + power / (2 * j + 1)
    ratio = np.where(near, 1.0, x / mean)
    far: Floats = np.where(near, total, x * np.log(ratio) + mean - x)
    return far
