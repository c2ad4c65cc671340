"""Turning (epsilon, delta) into noise: the split over measurements and the choice of mechanism.

Errors of different measurements are compared in units of one row's largest part, and weighted by how
often they enter the answer. With discrete Laplace noise the weighted variance is sum a_i 2 (l1_i /
e_i)^2 under sum e_i = epsilon, least at e_i ∝ (a_i l1_i^2)^(1/3). With discrete Gaussian noise it is
sum a_i l2_i^2 / (2 r_i) under sum r_i = rho, least at r_i ∝ sqrt(a_i) l2_i. The cheaper of the two is
taken; without delta only the first exists. What is picked as the largest noisy score (quantiles) has an
epsilon of its own either way, and Gaussian noise gets the rest. Each mechanism bounds what a unit adds
by the norm that its own noise is made for (norms.py), and with Laplace noise sums and counts of
averages are measured in pairs (pairs.py).

Several levels (grouping_sets.py) are priced as one list of measurements: their epsilons, or their rhos
and then one conversion, add up to the whole question's. The same rule splits the budget among levels:
under sum_l e_l = epsilon, a level whose least error is (sum_i (a_i l1_i^2)^(1/3))^3 / e_l^2 gets e_l in
proportion to that sum over i, which is what one split over all measurements would give it. Levels that
select keys share delta equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from sanql.account import Charge
from sanql.measurements import Measured, Measurement, NormOrder, Taken
from sanql.plan.gaussian import GaussianMechanism
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.mechanism import Mechanism, NoMechanism, Priced
from sanql.plan.pairs import suited
from sanql.statistics import Measuring

MECHANISMS: tuple[Mechanism, ...] = (NoMechanism(), LaplaceMechanism(), GaussianMechanism())
"""All that there are; the first is taken wherever it can be."""


def price_levels(
    levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
) -> tuple[tuple[Priced, ...], Charge]:
    """Return the least noisy way to price all levels within (epsilon, delta), and what it costs.

    The charge of a level has its own events; together they are the events of the whole.
    """
    _, best, charge = price_best([levels], epsilon, delta)
    return best, charge


def price_best(
    ways: Sequence[Sequence[Measuring]], epsilon: Fraction, delta: Fraction
) -> tuple[Sequence[Measuring], tuple[Priced, ...], Charge]:
    """Return of several ways to measure all levels the one with the least error, as it is priced."""
    return _price_best(tuple(map(tuple, ways)), epsilon, delta)


@lru_cache(maxsize=256)  # questions that differ in their conditions alone have the same price
def _price_best(
    ways: tuple[tuple[Measuring, ...], ...], epsilon: Fraction, delta: Fraction
) -> tuple[Sequence[Measuring], tuple[Priced, ...], Charge]:
    nothing, *noisy = MECHANISMS
    exact = nothing.price(ways[0], epsilon, delta)
    if exact is not None:
        return ways[0], exact, Charge((), Fraction(0), Fraction(0))
    found = [price_bounded(mechanism, way, epsilon, delta) for way in ways for mechanism in noisy]
    candidates = [candidate for candidate in found if candidate is not None]
    way, best = min(candidates, key=lambda candidate: sum(map(expected_error, *candidate)))
    events = tuple(event for level in best for event in level.charge.events)
    spent = delta if any(level.charge.delta for level in best) else Fraction(0)
    return way, best, Charge(events, epsilon, spent)


def price_bounded(
    mechanism: Mechanism, levels: Sequence[Measuring], epsilon: Fraction, delta: Fraction
) -> tuple[list[Measuring], tuple[Priced, ...]] | None:
    """Return levels bounded by the norm of a mechanism's noise, and their price, if there is one."""
    bounded = [suited(level, mechanism.norm_order) for level in levels]
    priced = mechanism.price(bounded, epsilon, delta)
    return None if priced is None else (bounded, priced)


def expected_error(measuring: Measuring, priced: Priced) -> float:
    """Return the weighted variance of an answer, plus the square of what selection hides.

    What a norm takes away counts as well, as far as anybody knows (`UnitNorms.taken`).
    """
    total = 0.0
    for measurement, noise in zip(measuring.measurements, priced.noises, strict=True):
        deviation = noise.standard_deviation / (measurement.size * measurement.scale)
        factor, missed = _taken(measuring, measurement)
        total += measurement.weight * (factor * deviation**2 + missed)
    if measuring.selection is None or priced.threshold is None:
        return total
    hidden = _hidden(measuring, measuring.measurements[measuring.selection], priced)
    return total + measuring.hidden_weight * hidden**2


def missed_error(measuring: Measuring) -> float:
    """Return the part of the expected error that norms take away, whatever the noise is."""
    return sum(part.weight * _taken(measuring, part)[1] for part in measuring.measurements)


def _taken(measuring: Measuring, measurement: Measurement) -> Taken:
    norms = measuring.unit_norms
    if norms is None or measurement.norm is None:
        return 1.0, 0.0
    summed = measurement.expression if measurement.kind is Measured.SUM else None
    return norms.taken(measurement.norm, summed, measurement.size)


def _hidden(measuring: Measuring, selection: Measurement, priced: Priced) -> float:
    """Return about how many rows a key may have that does not appear.

    Each unit behind it has some of the rows that count of it. How many units a key needs hangs, by
    weights, on how many groups they are in: in all that may count it is about as many as where each is
    counted in full, and in a single one far fewer. The middle of both is taken.
    """
    limits, threshold = measuring.limits, priced.threshold or 0
    units = float(threshold * selection.grid)
    if selection.kind is Measured.KEY_WEIGHTS:
        units *= limits.groups**0.25
    return units * max(1.0, limits.rows / limits.groups)


def mechanism_of_norm(order: NormOrder) -> Mechanism:
    """Return the mechanism whose noise is made for this norm."""
    return next(each for each in MECHANISMS if each.norm_order == order)


def check_known_mechanism(mechanism: Mechanism) -> None:
    """Raise for a mechanism that is not listed: nothing is claimed of what nobody has proved."""
    if mechanism not in MECHANISMS:
        raise AssertionError(f"the mechanism {mechanism!r} is not one of those that are known")
