"""A DuckDB database file, used where it is unless its texts are long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from sanql.account import WHOLE, Site, address_of
from sanql.catalog import BoundTable, SourceFormat
from sanql.errors import Fault
from sanql.kernel import ROWS_READ_AT_ONCE, CopyDatabase, InspectDatabase, database_files

if TYPE_CHECKING:
    from sanql.policy import Policy

_SPARED_BYTES = 4 << 20  # of memory that are worth a copy


@dataclass(frozen=True)
class DatabaseSource:
    """A `.duckdb` file; its stamp is that of the whole file."""

    path: Path
    suffixes: ClassVar[dict[str, str]] = {".duckdb": "DuckDB"}

    @classmethod
    def locate(cls, policy: Policy, root: Path) -> Self | None:
        """Return the database at a path, if it is one."""
        return cls(root) if root.is_file() and root.suffix.lower() in cls.suffixes else None

    def paths(self) -> tuple[Path, ...]:
        """Return the file and its write-ahead log, if there is one."""
        return database_files(self.path)

    def hashed_files(self) -> Mapping[str, tuple[str, ...]]:
        """Return the file as a whole: which bytes are which table's, nobody can tell."""
        return {WHOLE: ("duckdb", *map(str, self.paths()))}

    def site(self, policy: Policy) -> Site:
        """Return the file; folders are not claimed."""
        return Site(
            address_of(policy.path.parent / policy.source), (), (address_of(self.path),), ()
        )

    def formats(self, policy: Policy) -> Mapping[str, SourceFormat]:
        """Return the one format that all tables have."""
        return dict.fromkeys(policy.tables, "duckdb")

    @property
    def reads_rows(self) -> bool:
        """Never: a database knows the types of its columns."""
        return False

    def inspection(self, policy: Policy) -> InspectDatabase:
        """Return the request for names and types, and for how long texts may be."""
        return InspectDatabase(self.path, tuple(policy.tables), policy.engine.memory_bytes)

    @property
    def in_place(self) -> bool:
        """Always: it is a database already."""
        return True

    def is_copied(self, bound: Mapping[str, BoundTable], schema: Mapping[str, object]) -> bool:
        """Return whether texts are so long that a copy without their ends spares memory."""
        texts = schema["texts"]
        if not isinstance(texts, dict):
            raise TypeError
        return any(are_long(table, texts[table.name]) for table in bound.values())

    def copying(
        self,
        policy: Policy,
        bound: Mapping[str, BoundTable],
        schema: Mapping[str, object],
        target: Path,
        secret: int,
    ) -> CopyDatabase:
        """Return the request for a copy with as much of each text as is read."""
        copied = tuple(table.copied() for table in bound.values())
        memory, long_texts = policy.engine.memory_bytes, self.is_copied(bound, schema)
        return CopyDatabase(self.path, target, copied, memory, secret, long_texts)

    def not_copied(self, table: str) -> Fault:
        """Return what the owner of a database can do about a copy that ended early."""
        return Fault(
            f"table.{table}",
            "its long texts could not be copied; the memory must hold 2,048 rows of them",
            "raise [engine] memory, or store the table as Parquet; see that the disk has room",
        )


def are_long(table: BoundTable, together: Mapping[str, int | None]) -> bool:
    """Return whether less memory is needed for a copy of a table than for its texts where they are.

    `together` is how many bytes 2,048 values of a column have at most, None where nobody knows.
    """
    spared = 0
    for column in table.projections[0].columns if table.types else ():
        size = together.get(column, 0)
        if size is None:
            return True
        spared += max(0, size - ROWS_READ_AT_ONCE * table.projections[0].bytes_max.get(column, 0))
    return spared > _SPARED_BYTES
