"""Mechanisms as channels: one exact output distribution for each database.

A `Channel` is a stochastic matrix. Databases are usually tuples of records, outputs anything
hashable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from sanql.computed_once import computed_once
from sanql.theory.closed_forms import geometric_mass
from sanql.theory.distributions import Distribution, Outcome, check_masses, mixture
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_count, as_positive, as_probability

Database: TypeAlias = Outcome


@dataclass(frozen=True)
class Channel:
    """A finite mechanism: rows[x][t] = Pr[output t on database x], exact.

    >>> channel = randomised_response(2, odds=3)
    >>> channel.row((0, 1))[(0, 1)]
    Fraction(9, 16)
    """

    databases: tuple[Database, ...]
    outputs: tuple[Outcome, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        if not self.databases or not self.outputs:
            raise TheoryError(
                "empty", "the channel has no databases or no outputs", "give at least one of each"
            )
        for values, what in ((self.databases, "databases"), (self.outputs, "outputs")):
            if len(set(values)) != len(values):
                raise TheoryError(
                    "duplicate", f"the {what} are not distinct", f"give each of the {what} once"
                )
        if len(self.rows) != len(self.databases):
            raise TheoryError(
                "lengths",
                f"{len(self.databases)} databases but {len(self.rows)} rows",
                "give one row for each database",
            )
        for row in self.rows:
            if len(row) != len(self.outputs):
                raise TheoryError(
                    "lengths",
                    f"a row has {len(row)} masses for {len(self.outputs)} outputs",
                    "give one mass for each output",
                )
            check_masses(row)

    @classmethod
    def of(cls, rows: Mapping[Any, Distribution]) -> Channel:
        """Return the channel with the given output distribution for each database."""
        outputs = tuple(dict.fromkeys(t for row in rows.values() for t in row.outcomes))
        return cls(
            tuple(rows), outputs, tuple(tuple(row[t] for t in outputs) for row in rows.values())
        )

    def row(self, database: Database) -> Distribution:
        """Return the output distribution on one database."""
        return Distribution(self.outputs, self.masses(database))

    def masses(self, database: Database) -> tuple[Fraction, ...]:
        """Return the masses of one row, in the order of `outputs`."""
        return self.rows[self.index(database)]

    def index(self, database: Database) -> int:
        """Return the place of a database, or say that it is unknown."""
        place = self._places.get(database)
        if place is None:
            raise TheoryError(
                "unknown_database",
                f"the channel has no database {database!r}",
                "add its row, or leave it out of the belief or the neighbours",
            )
        return place

    @computed_once
    def _places(self) -> dict[Database, int]:
        return {database: place for place, database in enumerate(self.databases)}

    @computed_once
    def scaled(self) -> tuple[tuple[tuple[int, ...], ...], int]:
        """The rows as integers over one common denominator: the same numbers, quicker to
        compare."""
        common = math.lcm(*(mass.denominator for row in self.rows for mass in row))
        rows = tuple(
            tuple(mass.numerator * (common // mass.denominator) for mass in row)
            for row in self.rows
        )
        return rows, common

    def output_of(self, belief: Distribution) -> Distribution:
        """Return the law of the output when the database is drawn from a belief."""
        parts = [self.row(database) for database in belief.support]
        return mixture([belief[database] for database in belief.support], parts)


def from_function(
    databases: Iterable[Database], function: Callable[[Any], Distribution]
) -> Channel:
    """Return the channel of a randomised function."""
    return Channel.of({database: function(database) for database in databases})


def exact_statistic(databases: Iterable[Database], statistic: Callable[[Any], Outcome]) -> Channel:
    """Return the channel that releases a statistic without noise.

    >>> exact_statistic([(0,), (1,)], sum).row((1,)).support
    (1,)
    """
    return from_function(databases, lambda database: Distribution.point(statistic(database)))


def randomised_response(people: int, odds: Real, values: Sequence[Outcome] = (0, 1)) -> Channel:
    """Return each person's value told truthfully with odds r against each other value.

    Pr[t|x] is proportional to r^(number of agreements); r-differentially private on change-one
    neighbours.
    """
    r = as_positive(odds, "odds")
    as_count(people, "people", most=16)
    as_count(len(values) ** people, "the number of databases", most=2**12)
    databases = list(product(values, repeat=people))
    total = (r + len(values) - 1) ** people
    rows = {
        x: Distribution.of(
            {t: r ** sum(a == b for a, b in zip(x, t, strict=True)) / total for t in databases}
        )
        for x in databases
    }
    return Channel.of(rows)


def truncated_geometric(counts: int, ratio: Real) -> Channel:
    """Return the count c in 0..counts with two-sided geometric noise, clamped to 0..counts.

    >>> [str(mass) for mass in truncated_geometric(3, "1/2").masses(0)]
    ['2/3', '1/6', '1/12', '1/12']
    """

    as_count(counts, "counts", most=2**12)

    def noisy(c: int) -> Distribution:
        inside = {t: geometric_mass(ratio, t - c) for t in range(1, counts)}
        a = geometric_mass(ratio, 1) / geometric_mass(ratio, 0)
        ends = {0: a**c / (1 + a), counts: a ** (counts - c) / (1 + a)}
        return Distribution.of(
            {t: ends.get(t, inside.get(t, Fraction(0))) for t in range(counts + 1)}
        )

    return from_function(range(counts + 1), noisy)


def random_row(
    databases: Iterable[tuple[Outcome, ...]], probability: Real, *, named: bool = False
) -> Channel:
    """Return the release, with a given probability, of one uniformly random record.

    `named` publishes the position with the record. The mechanism is private in statistical
    difference and meaningless (Vadhan case 2; Kasiviswanathan-Smith section 5).
    """
    chance = as_probability(probability, "probability")
    given = [tuple(database) for database in databases]
    if not named and any("nothing" in database for database in given):
        raise TheoryError(
            "nothing",
            "a record is called 'nothing', as is the output when no record is released",
            "call the record otherwise, or publish the position with named=True",
        )

    def release(database: tuple[Outcome, ...]) -> Distribution:
        masses: dict[Outcome, Fraction] = {"nothing": 1 - chance}
        for place, record in enumerate(database):
            told = (place, record) if named else record
            masses[told] = masses.get(told, Fraction(0)) + chance / len(database)
        return Distribution.of({told: mass for told, mass in masses.items() if mass})

    return Channel.of({database: release(database) for database in given})


def compose(first: Channel, second: Channel) -> Channel:
    """Return both outputs together, with independent coins."""
    if set(first.databases) != set(second.databases):
        raise TheoryError(
            "databases", "the two channels have different databases", "compose over the same ones"
        )
    rows = {
        x: Distribution.of(
            {(s, t): a * b for s, a in first.row(x).items() for t, b in second.row(x).items()}
        )
        for x in first.databases
    }
    return Channel.of(rows)


def post_process(channel: Channel, kernel: Callable[[Any], Distribution]) -> Channel:
    """Return a randomised function of the output."""
    images = [kernel(t) for t in channel.outputs]
    return Channel.of({x: mixture(channel.masses(x), images) for x in channel.databases})


def mix(weights: Sequence[Real], channels: Sequence[Channel]) -> Channel:
    """Return the channel that picks one of several at random, in secret."""
    if not channels or any(set(c.databases) != set(channels[0].databases) for c in channels):
        raise TheoryError(
            "databases",
            "there is no channel, or the channels have different databases",
            "mix one or more channels over the same databases",
        )
    databases = channels[0].databases
    return Channel.of({x: mixture(weights, [c.row(x) for c in channels]) for x in databases})
