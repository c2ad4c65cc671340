"""Turning (epsilon, delta) into noise: the split over measurements and the choice of mechanism.

Errors of different measurements are compared in units of one row's largest part, and weighted by how
often they enter the answer. With discrete Laplace noise the weighted variance is
sum a_i 2 (l1_i / e_i)^2 under sum e_i = epsilon, least at e_i ∝ (a_i l1_i^2)^(1/3). With discrete
Gaussian noise it is sum a_i l2_i^2 / (2 r_i) under sum r_i = rho, least at r_i ∝ sqrt(a_i) l2_i. The
cheaper of the two is taken; without delta only the first exists. What is picked as the largest noisy
score (quantiles) has an epsilon of its own either way, and Gaussian noise gets the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import (
    Charge,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    gaussian_rho_lower,
)
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    gaussian_threshold,
    truncated_geometric,
)
from sanql.plan.measurements import Measured, Measurement, Measuring

SHARES = 10**6


@dataclass(frozen=True)
class Priced:
    """Noise for every measurement, the count a key must exceed to appear, and what it all costs."""

    noises: tuple[Noise, ...]
    threshold: int | None
    charge: Charge
    mechanism: str


def price(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced:
    """Return the least noisy way to answer within (epsilon, delta)."""
    if all(part.sensitivity.zero for part in measuring.measurements):
        return _free(measuring)
    candidates = [_laplace(measuring, epsilon, delta)]
    if delta > 0:
        gaussian = _gaussian(measuring, epsilon, delta)
        candidates += [gaussian] if gaussian is not None else []
    return min(candidates, key=lambda priced: expected_error(measuring, priced))


def expected_error(measuring: Measuring, priced: Priced) -> float:
    """Return the weighted variance of an answer, plus the square of what selection hides."""
    total = 0.0
    for part, noise in zip(measuring.measurements, priced.noises, strict=True):
        total += part.weight * (noise.standard_deviation / part.size) ** 2
    return total + float(priced.threshold or 0) ** 2


def _free(measuring: Measuring) -> Priced:
    zero = Fraction(0)
    noises: tuple[Noise, ...] = tuple(NoNoise() for _ in measuring.measurements)
    threshold = None if measuring.selection is None else 0
    return Priced(noises, threshold, Charge((), zero, zero), "none: nothing depends on any unit")


def _laplace(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced:
    parts = measuring.measurements
    shares = _pure_shares(measuring)
    noises: list[Noise] = []
    events: list[LaplaceEvent | SelectionEvent] = []
    threshold = None
    spent_delta = Fraction(0)
    for index, (part, share) in enumerate(zip(parts, shares, strict=True)):
        bounds = part.sensitivity
        if bounds.zero:
            noises.append(NoNoise())
        elif index == measuring.selection:
            cells = bounds.l1  # a unit moves each of at most l1 counts by one
            each = truncated_geometric(epsilon * share / cells, delta / cells)
            noises.append(each)
            threshold = each.limit + 1
            spent_delta = delta
            events.append(SelectionEvent(epsilon * share / cells, delta / cells, cells))
        elif part.kind is Measured.PICKS:
            noises.append(_picking(part, epsilon * share))
            events.append(SelectionEvent(epsilon * share, Fraction(0), 1))
        else:
            noise = DiscreteLaplace(bounds.l1 / (epsilon * share))
            noises.append(noise)
            events.append(LaplaceEvent(noise.scale, bounds.l1, bounds.linf))
    charge = Charge(tuple(events), epsilon, spent_delta)
    return Priced(tuple(noises), threshold, charge, "discrete Laplace")


def _pure_shares(measuring: Measuring) -> list[Fraction]:
    parts = measuring.measurements
    norms = [part.sensitivity.l1 / part.size for part in parts]
    return _split(
        [(part.weight * norm**2) ** (1 / 3) for part, norm in zip(parts, norms, strict=True)]
    )


def _picking(part: Measurement, epsilon: Fraction) -> Geometric:
    """Return the noise of scores that one unit moves by `l1` over all picks: twice that, by epsilon."""
    return Geometric(2 * part.sensitivity.l1 / epsilon)


def _gaussian(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced | None:
    parts = measuring.measurements
    selecting = measuring.selection is not None
    conversion = delta / 2 if selecting else delta
    pure = [
        epsilon * share if part.kind is Measured.PICKS else Fraction(0)
        for part, share in zip(parts, _pure_shares(measuring), strict=True)
    ]
    if sum(pure) == epsilon:
        return None
    rho = gaussian_rho_lower(epsilon - sum(pure), conversion)
    if rho <= 0:
        return None
    weights = [
        0.0 if own else math.sqrt(part.weight * part.sensitivity.l2_squared) / part.size
        for part, own in zip(parts, pure, strict=True)
    ]
    noises: list[Noise] = []
    events: list[GaussianEvent | FailureEvent | SelectionEvent] = []
    threshold = None
    for index, (part, share) in enumerate(zip(parts, _split(weights), strict=True)):
        squared = Fraction(part.sensitivity.l2_squared)
        if part.sensitivity.zero:
            noises.append(NoNoise())
            continue
        if part.kind is Measured.PICKS:
            noises.append(_picking(part, pure[index]))
            events.append(SelectionEvent(pure[index], Fraction(0), 1))
            continue
        noise = DiscreteGaussian(_round_up(squared / (2 * rho * share)))
        noises.append(noise)
        events.append(GaussianEvent(noise.sigma2, squared))
        if index == measuring.selection:
            cells = part.sensitivity.l1
            threshold = gaussian_threshold(noise.sigma2, conversion / cells)
            events.append(FailureEvent(conversion))
    charge = Charge(tuple(events), epsilon, delta)
    return Priced(tuple(noises), threshold, charge, "discrete Gaussian")


def _split(weights: Sequence[float]) -> list[Fraction]:
    """Return exact shares that sum to one, proportional to the weights (zero stays zero)."""
    total = sum(weights)
    counts = [
        max(1, math.floor(SHARES * weight / total)) if weight > 0 else 0 for weight in weights
    ]
    largest = max(range(len(counts)), key=lambda index: counts[index])
    counts[largest] += SHARES - sum(counts)
    return [Fraction(count, SHARES) for count in counts]


def _round_up(value: Fraction) -> Fraction:
    """Return the value rounded up to a short fraction, so that sampling stays quick."""
    bits = max(0, 24 - math.floor(math.log2(value)))
    return Fraction(math.ceil(value * 2**bits), 2**bits)
