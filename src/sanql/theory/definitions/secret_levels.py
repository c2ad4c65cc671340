"""Noiseless privacy and Pufferfish solved for the level, or for delta-hat, given the rest.

A comparison of two laws needs a least level at delta. In the inference form an output is bad below
the least level, or the least delta-hat, at which its prior and posterior are close, so the answer is
a quantile: the first value beyond which bad outputs are rare enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import ConditionWitness, Finding, InferenceWitness
from sanql.theory.definitions.records import people
from sanql.theory.definitions.secrets import (
    Secret,
    check_secrets,
    record_comparisons,
    secret_comparisons,
    secret_laws,
)
from sanql.theory.definitions.worlds import Record, World
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import align, tight_gamma_two_sided, two_sided_excess
from sanql.theory.exact import Extended, Real, as_gamma, as_probability


def noiseless_gamma(channel: Channel, worlds: Sequence[World], delta: Real) -> Finding:
    """Return the least level of noiseless privacy at a delta, in the worst world (Def. 6)."""
    each = [Secret(f"record {i + 1}", Record(i)) for i in range(people(channel))]
    check_secrets(worlds, each)
    comparisons = record_comparisons(channel, worlds, each)
    return _worst(comparisons, as_probability(delta, "delta"), "noiseless privacy")


def pufferfish_gamma(
    channel: Channel, worlds: Sequence[World], secrets: Sequence[Secret], delta: Real
) -> Finding:
    """Return the least level of Pufferfish privacy at a delta (Def. 7)."""
    check_secrets(worlds, secrets)
    comparisons = secret_comparisons(channel, worlds, secrets)
    return _worst(comparisons, as_probability(delta, "delta"), "Pufferfish privacy")


def pufferfish_inference_gamma(
    channel: Channel,
    worlds: Sequence[World],
    secrets: Sequence[Secret],
    *,
    delta_hat: Real,
    failure: Real,
) -> Finding:
    """Return the least level at which prior and posterior are close but for `failure` (Def. 8)."""
    slack, rare = as_probability(delta_hat, "delta_hat"), as_probability(failure, "failure")

    def needed(after: Distribution, prior: Distribution) -> Extended:
        return tight_gamma_two_sided(after, prior, slack)

    gamma, witness = _quantile(channel, worlds, secrets, rare, needed, Fraction(1))
    numbers = {"gamma": gamma, "delta_hat": slack, "failure": rare}
    return Finding("inference-based Pufferfish", numbers, witness, solved="gamma")


def pufferfish_inference_delta_hat(
    channel: Channel,
    worlds: Sequence[World],
    secrets: Sequence[Secret],
    *,
    gamma: Real,
    failure: Real,
) -> Finding:
    """Return the least delta-hat at which prior and posterior are close but for `failure`."""
    level, rare = as_gamma(gamma), as_probability(failure, "failure")

    def needed(after: Distribution, prior: Distribution) -> Extended:
        return two_sided_excess(align(after, prior), level)

    slack, witness = _quantile(channel, worlds, secrets, rare, needed, Fraction(0))
    numbers = {"gamma": level, "delta_hat": slack, "failure": rare}
    return Finding("inference-based Pufferfish", numbers, witness, solved="delta_hat")


def _worst(
    comparisons: Iterator[tuple[ConditionWitness, bool]], delta: Fraction, definition: str
) -> Finding:
    best: Extended = Fraction(1)
    where, compared = None, False
    for witness, real in comparisons:
        if not real:
            continue
        gamma = tight_gamma_two_sided(witness.real, witness.ideal, delta)
        if gamma > best or not compared:
            best, where = gamma, witness
        compared = True
    note = "" if compared else "vacuous: no two values of the secret are possible together"
    numbers = {"gamma": best, "delta": delta}
    return Finding(definition, numbers, where, note=note, solved="gamma")


def _quantile(
    channel: Channel,
    worlds: Sequence[World],
    secrets: Sequence[Secret],
    failure: Fraction,
    needed: Callable[[Distribution, Distribution], Extended],
    least: Fraction,
) -> tuple[Extended, InferenceWitness | None]:
    """Return the least value that all but `failure` of the outputs need no more than, given any z."""
    check_secrets(worlds, secrets)
    best: Extended = least
    where: InferenceWitness | None = None
    for world in worlds:
        for secret in secrets:
            for side, (prior, real) in secret_laws(channel, world, secret).items():
                seen: list[tuple[Extended, Fraction, InferenceWitness]] = []
                for t in channel.outputs:
                    masses = {v: prior[v] * real[v][t] for v in prior.support}
                    mass = sum(masses.values(), Fraction(0))
                    if mass:
                        after = Distribution.from_weights(masses)
                        told = InferenceWitness(t, side, mass, secret.name, after, prior)
                        seen.append((needed(after, prior), mass, told))
                beyond = Fraction(0)
                for value, mass, told in sorted(seen, key=lambda each: each[0], reverse=True):
                    beyond += mass
                    if beyond > failure:
                        if value > best or where is None:
                            best, where = max(best, value), told
                        break
    return best, where
