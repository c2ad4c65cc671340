"""Turning (epsilon, delta) into noise: the split over measurements and the choice of mechanism.

Errors of different measurements are compared in units of one row's largest part, and weighted by how
often they enter the answer. With discrete Laplace noise the weighted variance is
sum a_i 2 (l1_i / e_i)^2 under sum e_i = epsilon, least at e_i ∝ (a_i l1_i^2)^(1/3). With discrete
Gaussian noise it is sum a_i l2_i^2 / (2 r_i) under sum r_i = rho, least at r_i ∝ sqrt(a_i) l2_i. The
cheaper of the two is taken; without delta only the first exists. What is picked as the largest noisy
score (quantiles) has an epsilon of its own either way, and Gaussian noise gets the rest.

Several levels (levels.py) are priced as one list of measurements: their epsilons, or their rhos and then
one conversion, add up to the whole question's. The same rule splits the budget among levels: under
sum_l e_l = epsilon, a level whose least error is (sum_i (a_i l1_i^2)^(1/3))^3 / e_l^2 gets e_l in
proportion to that sum over i, which is what one split over all measurements would give it. Levels that
select keys share delta equally.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sanql.account import (
    Charge,
    Event,
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
Mechanism = Literal["discrete Laplace", "discrete Gaussian", "none: nothing depends on any unit"]


@dataclass(frozen=True)
class Priced:
    """Noise for every measurement, the count a key must exceed to appear, and what it all costs."""

    noises: tuple[Noise, ...]
    threshold: int | None
    charge: Charge
    mechanism: Mechanism


def price(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced:
    """Return the least noisy way to answer within (epsilon, delta)."""
    if _is_free(measuring):
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


def price_together(
    levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
) -> tuple[tuple[Priced, ...], Charge]:
    """Return the least noisy way to answer several levels within (epsilon, delta), and its price.

    The charge of a level has its own events; together they are the events of the whole.
    """
    if all(_is_free(measuring) for measuring in levels):
        return tuple(map(_free, levels)), Charge((), Fraction(0), Fraction(0))
    candidates = [_laplace_levels(levels, epsilon, delta)]
    if delta > 0:
        gaussian = _gaussian_levels(levels, epsilon, delta)
        candidates += [gaussian] if gaussian is not None else []

    def error(candidate: tuple[Priced, ...]) -> float:
        return sum(map(expected_error, levels, candidate))

    best = min(candidates, key=error)
    events = tuple(event for priced in best for event in priced.charge.events)
    spent = delta if any(priced.charge.delta for priced in best) else Fraction(0)
    return best, Charge(events, epsilon, spent)


def _laplace_levels(
    levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
) -> tuple[Priced, ...]:
    shares = _split([sum(_pure_weights(measuring)) for measuring in levels])
    each = delta / max(1, _selecting(levels))
    return tuple(
        _free(measuring) if _is_free(measuring) else _laplace(measuring, epsilon * share, each)
        for measuring, share in zip(levels, shares, strict=True)
    )


def _gaussian_levels(
    levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
) -> tuple[Priced, ...] | None:
    selecting = _selecting(levels)
    conversion = delta / 2 if selecting else delta
    failure = (delta - conversion) / max(1, selecting)
    pure_shares = _split([sum(_pure_weights(measuring)) for measuring in levels])
    pure = [
        _pure_epsilons(measuring, epsilon * share)
        for measuring, share in zip(levels, pure_shares, strict=True)
    ]
    rho = _rho(epsilon - sum(map(sum, pure), Fraction(0)), conversion)
    if rho is None:
        return None
    weights = [sum(_gaussian_weights(*pair)) for pair in zip(levels, pure, strict=True)]
    found = []
    for measuring, own, share in zip(levels, pure, _split(weights), strict=True):
        if _is_free(measuring):
            found.append(_free(measuring))
            continue
        noises, threshold, events = _gaussian_noises(measuring, own, rho * share, failure)
        charge = Charge(events, epsilon, delta)
        found.append(Priced(noises, threshold, charge, "discrete Gaussian"))
    return tuple(found)


def _selecting(levels: Sequence[Measuring]) -> int:
    """Return how many levels select keys privately."""
    return sum(m.selection is not None and not _is_free(m) for m in levels)


def _is_free(measuring: Measuring) -> bool:
    return all(part.sensitivity.zero for part in measuring.measurements)


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
    return _split(_pure_weights(measuring))


def _pure_weights(measuring: Measuring) -> list[float]:
    parts = measuring.measurements
    norms = [part.sensitivity.l1 / part.size for part in parts]
    return [(part.weight * norm**2) ** (1 / 3) for part, norm in zip(parts, norms, strict=True)]


def _picking(part: Measurement, epsilon: Fraction) -> Geometric:
    """Return the noise of scores that one unit moves by `l1` over all picks: twice that, by epsilon."""
    return Geometric(2 * part.sensitivity.l1 / epsilon)


def _gaussian(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced | None:
    conversion = delta / 2 if measuring.selection is not None else delta
    pure = _pure_epsilons(measuring, epsilon)
    rho = _rho(epsilon - sum(pure), conversion)
    if rho is None:
        return None
    noises, threshold, events = _gaussian_noises(measuring, pure, rho, conversion)
    return Priced(noises, threshold, Charge(events, epsilon, delta), "discrete Gaussian")


def _pure_epsilons(measuring: Measuring, epsilon: Fraction) -> list[Fraction]:
    """Return what each measurement that is picked spends of an epsilon; the others nothing."""
    if _is_free(measuring):
        return [Fraction(0) for _ in measuring.measurements]
    return [
        epsilon * share if part.kind is Measured.PICKS else Fraction(0)
        for part, share in zip(measuring.measurements, _pure_shares(measuring), strict=True)
    ]


def _rho(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Return what Gaussian noise may spend, where anything is left for it."""
    if epsilon == 0:
        return None
    rho = gaussian_rho_lower(epsilon, delta)
    return rho if rho > 0 else None


def _gaussian_weights(measuring: Measuring, pure: Sequence[Fraction]) -> list[float]:
    return [
        0.0 if own else math.sqrt(part.weight * part.sensitivity.l2_squared) / part.size
        for part, own in zip(measuring.measurements, pure, strict=True)
    ]


def _gaussian_noises(
    measuring: Measuring, pure: Sequence[Fraction], rho: Fraction, failure: Fraction
) -> tuple[tuple[Noise, ...], int | None, tuple[Event, ...]]:
    """Return noises, the threshold of keys and the events that spend rho, and failure on keys."""
    noises: list[Noise] = []
    events: list[Event] = []
    threshold = None
    shares = _split(_gaussian_weights(measuring, pure))
    for index, (part, share) in enumerate(zip(measuring.measurements, shares, strict=True)):
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
            threshold = gaussian_threshold(noise.sigma2, failure / cells)
            events.append(FailureEvent(failure))
    return tuple(noises), threshold, tuple(events)


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
