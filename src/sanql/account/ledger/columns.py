"""The columns on record: which of each table's the policy has ever let analysts use.

A column that is declared later joins by a record, and nothing needs to be compared for it. Neighbours
differ in whole rows of a unit, whatever of them may be asked about; what was answered before a column was
declared read none of it, so it depends on the other columns alone, and every charge covers both. Its
type, bounds, precision and domain are public choices that each answer is computed and charged by, so they
are no terms either. A column that leaves the policy stays on record: nothing is asked of it, and it
may come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sanql.policy import fold


@dataclass
class RecordedColumns:
    """The columns of each table, by names as SQL compares them, with the spelling on record."""

    tables: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, table: str) -> dict[str, str]:
        """Return the columns on record of a table."""
        return self.tables.get(fold(table), {})

    def lacking(self, declared: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the declared columns that are not on record, by tables that have such."""
        new = {
            table: [name for name in columns if fold(name) not in self.of(table)]
            for table, columns in declared.items()
        }
        return {table: columns for table, columns in new.items() if columns}

    def left(self, declared: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the columns on record that a policy leaves out, by declared tables that lack such."""
        gone = {}
        for table, columns in declared.items():
            there = {fold(name) for name in columns}
            gone[table] = [name for key, name in self.of(table).items() if key not in there]
        return {table: columns for table, columns in gone.items() if columns}

    def add(self, shape: object, known: Iterable[str]) -> None:
        """Take columns of tables that are `known`; ValueError where one is on record, or is no name."""
        if not isinstance(shape, dict):
            raise ValueError("columns are listed by table")
        tables = set(known)
        added = {table: _listed(columns) for table, columns in shape.items()}
        if not {fold(table) for table in added} <= tables or len(set(map(fold, added))) < len(
            added
        ):
            raise ValueError("columns of a table that is not known, or listed twice")
        if any(self.of(table).keys() & columns.keys() for table, columns in added.items()):
            raise ValueError("a column that is on record is added again")
        for table, columns in added.items():
            self.tables.setdefault(fold(table), {}).update(columns)

    def name(self, table: str, column: str) -> None:
        """Take that a column of a table has this name now."""
        self.tables.setdefault(fold(table), {}).setdefault(fold(column), column)


def _listed(columns: object) -> dict[str, str]:
    """Return the names in a list by how SQL compares them; ValueError where one is there twice."""
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ValueError("not names of columns")
    names = {fold(name): name for name in columns}
    if not names or len(names) < len(columns):
        raise ValueError("columns are named, and once")
    return names
