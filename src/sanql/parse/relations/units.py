"""Whose rows a relation has: identifiers that name a unit, rows that are units, limits on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.parse.relations.scope import UNIT
from sanql.policy import RowUnit
from sanql.question import (
    Derived,
    From,
    Grouped,
    Identifier,
    Join,
    Listed,
    Rows,
    Scan,
    Selected,
    Union,
    scans,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader


def rows_limit(source: From | Rows, reader: Reader) -> int | None:
    """Return how many rows of one unit may count here; None where nobody's rows are read."""
    match source:
        case Scan(_, name, private):
            return (reader.tables[name].rows_per_unit_max or 1) if private else None
        case Listed():
            return None
        case Derived(_, rows):
            return rows_limit(rows, reader)
        case Join(_, left, right, _):
            known = [rows_limit(left, reader), rows_limit(right, reader)]
            return max((limit for limit in known if limit is not None), default=None)
        case Selected():
            return rows_limit(source.source, reader)
        case Grouped():
            limit = rows_limit(source.source, reader)
            return 1 if limit is not None and source.one_each else limit
        case Union(branches):
            known = [rows_limit(branch, reader) for branch in branches]
            return sum(limit for limit in known if limit is not None) or None


def groups_of_individuals(name: str) -> Refused:
    """Return the refusal of groups of one unit each; none would have enough units to appear."""
    return Refused(
        "returns_individuals",
        f"GROUP BY {name} makes a row for each individual; San answers with statistics about many",
        f"group by something many share, and count individuals with COUNT(DISTINCT {name}); or "
        f"GROUP BY {name} in a subquery, with statistics outside",
    )


def by_row(rows: From | Rows, reader: Reader) -> bool:
    """Return whether rows are read each of which is a unit of its own."""
    return any(
        isinstance(reader.tables[scan.table].unit, RowUnit) for scan in scans(rows) if scan.private
    )


def always_there(identity: Identifier | None) -> bool:
    """Return whether every row has an identifier: rows without one would form a group of strangers."""
    return identity is not None and not identity.facts.nullable


def names_unit(identity: Identifier | None) -> bool:
    """Return whether every row has this identifier of its unit: then it makes one group of a unit."""
    return identity is not None and identity.entity == UNIT and always_there(identity)


def merges_rows(what: str, code: str = "subquery_across_units") -> Refused:
    """Return the refusal of what would merge rows that are units."""
    return Refused(
        code,
        f"{what} in a subquery would merge rows, and each row is protected by itself",
        "aggregate outside",
    )
