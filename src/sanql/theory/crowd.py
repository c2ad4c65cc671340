"""Crowd-blending privacy (Gehrke, Hay, Lui and Pass), compared with Theorem 10 of coupled worlds.

A mechanism is (k, epsilon)-crowd-blending when every record of every database either blends with k
records of it, itself among them (exchanging it for theirs is never noticed beyond epsilon), or is as
good as left out. A histogram that shows cells below k as 0 is (k, 0)-crowd-blending. Sampled from a
population it becomes differentially private there; Theorem 10 protects those who are known to be in the
sample, which takes more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.distributions import Outcome
from sanql.theory.divergences import indistinguishability_delta
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_count, as_gamma, as_probability, quoted

_PEOPLE_MAX = 400


@dataclass(frozen=True)
class Crowd:
    """The size of the smallest crowd that anyone relies on, and who relies on it.

    `size` is None where everybody is as good as left out, so that every k holds.
    """

    size: int | None
    database: Database | None
    record: Outcome | None


def crowd_blending(channel: Channel, gamma: Real) -> Crowd:
    """Return the largest k of (k, ln gamma)-crowd-blending, over databases of several sizes.

    >>> from itertools import product
    >>> from sanql.theory.channels import exact_statistic
    >>> known = [x for size in range(4) for x in product("ab", repeat=size)]
    >>> cells = exact_statistic(known, lambda x: tuple(n if (n := x.count(v)) >= 2 else 0 for v in "ab"))
    >>> crowd_blending(cells, 1).size
    2
    """
    level = as_gamma(gamma)
    alike = _alike(channel, level)
    best = Crowd(None, None, None)
    for x in channel.databases:
        assert isinstance(x, tuple)  # noqa: S101  (_alike has checked)
        for place, record in enumerate(x):
            smaller = x[:place] + x[place + 1 :]
            if indistinguishability_delta(channel.row(x), channel.row(smaller), level) == 0:
                continue
            crowd = sum(other == record or (record, other) in alike for other in x)
            if best.size is None or crowd < best.size:
                best = Crowd(crowd, x, record)
    return best


def _alike(channel: Channel, gamma: Fraction) -> set[tuple[Outcome, Outcome]]:
    """Return the pairs of values that can be exchanged in every database without notice."""
    known = set(channel.databases)
    values: dict[Outcome, None] = {}
    for x in channel.databases:
        if not isinstance(x, tuple):
            raise TheoryError("not_records", f"{quoted(x)} is not a list of records", 'write "a,b"')
        values |= dict.fromkeys(x)
        for place in range(len(x)):
            if x[:place] + x[place + 1 :] not in known:
                raise TheoryError(
                    "smaller_database",
                    f"the mechanism says nothing of {quoted(x)} without record {place + 1}",
                    "give the databases of every smaller size too",
                )
    pairs = {(v, w) for v in values for w in values if v != w}
    for x in channel.databases:
        assert isinstance(x, tuple)  # noqa: S101  (checked above)
        for place, record in enumerate(x):
            for other in values:
                if (record, other) in pairs:
                    exchanged = (*x[:place], other, *x[place + 1 :])
                    if exchanged not in known or indistinguishability_delta(
                        channel.row(x), channel.row(exchanged), gamma
                    ):
                        pairs -= {(record, other), (other, record)}
    return pairs


@dataclass(frozen=True)
class Sampled:
    """The deltas of one cell of a truncated histogram of a sample, and the populations that attain them.

    `population` hides whether somebody is in the population (Gehrke et al.), `sample` whether the data of
    somebody who is known to be in the sample were used (Theorem 10).
    """

    population: Fraction
    population_at: int
    sample: Fraction
    sample_at: int


def sampled_histogram(people: int, rate: Real, smallest: int, gamma: Real) -> Sampled:
    """Return both deltas where each of at most so many people of a cell is sampled at a rate; exact.

    >>> told = sampled_histogram(20, "1/10", 5, 2)
    >>> told.population < told.sample
    True
    """
    chance, level = as_probability(rate, "rate"), as_gamma(gamma)
    as_count(people, "people", most=_PEOPLE_MAX)
    as_count(smallest, "smallest", most=_PEOPLE_MAX)
    population, sample = (Fraction(-1), 0), (Fraction(-1), 0)
    above, below = chance.numerator, chance.denominator
    before, common = [1], 1
    for others in range(people):
        common *= below
        same = [mass * below for mass in before]
        after = _added(before, above, below - above)
        found = Fraction(_excess(after, same, smallest, level), common * level.denominator)
        population = max(population, (found, -others))
        found = Fraction(_excess([0, *same], same, smallest, level), common * level.denominator)
        sample = max(sample, (found, -others))
        before = after
    return Sampled(population[0], -population[1], sample[0], -sample[1])


def smallest_cells(
    people: int, rate: Real, gamma: Real, delta: Real
) -> tuple[int | None, int | None]:
    """Return the least k that keeps a delta towards the population, and in the sample, if any does.

    A greater k shows a function of what a smaller one shows, so the deltas only fall.

    >>> smallest_cells(60, "1/10", 3, "1/1000")
    (3, 11)
    """
    limit = as_probability(delta, "delta")
    found: list[int | None] = [None, None]
    for which in (0, 1):
        low, high = 1, people + 1
        while low < high:
            middle = (low + high) // 2
            told = sampled_histogram(people, rate, middle, gamma)
            if (told.population, told.sample)[which] <= limit:
                high = middle
            else:
                low = middle + 1
        found[which] = low if low <= people else None
    return found[0], found[1]


def _added(law: list[int], included: int, left_out: int) -> list[int]:
    """Return the law of a count after one more person, over a denominator that is as much greater."""
    stays = [*(mass * left_out for mass in law), 0]
    joins = [0, *(mass * included for mass in law)]
    return [a + b for a, b in zip(stays, joins, strict=True)]


def _excess(first: list[int], second: list[int], smallest: int, gamma: Fraction) -> int:
    """Return the two-sided excess of two laws of a count that is shown as 0 below the smallest.

    It is times the laws' denominator and gamma's.
    """
    laws = [[sum(law[:smallest]), *law[smallest:]] for law in (first, second)]
    size = max(map(len, laws))
    p, q = ([*law, *[0] * (size - len(law))] for law in laws)
    top, bottom = gamma.numerator, gamma.denominator
    return max(
        sum(max(0, bottom * a - top * b) for a, b in zip(x, y, strict=True))
        for x, y in ((p, q), (q, p))
    )
