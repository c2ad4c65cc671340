"""Units taken in parts: what the units of each part add to the cells, and all parts added up.

Relations are per unit, so what all units add to the cells is the sum of what those of each part add,
whichever parts they are taken in. A part is a range of buckets, which are hashes of units
(`tables.py`); the engine needs memory for one part at a time (`kernel/run.py`). Sums are whole numbers of
128 bits until all parts are added, and bounds on cells are enforced after that: the cells are the same
to the bit as those of one statement over all units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PARTIAL = "partial_cells"


@dataclass(frozen=True)
class AddedUp:
    """A relation whose rows add up over units: the columns that name a row, and those that are added.

    Without columns that name a row it has one row, also where there are no units.
    """

    name: str
    named: tuple[str, ...]
    sums: tuple[str, ...]


def part_of_cells(relations: Sequence[AddedUp], keys: Sequence[str]) -> str:
    """Return a SELECT of the rows of all these relations, each with the number of its relation."""
    columns = _columns(relations, keys)
    return " UNION ALL ".join(
        f"SELECT {', '.join([f'{number} AS part', *_listed(relation, columns, keys)])} "
        f"FROM {relation.name}"
        for number, relation in enumerate(relations)
    )


def added_up(relations: Sequence[AddedUp]) -> list[str]:
    """Return these relations over the rows of all parts."""
    statements = []
    for number, relation in enumerate(relations):
        sums = [f"system.main.sum({column}) AS {column}" for column in relation.sums]
        grouping = f" GROUP BY {', '.join(relation.named)}" if relation.named else ""
        statements.append(
            f"{relation.name} AS (SELECT {', '.join([*relation.named, *sums])} "
            f"FROM temp.main.{PARTIAL} WHERE part = {number}{grouping})"
        )
    return statements


def part_of_several(relations: Sequence[AddedUp], keys: Sequence[str]) -> str:
    """Return a SELECT that makes of the rows of several parts those of one part, with their sums."""
    columns = _columns(relations, keys)
    return " UNION ALL ".join(
        f"SELECT {', '.join(['part', *_listed(relation, columns, keys, summed=True)])} "
        f"FROM temp.main.{PARTIAL} WHERE part = {number} "
        f"GROUP BY {', '.join(dict.fromkeys(['part', *keys, *relation.named]))}"
        for number, relation in enumerate(relations)
    )


def _columns(relations: Sequence[AddedUp], keys: Sequence[str]) -> list[str]:
    """Return every column but keys that some relation has; all of them hold whole numbers."""
    every = (column for relation in relations for column in (*relation.named, *relation.sums))
    return [column for column in dict.fromkeys(every) if column not in keys]


def _listed(
    relation: AddedUp, columns: Sequence[str], keys: Sequence[str], *, summed: bool = False
) -> list[str]:
    own = {column: column for column in (*relation.named, *relation.sums)}
    if summed:
        own |= {column: f"system.main.sum({column})" for column in relation.sums}
    numbers = (f"CAST({own.get(column, 'NULL')} AS HUGEINT) AS {column}" for column in columns)
    return [*keys, *numbers]
