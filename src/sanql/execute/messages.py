"""What the parent asks of a worker process, and the kinds of reply it may get.

Requests travel pickled, for only the parent ever writes them. Replies never are: a worker that a
hostile file has taken over must not be able to make the parent run anything, so they are one byte
of kind followed by JSON or an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Format = Literal["parquet", "csv"]
Identity = tuple[int, int, int, int, int]
Stamp = tuple[tuple[str, Identity], ...]

READY = b"r"
TABLE = b"t"  # some rows of a result; more may follow
END = b"e"  # of a result
JSON = b"j"
PROGRESS = b"p"
FAILED = b"f"


@dataclass(frozen=True)
class Serve:
    """Answer queries from a database until the pipe closes; it must be the one with this stamp."""

    database: Path
    stamp: Stamp
    memory_bytes: int


@dataclass(frozen=True)
class Confirm:
    """Say at once whether this is what you have open, and that you wait for a query."""

    stamp: Stamp


@dataclass(frozen=True)
class PublicTable:
    """A SELECT over public tables, whose rows are there, finished, before the query is planned."""

    name: str
    sql: str
    parameters: tuple[object, ...]


@dataclass(frozen=True)
class Query:
    """One SELECT with its parameters, and the public tables it reads besides the source's."""

    sql: str
    parameters: tuple[object, ...]
    public: tuple[PublicTable, ...] = ()


@dataclass(frozen=True)
class Parts:
    """The files of one table; `infer` allows reading a public CSV's values for its types."""

    table: str
    format: Format
    paths: tuple[Path, ...]
    infer: bool = False


@dataclass(frozen=True)
class InspectDatabase:
    """Report the names and types in a DuckDB file, and of these tables how long texts may be."""

    database: Path
    tables: tuple[str, ...]
    memory_bytes: int


@dataclass(frozen=True)
class InspectParts:
    """Report the names and types in Parquet and CSV files."""

    tables: tuple[Parts, ...]
    memory_bytes: int


@dataclass(frozen=True)
class StoredTable:
    """How one table is ingested: its columns' stored types, and for each part what fills them."""

    parts: Parts
    types: Mapping[str, str]
    fillings: tuple[Filling, ...]


@dataclass(frozen=True)
class Filling:
    """The columns one part is read for, and the expressions over them, in the order stored.

    `bytes_max` says of which of the columns no value counts beyond so many bytes.
    """

    columns: tuple[str, ...]
    expressions: tuple[str, ...]
    bytes_max: Mapping[str, int]


@dataclass(frozen=True)
class Ingest:
    """Copy declared columns of Parquet and CSV files into a new DuckDB file."""

    target: Path
    tables: tuple[StoredTable, ...]
    memory_bytes: int


@dataclass(frozen=True)
class CopiedTable:
    """How one table of a database is copied: its columns' stored types, and what fills them."""

    name: str
    types: Mapping[str, str]
    fillings: tuple[Filling, ...]


@dataclass(frozen=True)
class CopyDatabase:
    """Copy declared columns of a DuckDB file into a new one, with as much of texts as is read."""

    database: Path
    target: Path
    tables: tuple[CopiedTable, ...]
    memory_bytes: int


Request = Serve | InspectDatabase | InspectParts | Ingest | CopyDatabase
