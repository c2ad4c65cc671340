"""One predicate at a time, or all at once (Kasiviswanathan and Smith, section 5).

It is the order of quantifiers. Earlier statements fix a predicate of the database, and say that what is
believed of it hardly changes, except with a small probability over the output. Semantic privacy says
that, except with a small probability, *no* predicate's belief changes: the statistical difference of
the posteriors is the largest change over all predicates. The second failure is at least the first; how
much greater it is shows here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.records import people
from sanql.theory.definitions.semantic import failure_probability, game_posterior
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.exact import Real, as_count, as_probability

_DATABASES_MAX = 16


@dataclass(frozen=True)
class Quantifiers:
    """How often conclusions differ by more than tau: of the worst single predicate, and of any."""

    predicate: tuple[Database, ...]
    one_predicate: Fraction
    all_predicates: Fraction


def order_of_quantifiers(
    channel: Channel, belief: Distribution, tau: Real, default: Outcome
) -> Quantifiers:
    """Return both failure probabilities of a belief; the predicate is the databases where it holds.

    >>> from sanql.theory.channels import randomised_response
    >>> coin = randomised_response(1, odds=9)
    >>> told = order_of_quantifiers(coin, Distribution.uniform(coin.databases), "1/5", 0)
    >>> told.one_predicate, told.all_predicates
    (Fraction(1, 1), Fraction(1, 1))
    """
    level = as_probability(tau, "tau")
    support = belief.support
    as_count(
        len(support), "the number of databases that are believed possible", most=_DATABASES_MAX
    )
    law = channel.output_of(belief)
    failures = [Fraction(0)] * (1 << len(support))
    for output, mass in law.items():
        if mass:
            for predicate in _misjudged(channel, belief, output, level, default):
                failures[predicate] += mass
    worst = max(range(len(failures)), key=lambda predicate: failures[predicate])
    return Quantifiers(
        tuple(x for place, x in enumerate(support) if worst >> place & 1),
        failures[worst],
        failure_probability(channel, belief, level, default),
    )


def _misjudged(
    channel: Channel, belief: Distribution, output: Outcome, tau: Fraction, default: Outcome
) -> set[int]:
    """Return the predicates, as sets of places, whose belief some person's absence moves beyond tau."""
    support = belief.support
    real = game_posterior(channel, belief, output, 0, default)
    found: set[int] = set()
    for game in range(1, people(channel) + 1):
        ideal = game_posterior(channel, belief, output, game, default)
        if real is None or ideal is None:  # counts as distance 1
            return set(range(1 << len(support))) if tau < 1 else set()
        moves = [real[x] - ideal[x] for x in support]
        sums = [Fraction(0)] * (1 << len(support))
        for predicate in range(1, len(sums)):
            lowest = (predicate & -predicate).bit_length() - 1
            sums[predicate] = sums[predicate & (predicate - 1)] + moves[lowest]
        found |= {predicate for predicate, move in enumerate(sums) if abs(move) > tau}
    return found
