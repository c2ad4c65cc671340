"""Everything that is said of two output laws at once: divergences, tests, events, posteriors.

Several pairs with weights stand for (X, A(X)) against (X, A'(X)): Claim 3.3(3) says that their hockey
sticks average, Claim 3.3(4) what follows where only most pairs are close.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory import testing
from sanql.theory.constants import mixture_bound
from sanql.theory.definitions.bayesian import largest_hockey_stick
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import (
    best_event,
    hockey_stick,
    hockey_stick_sup,
    indistinguishability_delta,
    kl_divergence,
    max_divergence_gamma,
    statistical_difference,
    tight_gamma,
)
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, log_nearest
from sanql.theory.leakage import min_entropy, shannon_entropy


@dataclass(frozen=True)
class Variational:
    """Divergences as suprema, each at what attains it, to be set beside the sums they equal.

    Statistical difference and hockey stick over events; KL over functions f as E_P f − ln E_Q e^f
    (Donsker and Varadhan), at f = ln(p/q); max-divergence over events, at the largest ratio.
    """

    statistical_difference: Fraction
    hockey_stick: Fraction
    kl: float
    max_gamma: Extended


def variational(p: Distribution, q: Distribution, gamma: Fraction) -> Variational:
    """Return each divergence of P from Q by its variational form.

    >>> half = Fraction(1, 2)
    >>> found = variational(Distribution.over(["3/4", "1/4"]), Distribution.over([half, half]),
    ...                     Fraction(1))
    >>> found.statistical_difference, found.max_gamma, round(found.kl, 6)
    (Fraction(1, 4), Fraction(3, 2), 0.130812)
    """
    told_apart = {level: best_event(p, q, level) for level in (Fraction(1), gamma)}
    gains = {
        level: p.probability(event) - level * q.probability(event)
        for level, event in told_apart.items()
    }
    ratios = {t: p[t] / q[t] for t in p.support if q[t]}
    if len(ratios) < len(p.support):
        return Variational(gains[Fraction(1)], gains[gamma], INFINITE, INFINITE)
    f = {t: log_nearest(ratio) for t, ratio in ratios.items()}
    kl = math.fsum(float(p[t]) * f[t] for t in f) - math.log(
        float(sum((q[t] * ratios[t] for t in f), Fraction(0)))
    )
    return Variational(gains[Fraction(1)], gains[gamma], kl, max(ratios.values()))


@dataclass(frozen=True)
class Compared:
    """Two laws at a level gamma, in both orders where they differ."""

    statistical_difference: Fraction
    kl: tuple[float, float]
    max_gamma: tuple[Extended, Extended]
    gamma: Fraction
    hockey_stick: tuple[Fraction, Fraction]
    event: tuple[Outcome, ...]
    interval: Fraction
    least_weighted_error: Fraction
    tight_gamma: tuple[Extended, Extended]
    prior_moved: Fraction
    variational: Variational
    entropies: tuple[tuple[float, float], tuple[float, float]]


def compare(p: Distribution, q: Distribution, gamma: Fraction, delta: Fraction) -> Compared:
    """Return what is said of the pair; `tight_gamma` is at the delta.

    `interval` is the excess of the best interval of outcomes in their order, which is less than that of
    the best event where the likelihood ratio is not monotone. `prior_moved` is how far the belief in two
    values with these laws can move, as a hockey stick of posterior against prior, over all priors.

    >>> half = Fraction(1, 2)
    >>> found = compare(Distribution.over(["3/4", "1/4"]), Distribution.over([half, half]),
    ...                 Fraction(1), Fraction(0))
    >>> found.statistical_difference, found.event, found.least_weighted_error
    (Fraction(1, 4), (0,), Fraction(3, 4))
    """
    ratio = max(max_divergence_gamma(p, q), max_divergence_gamma(q, p))
    return Compared(
        statistical_difference(p, q),
        (kl_divergence(p, q), kl_divergence(q, p)),
        (max_divergence_gamma(p, q), max_divergence_gamma(q, p)),
        gamma,
        (hockey_stick(p, q, gamma), hockey_stick(q, p, gamma)),
        best_event(p, q, gamma),
        _best_interval(p, q, gamma),
        testing.least_weighted_error(p, q, gamma),
        (tight_gamma(p, q, delta), tight_gamma(q, p, delta)),
        Fraction(1) if ratio == INFINITE else largest_hockey_stick(Fraction(ratio), gamma),
        variational(p, q, gamma),
        (_entropies(p), _entropies(q)),
    )


def _entropies(law: Distribution) -> tuple[float, float]:
    return shannon_entropy(law), min_entropy(law)


def _best_interval(p: Distribution, q: Distribution, gamma: Fraction) -> Fraction:
    """Return the largest P(I) − gamma·Q(I) over intervals of outcomes in the order of P's."""
    best = running = Fraction(0)
    for outcome in dict.fromkeys((*p.outcomes, *q.outcomes)):
        running = max(Fraction(0), running + p[outcome] - gamma * q[outcome])
        best = max(best, running)
    return best


@dataclass(frozen=True)
class Joint:
    """Pairs of laws with the weights of a public X: together, and by what is known of most of them."""

    hockey_stick: Fraction
    failure: Fraction
    bound: Fraction


def joint(
    weights: Sequence[Fraction],
    pairs: Iterable[tuple[Distribution, Distribution]],
    gamma: Fraction,
    delta: Fraction,
) -> Joint:
    """Return H_gamma of (X, A(X)) against (X, A'(X)), and the bound failure + (1 − failure)·delta.

    The failure is the weight of pairs that are not (ln gamma, delta)-close.

    >>> even, sure = Distribution.over(["1/2", "1/2"]), Distribution.over([1, 0])
    >>> half = Fraction(1, 2)
    >>> joint([half, half], [(even, even), (even, sure)], Fraction(1), Fraction(0))
    Joint(hockey_stick=Fraction(1, 4), failure=Fraction(1, 2), bound=Fraction(1, 2))
    """
    given = list(pairs)
    if len(weights) != len(given) or sum(weights) != 1 or any(weight < 0 for weight in weights):
        raise TheoryError(
            "weights",
            f"{len(weights)} weights for {len(given)} pairs of laws, or they do not add up to 1",
            "give one weight a pair, together 1",
        )
    sticks = [hockey_stick_sup(p, q, gamma) for p, q in given]
    failure = sum(
        (
            weight
            for weight, (p, q) in zip(weights, given, strict=True)
            if indistinguishability_delta(p, q, gamma) > delta
        ),
        Fraction(0),
    )
    together = sum((w * stick for w, stick in zip(weights, sticks, strict=True)), Fraction(0))
    return Joint(together, failure, mixture_bound(failure, delta))
