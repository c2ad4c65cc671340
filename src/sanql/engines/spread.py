"""A copy spread over buckets of files that other machines open, by `sanql prepare`; then only read.

The rows of a copy lie in the order of the units' buckets (`kernel/clustering.py`); a bucket of the layout
is a range of them. A layout is in a folder of its own below the one that the policy names, and in force
once the manifest there speaks of it, which is written last. What was written by a `prepare` that was
ended counts in the next, as long as it is of the same copy; a layout that is replaced stays until the
one after it is, for the sake of questions that are under way.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.catalog import PreparedSource, bind, layout
from sanql.engines.failures import not_ready
from sanql.engines.preparation import entry_name, schema_of
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    BUCKET,
    CATALOG,
    UNIT,
    ChannelLost,
    added_column,
    identify,
    quote_name,
    stamp,
)
from sanql.kernel.buckets import (
    MANIFEST,
    BucketedTable,
    BucketFile,
    BucketLayout,
    BucketProcess,
    NotAsWritten,
    Spread,
    SpreadTable,
    read_layout,
)
from sanql.policy import ViaUnit, own_unit

if TYPE_CHECKING:
    from sanql.catalog import Description
    from sanql.engines.protocol import Engine
    from sanql.policy import Policy
    from sanql.sources import Source, Stamped

BUCKETS_MAX = 1 << 16
_BUCKETS_LEAST = 8
_BYTES_OF_A_BUCKET = 16 << 20  # of a copy, which is compressed
_JOURNAL = "written.jsonl"
_PLACE = "engine.layout"


def open_layout(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    known: Description | None = None,
    engine: Engine | None = None,
) -> PreparedSource:
    """Return the layout of these data, ready to open; PolicyError where there is none, or another's."""
    folder = layout_folder(policy)
    manifest = folder / MANIFEST
    try:
        before = stamp([manifest])
        found = read_layout(folder)
    except (OSError, NotAsWritten):
        raise _fault(f"there is no layout in {folder.name!r}, or its manifest is damaged") from None
    made_of = entry_name(policy, stamped.hashes)
    if found.made_of != made_of:
        raise _fault(f"the layout in {folder.name!r} is of other data, or of another policy")
    formats = source.formats(policy)
    bound = bind(policy, formats, schema_of(policy, source, stamped, known, engine))
    read = layout(bound, copied=True, attached=found.attached)
    read = replace(read, parts=found.buckets, buckets={}, row_counts={}, spread=True)
    return PreparedSource(**vars(read), database=manifest, fingerprint=made_of, stamp=before)


def spread_layout(
    policy: Policy,
    copy: PreparedSource,
    stamped: Stamped,
    buckets: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> BucketLayout:
    """Write the layout of a copy, unless it is there; PolicyError where that is not possible."""
    _check_attached(policy, copy)
    folder = layout_folder(policy)
    if buckets is None:
        size = copy.database.stat().st_size
        buckets = min(max(_BUCKETS_LEAST, size // _BYTES_OF_A_BUCKET), BUCKETS_MAX)
    with _writing(folder):
        made_of = entry_name(policy, stamped.hashes)
        own = _generation(made_of, copy.database, buckets)
        current = _current(folder)
        if current is not None and (current.made_of, current.buckets) == (made_of, buckets):
            files = [file for table in current.tables for file in table.files]
            if all(_is_there(folder, file) for file in files):
                return current
        tables = [_table(policy, copy, name) for name in copy.relations]
        written = _written(policy, folder / own, copy.database, tables, buckets, progress)
        made = BucketLayout(
            made_of,
            buckets,
            tuple(
                BucketedTable(
                    table.name, table.public, table.types, _below(own, written[table.name])
                )
                for table in tables
            ),
            tuple(sorted(_stored_name(copy, name) for name in copy.units)),
            {table: stamped.hashes[table] for table in sorted(stamped.hashes)},
        )
        _publish(folder, made)
        _clear(folder, {own, *_generations(current)})
        return made


def layout_folder(policy: Policy) -> Path:
    """Return the folder of the layout that a policy names."""
    assert policy.engine.spark is not None  # noqa: S101  (asked where there is a cluster)
    return (policy.path.parent / policy.engine.spark.layout).absolute()


def _table(policy: Policy, copy: PreparedSource, name: str) -> SpreadTable:
    types = dict(copy.types[name]) or {"row": "BOOLEAN"}
    bucket = added_column(BUCKET, types) if name in copy.buckets else None
    if name in copy.units:
        # its type is that of what it leads to, which a copy keeps
        types[added_column(UNIT, types)] = _unit_type(policy, copy, name)
    return SpreadTable(_stored_name(copy, name), policy.tables[name].public, types, bucket)


def _unit_type(policy: Policy, copy: PreparedSource, name: str) -> str:
    while (column := own_unit(policy.tables[name], policy.tables)) is None:
        unit = policy.tables[name].unit
        assert isinstance(unit, ViaUnit)  # noqa: S101  (the policy checked that references lead to a unit)
        name = unit.table
    return next(k for known, k in copy.types[name].items() if known.lower() == column.lower())


def _stored_name(copy: PreparedSource, name: str) -> str:
    """Return what a table is called in the source, as in the copy of it."""
    quoted = copy.relations[name].removeprefix(f'{quote_name(CATALOG)}."main".')
    return quoted[1:-1].replace('""', '"')


def _check_attached(policy: Policy, copy: PreparedSource) -> None:
    """Refuse tables whose rows have no unit beside them: they would be in no bucket."""
    faults = [
        Fault(
            f"table.{name}",
            "its rows cannot be put where their unit is: what they refer to is stored as another type, "
            "or has a key twice",
            "store both columns as one type, and each key once; or leave the engine to this machine",
        )
        for name, table in policy.tables.items()
        if isinstance(table.unit, ViaUnit) and name not in copy.units and name not in copy.buckets
    ]
    if faults:
        raise PolicyError(faults)


def _written(
    policy: Policy,
    folder: Path,
    database: Path,
    tables: list[SpreadTable],
    buckets: int,
    progress: Callable[[str], None] | None,
) -> Mapping[str, list[BucketFile]]:
    """Write what is not yet there of a layout's files; return all of them, by table."""
    folder.mkdir(mode=0o700, exist_ok=True)
    total = sum(1 if table.public else buckets for table in tables)
    known = _journal(folder / _JOURNAL)
    request = Spread(database, folder, tuple(tables), buckets, policy.engine.memory_bytes, known)
    found: dict[str, list[BucketFile]] = {table.name: [] for table in tables}
    try:
        process = BucketProcess(request)
    except OSError:
        raise not_ready() from None
    done, lost = 0, False
    try:
        (folder / _JOURNAL).touch(mode=0o600)
        with (folder / _JOURNAL).open("a", encoding="utf-8") as journal:
            for told in process.told():
                table, name, size, sha256 = json.loads(told)
                found[table].append(BucketFile(str(name), int(size), str(sha256)))
                if name not in known:
                    journal.write(json.dumps([name, size, sha256]) + "\n")
                    journal.flush()
                done += 1
                if progress is not None:
                    progress(f"preparing buckets: {done} of {total}")
    except ChannelLost:
        lost = True
    finally:
        process.discard()
    if lost or done != total:
        raise PolicyError(
            [
                Fault(
                    _PLACE,
                    f"the layout ended after {done} of {total} files",
                    "see that the disk has room, and run `sanql prepare` again: it goes on from there",
                )
            ]
        )
    return found


def _journal(path: Path) -> dict[str, tuple[int, str]]:
    """Return which files were written before; the last line may be half of one."""
    known: dict[str, tuple[int, str]] = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                name, size, sha256 = json.loads(line)
            except ValueError:
                continue
            known[str(name)] = int(size), str(sha256)
    return known


def _generation(made_of: str, database: Path, buckets: int) -> str:
    """Return the name of the folder of a layout: what it is of, and which copy it was cut from."""
    content = json.dumps([made_of, identify(database), buckets])
    return "layout-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def _below(own: str, files: list[BucketFile]) -> tuple[BucketFile, ...]:
    return tuple(replace(file, path=f"{own}/{file.path}") for file in files)


def _current(folder: Path) -> BucketLayout | None:
    try:
        return read_layout(folder)
    except (OSError, NotAsWritten):
        return None


def _is_there(folder: Path, file: BucketFile) -> bool:
    path = folder / file.path
    return path.is_file() and path.stat().st_size == file.bytes


def _generations(current: BucketLayout | None) -> Iterator[str]:
    """Yield the folders that a layout is in."""
    for table in current.tables if current is not None else ():
        yield from (file.path.partition("/")[0] for file in table.files[:1])


def _publish(folder: Path, made: BucketLayout) -> None:
    note = folder / f"{MANIFEST}.making"
    note.unlink(missing_ok=True)
    handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(made.to_json())
        file.flush()
        os.fsync(file.fileno())
    for written in {path.parent for path in folder.glob("layout-*/*/*")}:
        _sync(written)
    note.rename(folder / MANIFEST)
    _sync(folder)


def _clear(folder: Path, keep: set[str]) -> None:
    for left in folder.glob("layout-*"):
        if left.name not in keep:
            shutil.rmtree(left, ignore_errors=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; what the disk or its rights do not allow is a PolicyError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(folder / "lock", flags, 0o600), "rb") as held:
            fcntl.flock(held.fileno(), fcntl.LOCK_EX)
            yield
    except OSError:
        raise _fault(f"the folder {folder.name!r} cannot be written to") from None


def _fault(message: str) -> PolicyError:
    return PolicyError([Fault(_PLACE, message, "run `sanql prepare`, which writes the layout")])
