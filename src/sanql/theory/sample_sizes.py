"""How uncertain the size of a sample is: Equation (2) of the sampling priors, decided exactly.

Bassily, Groce, Katz and Smith, Definition 9: P(N = n)/P(N = n − 1) shall lie within e^±epsilon but for a
chance of delta. As printed n is drawn from N; as the size must not tell N from N + 1, in either
direction, it must hold for n drawn from N + 1 too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from sanql.theory.distributions import Distribution
from sanql.theory.exact import Real, as_count, as_gamma, as_probability


@dataclass(frozen=True)
class SizeUncertainty:
    """The chances that the ratio is too far from 1, for n drawn from N (as printed) and from N + 1."""

    printed: Fraction
    shifted: Fraction

    @property
    def delta(self) -> Fraction:
        """The delta for which Equation (2) holds as corrected."""
        return max(self.printed, self.shifted)


def size_uncertainty(sizes: Distribution, gamma: Real) -> SizeUncertainty:
    """Return the delta of Equation (2) for a law of the size, at e^epsilon = gamma.

    >>> found = size_uncertainty(Distribution.of({1: "1/7", 2: "2/7", 3: "4/7"}), 2)
    >>> str(found.printed), str(found.shifted)
    ('1/7', '4/7')
    """
    level = as_gamma(gamma, "gamma")
    masses: Mapping[int, Fraction] = {int(str(n)): p for n, p in sizes.items() if p > 0}
    printed = shifted = Fraction(0)
    for n in sorted({*masses, *(n + 1 for n in masses)}):
        here, before = masses.get(n, Fraction(0)), masses.get(n - 1, Fraction(0))
        if not (here <= level * before and before <= level * here):
            printed, shifted = printed + here, shifted + before
    return SizeUncertainty(printed, shifted)


def binomial_sizes(population: int, rate: Real) -> Distribution:
    """Return the law of the size when everybody is sampled independently at a rate.

    >>> str(binomial_sizes(3, "1/3")[1])
    '4/9'
    """
    people = as_count(population, "the population", most=5000)
    p = as_probability(rate, "the rate")
    up, down, whole = p.numerator, p.denominator - p.numerator, p.denominator**people
    return Distribution(
        tuple(range(people + 1)),
        tuple(
            Fraction(comb(people, n) * up**n * down ** (people - n), whole)
            for n in range(people + 1)
        ),
    )
