"""The mechanism inside a certificate, read strictly, and the laws its definitions compare."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

Law: TypeAlias = dict[str, Fraction]
Database: TypeAlias = tuple[str, ...]
_NUMBER = re.compile(r"-?\d{1,20000}(/[1-9]\d{0,20000})?", re.ASCII)


class Rejected(Exception):
    """The certificate does not prove what it claims; the text says where it fails."""


@dataclass(frozen=True)
class CertifiedChannel:
    """Rows by database, neighbours, default, worlds as (database, side, mass), secrets."""

    rows: dict[Database, Law]
    neighbours: tuple[tuple[Database, Database], ...]
    default: str | None
    worlds: tuple[tuple[tuple[Database, str | None, Fraction], ...], ...]
    secrets: dict[str, dict[Database, int | None]]

    @property
    def outputs(self) -> list[str]:
        """Every output of some row."""
        return list(dict.fromkeys(t for row in self.rows.values() for t in row))

    def people(self) -> int:
        """Return the number of records, or reject."""
        sizes = {len(x) for x in self.rows}
        if len(sizes) != 1 or 0 in sizes:
            raise Rejected("the definition speaks of people, and databases have several sizes")
        return sizes.pop()

    def mixed(self, weights: dict[Database, Fraction]) -> Law:
        """Return the output law of a database drawn with these weights, which need not sum to 1."""
        total = sum(weights.values(), Fraction(0))
        law: Law = {}
        for x, weight in weights.items():
            for t, mass in self.rows[x].items():
                law[t] = law.get(t, Fraction(0)) + weight * mass / total
        return law


def number(text: object) -> Fraction:
    """Return a fraction written as "3" or "1/3"."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise Rejected(f"{str(text)[:40]!r} is no exact number")
    return Fraction(text)


def read(content: Any) -> CertifiedChannel:
    """Return the mechanism, or reject what is none."""
    part = _object(content, "the mechanism")
    rows = {_database(x): _law(row) for x, row in _object(part["databases"], "databases").items()}
    pairs = tuple((_database(a), _database(b)) for a, b in part["neighbours"])
    worlds = tuple(
        tuple((_database(x), z, number(mass)) for x, z, mass in world) for world in part["worlds"]
    )
    secrets = {
        str(secret): {_database(x): value for x, value in table.items()}
        for secret, table in _object(part["secrets"], "secrets").items()
    }
    _check(rows, pairs, worlds, secrets)
    return CertifiedChannel(rows, pairs, part["default"], worlds, secrets)


def conditioned(
    mechanism: CertifiedChannel, world: int, value: Any
) -> dict[str | None, dict[Any, dict[Database, Fraction]]]:
    """Return Pr[X, Z = z, value(X) = v] by z and v, where positive."""
    found: dict[str | None, dict[Any, dict[Database, Fraction]]] = {}
    for x, z, mass in mechanism.worlds[world]:
        if mass:
            cell = found.setdefault(z, {}).setdefault(value(x), {})
            cell[x] = cell.get(x, Fraction(0)) + mass
    return found


def neighbouring(mechanism: CertifiedChannel) -> dict[str, tuple[Law, Law]]:
    """Return the rows of each pair of neighbours."""
    return {
        name(written(x), written(y)): (mechanism.rows[x], mechanism.rows[y])
        for x, y in mechanism.neighbours
    }


def by_record(mechanism: CertifiedChannel) -> dict[str, tuple[Law, Law]]:
    """Return what noiseless privacy compares: the output given two values of one record."""
    found = {}
    for world in range(len(mechanism.worlds)):
        for person in range(mechanism.people()):
            given = conditioned(mechanism, world, lambda x, i=person: x[i])
            for z, values in given.items():
                for v, w in combinations(values, 2):
                    place = name(world + 1, person + 1, v, w, z)
                    found[place] = (mechanism.mixed(values[v]), mechanism.mixed(values[w]))
    return found


def by_secret(mechanism: CertifiedChannel) -> dict[str, tuple[Law, Law]]:
    """Return what Pufferfish compares: the output given 0 and given 1."""
    found = {}
    for world in range(len(mechanism.worlds)):
        for secret, table in mechanism.secrets.items():
            for z, values in conditioned(mechanism, world, table.__getitem__).items():
                if 0 in values and 1 in values:
                    found[name(world + 1, secret, z)] = (
                        mechanism.mixed(values[0]),
                        mechanism.mixed(values[1]),
                    )
    return found


def simulated(mechanism: CertifiedChannel, worlds: bool) -> dict[str, tuple[Law, Law]]:
    """Return, for every condition of a simulator, the real law and the law of what it is given.

    Its input is "person: the other records". Without worlds each database is a condition by itself.
    """
    found = {}
    for person in range(mechanism.people()):

        def told(x: Database, i: int = person) -> str:
            return f"{i + 1}: {written(x[:i] + x[i + 1 :])}"

        if not worlds:
            for x, row in mechanism.rows.items():
                found[name(person + 1, written(x))] = (row, {told(x): Fraction(1)})
            continue
        for world in range(len(mechanism.worlds)):
            given = conditioned(mechanism, world, lambda x, i=person: x[i])
            for z, values in given.items():
                for v, cell in values.items():
                    total = sum(cell.values(), Fraction(0))
                    seen: Law = {}
                    for x, mass in cell.items():
                        seen[told(x)] = seen.get(told(x), Fraction(0)) + mass / total
                    found[name(world + 1, person + 1, v, z)] = (mechanism.mixed(cell), seen)
    return found


def name(*parts: object) -> str:
    """Return one text for several parts; no two lists of parts share one."""
    return json.dumps(parts)


def written(database: Database) -> str:
    """Return a database as the file names it."""
    return ",".join(database)


def _database(text: object) -> Database:
    if not isinstance(text, str):
        raise Rejected("a database is no text")
    return tuple(text.split(",")) if text else ()


def _law(content: Any) -> Law:
    law = {str(t): number(mass) for t, mass in _object(content, "a row").items()}
    if not law or min(law.values()) < 0 or sum(law.values()) != 1:
        raise Rejected("the masses of a row are not probabilities that sum to 1")
    return law


def _object(content: Any, what: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise Rejected(f"{what} is no object")
    return content


def _check(rows: Any, pairs: Any, worlds: Any, secrets: Any) -> None:
    if not rows or not all(x in rows for pair in pairs for x in pair):
        raise Rejected("a neighbour is no database")
    for world in worlds:
        masses = [mass for _, _, mass in world]
        known = all(x in rows and isinstance(z, str | None) for x, z, _ in world)
        if sum(masses) != 1 or min(masses) < 0 or not known:
            raise Rejected("the masses of a world are not probabilities of databases")
    for table in secrets.values():
        values = {type(value) for value in table.values()} <= {int, type(None)}
        if table.keys() != rows.keys() or not values or set(table.values()) - {0, 1, None}:
            raise Rejected("a secret does not give 0, 1 or null for each database")
