"""Levels at a given failure, where the failure itself is only enclosed: halving between proofs.

The failure falls as the level grows. A level is enough when its failure is proved to be at most what
is allowed, and too low when it is proved to be more; between the two the search halves, and stops
where neither is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import Finding, enclosed
from sanql.theory.definitions.inference_best import best_inference_privacy
from sanql.theory.definitions.semantic import semantic_privacy
from sanql.theory.definitions.semantic_bounds import (
    approximate_semantic_privacy,
    reality_oblivious_privacy,
)
from sanql.theory.definitions.worlds import Protection, World
from sanql.theory.distributions import Outcome
from sanql.theory.exact import INFINITE, Extended, Real, as_probability

_TAU_STEPS = 10
_GAMMA_STEPS = 12
_GAMMA_MAX = Fraction(2**20)


def semantic_tau(channel: Channel, delta: Real, default: Outcome, *, nodes: int = 100) -> Finding:
    """Return the least tau of (tau, delta)-semantic privacy at a delta, enclosed (Def. 2.3)."""
    return _least_tau(
        channel,
        as_probability(delta, "delta"),
        default,
        lambda tau: approximate_semantic_privacy(channel, tau, default, nodes=nodes),
    )


def reality_oblivious_tau(
    channel: Channel, delta: Real, default: Outcome, *, nodes: int = 100
) -> Finding:
    """Return the least tau of reality-oblivious semantic privacy at a delta, enclosed."""
    return _least_tau(
        channel,
        as_probability(delta, "delta"),
        default,
        lambda tau: reality_oblivious_privacy(channel, tau, default, nodes=nodes),
    )


def inference_gamma(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    *,
    delta_hat: Real,
    failure: Real,
) -> Finding:
    """Return the least level at which some simulator fails at most so often, enclosed (Def. 4)."""
    slack, allowed = as_probability(delta_hat, "delta_hat"), as_probability(failure, "failure")

    def at(gamma: Fraction) -> Finding:
        return best_inference_privacy(channel, worlds, protections, gamma=gamma, delta_hat=slack)

    low, high, found = Fraction(1), Fraction(2), at(Fraction(1))
    if found["failure"] <= allowed:
        return _inference(found, Fraction(1), Fraction(1), slack, allowed)
    while (found := at(high))["failure"] > allowed:
        low = high if _proved_more(found, "failure", allowed) else low
        if high >= _GAMMA_MAX:
            return _inference(found, INFINITE, low, slack, allowed)
        high *= 4
    for _ in range(_GAMMA_STEPS):
        middle = (low + high) / 2
        tried = at(middle)
        if tried["failure"] <= allowed:
            high, found = middle, tried
        elif _proved_more(tried, "failure", allowed):
            low = middle
        else:
            break
    return _inference(found, high, low, slack, allowed)


def _inference(
    found: Finding, gamma: Extended, at_least: Fraction, slack: Fraction, failure: Fraction
) -> Finding:
    numbers = {"gamma": gamma, "delta_hat": slack, "failure": failure}
    return enclosed(
        found.definition, numbers, {"gamma": at_least}, found.witness, found.note, solved="gamma"
    )


def _least_tau(
    channel: Channel, delta: Fraction, default: Outcome, at: Callable[[Fraction], Finding]
) -> Finding:
    """Halve below the tau that never fails."""
    found = at(Fraction(0))
    low, high = Fraction(0), Fraction(0)
    if found["delta"] > delta:
        high = Fraction(1)
        start = Fraction(semantic_privacy(channel, default)["tau"])
        for step in range(_TAU_STEPS + 1):
            middle = (low + high) / 2 if step else start
            tried = at(middle)
            if tried["delta"] <= delta:
                high, found = middle, tried
            elif _proved_more(tried, "delta", delta):
                low = middle
            elif step:
                break
    numbers: dict[str, Extended] = {"tau": high, "delta": delta}
    return enclosed(
        found.definition, numbers, {"tau": low}, found.witness, found.note, solved="tau"
    )


def _proved_more(found: Finding, name: str, allowed: Fraction) -> bool:
    return found.at_least.get(name, found[name]) > allowed
