"""The Bayesian: any prior about the database, any side information, one output seen.

In the real world he sees F(X), in the ideal world a simulation that never saw what is to be
protected.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sanql.theory.attackers.outcome import Learned
from sanql.theory.channels import Channel
from sanql.theory.definitions.inference import inferences
from sanql.theory.definitions.worlds import Protection, World
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import statistical_difference
from sanql.theory.errors import TheoryError


def update(
    channel: Channel,
    world: World,
    protection: Protection,
    simulator: Channel,
    *,
    output: Outcome,
    side_information: Outcome = None,
) -> Learned:
    """Return what is believed about the protected value after one output, in both worlds."""
    for seen in inferences(channel, world, [protection], simulator):
        if (seen.output, seen.side_information) == (output, side_information):
            gap = None if seen.ideal is None else statistical_difference(seen.real, seen.ideal)
            return Learned(
                "Bayesian",
                f"belief about {protection.name} after {output!r}",
                seen.real,
                seen.ideal,
                {"distance": gap, "probability": seen.probability},
            )
    raise TheoryError(
        "impossible_output",
        f"the output {output!r} with side information {side_information!r} has probability 0",
        "condition on something that can happen in this world",
    )


def guesses(
    channel: Channel,
    world: World,
    secret: Callable[[Any], Outcome],
    *,
    simulator_input: Protection,
    simulator: Channel,
) -> Learned:
    """Return the chance that the best guess of a secret from (output, Z) is right, in both
    worlds."""
    real = _chance(world, secret, channel, lambda x: x)
    ideal = _chance(world, secret, simulator, simulator_input.alt)
    blind = _chance(world, secret, Channel.of({0: Distribution.point(0)}), lambda _: 0)
    return Learned(
        "Bayesian guess", "chance of the right guess", real, ideal, {"without any output": blind}
    )


def _chance(
    world: World, secret: Callable[[Any], Outcome], channel: Channel, view: Callable[[Any], Any]
) -> Fraction:
    """Sum over (output, z) of the largest joint mass of any value of the secret."""
    joint: dict[tuple[Outcome, Outcome], dict[Outcome, Fraction]] = {}
    for (x, z), mass in world.cells():
        for t, chance in channel.row(view(x)).items():
            values = joint.setdefault((t, z), {})
            value = secret(x)
            values[value] = values.get(value, Fraction(0)) + mass * chance
    return sum((max(values.values()) for values in joint.values()), Fraction(0))
