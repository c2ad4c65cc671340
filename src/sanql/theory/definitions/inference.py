"""Inference-based coupled worlds: compare what is believed about priv(X), not what is output.

Definition 4 (Definition 2 for records): with probability 1 - failure over (t, z) = (F(X), Z), for
every protection the laws of priv(X) given F = t, Z = z and given Sim = t, Z = z are (epsilon,
delta_hat)-close. The papers use one delta for both; here the two are kept apart. A (t, z) the
simulator cannot produce is a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import Finding, InferenceWitness
from sanql.theory.definitions.worlds import Protection, World, alt_law, check_class
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import align, two_sided_excess
from sanql.theory.exact import INFINITE, Extended, Real, as_gamma, as_probability


@dataclass(frozen=True)
class Inference:
    """What is believed about priv(X) after (t, z), in the real and in the ideal world."""

    output: Outcome
    side_information: Outcome
    probability: Fraction
    protection: str
    real: Distribution
    ideal: Distribution | None

    def gap(self, gamma: Fraction) -> Extended:
        """Return the delta between the two beliefs; infinite when the ideal one is undefined."""
        if self.ideal is None:
            return INFINITE
        return two_sided_excess(align(self.real, self.ideal), gamma)


def inferences(
    channel: Channel, world: World, protections: Sequence[Protection], simulator: Channel
) -> list[Inference]:
    """Return both beliefs for every protection and every (t, z) that can happen."""
    check_class([world], protections)
    found = []
    for protection in protections:
        values = world.given(protection.priv)
        masses = world.mass_of(protection.priv)
        real = {key: channel.output_of(law) for key, law in values.items()}
        ideal = {key: simulator.output_of(alt_law(protection, law)) for key, law in values.items()}
        for side in dict.fromkeys(z for _, z in values):
            keys = [key for key in values if key[1] == side]
            for t in channel.outputs:
                seen = {key[0]: masses[key] * real[key][t] for key in keys}
                if not any(seen.values()):
                    continue
                simulated = {key[0]: masses[key] * ideal[key][t] for key in keys}
                found.append(
                    Inference(
                        t,
                        side,
                        sum(seen.values(), Fraction(0)),
                        protection.name,
                        Distribution.from_weights(seen),
                        Distribution.from_weights(simulated) if any(simulated.values()) else None,
                    )
                )
    return found


def inference_failure(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    *,
    simulator: Channel,
    gamma: Real,
    delta_hat: Real,
) -> Fraction:
    """Return the failure probability of a given simulator, the worst over the worlds; exact."""
    level, slack = as_gamma(gamma), as_probability(delta_hat, "delta_hat")
    check_class(worlds, protections)
    worst = Fraction(0)
    for world in worlds:
        bad: dict[tuple[Outcome, Outcome], Fraction] = {}
        for inference in inferences(channel, world, protections, simulator):
            if inference.gap(level) > slack:
                bad[inference.output, inference.side_information] = inference.probability
        worst = max(worst, sum(bad.values(), Fraction(0)))
    return worst


def inference_privacy(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    *,
    simulator: Channel,
    gamma: Real,
    delta_hat: Real,
) -> Finding:
    """Return the failure of a given simulator, with the inference that is furthest off."""
    level, slack = as_gamma(gamma), as_probability(delta_hat, "delta_hat")
    failure = inference_failure(
        channel, worlds, protections, simulator=simulator, gamma=level, delta_hat=slack
    )
    found = [i for world in worlds for i in inferences(channel, world, protections, simulator)]
    worst = max(found, key=lambda inference: inference.gap(level))
    return Finding(
        "inference-based coupled worlds",
        {"gamma": level, "delta_hat": slack, "failure": failure},
        InferenceWitness(
            worst.output,
            worst.side_information,
            worst.probability,
            worst.protection,
            worst.real,
            worst.ideal,
        ),
    )
