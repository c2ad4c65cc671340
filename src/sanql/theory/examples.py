"""Mechanisms that the sources speak of, written down: releases that are private in one sense alone.

A uniformly random row, published with a small probability, is close in statistical difference and tells
everything (Vadhan, case 2); so does a random row with its position (Kasiviswanathan and Smith, section
5). Uniform noise hides a sum only where it does not reach the end (the lecture's question).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from sanql.theory.channels import Channel, exact_statistic, from_function, random_row
from sanql.theory.distributions import Distribution
from sanql.theory.exact import as_count, as_probability

EXAMPLES: Mapping[str, str] = {
    "random-row": "one uniformly random record, with some probability (Vadhan, case 2)",
    "first-row": "the first record, with some probability (Vadhan, case 2, in brackets)",
    "named-row": "a random record with its position (Kasiviswanathan and Smith, section 5)",
    "uniform-noise": "the sum of bits with uniform noise (the lecture's question)",
    "exact-sum": "a deterministic function that is not constant (the lecture's randomized San)",
    "constant": "a deterministic function that is constant, the only private ones",
}
PEOPLE_MAX = 8


def example(name: str, people: int, chance: Fraction, width: int) -> Channel:
    """Return a mechanism on all databases of so many bits.

    >>> example("uniform-noise", 1, Fraction(1), 1).masses((0,))
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(0, 1))
    """
    as_count(people, "people", most=PEOPLE_MAX)
    databases = list(product((0, 1), repeat=people))
    if name == "uniform-noise":
        as_count(width, "width", least=0, most=100)
        return from_function(
            databases,
            lambda x: Distribution.uniform(range(sum(x) - width, sum(x) + width + 1)),
        )
    if name in ("exact-sum", "constant"):
        return exact_statistic(databases, sum if name == "exact-sum" else lambda _: 0)
    published = as_probability(chance, "chance")
    if name == "first-row":
        return from_function(databases, lambda x: _published(x[0], published))
    return random_row(databases, published, named=name == "named-row")


def _published(record: int, chance: Fraction) -> Distribution:
    return Distribution.of({"nothing": 1 - chance, record: chance})
