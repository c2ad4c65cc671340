"""Certified divergences for many numbers of equal records at once.

A run of numbers of records shares a line of nodes. From one number to the next every term of the
Fourier sum is multiplied by e^{d·κ(z) − z·o}, d more records and an origin moved by o, which is the
same for equal steps; the sums over the nodes are one product of matrices. Around an origin near the
maximum, with F, F′ … the Fourier sum and its derivatives there, and A ≥ |F⁗| within w,

    F(y) ≤ F + F′y + F″y²/2 + |F‴y³|/6 + Ay⁴/24 for |y| ≤ w.

If that is surely below F at ±w, errors included, the maximum of G lies between (`fourier`), and it
is at most F + F′²/(2|F″|) + |F‴|w³/6 + Aw⁴/24 plus the error. On a coarse lattice the largest of
three neighbours is the maximum if it is surely above the two around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sanql.mechanisms.noiseless.fourier import (
    PRECISION,
    Line,
    line_at,
    many_delta,
    nodes_left_out,
)
from sanql.mechanisms.noiseless.numbers import SMALLEST, as_ball, upper
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.saddle import (
    Counts,
    Maxima,
    Saddle,
    maxima,
    runs,
    shared_saddle,
)
from sanql.mechanisms.noiseless.summands import Summand

if TYPE_CHECKING:
    from flint import acb, arb

_WIDTH = 2.0**-12
"""Maxima are bracketed within this share of a deviation; what that wastes is about 1e-9 of delta."""


def rising_deltas(
    part: Summand, counts: Sequence[int], shift: Fraction, epsilon: Fraction
) -> list[float]:
    """Return upper bounds of delta for rising numbers of copies of one summand.

    >>> from sanql.mechanisms.noiseless.summands import Interval
    >>> deltas = rising_deltas(Interval(), [1000, 1005, 1010], Fraction(1, 2), Fraction(1, 5))
    >>> [f"{delta:.8e}" for delta in deltas]
    ['1.97466663e-06', '1.89741246e-06', '1.82323639e-06']
    """
    found: list[float] = []
    for run in runs(counts):
        if found and found[-1] <= SMALLEST:
            break
        found += run_deltas((part,), [(count,) for count in run], shift, epsilon)
    return found + [SMALLEST] * (len(counts) - len(found))  # more copies have no larger delta


def run_deltas(
    summands: tuple[Summand, ...], run: Sequence[Counts], shift: Fraction, epsilon: Fraction
) -> list[float]:
    """Return upper bounds of delta for rows of numbers on a straight way, one for each summand."""
    saddle = shared_saddle(summands, run[0], run[-1], float(shift), float(epsilon))
    if saddle is None and len(run) > 2:
        least = tuple(map(min, zip(run[0], run[-1], strict=True)))
        if many_delta(summands, least, shift, epsilon) <= SMALLEST:
            return [SMALLEST] * len(run)  # leaving records out only helps
        half = len(run) // 2  # an end is clamped, where delta is below what floats hold; which one?
        return [
            *run_deltas(summands, run[:half], shift, epsilon),
            *run_deltas(summands, run[half:], shift, epsilon),
        ]
    if saddle is None or len(run) < 3:
        return [many_delta(summands, counts, shift, epsilon) for counts in run]
    return [
        many_delta(summands, counts, shift, epsilon) if delta is None else delta
        for counts, delta in zip(
            run, _on_one_line(summands, run, shift, epsilon, saddle), strict=True
        )
    ]


def _on_one_line(
    summands: tuple[Summand, ...],
    run: Sequence[Counts],
    shift: Fraction,
    epsilon: Fraction,
    saddle: Saddle,
) -> list[float | None]:
    guess = maxima(summands, run, float(shift), float(epsilon), saddle)
    origins = _origins(summands, run, shift, guess)
    widths = guess.deviations * _WIDTH
    coarse = saddle.lattice and (len(summands) > 1 or float(widths[0]) < 8)
    places = np.array([float(origin) for origin in origins])
    if saddle.lattice:
        widths = np.floor(widths)  # G is known in the lattice only
    else:
        at = np.array(run) @ np.array(guess.slopes) + float(shift) / 2 + guess.moves
        widths = np.maximum(widths, 4 * np.abs(at - places))
    with precision(PRECISION):
        line = line_at(summands, saddle.theta, saddle.period, shift, epsilon)
        line.reach(saddle.nodes)
        rows = _rows(line, run, origins, saddle.nodes)
        # logarithms of decays are linear along the way, so what is left out is most at an end
        rest = nodes_left_out(line, run[0], saddle).max(nodes_left_out(line, run[-1], saddle))
        lowest = places - (2 if coarse else widths)
        growth, errors = _errors(line, np.array(run, dtype=np.float64), lowest, rest)
        if coarse:
            return _tops(line, rows, errors)
        return _peaks(line, rows, growth, errors, widths.tolist())


def _origins(
    summands: tuple[Summand, ...], run: Sequence[Counts], shift: Fraction, guess: Maxima
) -> list[Fraction]:
    """Return a place near the maximum for each row of numbers: in the lattice, or on the straight
    line between the first maximum and the last, from which the others are hardly away."""
    slopes, half = np.array(guess.slopes), float(shift) / 2
    if summands[0].lattice:
        tops = np.array([float(part.top) for part in summands])
        down = np.array(run, dtype=np.float64) @ (tops - slopes) - half - guess.moves
        return [
            sum((n * part.top for n, part in zip(counts, summands, strict=True)), Fraction(0)) - y
            for counts, y in zip(run, map(math.floor, down.tolist()), strict=True)
        ]
    first, last = (
        Fraction(float(np.array(run[i]) @ slopes + half + guess.moves[i])) for i in (0, -1)
    )
    step = (last - first) / (run[-1][0] - run[0][0])
    return [first + (counts[0] - run[0][0]) * step for counts in run]


def _errors(
    line: Line, run: np.ndarray, places: np.ndarray, rest: arb
) -> tuple[list[arb], list[arb]]:
    """Return how much larger than in the first row a term may be, and bounds of what the Fourier
    sum leaves out at each place and beyond: as `Line.height_at` and `aliases` have it, their
    exponents in floats whose rounding is made up for."""
    from flint import arb

    theta, shift = float(line.theta), float(line.shift)
    inner, outer = (np.array([upper(c) for c in cs]) for cs in (line.inner, line.outer))
    sizes = run @ (np.abs(inner) + np.abs(outer)) + 2 * theta * (np.abs(places) + shift) + 1
    slack = 1e-12 * sizes
    near = run @ inner - theta * places + slack
    far = run @ outer - 2 * theta * (places - shift) + slack
    left_out, folded = line.height * rest, line.folded
    errors = [
        arb(height).exp() * left_out + folded * (1 + arb(steep).exp())
        for height, steep in zip(near.tolist(), far.tolist(), strict=True)
    ]
    growth = [arb(more).exp() for more in (near - near[0] + 2 * slack[0] + 1e-12).tolist()]
    return growth, errors


def _rows(line: Line, run: Sequence[Counts], origins: list[Fraction], last: int) -> list[list[acb]]:
    """Return the terms of the Fourier sum at each origin, one row for each row of numbers."""

    points, cumulants = line.points[: last + 1], line.cumulants[: last + 1]
    rows = [line.values(run[0], as_ball(origins[0]), last)]
    factors: dict[tuple[Counts, Fraction], list[acb]] = {}
    for i in range(1, len(run)):
        more = tuple(b - a for a, b in zip(run[i - 1], run[i], strict=True))
        move = origins[i] - origins[i - 1]
        if (more, move) not in factors:
            away = as_ball(move)
            factors[more, move] = [
                sum((n * kappa for n, kappa in zip(more, kappas, strict=True)), -z * away).exp()
                for z, kappas in zip(points, cumulants, strict=True)
            ]
        rows.append([v * f for v, f in zip(rows[-1], factors[more, move], strict=True)])
    return rows


def _tops(line: Line, rows: list[list[acb]], errors: list[arb]) -> list[float | None]:
    """Return the largest G of the lattice where it is surely next to the origin, else nothing."""
    from flint import acb_mat

    points = line.points[: len(rows[0])]
    table = acb_mat(rows) * acb_mat([[(-z * move).exp() for move in range(-2, 3)] for z in points])
    found: list[float | None] = []
    for i, error in enumerate(errors):
        low, *inside, high = (table[i, j].real for j in range(5))
        best = max(inside, key=lambda ball: float(ball.mid()))
        sure = best - 2 * error > low and best - 2 * error > high
        found.append(min(1.0, max(upper(at + error) for at in inside)) if sure else None)
    return found


def _peaks(
    line: Line,
    rows: list[list[acb]],
    growth: list[arb],
    errors: list[arb],
    widths: list[float],
) -> list[float | None]:
    """Return the bound of the maximum near each origin where it is surely bracketed, else nothing.

    For one summand and rising numbers only: |M(z)| ≤ M(θ), so that from the first row on terms grow
    at most as the height of the line does.
    """
    from flint import acb, acb_mat, arb

    points = line.points[: len(rows[0])]
    table = acb_mat(rows) * acb_mat([[acb(1), -z, z**2, -(z**3)] for z in points])
    bend = sum((abs(z) ** 4 * abs(v) for z, v in zip(points, rows[0], strict=True)), arb(0))
    bend *= (line.theta * max(widths)).exp() ** 2
    found: list[float | None] = []
    for i, (grown, error, wide) in enumerate(zip(growth, errors, widths, strict=True)):
        at, first, second, third = (table[i, j].real for j in range(4))
        width = arb(wide)
        more = width**3 * (abs(third) / 6 + bend * grown * width / 24) + error
        if abs(first) * width + second * width**2 / 2 + more + error < 0:
            found.append(min(1.0, upper(at + first**2 / (2 * abs(second)) + more)))
        else:
            found.append(None)
    return found
