"""Where data come from that are no files here: San reads a snapshot of them, kept beside the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.policy.postgres_address import SourceDatabase


@dataclass(frozen=True)
class PassedTables:
    """Data frames that are passed by whoever opens the policy, which names no source."""

    def __str__(self) -> str:
        """Return how messages call it."""
        return "tables that were passed"


@dataclass(frozen=True)
class ObjectStore:
    """A folder of Parquet files in an object store, as Arrow's file systems name it."""

    address: str

    def __str__(self) -> str:
        """Return the address."""
        return self.address


@dataclass(frozen=True)
class DeltaTables:
    """A folder with a Delta table for each table of the policy."""

    folder: str

    def __str__(self) -> str:
        """Return how messages call it."""
        return f"delta:{self.folder}"


@dataclass(frozen=True)
class IcebergTables:
    """A namespace of an Iceberg catalogue, which has a table for each of the policy."""

    catalogue: str
    namespace: tuple[str, ...]

    def __str__(self) -> str:
        """Return the address."""
        return f"iceberg://{self.catalogue}/{'/'.join(self.namespace)}"


Origin = PassedTables | SourceDatabase | ObjectStore | DeltaTables | IcebergTables
