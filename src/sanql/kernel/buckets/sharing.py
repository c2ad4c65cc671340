"""What many machines are asked so that together they write a layout, each with a part of the rows.

Rows of files are *shared out*: read as a copy on one machine reads them, and given away by the bucket of
their unit. Where a reference leads to the unit, keys and rows meet first, each under a hash of the key.
Whoever has all rows of a bucket writes it. Where a row goes depends on the row alone and on a secret, so
a share that is computed again goes where it went; a file is named by its bytes and is there as a whole,
so two that write the same bucket do not disturb each other, and what an earlier attempt has finished is
known by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sanql.kernel.buckets.layout import BucketFile
from sanql.kernel.messages import BUCKETS, CopiedTable, Format, Projection

SEVERAL, APART = b"several", b"apart"
"""What is told of keys: that one is there twice, or that none is."""

_NAME = re.compile(r"(\d{5})-([0-9a-f]{64})\.parquet")


@dataclass(frozen=True)
class SourceShare:
    """Some rows of a file: a share of so many, of a file with this size and time of writing.

    They are rows of the segment with this number.
    """

    path: Path
    format: Format
    projection: Projection
    identity: tuple[int, int]
    share: tuple[int, int]
    segment: int


@dataclass(frozen=True)
class Towards:
    """Where rows go: a place is a range of hashes, of which there are so many.

    Only rows of `wanted` places are given away, if it says which.
    """

    places: int
    secret: int
    wanted: frozenset[int] | None = None

    def place(self, hashed: str) -> str:
        """Return SQL for the place of a row, from SQL for a hash below `BUCKETS`.

        >>> Towards(4, 7).place("h")
        'CAST((((h)::BIGINT + 1) * 4 - 1) // 65536 AS INTEGER)'
        """
        return f"CAST(((({hashed})::BIGINT + 1) * {self.places} - 1) // {BUCKETS} AS INTEGER)"

    def condition(self, place: str) -> str:
        """Return SQL by which rows are told that are wanted."""
        if self.wanted is None:
            return "TRUE"
        listed = ", ".join(map(str, sorted(self.wanted)))
        return f"{place} IN ({listed})" if listed else "FALSE"


@dataclass(frozen=True)
class ShareOut:
    """Give away rows of files: by the unit, by what refers to it, or by all values of a row."""

    parts: tuple[SourceShare, ...]
    table: CopiedTable
    towards: Towards
    memory_bytes: int


@dataclass(frozen=True)
class ShareOutKeys:
    """Give away the keys and units of the rows in buckets that are written, by the keys."""

    folder: Path
    files: tuple[BucketFile, ...]
    types: Mapping[str, str]
    key: str
    unit: str
    towards: Towards
    memory_bytes: int


@dataclass(frozen=True)
class FindUnits:
    """Put beside each row of a table the unit that its reference leads to, and give it away by that.

    First come keys with their units. With `keys_only`, all that is told is whether a key is there twice;
    otherwise none may be.
    """

    table: CopiedTable
    unit: str
    unit_type: str
    towards: Towards
    memory_bytes: int
    keys_only: bool = False


@dataclass(frozen=True)
class WriteShares:
    """Write buckets of a table: of each, the segments that are `missing`, by their numbers.

    Rows of a unit lie together, where there is a column that says whose they are.
    """

    folder: Path
    types: Mapping[str, str]
    unit: str | None
    segments: tuple[str, ...]
    missing: Mapping[int, tuple[int, ...]]
    memory_bytes: int


SharingTask = ShareOut | ShareOutKeys | FindUnits | WriteShares


def name_of_share(bucket: int, sha256: str) -> str:
    """Return the name of a bucket's file in the folder of its segment.

    >>> name_of_share(12, "f" * 64)[:10]
    '00012-ffff'
    """
    return f"{bucket:05d}-{sha256}.parquet"


def read_name(name: str) -> tuple[int, str] | None:
    """Return the bucket and the hash that a name says; None where it is no such name.

    >>> read_name("00012.parquet")
    """
    found = _NAME.fullmatch(name)
    return None if found is None else (int(found[1]), found[2])
