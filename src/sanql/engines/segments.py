"""What the rows of a copy are of: segments, one for each file of each table, named by their bytes.

A copy that is made anew takes the rows of segments that have not changed from a copy that is there.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from importlib.metadata import version
from operator import itemgetter

from sanql.account import WHOLE
from sanql.kernel import CopiedTable, Copy, CopyBefore, CopyDatabase, Projection
from sanql.sources import Cache, Stamped

SEGMENTS = "segments"
"""In an entry of the cache: what the rows of each table of the copy are of."""


def segment_names(request: Copy, stamped: Stamped, preparation: int) -> dict[str, tuple[str, ...]]:
    """Return what each file of each table gives to a copy: by its bytes, and by what becomes of them.

    To rows that refer to others it matters what those are, too; and the bucket of a unit is a hash that
    another version of the engine may compute otherwise.
    """
    files = _hashes_of_files(request, stamped)
    tables = {table.name: table for table in request.tables}
    names: dict[str, tuple[str, ...]] = {}

    def name(table: CopiedTable) -> tuple[str, ...]:
        if table.name not in names:
            refers = table.unit is None and table.reference is not None
            referred = name(tables[table.reference.table]) if refers and table.reference else ()
            shaped = [preparation, version("duckdb"), request.bucket_secret]
            shared = [*shaped, list(table.types.items())]
            whose = [table.unit, table.reference and astuple(table.reference), referred]
            parts = zip(files[table.name], table.projections, strict=True)
            names[table.name] = tuple(
                hash_of([*shared, *whose, *_read_as(*part)]) for part in parts
            )
        return names[table.name]

    for table in request.tables:
        name(table)
    return _told_apart(names)


def _read_as(digest: str, projection: Projection) -> list[object]:
    limits = sorted(projection.bytes_max.items())
    return [digest, projection.columns, projection.expressions, limits]


def _hashes_of_files(request: Copy, stamped: Stamped) -> dict[str, list[str]]:
    """Return a hash of each file of each table, and of how it is read."""
    if isinstance(request, CopyDatabase):
        whole = stamped.hashes[WHOLE]
        return {table.name: [f"{table.name} {whole}"] for table in request.tables}
    return {
        table.name: [f"{files.format} {stamped.files[str(path)]}" for path in files.paths]
        for files, table in zip(request.files, request.tables, strict=True)
    }


def _told_apart(names: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return names of which no two of a table are the same: two files may have the same bytes."""
    apart = {}
    for table, listed in names.items():
        seen = Counter[str]()
        apart[table] = tuple(f"{each} {seen.update([each]) or seen[each]}" for each in listed)
    return apart


def copy_with_most_of(cache: Cache, segments: Mapping[str, tuple[str, ...]]) -> CopyBefore | None:
    """Return the copy that has most of these segments, all of its bytes as they were written."""
    found = []
    for fingerprint, entry in cache.entries():
        had = entry.get(SEGMENTS)
        if isinstance(had, dict):
            shared = sum(len({*had.get(table, ())} & {*names}) for table, names in segments.items())
            found.append((shared, fingerprint, entry))
    for shared, fingerprint, entry in sorted(found, key=itemgetter(0), reverse=True):
        if shared and cache.holds(fingerprint, entry):
            return CopyBefore(cache.database(fingerprint), segments_of(entry))
    return None


def segments_of(entry: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return what an entry says that the rows of each table of a copy are of."""
    had = entry.get(SEGMENTS, {})
    if not isinstance(had, dict):
        raise TypeError
    return {str(table): tuple(map(str, names)) for table, names in had.items()}


def hash_of(content: list[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:40]
