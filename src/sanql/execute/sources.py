"""A policy's data made ready for the workers: checked, and copied once if it is not used in place.

An entry of the cache is named by what the bytes are (stamps.py) and by what shapes their preparation,
so files that were touched or copied are not prepared again. Which version of the data they are, and
whether they may be read at all, is decided elsewhere (data.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from sanql.account.versions import WHOLE
from sanql.errors import Fault, PolicyError
from sanql.execute.binding import BoundTable, SourceFormat, bind
from sanql.execute.cache import Cache
from sanql.execute.door import admit_unopened, reads_rows
from sanql.execute.files import (
    DatabaseFile,
    Location,
    PartFiles,
    locate,
    paths_of,
    stamp,
)
from sanql.execute.lockdown import CATALOG, quote
from sanql.execute.messages import Stamp
from sanql.execute.notes import Note, notes
from sanql.execute.preparing import Progress, fill, inspect, is_copied
from sanql.execute.stamps import Stamped, Stamps
from sanql.policy.section import fold
from sanql.policy.units import identifiers

if TYPE_CHECKING:
    from sanql.policy.model import Column, Policy

# Part of every entry's name: raise it when the same files would be prepared differently.
_PREPARATION_VERSION = 3
_ATTEMPTS_MAX = 3


@dataclass(frozen=True)
class Description:
    """The policy's tables and columns as found in the source: only names and types were read.

    `scans` are expressions over a relation's columns that give the canonical type whatever a row
    holds, and `types` what the engine calls those types; `columns` are the facts about public tables
    whose columns the policy left to the source. `schema` is what was found, before it was bound, in
    files with this `stamp` (None: in a copy made of them); `notes` are what the owner should know of it.
    """

    stamp: Stamp | None
    relations: Mapping[str, str]
    scans: Mapping[str, Mapping[str, str]]
    types: Mapping[str, Mapping[str, str]]
    columns: Mapping[str, Mapping[str, Column]]
    schema: Mapping[str, object]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Source:
    """Data the workers can open: the database file that holds it, and its description.

    `stamp` is what its files were when they were taken for the data; None leaves it to whoever opens.
    """

    database: Path
    fingerprint: str
    relations: Mapping[str, str]
    scans: Mapping[str, Mapping[str, str]]
    types: Mapping[str, Mapping[str, str]]
    columns: Mapping[str, Mapping[str, Column]]
    stamp: Stamp | None = None


def describe(
    policy: Policy,
    stamps: Mapping[str, str] | None = None,
    admit: Callable[[Location], object] | None = None,
) -> Description:
    """Check a policy against its source; raise PolicyError with every fault, touching no cache.

    A database is described as if it were read in place: whether it is copied hangs on its rows, and what
    is written over a description may be shown. Where tables with these `stamps` have been prepared, what
    was found then is found again, without looking at the source. Where types must be read from rows, the
    source is to `admit` it first.
    """
    location = locate(policy)
    prepared = None if stamps is None else Cache(policy.ledger).schema(entry_name(policy, stamps))
    looked = None if prepared is not None else _stamp(location)
    if prepared is None and reads_rows(location):
        (admit if admit is not None else partial(admit_unopened, policy))(location)
    schema = prepared if prepared is not None else inspect(policy, location)
    formats = _formats(policy, location)
    bound = bind(policy, formats, schema)
    return Description(
        looked,
        _relations(bound),
        _scans(bound, copied=isinstance(location, PartFiles)),
        _types(bound),
        _inferred_columns(bound),
        schema,
        notes(policy, formats, bound),
    )


def is_prepared(policy: Policy, stamps: Mapping[str, str]) -> bool:
    """Return whether tables with these stamps have been looked at for this policy."""
    return Cache(policy.ledger).schema(entry_name(policy, stamps)) is not None


def prepare(
    policy: Policy,
    progress: Progress | None = None,
    known: Description | None = None,
    stamps: Stamps | None = None,
    stamped: Stamped | None = None,
    location: Location | None = None,
) -> Source:
    """Return the policy's source, ready to open; what is not used in place is copied the first time.

    A description of the same files saves looking at them again, and so does what they are `stamped`
    as; files that are something else by now are a PolicyError then. A `location` that was admitted is
    what is read, wherever the source's path leads by now.
    """
    cache = Cache(policy.ledger)
    stamps = stamps if stamps is not None else Stamps(policy.ledger)
    for _ in range(_ATTEMPTS_MAX):
        here = locate(policy) if location is None else location
        found = stamped if stamped is not None else stamps.of(here)
        source = _recall(policy, here, found, cache)
        if source is not None:
            return source
        with cache.writing():
            source = _recall(policy, here, found, cache)
            if source is None:
                _build(policy, here, found, cache, progress, known, stamps)
            cache.clear(keep=entry_name(policy, found.hashes))
    raise PolicyError(
        [
            Fault(
                "dataset.source",
                "its files keep changing while they are read",
                "wait until they are complete, then try again",
            )
        ]
    )


def _recall(policy: Policy, location: Location, found: Stamped, cache: Cache) -> Source | None:
    """Return the source if its entry is complete."""
    fingerprint = entry_name(policy, found.hashes)
    schema = cache.schema(fingerprint)
    if schema is None:
        return None
    bound = bind(policy, _formats(policy, location), schema)
    copied = is_copied(location, bound, schema)
    if isinstance(location, DatabaseFile) and not copied:
        database, own = location.path, found.stamp
    else:
        database = cache.database(fingerprint)
        if not database.is_file():
            return None
        own = stamp(DatabaseFile(database.resolve()))
    cache.touch(fingerprint)
    return Source(
        database,
        fingerprint,
        _relations(bound),
        _scans(bound, copied=copied),
        _types(bound),
        _inferred_columns(bound),
        own,
    )


def _build(
    policy: Policy,
    location: Location,
    found: Stamped,
    cache: Cache,
    progress: Progress | None,
    known: Description | None,
    stamps: Stamps,
) -> None:
    """Make the entry, unless the files changed meanwhile: then it would vouch for other bytes."""
    fingerprint = entry_name(policy, found.hashes)
    same = known is not None and known.stamp == found.stamp
    schema = known.schema if known is not None and same else inspect(policy, location)
    bound = bind(policy, _formats(policy, location), schema)
    if is_copied(location, bound, schema):
        target = cache.building(fingerprint)
        try:
            fill(policy, location, bound, target, progress)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    if stamps.of(locate(policy)) == found:
        cache.record(fingerprint, schema)


def entry_name(policy: Policy, hashes: Mapping[str, str]) -> str:
    """Return the name of a prepared copy: what the bytes are, and everything that shapes it."""
    known = {fold(name): found for name, found in hashes.items()}
    own = [(table.name, known.get(fold(table.name))) for table in policy.tables.values()]
    content = json.dumps([_PREPARATION_VERSION, own, hashes.get(WHOLE), _declared(policy)])
    return hashlib.sha256(content.encode()).hexdigest()[:40]


def first_fingerprint(policy: Policy, location: Location) -> str:
    """Return the name that version 0.1.0 gave a source, by which older ledgers may know it."""
    try:
        stamps = [(str(path), _stamp_of_first(path)) for path in paths_of(location)]
    except OSError:
        raise vanished() from None
    content = json.dumps([1, stamps, _declared(policy)])
    return hashlib.sha256(content.encode()).hexdigest()[:40]


def _stamp_of_first(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _declared(policy: Policy) -> list[tuple[object, ...]]:
    return [
        (
            table.name,
            table.public,
            identifiers(table, policy.tables),
            [(column.name, column.type, column.bytes_max) for column in table.columns.values()],
        )
        for table in policy.tables.values()
    ]


def _stamp(location: Location) -> Stamp:
    try:
        return stamp(location)
    except OSError:
        raise vanished() from None


def vanished() -> PolicyError:
    """Return the error of a source that was there a moment ago."""
    return PolicyError(
        [Fault("dataset.source", "a file of it has vanished", "wait until it is complete")]
    )


def _formats(policy: Policy, location: Location) -> dict[str, SourceFormat]:
    match location:
        case DatabaseFile():
            return dict.fromkeys(policy.tables, "duckdb")
        case PartFiles(tables):
            return {parts.table: parts.format for parts in tables}


def _relations(bound: Mapping[str, BoundTable]) -> Mapping[str, str]:
    return MappingProxyType(
        {
            name: f"{quote(CATALOG)}.{quote('main')}.{quote(table.name)}"
            for name, table in bound.items()
        }
    )


def _scans(bound: Mapping[str, BoundTable], *, copied: bool) -> Mapping[str, Mapping[str, str]]:
    """Return expressions over a database used in place; a copy holds canonical values already."""
    scans: dict[str, Mapping[str, str]] = {}
    for name, table in bound.items():
        expressions = (
            [quote(column) for column in table.types] if copied else table.fillings[0].expressions
        )
        scans[name] = MappingProxyType(dict(zip(table.types, expressions, strict=True)))
    return MappingProxyType(scans)


def _types(bound: Mapping[str, BoundTable]) -> Mapping[str, Mapping[str, str]]:
    return MappingProxyType({name: table.types for name, table in bound.items()})


def _inferred_columns(bound: Mapping[str, BoundTable]) -> Mapping[str, Mapping[str, Column]]:
    return MappingProxyType(
        {name: table.inferred for name, table in bound.items() if table.inferred is not None}
    )
