"""Coupled-worlds privacy and distributional differential privacy, indistinguishability form.

Definition 5: for every world, protection (alt, priv), value v and side information z, the law of
F(X) given (priv = v, Z = z) is (epsilon, delta)-close to that of Sim(alt(X)). Definition 3 (DDP)
protects each record by leaving it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.exchangeable import first_record_alone, for_every_record
from sanql.theory.definitions.finding import (
    ConditionWitness,
    Finding,
    SimulatorWitness,
    enclosed,
)
from sanql.theory.definitions.records import people
from sanql.theory.definitions.simulator_lp import (
    Condition,
    best_level,
    best_simulator,
    ideal_law,
    worst_condition,
)
from sanql.theory.definitions.worlds import Protection, World, alt_law, check_class, records
from sanql.theory.divergences import tight_gamma_two_sided
from sanql.theory.exact import Extended, Real, as_gamma, as_probability

_DDP = "distributional differential privacy"


def conditions_of(
    channel: Channel, worlds: Sequence[World], protections: Sequence[Protection]
) -> list[Condition]:
    """Return every comparison the definition asks for."""
    check_class(worlds, protections)
    return [
        Condition(
            channel.output_of(databases),
            alt_law(protection, databases),
            (index, protection.name, value, side),
        )
        for index, world in enumerate(worlds)
        for protection in protections
        for (value, side), databases in world.given(protection.priv).items()
    ]


def coupled_worlds_delta(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    gamma: Real,
    *,
    simulator: Channel | None = None,
) -> Finding:
    """Return the least delta at a level, for a given simulator or for the best one.

    For the best one the number is attained by the simulator shown, and `at_least` is the largest
    lower bound that rational tests prove for all simulators; mostly the two agree.
    """
    level = as_gamma(gamma)
    conditions = conditions_of(channel, worlds, protections)
    at_least = {}
    if simulator is None:
        best = best_simulator(conditions, level)
        simulator, at_least = best.simulator, {"delta": best.delta_lower}
    delta, where = worst_condition(conditions, simulator, level)
    return enclosed(
        "coupled-worlds privacy",
        {"gamma": level, "delta": delta},
        at_least,
        SimulatorWitness(simulator, _witness(where, simulator)),
    )


def coupled_worlds_gamma(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    delta: Real,
    *,
    simulator: Channel | None = None,
) -> Finding:
    """Return the least level at a delta, for a given simulator or for the best one.

    For the best one the level is attained by the simulator shown and no simulator reaches less
    than `at_least`.
    """
    allowed = as_probability(delta, "delta")
    best: Extended = Fraction(1)
    conditions = conditions_of(channel, worlds, protections)
    where, at_least = conditions[0], {}
    if simulator is None:
        _, lower, simulator = best_level(conditions, allowed)
        at_least = {"gamma": lower}
    for condition in conditions:
        gamma = tight_gamma_two_sided(condition.real, ideal_law(condition, simulator), allowed)
        if gamma > best:
            best, where = gamma, condition
    return enclosed(
        "coupled-worlds privacy",
        {"gamma": best, "delta": allowed},
        at_least,
        SimulatorWitness(simulator, _witness(where, simulator)),
        solved="gamma",
    )


def distributional_dp_delta(
    channel: Channel, worlds: Sequence[World], gamma: Real, *, simulator: Channel | None = None
) -> Finding:
    """Return the least delta of distributional differential privacy at a level (Def. 3)."""
    protections = records(people(channel))
    check_class(worlds, protections)
    unordered = first_record_alone(channel, worlds) if simulator is None else None
    if unordered is not None:
        return _unordered_delta(channel, worlds, unordered, as_gamma(gamma))
    found = coupled_worlds_delta(channel, worlds, protections, gamma, simulator=simulator)
    return replace(found, definition=_DDP)


def distributional_dp_gamma(
    channel: Channel, worlds: Sequence[World], delta: Real, *, simulator: Channel | None = None
) -> Finding:
    """Return the least level of distributional differential privacy at a delta (Def. 3)."""
    protections = records(people(channel))
    check_class(worlds, protections)
    unordered = first_record_alone(channel, worlds) if simulator is None else None
    if unordered is not None:
        return _unordered_gamma(channel, worlds, unordered, as_probability(delta, "delta"))
    found = coupled_worlds_gamma(channel, worlds, protections, delta, simulator=simulator)
    return replace(found, definition=_DDP)


def _unordered_delta(
    channel: Channel, worlds: Sequence[World], conditions: Sequence[Condition], level: Fraction
) -> Finding:
    """Return what the conditions of one record say of exchangeable ones."""
    best = best_simulator(conditions, level)
    delta, where = worst_condition(conditions, best.simulator, level)
    simulator = for_every_record(channel, worlds, best.simulator)
    return enclosed(
        _DDP,
        {"gamma": level, "delta": delta},
        {"delta": best.delta_lower},
        SimulatorWitness(simulator, _witness(where, best.simulator)),
    )


def _unordered_gamma(
    channel: Channel, worlds: Sequence[World], conditions: Sequence[Condition], allowed: Fraction
) -> Finding:
    attained, lower, best = best_level(conditions, allowed)
    levels = [tight_gamma_two_sided(c.real, ideal_law(c, best), allowed) for c in conditions]
    where = conditions[max(range(len(levels)), key=lambda place: levels[place])]
    simulator = for_every_record(channel, worlds, best)
    return enclosed(
        _DDP,
        {"gamma": max(Fraction(1), *levels), "delta": allowed},
        {"gamma": min(lower, attained)},
        SimulatorWitness(simulator, _witness(where, best)),
        solved="gamma",
    )


def _witness(condition: Condition, simulator: Channel) -> ConditionWitness:
    return ConditionWitness(*condition.label, condition.real, ideal_law(condition, simulator))
