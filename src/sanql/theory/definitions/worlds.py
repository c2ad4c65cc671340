"""Worlds: what the attacker may believe about (database, side information), and what is protected.

Coupled-worlds privacy is a framework with two choices: a class Delta of joint laws of (X, Z), and a
set Gamma of protections (alt, priv): the output shall tell about priv(X) no more than alt(X) would.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.records import without
from sanql.theory.distributions import Distribution, Outcome, mixture
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, quoted


@dataclass(frozen=True)
class World:
    """A joint law of the database X and the side information Z, as pairs (x, z)."""

    joint: Distribution

    def __post_init__(self) -> None:
        for cell in self.joint.outcomes:
            if not isinstance(cell, tuple) or len(cell) != 2:
                raise TheoryError(
                    "world",
                    f"the world speaks of {quoted(cell)}, not of a pair (database, side information)",
                    "give pairs, or use World.without_side_information",
                )

    @classmethod
    def of(cls, masses: Mapping[Any, Real]) -> World:
        """Return the world with the given mass on each (database, side information)."""
        return cls(Distribution.of(masses))

    @classmethod
    def without_side_information(cls, databases: Distribution) -> World:
        """Return the world in which the attacker knows nothing beyond the law of the database."""
        return cls(databases.map(lambda x: (x, None)))

    @classmethod
    def knowing(cls, databases: Distribution, learn: Callable[[Any], Outcome]) -> World:
        """Return the world in which the attacker also knows a function of the database."""
        return cls(databases.map(lambda x: (x, learn(x))))

    def reduced(self, forget: Callable[[Any], Distribution]) -> World:
        """Return the world whose side information is a randomised function of the old one."""
        masses: dict[Outcome, Fraction] = {}
        for (x, z), mass in self.cells():
            for less, chance in forget(z).items():
                masses[(x, less)] = masses.get((x, less), Fraction(0)) + mass * chance
        return World(Distribution.of(masses))

    def given(self, value: Callable[[Any], Outcome]) -> dict[tuple[Outcome, Outcome], Distribution]:
        """Return the law of X given (value(X), Z), for every pair of positive probability."""
        weights: dict[tuple[Outcome, Outcome], dict[Outcome, Fraction]] = {}
        for (x, z), mass in self.cells():
            weights.setdefault((value(x), z), {})[x] = mass
        return {key: Distribution.from_weights(cell) for key, cell in weights.items()}

    def mass_of(self, value: Callable[[Any], Outcome]) -> dict[tuple[Outcome, Outcome], Fraction]:
        """Return Pr[value(X), Z]."""
        masses: dict[tuple[Outcome, Outcome], Fraction] = {}
        for (x, z), mass in self.cells():
            key = (value(x), z)
            masses[key] = masses.get(key, Fraction(0)) + mass
        return masses

    def databases(self) -> Distribution:
        """Return the law of the database alone."""
        return self.joint.map(lambda cell: cell[0])

    def cells(self) -> list[tuple[tuple[Database, Outcome], Fraction]]:
        """Return each possible (database, side information) with its mass."""
        return [(cell, mass) for cell, mass in self.joint.items() if mass]  # type: ignore[misc]


def blend(weights: Sequence[Fraction], worlds: Sequence[World]) -> World:
    """Return the convex combination of worlds."""
    return World(mixture(weights, [world.joint for world in worlds]))


@dataclass(frozen=True)
class Protection:
    """One pair (alt, priv): what the ideal world still shows, and what is to be protected.

    `alt` may return a `Distribution` when the scrubbed view is itself random (a firm's noisy
    assets).
    """

    name: str
    alt: Callable[[Any], Hashable]
    priv: Callable[[Any], Outcome]


def records(people: int) -> tuple[Protection, ...]:
    """Return the protections of distributional differential privacy: one for each record.

    >>> [protection.alt((7, 8)) for protection in records(2)]
    [(0, (8,)), (1, (7,))]
    """
    return tuple(Protection(f"record {i + 1}", _Without(i), Record(i)) for i in range(people))


def private_parts(people: int) -> tuple[Protection, ...]:
    """Return, for records (public, private), protections of the private part alone."""

    def hide(i: int) -> Callable[[Any], Hashable]:
        return lambda x: (i, (*x[:i], (x[i][0], "hidden"), *x[i + 1 :]))

    return tuple(
        Protection(f"private part of record {i + 1}", hide(i), _PrivatePart(i))
        for i in range(people)
    )


def schools(members: Sequence[Outcome]) -> tuple[Protection, ...]:
    """Return protections of each record when its whole school stays away."""

    def absent(i: int) -> Callable[[Any], Hashable]:
        return lambda x: (
            i,
            tuple(r for r, school in zip(x, members, strict=True) if school != members[i]),
        )

    return tuple(
        Protection(f"record {i + 1} of {members[i]}", absent(i), Record(i))
        for i in range(len(members))
    )


def graph_node(node: Outcome) -> Protection:
    """Return the protection of one node's edges in a graph given as a set of edges."""
    return Protection(
        f"node {node}",
        lambda graph: (node, frozenset(edge for edge in graph if node not in edge)),
        lambda graph: frozenset(edge for edge in graph if node in edge),
    )


def noisy_firm(firm: int, noise: Callable[[Any], Distribution]) -> Protection:
    """Return the protection of one firm whose record the ideal world shows with noise."""

    def blurred(x: Any) -> Hashable:
        return noise(x[firm]).map(lambda seen: (firm, (*x[:firm], seen, *x[firm + 1 :])))

    return Protection(f"firm {firm + 1}", blurred, Record(firm))


def canonical_simulator(smaller: Channel, people: int) -> Channel:
    """Return the mechanism itself run on the other records, as a position-aware simulator."""
    return Channel.of(
        {(i, others): smaller.row(others) for i in range(people) for others in smaller.databases}
    )


def alt_law(protection: Protection, databases: Distribution) -> Distribution:
    """Return the law of what the simulator is given."""
    parts = [protection.alt(x) for x in databases.support]
    laws = [part if isinstance(part, Distribution) else Distribution.point(part) for part in parts]
    return mixture([databases[x] for x in databases.support], laws)


def check_class(worlds: Sequence[World], protections: Iterable[Protection]) -> None:
    """Raise unless there is at least one world and one protection."""
    if not worlds or not tuple(protections):
        raise TheoryError(
            "empty_class",
            "the class of distributions or the set of protections is empty",
            "give at least one world and one protection; an empty class would make any claim true",
        )


@dataclass(frozen=True)
class _Without:
    person: int

    def __call__(self, x: Any) -> Outcome:
        return without(x, self.person)


@dataclass(frozen=True)
class Record:
    """The function that returns one person's record."""

    person: int

    def __call__(self, x: Any) -> Outcome:
        value: Outcome = x[self.person]
        return value


@dataclass(frozen=True)
class _PrivatePart:
    person: int

    def __call__(self, x: Any) -> Outcome:
        value: Outcome = x[self.person][1]
        return value
