"""Noninterference and leakage: a program as a channel from states, some of whose variables are low.

Noninterference (lecture, Equation 21.3): states that agree on the low variables give the same output.
That is Equation 21.4 at epsilon = 0, with "agree on the low variables" as the neighbours. How far a
program is from it is told by what one guess gains: min-entropy is to Shannon's entropy what
max-divergence is to the Kullback-Leibler divergence, a worst case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.dp import perfect_privacy
from sanql.theory.definitions.finding import Finding
from sanql.theory.definitions.records import people
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_count, log_nearest, log_upper
from sanql.theory.neighbours import Neighbours, listed


@dataclass(frozen=True)
class Leakage:
    """What a program tells of its high variables, for each state of the low ones at worst.

    `noninterference` has the statistical difference that must be 0. `guesses_upper` is by which factor
    seeing the output raises the chance of the best single guess, over all priors (min-capacity): 1 is
    nothing.
    """

    noninterference: Finding
    guesses_upper: Fraction
    low: tuple[Outcome, ...]

    @property
    def bits_upper(self) -> float:
        """The leakage in bits of min-entropy, rounded up."""
        return log_upper(self.guesses_upper) / math.log(2) * (1 + 1e-15)


def low_equivalent(channel: Channel, low: Iterable[int]) -> Neighbours:
    """Return the pairs of states that agree on the variables at the low places, counted from 1."""
    pairs = []
    for group in _groups(channel, low).values():
        pairs += [(x, y) for place, x in enumerate(group) for y in group[:place]]
    return listed(pairs, "low-equivalent")


def leakage(channel: Channel, low: Iterable[int] = ()) -> Leakage:
    """Return whether a program is noninterferent, and what it leaks otherwise.

    >>> from sanql.theory.channels import exact_statistic
    >>> states = [(low, high) for low in (0, 1) for high in (0, 1)]
    >>> leakage(exact_statistic(states, lambda s: s[0]), low=[1]).guesses_upper
    Fraction(1, 1)
    >>> leakage(exact_statistic(states, lambda s: s[0] & s[1]), low=[1]).guesses_upper
    Fraction(2, 1)
    """
    places = tuple(low)
    found = perfect_privacy(channel, low_equivalent(channel, places))
    groups = _groups(channel, places)
    gains = {state: _gain(channel, group) for state, group in groups.items()}
    worst = max(gains, key=lambda state: gains[state])
    return Leakage(found, gains[worst], worst)


def min_entropy(law: Distribution) -> float:
    """Return −ln of the likeliest mass, in nats; ln n minus it is the max-divergence from uniform."""
    return 0.0 - log_nearest(max(law.masses))


def shannon_entropy(law: Distribution) -> float:
    """Return the entropy in nats; ln n minus it is the KL divergence from uniform.

    >>> fair = Distribution.over(["1/2", "1/2"])
    >>> round(shannon_entropy(fair) - min_entropy(fair), 12)
    0.0
    """
    return math.fsum(float(mass) * -log_nearest(mass) for mass in law.masses if mass)


def _gain(channel: Channel, group: list[Database]) -> Fraction:
    """Return sum over outputs of the largest mass, the factor by which guessing may improve."""
    columns = zip(*(channel.masses(x) for x in group), strict=True)
    return sum((max(column) for column in columns), Fraction(0))


def _groups(channel: Channel, low: Iterable[int]) -> dict[tuple[Outcome, ...], list[Database]]:
    variables = people(channel)
    places = [as_count(place, "a low variable", most=variables) - 1 for place in low]
    if len(set(places)) == variables:
        raise TheoryError(
            "all_low", "every variable is low, nothing is to be hidden", "leave one of them high"
        )
    groups: dict[tuple[Outcome, ...], list[Database]] = {}
    for x in channel.databases:
        assert isinstance(x, tuple)  # noqa: S101  (people() has checked)
        groups.setdefault(tuple(x[place] for place in places), []).append(x)
    return groups
