"""Laws of independent records written down as JSON: each is a world of the file.

    "laws": [
      {"0": "3/4", "1": "1/4"},                        of every record
      [{"0": "1/2", "1": "1/2"}, {"0": 1}, …]          of each record in turn
    ]

They are laws of the largest databases of the file.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.worlds import World
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from sanql.theory.exact import quoted


def parse_laws(content: object, channel: Channel) -> tuple[World, ...]:
    """Return the worlds of a file in which records are independent, in its order."""
    if not isinstance(content, list):
        raise _wrong("laws is not a list", 'write "laws": [{value: mass}]')
    records = max(len(x) if isinstance(x, tuple) else 0 for x in channel.databases)
    return tuple(independent(_laws(law, records), channel) for law in content)


def independent(laws: tuple[Distribution, ...], channel: Channel) -> World:
    """Return the world in which each record has a law of its own, independent of the others.

    >>> from sanql.theory.channels import exact_statistic
    >>> coin = Distribution.of({0: "1/3", 1: "2/3"})
    >>> parity = exact_statistic([(a, b) for a in (0, 1) for b in (0, 1)], lambda x: sum(x) % 2)
    >>> independent((coin, coin), parity).joint[(1, 1), None]
    Fraction(4, 9)
    """
    masses: dict[Database, Fraction] = {}
    for chosen in product(*([cell for cell in law.items() if cell[1] > 0] for law in laws)):
        database = tuple(value for value, _ in chosen)
        channel.index(database)
        masses[database] = math.prod((mass for _, mass in chosen), start=Fraction(1))
    return World.without_side_information(Distribution.of(masses))


def _laws(law: object, records: int) -> tuple[Distribution, ...]:
    if isinstance(law, dict) and records:
        return (Distribution.of(law),) * records
    if isinstance(law, list) and len(law) == records and all(isinstance(k, dict) for k in law):
        return tuple(Distribution.of(one) for one in law)
    raise _wrong(
        f"{quoted(law)} is no law of {records} records",
        "write {value: mass} for all records, or a list of one such law for each",
    )


def _wrong(message: str, remedy: str) -> TheoryError:
    return TheoryError("channel_file", message, remedy)
