"""Coupled-worlds privacy and distributional differential privacy, indistinguishability form.

Definition 5: for every world, protection (alt, priv), value v and side information z, the law of
F(X) given (priv = v, Z = z) is (epsilon, delta)-close to that of Sim(alt(X)). Definition 3 (DDP)
protects each record by leaving it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import ConditionWitness, Finding, SimulatorWitness
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
    """Return the least delta at a level, for a given simulator or for the best one."""
    level = as_gamma(gamma)
    conditions = conditions_of(channel, worlds, protections)
    status = "tight"
    if simulator is None:
        _, simulator = best_simulator(conditions, level)
        status = "upper bound"
    delta, where = worst_condition(conditions, simulator, level)
    return Finding(
        "coupled-worlds privacy",
        {"gamma": level, "delta": delta},
        SimulatorWitness(simulator, _witness(where, simulator)),
        status="tight" if delta == 0 or status == "tight" else "upper bound",
    )


def coupled_worlds_gamma(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    delta: Real,
    *,
    simulator: Channel | None = None,
) -> Finding:
    """Return the least level at a delta, for a given simulator or for the best one found.

    For a given simulator the level is exact; without one it is that of the best simulator a
    bisection finds, an upper bound within 1e-9 of the least.
    """
    allowed = as_probability(delta, "delta")
    best: Extended = Fraction(1)
    conditions = conditions_of(channel, worlds, protections)
    where, given = conditions[0], simulator is not None
    if simulator is None:
        _, simulator = best_level(conditions, allowed)
    for condition in conditions:
        gamma = tight_gamma_two_sided(condition.real, ideal_law(condition, simulator), allowed)
        if gamma > best:
            best, where = gamma, condition
    return Finding(
        "coupled-worlds privacy",
        {"gamma": best, "delta": allowed},
        SimulatorWitness(simulator, _witness(where, simulator)),
        status="tight" if given or best == 1 else "upper bound",
    )


def distributional_dp_delta(
    channel: Channel, worlds: Sequence[World], gamma: Real, *, simulator: Channel | None = None
) -> Finding:
    """Return the least delta of distributional differential privacy at a level (Def. 3)."""
    found = coupled_worlds_delta(
        channel, worlds, records(people(channel)), gamma, simulator=simulator
    )
    return Finding(
        "distributional differential privacy", found.parameters, found.witness, found.status
    )


def _witness(condition: Condition, simulator: Channel) -> ConditionWitness:
    return ConditionWitness(*condition.label, condition.real, ideal_law(condition, simulator))
