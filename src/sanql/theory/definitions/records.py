"""Databases as lists of people: what changes when one person's record does."""

from __future__ import annotations

from typing import TypeAlias

from sanql.theory.channels import Channel, Database
from sanql.theory.distributions import Outcome
from sanql.theory.errors import TheoryError

Records: TypeAlias = tuple[Outcome, ...]
Others: TypeAlias = tuple[int, Records]
"""A person's position, counted from 0, and everybody else's records in order."""


def people(channel: Channel) -> int:
    """Return the common number of records, or say that there is none."""
    sizes = {len(x) if isinstance(x, tuple) else -1 for x in channel.databases}
    if len(sizes) != 1 or sizes <= {-1, 0}:
        raise TheoryError(
            "not_records",
            "this definition speaks of people, so databases must be tuples of one common length",
            'write databases as tuples such as (0, 1), in JSON as "0,1"',
        )
    return sizes.pop()


def by_others(channel: Channel) -> dict[Others, list[Database]]:
    """Return, for each person and the records of all others, the databases that agree with them."""
    groups: dict[Others, list[Database]] = {}
    for person in range(people(channel)):
        for x in channel.databases:
            groups.setdefault(without(x, person), []).append(x)
    return groups


def without(database: Database, person: int) -> Others:
    """Return the others' records, tagged with the person's position.

    The tag matters: a simulator that is not told the position can fail where a told one works.
    """
    assert isinstance(database, tuple)  # noqa: S101  (people() has checked)
    return person, database[:person] + database[person + 1 :]


def dropped(channel: Channel, database: Database, person: int, default: Outcome) -> Database:
    """Return the database with one record replaced by the default value."""
    assert isinstance(database, tuple)  # noqa: S101  (people() has checked)
    replaced = (*database[:person], default, *database[person + 1 :])
    channel.index(replaced)
    return replaced
