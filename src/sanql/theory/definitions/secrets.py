"""Noiseless privacy and Pufferfish: the output law must not depend on the secret.

Definition 6 compares F(X) given X_i = x and given X_i = x'; Definition 7 compares a secret's two
values; Definition 8 compares the secret's prior and posterior. A condition of probability 0 says
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import ConditionWitness, Finding, InferenceWitness
from sanql.theory.definitions.records import people
from sanql.theory.definitions.worlds import Record, World
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import align, two_sided_excess
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_gamma, as_probability, quoted


@dataclass(frozen=True)
class Secret:
    """A function of the database with values 0, 1, or None when it does not apply."""

    name: str
    value: Callable[[Any], Outcome]


def noiseless_delta(channel: Channel, worlds: Sequence[World], gamma: Real) -> Finding:
    """Return the least delta of noiseless privacy at a level, in the worst world (Def. 6)."""
    each = [Secret(f"record {i + 1}", Record(i)) for i in range(people(channel))]
    check_secrets(worlds, each)
    comparisons = record_comparisons(channel, worlds, each)
    return _worst(comparisons, as_gamma(gamma), "noiseless privacy")


def pufferfish_delta(
    channel: Channel, worlds: Sequence[World], secrets: Sequence[Secret], gamma: Real
) -> Finding:
    """Return the least delta of Pufferfish privacy at a level (Def. 7)."""
    check_secrets(worlds, secrets)
    comparisons = secret_comparisons(channel, worlds, secrets)
    return _worst(comparisons, as_gamma(gamma), "Pufferfish privacy")


def pufferfish_inference(
    channel: Channel,
    worlds: Sequence[World],
    secrets: Sequence[Secret],
    *,
    gamma: Real,
    delta_hat: Real,
) -> Finding:
    """Return the largest chance, given z, that prior and posterior of a secret are not close.

    Close means (epsilon, delta_hat)-indistinguishable over the values 0, 1, None (Def. 8). The
    witness is the output that moves the belief furthest; its ideal belief is the prior.
    """
    level, slack = as_gamma(gamma), as_probability(delta_hat, "delta_hat")
    check_secrets(worlds, secrets)
    worst = Fraction(0)
    furthest: tuple[Fraction, InferenceWitness | None] = (Fraction(-1), None)
    for world in worlds:
        for secret in secrets:
            for side, (prior, real) in secret_laws(channel, world, secret).items():
                chance = Fraction(0)
                for t in channel.outputs:
                    seen = {v: prior[v] * real[v][t] for v in prior.support}
                    mass = sum(seen.values(), Fraction(0))
                    if mass:
                        after = Distribution.from_weights(seen)
                        gap = two_sided_excess(align(after, prior), level)
                        chance += mass if gap > slack else 0
                        if gap > furthest[0]:
                            told = InferenceWitness(t, side, mass, secret.name, after, prior)
                            furthest = gap, told
                worst = max(worst, chance)
    return Finding(
        "inference-based Pufferfish",
        {"gamma": level, "delta_hat": slack, "failure": worst},
        furthest[1],
    )


def pufferfish_inference_failure(
    channel: Channel,
    worlds: Sequence[World],
    secrets: Sequence[Secret],
    *,
    gamma: Real,
    delta_hat: Real,
) -> Fraction:
    """Return the failure probability of `pufferfish_inference` alone."""
    found = pufferfish_inference(channel, worlds, secrets, gamma=gamma, delta_hat=delta_hat)
    return Fraction(found["failure"])


def secret_laws(
    channel: Channel, world: World, secret: Secret
) -> dict[Outcome, tuple[Distribution, dict[Outcome, Distribution]]]:
    """For each z: the prior of the secret, and the output law given each of its values."""
    masses = world.mass_of(secret.value)
    laws = world.given(secret.value)
    for value, _ in laws:
        if value not in (0, 1, None):
            raise TheoryError(
                "secret",
                f"the secret {secret.name!r} has the value {quoted(value)}",
                "let it be 0 or 1, or None where it does not apply; give one secret for each value",
            )
    found = {}
    for side in dict.fromkeys(z for _, z in laws):
        keys = [key for key in laws if key[1] == side]
        prior = Distribution.from_weights({key[0]: masses[key] for key in keys})
        found[side] = (prior, {key[0]: channel.output_of(laws[key]) for key in keys})
    return found


def record_comparisons(
    channel: Channel, worlds: Sequence[World], records: Sequence[Secret]
) -> Iterator[tuple[ConditionWitness, bool]]:
    """Yield the two laws of every comparison, and whether it is one; the last is vacuous."""
    for index, world in enumerate(worlds):
        for record in records:
            given = world.given(record.value)
            laws = {key: channel.output_of(law) for key, law in given.items()}
            for (v, z), (w, other) in combinations(laws, 2):
                if z == other:
                    real, ideal = laws[v, z], laws[w, z]
                    yield ConditionWitness(index, record.name, (v, w), z, real, ideal), True
    yield _vacuous(channel), False


def secret_comparisons(
    channel: Channel, worlds: Sequence[World], secrets: Sequence[Secret]
) -> Iterator[tuple[ConditionWitness, bool]]:
    """Yield the two laws of every comparison, and whether it is one; the last is vacuous."""
    for index, world in enumerate(worlds):
        for secret in secrets:
            for side, (_, laws) in secret_laws(channel, world, secret).items():
                if 0 in laws and 1 in laws:
                    found = ConditionWitness(index, secret.name, (0, 1), side, laws[0], laws[1])
                    yield found, True
    yield _vacuous(channel), False


def _vacuous(channel: Channel) -> ConditionWitness:
    row = channel.row(channel.databases[0])
    return ConditionWitness(0, "nothing", None, None, row, row)


def _worst(
    comparisons: Iterator[tuple[ConditionWitness, bool]], gamma: Fraction, definition: str
) -> Finding:
    best, where, compared = Fraction(-1), None, False
    for witness, real in comparisons:
        delta = two_sided_excess(align(witness.real, witness.ideal), gamma)
        if delta > best and (real or not compared):
            best, where = delta, witness if real else None
        compared = compared or real
    note = "" if compared else "vacuous: no two values of the secret are possible together"
    return Finding(definition, {"gamma": gamma, "delta": best}, where, note=note)


def check_secrets(worlds: Sequence[World], secrets: Sequence[Secret]) -> None:
    """Raise unless there is at least one world and one secret."""
    if not worlds or not secrets:
        raise TheoryError(
            "empty_class",
            "the class of distributions or of secrets is empty",
            "give at least one world and one secret; an empty class would make any claim true",
        )
