"""Which kinds of privacy unit a question reads: one, or those of one table whose rows belong to two.

A relation is per unit of *one* kind. Beside each other, rows of a patient and rows of a doctor are a
relation of neither: whoever is taken out takes rows along that belong to others. So all private tables
that a question reads, in subqueries, too, hold units of one kind; and a table of two kinds is read alone.
"""

from __future__ import annotations

from sanql.errors import Refused
from sanql.policy import Table


class KindsRead:
    """The private tables that a question has read so far, in a dataset with several kinds of unit."""

    def __init__(self) -> None:
        self._first: Table | None = None

    def read(self, table: Table) -> None:
        """Take one more table; refuse one that is about others than those before it."""
        if table.public or table.kind is None:
            return
        first, self._first = self._first, self._first or table
        if first is None:
            return
        if first.kinds != table.kinds:
            raise Refused(
                "join_across_kinds",
                f"{first.name} is about {_named(first)} and {table.name} about {_named(table)}: rows that"
                " lie beside each other would belong to units of different kinds",
                "ask over one of the tables; a table that names both kinds has rows of both, and what it"
                " is asked is charged to both",
            )
        if first.second is not None:
            raise Refused(
                "kinds_read_alone",
                f"rows of {table.name} belong to {_named(table)} at once: they lie beside rows of public"
                " tables only",
                "read the table once, without private tables beside it or in a subquery",
            )


def _named(table: Table) -> str:
    return " and ".join(f"{kind} units" for kind in table.kinds)
