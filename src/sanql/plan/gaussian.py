"""Discrete Gaussian noise: measurements share a rho, and one conversion gives (epsilon, delta).

What is picked as the largest noisy score (quantiles) has an epsilon of its own, and Gaussian noise gets
what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import (
    Charge,
    Event,
    FailureEvent,
    GaussianEvent,
    SelectionEvent,
    gaussian_rho_lower,
)
from sanql.measurements import Measured, Measurement
from sanql.mechanisms import DiscreteGaussian, Noise, NoNoise, gaussian_threshold
from sanql.plan.mechanism import (
    Mechanism,
    Priced,
    free,
    is_free,
    picking,
    pure_shares,
    pure_weights,
    selecting,
    split,
)
from sanql.plan.weighted_selection import weight_threshold
from sanql.statistics import Measuring


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Discrete Gaussian noise; delta also pays for keys that noise alone lifts over the threshold."""

    name = "discrete Gaussian"
    norm_order = 2
    theorem = (
        "The measurements' concentrated-privacy costs add up and convert to (epsilon, "
        "delta) by the bound of Canonne, Kamath & Steinke (2020), optimised over the "
        "order; selection's failure probability is added to delta."
    )

    def price(
        self, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
    ) -> tuple[Priced, ...] | None:
        """Return noise for every level, or None where there is no delta or no rho left."""
        if delta == 0:
            return None
        keys = selecting(levels)
        conversion = delta / 2 if keys else delta
        failure = (delta - conversion) / max(1, keys)
        pure_parts = split([sum(pure_weights(measuring)) for measuring in levels])
        pure = [
            _pure_epsilons(measuring, epsilon * share)
            for measuring, share in zip(levels, pure_parts, strict=True)
        ]
        rho = _rho(epsilon - sum(map(sum, pure), Fraction(0)), conversion)
        if rho is None:
            return None
        weights = [sum(_weights(*pair)) for pair in zip(levels, pure, strict=True)]
        priced = []
        for measuring, own, share in zip(levels, pure, split(weights), strict=True):
            if is_free(measuring):
                priced.append(free(measuring))
                continue
            noises, threshold, events = _noises(measuring, own, rho * share, failure)
            priced.append(Priced(noises, threshold, Charge(events, epsilon, delta), self))
        return tuple(priced)


def _pure_epsilons(measuring: Measuring, epsilon: Fraction) -> list[Fraction]:
    """Return what each measurement that is picked spends of an epsilon; the others nothing."""
    if is_free(measuring):
        return [Fraction(0) for _ in measuring.measurements]
    return [
        epsilon * share if measurement.picked else Fraction(0)
        for measurement, share in zip(measuring.measurements, pure_shares(measuring), strict=True)
    ]


def _rho(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Return what Gaussian noise may spend, where anything is left for it."""
    if epsilon == 0:
        return None
    rho = gaussian_rho_lower(epsilon, delta)
    return rho if rho > 0 else None


def _weights(measuring: Measuring, pure: Sequence[Fraction]) -> list[float]:
    """Return what each measurement's share of rho is proportional to.

    A key that does not appear is as wrong as its largest number could be, so weights that select keys
    have no less than any other measurement.
    """
    weights = [
        0.0
        if own
        else math.sqrt(measurement.weight * measurement.sensitivity.l2_squared)
        / (measurement.size * measurement.scale)
        for measurement, own in zip(measuring.measurements, pure, strict=True)
    ]
    for index, measurement in enumerate(measuring.measurements):
        if measurement.kind is Measured.KEY_WEIGHTS:
            weights[index] = max(weights)
    return weights


def _noises(
    measuring: Measuring, pure: Sequence[Fraction], rho: Fraction, failure: Fraction
) -> tuple[tuple[Noise, ...], int | None, tuple[Event, ...]]:
    """Return noises, the threshold of keys and the events that spend rho, and failure on keys."""
    noises: list[Noise] = []
    events: list[Event] = []
    threshold = None
    shares = split(_weights(measuring, pure))
    for index, (measurement, share) in enumerate(zip(measuring.measurements, shares, strict=True)):
        squared = Fraction(measurement.sensitivity.l2_squared)
        if measurement.sensitivity.zero:
            noises.append(NoNoise())
            continue
        if measurement.picked:
            noises.append(picking(measurement, pure[index]))
            events.append(SelectionEvent(pure[index], Fraction(0), 1))
            continue
        noise = DiscreteGaussian(_round_up(squared / (2 * rho * share)))
        noises.append(noise)
        events.append(GaussianEvent(noise.sigma2, squared))
        if index == measuring.selection:
            threshold = measuring.threshold_of(_threshold(measurement, noise, failure))
            events.append(FailureEvent(failure))
    return tuple(noises), threshold, tuple(events)


def _threshold(measurement: Measurement, noise: DiscreteGaussian, failure: Fraction) -> int:
    """Return what a key's noisy count, or weight, must reach for the key to appear."""
    if measurement.groups_max is not None:
        sides = measurement.sensitivity.l2_squared // measurement.sensitivity.linf**2
        return weight_threshold(noise, failure / sides, measurement.groups_max)
    return gaussian_threshold(noise.sigma2, failure / measurement.sensitivity.l1)


def _round_up(value: Fraction) -> Fraction:
    """Return the value rounded up to a short fraction, so that sampling stays quick."""
    bits = max(0, 24 - math.floor(math.log2(value)))
    return Fraction(math.ceil(value * 2**bits), 2**bits)
