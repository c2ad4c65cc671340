"""Prior and posterior: how far one output moves the belief about one record (Vadhan, section 4).

The attacker knows all other records. With likelihoods L(v) and r = max L / min L, the worst prior
sits on two values only; the largest statistical difference between prior and posterior is (sqrt r -
1)/(sqrt r + 1), so a bound tau on it is epsilon-differential privacy with epsilon = 4 artanh tau.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import Finding, PriorWitness
from sanql.theory.definitions.nearly_exact import NearlyExact
from sanql.theory.definitions.records import Others, by_others
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    INFINITE,
    Extended,
    as_gamma,
    as_positive,
    quoted,
    sqrt_lower,
    sqrt_near,
    sqrt_upper,
)


def posterior(
    prior: Distribution, likelihood: Distribution | dict[Outcome, Fraction]
) -> Distribution:
    """Return the posterior proportional to prior times likelihood.

    >>> prior = Distribution.of({"in": "1/4", "out": "3/4"})
    >>> posterior(prior, {"in": Fraction(9, 10), "out": Fraction(1, 10)})["in"]
    Fraction(3, 4)
    """
    unknown = [
        value for value in prior.support if isinstance(likelihood, dict) and value not in likelihood
    ]
    if unknown:
        raise TheoryError(
            "unknown_value",
            f"there is no likelihood of {quoted(unknown[0])}",
            "give the likelihood of every value of the prior",
        )
    weights = {value: mass * likelihood[value] for value, mass in prior.items() if mass}
    if not any(weights.values()):
        raise TheoryError(
            "impossible_output",
            "the output has probability 0 under this prior",
            "condition on an output that can happen",
        )
    return Distribution.from_weights(weights)


def largest_shift(ratio: Extended) -> Fraction:
    """Return (sqrt r - 1)/(sqrt r + 1), the largest prior-posterior distance; rounded up.

    >>> largest_shift(Fraction(9))
    Fraction(1, 2)
    """
    if ratio == INFINITE:
        return Fraction(1)
    as_gamma(ratio, "ratio")
    root = sqrt_upper(Fraction(ratio))
    return (root - 1) / (root + 1)


def largest_hockey_stick(ratio: Fraction, gamma: Fraction) -> Fraction:
    """Return sup over priors of H_gamma(posterior||prior) = (sqrt r - sqrt gamma)^2/(r - 1).

    Below gamma = 1/r no value loses more than the factor gamma, so every value counts and the sum
    is 1 - gamma whatever the prior; from 1/r on the likeliest value alone is the best event.

    >>> largest_hockey_stick(Fraction(4), Fraction(1, 100))
    Fraction(99, 100)
    """
    as_gamma(ratio, "ratio")
    as_positive(gamma, "gamma")
    if ratio <= gamma:
        return Fraction(0)
    if gamma * ratio < 1:
        return 1 - gamma
    return (sqrt_upper(ratio) - sqrt_lower(gamma)) ** 2 / (ratio - 1)


def worst_prior(likelihoods: Sequence[tuple[Outcome, Fraction]]) -> Distribution:
    """Return the two-point prior that attains the largest shift: 1/(1 + sqrt r) on the
    likeliest."""
    high, top = max(likelihoods, key=lambda pair: pair[1])
    low, bottom = min(likelihoods, key=lambda pair: pair[1])
    if high == low or top == bottom:
        return Distribution.uniform(value for value, _ in likelihoods)
    if bottom == 0:
        return Distribution.of({high: Fraction(1, 1000), low: Fraction(999, 1000)})
    root = sqrt_near(top / bottom)
    return Distribution.of({high: 1 / (1 + root), low: root / (1 + root)})


def prior_to_posterior(channel: Channel) -> Finding:
    """Return the largest distance between prior and posterior of any record, and its witness.

    `tau` bounds the statistical difference, `gamma` the factor on any single belief (a supremum,
    reached only in the limit of a vanishing prior).
    """
    best: Extended = Fraction(0)
    where: tuple[Others, int] | None = None
    groups = by_others(channel)
    members = {others: [channel.index(x) for x in group] for others, group in groups.items()}
    for others, place in _suspects(channel, members):
        if best == INFINITE:
            break
        masses = [channel.rows[x][place] for x in members[others]]
        ratio = _ratio(max(masses), min(masses))
        if ratio > best:
            best, where = ratio, (others, place)
    assert where is not None  # noqa: S101  (every channel has a database and a possible output)
    return Finding(
        "prior to posterior",
        {"tau": largest_shift(best), "gamma": best},
        _witness(channel, *where),
    )


def _suspects(
    channel: Channel, members: Mapping[Others, Sequence[int]]
) -> Iterable[tuple[Others, int]]:
    """Return where the largest ratio may be, in order: everywhere, or where floats leave it open."""
    nearly = NearlyExact.of(channel)
    if nearly is None:
        return product(members, range(len(channel.outputs)))
    others = list(members)
    found = nearly.highest_spreads([members[each] for each in others])
    return [(others[group], place) for group, place in found]


def _ratio(top: Fraction, bottom: Fraction) -> Extended:
    if bottom == 0:
        return INFINITE if top > 0 else Fraction(0)
    return top / bottom


def _witness(channel: Channel, others: Others, place: int) -> PriorWitness:
    group = by_others(channel)[others]
    person = others[0]
    likelihood = {x[person]: channel.masses(x)[place] for x in group}  # type: ignore[index]
    prior = worst_prior(list(likelihood.items()))
    return PriorWitness(
        person, others[1], channel.outputs[place], prior, posterior(prior, likelihood)
    )
