"""What a process over buckets is asked: pickled by whoever started it, who alone writes to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sanql.kernel.buckets.encryption import LayoutKey
from sanql.kernel.buckets.layout import BucketLayout, SpreadTable
from sanql.kernel.messages import CopiedTable, Stamp, Statement, TableFiles


@dataclass(frozen=True)
class OpenBuckets:
    """Be ready to read the buckets of a layout, with no more than this memory and these threads.

    With a `key` they are encrypted, and nothing is spilled.
    """

    folder: Path
    layout: BucketLayout
    memory_bytes: int
    threads: int = 1
    key: LayoutKey | None = None


@dataclass(frozen=True)
class WriteEncrypted:
    """Write tables of files into encrypted buckets of a folder; `known` files of it are there already.

    The files are those of the `stamp`, or what is read of them is not told of.
    """

    files: tuple[TableFiles, ...]
    tables: tuple[CopiedTable, ...]
    public: frozenset[str]
    folder: Path
    bucket_secret: int
    memory_bytes: int
    key: LayoutKey
    known: Mapping[str, tuple[int, str]]
    stamp: Stamp


@dataclass(frozen=True)
class Spread:
    """Write the tables of a database into buckets of a folder; `known` files of it are there already."""

    database: Path
    folder: Path
    tables: tuple[SpreadTable, ...]
    buckets: int
    memory_bytes: int
    known: Mapping[str, tuple[int, str]]


@dataclass(frozen=True)
class Given:
    """Rows that were computed elsewhere, under the name that a statement finds them by: Arrow streams."""

    name: str
    frames: tuple[bytes, ...]


@dataclass(frozen=True)
class FinishPublic:
    """Compute the public tables of a statement, each as the table of its place among them."""

    statement: Statement


@dataclass(frozen=True)
class ComputePart:
    """Compute what the units of one bucket add: of what is counted greedily, then to the cells."""

    statement: Statement
    bucket: int
    given: tuple[Given, ...]


@dataclass(frozen=True)
class MergeParts:
    """Run a statement over the parts that follow, one frame after another, until an empty one."""

    statement: Statement
    given: tuple[Given, ...]


@dataclass(frozen=True)
class AddParts:
    """Make one part of the cells of several, which follow as the parts of `MergeParts` do."""

    statement: Statement


BucketRequest = FinishPublic | ComputePart | AddParts | MergeParts | Statement
BucketTask = OpenBuckets | Spread | WriteEncrypted
