"""Discrete Laplace noise: every measurement has an epsilon of its own, and epsilons add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import Charge, LaplaceEvent, SelectionEvent
from sanql.measurements import Measured, Measurement
from sanql.mechanisms import DiscreteLaplace, Noise, NoNoise, SummedNoise, truncated_geometric
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
from sanql.statistics import Measuring


@dataclass(frozen=True)
class LaplaceMechanism(Mechanism):
    """Discrete Laplace noise, and truncated geometric noise for the count that selects keys."""

    name = "discrete Laplace"
    norm_order = 1
    theorem = (
        "Epsilons and deltas of the measurements add up (basic composition); what is "
        "computed from noisy values costs nothing more (post-processing)."
    )

    def price(
        self, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
    ) -> tuple[Priced, ...] | None:
        """Return noise for every level; levels share epsilon, those that select keys delta.

        Of weights by which keys are selected only the L2 norm is small: None.
        """
        if any(m.kind is Measured.KEY_WEIGHTS for level in levels for m in level.measurements):
            return None
        shares = split([sum(pure_weights(measuring)) for measuring in levels])
        delta_each = delta / max(1, selecting(levels))
        return tuple(
            free(measuring)
            if is_free(measuring)
            else self._level(measuring, epsilon * share, delta_each)
            for measuring, share in zip(levels, shares, strict=True)
        )

    def _level(self, measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced:
        measurements = measuring.measurements
        shares = pure_shares(measuring)
        noises: list[Noise] = []
        events: list[LaplaceEvent | SelectionEvent] = []
        threshold = None
        spent_delta = Fraction(0)
        for index, (measurement, share) in enumerate(zip(measurements, shares, strict=True)):
            bounds = measurement.sensitivity
            if bounds.zero:
                noises.append(NoNoise())
            elif index == measuring.selection:
                cells = bounds.l1  # a unit moves each of at most l1 counts by one
                truncated = truncated_geometric(epsilon * share / cells, delta / cells)
                noises.append(truncated)
                threshold = measuring.threshold_of(truncated.limit + 1)
                spent_delta = delta
                events.append(SelectionEvent(epsilon * share / cells, delta / cells, cells))
            elif measurement.picked:
                noises.append(picking(measurement, epsilon * share))
                events.append(SelectionEvent(epsilon * share, Fraction(0), 1))
            elif measurement.pair is not None and measurement.kind is not Measured.SUM:
                paired = shares[measurement.pair.partner]  # one event is of both sides
                noises.append(SummedNoise(DiscreteLaplace(bounds.l1 / (epsilon * paired)), 2))
            else:
                noise = DiscreteLaplace(bounds.l1 / (epsilon * share))
                noises.append(noise if measurement.pair is None else SummedNoise(noise, 2))
                events.append(_event(noise, measurement))
        charge = Charge(tuple(events), epsilon, spent_delta)
        return Priced(tuple(noises), threshold, charge, self)


def _event(noise: DiscreteLaplace, measurement: Measurement) -> LaplaceEvent:
    """Return what noise costs, however many values of a unit are chosen to count.

    Noise and moves are both in proportion to that number, and the accounts' curves are largest at one
    (docs/distinct_values.md).
    """
    bounds, most = measurement.sensitivity, measurement.choices[-1] if measurement.choices else 1
    return LaplaceEvent(noise.scale / most, bounds.l1 // most, bounds.linf // most)
