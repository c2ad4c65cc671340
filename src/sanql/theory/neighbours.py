"""Which databases must be hard to tell apart.

The relation is part of every claim: releasing the exact size is perfectly private among databases
that change one record and not at all among those that add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from sanql.theory.channels import Database
from sanql.theory.distributions import Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_fraction, as_positive, quoted


@dataclass(frozen=True)
class Neighbours:
    """A symmetric relation: unordered pairs of databases."""

    name: str
    pairs: tuple[tuple[Database, Database], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise TheoryError(
                "no_neighbours",
                f"no two databases are {self.name} neighbours",
                "give databases that differ as the relation says, or list the pairs",
            )
        for left, right in self.pairs:
            if left == right:
                raise TheoryError(
                    "self_neighbour", f"{left!r} is paired with itself", "list pairs that differ"
                )


def change_one(databases: Iterable[Database]) -> Neighbours:
    """Return the tuples of equal length that differ in exactly one record.

    >>> len(change_one([(0, 0), (0, 1), (1, 0), (1, 1)]).pairs)
    4
    """
    groups: dict[Outcome, list[Database]] = {}
    for x in databases:
        record_list = _records(x, "change-one")
        for place in range(len(record_list)):
            rest = (len(record_list), place, record_list[:place] + record_list[place + 1 :])
            groups.setdefault(rest, []).append(x)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    return Neighbours("change-one", tuple(pairs))


def add_remove(databases: Iterable[Database]) -> Neighbours:
    """Return the tuples of which one is the other without one record.

    >>> add_remove([(0,), (0, 1)]).pairs
    (((0, 1), (0,)),)
    """
    known = dict.fromkeys(databases)
    pairs: dict[tuple[Database, Database], None] = {}
    for x in known:
        record_list = _records(x, "add-remove")
        for place in range(len(record_list)):
            smaller = record_list[:place] + record_list[place + 1 :]
            if smaller in known:
                pairs[(x, smaller)] = None
    return Neighbours("add-remove", tuple(pairs))


def listed(pairs: Iterable[tuple[Database, Database]], name: str = "listed") -> Neighbours:
    """Return exactly the pairs given."""
    return Neighbours(name, tuple(pairs))


def related(
    databases: Iterable[Database], differ: Callable[[Database, Database], bool], name: str
) -> Neighbours:
    """Return the pairs for which `differ` holds in either order."""
    chosen = [(x, y) for x, y in combinations(databases, 2) if differ(x, y) or differ(y, x)]
    return Neighbours(name, tuple(chosen))


def graph_nodes(graphs: Iterable[frozenset[frozenset[Outcome]]]) -> Neighbours:
    """Return the graphs (sets of edges) that differ only in edges at one common node."""

    def differ(x: Database, y: Database) -> bool:
        if not isinstance(x, frozenset) or not isinstance(y, frozenset):
            raise _not_of(x, "a set of edges", "give graphs as frozensets of edges")
        changed = list(x ^ y)
        return bool(changed) and bool(frozenset.intersection(*changed))

    return related(graphs, differ, "graph nodes")


def private_attribute(databases: Iterable[Database]) -> Neighbours:
    """Return change-one among records (public, private) whose public parts agree.

    >>> private_attribute([(("F", 0),), (("F", 1),), (("M", 0),)]).pairs
    (((('F', 0),), (('F', 1),)),)
    """

    def differ(x: Database, y: Database) -> bool:
        changed = _changed(x, y)
        for record in (record for pair in changed for record in pair):
            if not isinstance(record, tuple) or len(record) != 2:
                raise _not_of(record, "a record (public, private)", "give records as pairs")
        return len(changed) == 1 and changed[0][0][0] == changed[0][1][0]

    return related(databases, differ, "private attribute")


def groups_of(databases: Iterable[Database], members: Sequence[Outcome]) -> Neighbours:
    """Return the tuples that differ only in the records of one group: a school, a household.

    `members[i]` names the group of position i.
    """

    def differ(x: Database, y: Database) -> bool:
        left, right = _records(x, "group"), _records(y, "group")
        if len(left) != len(right) or len(left) != len(members):
            return False
        changed = {members[i] for i in range(len(left)) if left[i] != right[i]}
        return len(changed) == 1

    return related(databases, differ, "groups")


def within(databases: Iterable[Database], distance: Real) -> Neighbours:
    """Return change-one among numeric records that move by at most a distance: a firm's assets."""

    reach = as_positive(distance, "distance")

    def differ(x: Database, y: Database) -> bool:
        changed = _changed(x, y)
        if len(changed) != 1:
            return False
        left, right = (as_fraction(value, "a record") for value in changed[0])
        return abs(left - right) <= reach

    return related(databases, differ, f"within {quoted(distance)}")


def sensitivity(statistic: Callable[[Any], Real], neighbours: Neighbours) -> Fraction:
    """Return max |f(x) - f(y)| over neighbours, the global sensitivity (lecture Def. 21.2).

    >>> sensitivity(sum, change_one([(0, 0), (0, 5), (5, 0), (5, 5)]))
    Fraction(5, 1)
    """
    return max(
        abs(as_fraction(statistic(x), "f(x)") - as_fraction(statistic(y), "f(y)"))
        for x, y in neighbours.pairs
    )


def named(name: str, databases: Sequence[Database]) -> Neighbours:
    """Return a relation by its name, as files write it.

    There is none for private attributes: the records of a file have no parts.
    """
    relations: dict[str, Callable[[Sequence[Database]], Neighbours]] = {
        "change-one": change_one,
        "add-remove": add_remove,
        "all": lambda known: listed(combinations(known, 2), "all"),
    }
    if name not in relations:
        raise TheoryError(
            "unknown_neighbours",
            f"there is no neighbour relation {name!r}",
            f"use one of {', '.join(sorted(relations))}, or list the pairs",
        )
    return relations[name](databases)


def _not_of(value: object, kind: str, remedy: str) -> TheoryError:
    return TheoryError("not_records", f"{quoted(value)} is not {kind}", remedy)


def _changed(x: Database, y: Database) -> list[tuple[Any, Any]]:
    left, right = _records(x, "change-one"), _records(y, "change-one")
    if len(left) != len(right):
        return []
    return [(a, b) for a, b in zip(left, right, strict=True) if a != b]


def _records(database: Database, relation: str) -> tuple[Outcome, ...]:
    if not isinstance(database, tuple):
        raise TheoryError(
            "not_records",
            f"the database {database!r} is not a tuple of records",
            f"write databases as tuples, or list the {relation} pairs yourself",
        )
    return database
