"""The tables of a layout as a cluster writes them: from which files, and into which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sanql.engines.layouts import groups_of, segment_folder
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    UNIT,
    CopiedTable,
    CopyFiles,
    TableFiles,
    added_column,
    joins_alike,
    stored_column_of,
)
from sanql.kernel.buckets import BucketedTable, BucketFile, SourceShare, read_name

SHARE_BYTES = 64 << 20
"""Of files, that one process reads."""

Written = dict[tuple[int, int], BucketFile]
"""The files that are there, by bucket and number of the segment."""


@dataclass(frozen=True)
class WrittenTable:
    """A table as it is written: its rows' files, its columns in buckets, its segments' folders."""

    copied: CopiedTable
    files: TableFiles
    public: bool
    types: Mapping[str, str]
    unit: str | None
    segments: tuple[str, ...]
    segment_of: tuple[int, ...]  # by the number of a file
    buckets: int

    def total(self) -> int:
        """Return how many files there will be."""
        return self.buckets * len(self.segments)

    def missing(self, there: Written) -> dict[int, tuple[int, ...]]:
        """Return which segments are still to be written, by bucket."""
        numbers = range(len(self.segments))
        lacking = {
            bucket: tuple(number for number in numbers if (bucket, number) not in there)
            for bucket in range(self.buckets)
        }
        return {bucket: missing for bucket, missing in lacking.items() if missing}


def tables_to_write(
    request: CopyFiles, names: Mapping[str, Sequence[str]], public: set[str], buckets: int
) -> dict[str, WrittenTable]:
    """Return how each table is written."""
    copied = {table.name: table for table in request.tables}
    found = {}
    for files, table in zip(request.files, request.tables, strict=True):
        types, unit = dict(table.types), table.unit
        if refers(table):
            unit = added_column(UNIT, types)
            types[unit] = _unit_type(table, copied)
        groups = groups_of(names[table.name])
        segment_of = {n: place for place, (numbers, _) in enumerate(groups) for n in numbers}
        # rows that are units by themselves go by their values here, and by their places elsewhere
        by = [] if unit is not None or table.name in public else ["by values"]
        of = [buckets, table.name, list(types.items())]
        found[table.name] = WrittenTable(
            table,
            files,
            table.name in public,
            types,
            unit,
            tuple(segment_folder([*of, sorted(listed), *by]) for _, listed in groups),
            tuple(segment_of[number] for number in range(len(files.paths))),
            1 if table.name in public else buckets,
        )
    return found


def refers(table: CopiedTable) -> bool:
    return table.unit is None and table.reference is not None


def _unit_type(table: CopiedTable, copied: Mapping[str, CopiedTable]) -> str:
    while table.unit is None:
        assert table.reference is not None  # noqa: S101  (the policy checked that references lead to a unit)
        table = copied[table.reference.table]
    return stored_column_of(table, table.unit)[1]


def check_references(tables: Mapping[str, WrittenTable]) -> None:
    """Refuse references of another type than what they refer to: values would have to be compared."""
    faults = []
    for name, table in tables.items():
        reference = table.copied.reference
        if reference is not None and refers(table.copied):
            _, kind = stored_column_of(table.copied, reference.column)
            _, key_kind = stored_column_of(tables[reference.table].copied, reference.key)
            if not joins_alike(kind, key_kind):
                faults.append(not_attached(name))
    if faults:
        raise PolicyError(faults)


def not_attached(name: str) -> Fault:
    return Fault(
        f"table.{name}",
        "its rows cannot be put where their unit is: what they refer to is stored as another type, "
        "or has a key twice",
        "store both columns as one type, and each key once; or leave the engine to this machine",
    )


def in_order(tables: Mapping[str, WrittenTable]) -> Iterator[str]:
    """Yield the tables, each after the one that it refers to."""
    waiting = dict(tables)
    while waiting:
        name = next(
            name
            for name, table in waiting.items()
            if not refers(table.copied)
            or (table.copied.reference and table.copied.reference.table not in waiting)
        )
        del waiting[name]
        yield name


def bucketed(table: WrittenTable, written: Written) -> BucketedTable:
    numbers = range(len(table.segments))
    files = (tuple(written[bucket, n] for n in numbers) for bucket in range(table.buckets))
    return BucketedTable(table.copied.name, table.public, table.types, tuple(files))


def shares_of(table: WrittenTable, segments: set[int]) -> list[tuple[SourceShare, ...]]:
    """Return the files of some segments in shares, each for one process: large ones are divided."""
    groups: list[list[SourceShare]] = []
    room = 0
    for number, (path, projection) in enumerate(
        zip(table.files.paths, table.copied.projections, strict=True)
    ):
        segment = table.segment_of[number]
        if segment not in segments:
            continue
        status = path.stat()
        identity = status.st_size, status.st_mtime_ns
        divided = table.files.format == "parquet"
        shares = max(1, -(-status.st_size // SHARE_BYTES)) if divided else 1
        for share in range(shares):
            part = SourceShare(
                path, table.files.format, projection, identity, (share, shares), segment
            )
            if not groups or status.st_size // shares > room:
                groups.append([])
                room = SHARE_BYTES
            groups[-1].append(part)
            room -= status.st_size // shares
    return [tuple(group) for group in groups]


def candidates(
    folder: Path, segment: str, known: Mapping[str, str]
) -> Iterator[tuple[int, str, str]]:
    """Yield bucket, path and hash of the files that are there of a segment, one for each bucket."""
    found: dict[int, tuple[str, str]] = {}
    if (folder / segment).is_dir():
        for file in sorted((folder / segment).iterdir()):
            named, path = read_name(file.name), f"{segment}/{file.name}"
            if named is not None:
                found.setdefault(named[0], (path, named[1]))
            elif path in known:
                found[int(file.stem)] = path, known[path]
    yield from ((bucket, path, sha256) for bucket, (path, sha256) in found.items())


def buckets_in(segment: Path) -> set[int]:
    """Return the buckets that have files in the folder of a segment."""
    named = (read_name(file.name) for file in segment.iterdir())
    return {found[0] for found in named if found is not None}
