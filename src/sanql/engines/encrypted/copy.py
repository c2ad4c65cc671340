"""Encrypted copies of Parquet and CSV files: made, found again, and refused under another key.

A copy is the folder `FINGERPRINT.buckets/` in the cache beside the ledger: encrypted buckets, and a
manifest that is written last and has no row in it. A journal says what is done of one that is not
complete, so that whoever is killed goes on from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.catalog import PreparedSource, bind, layout
from sanql.engines.encrypted.key import key_file, read_key
from sanql.engines.encrypted.sealed import OtherKey, copy_folder, read_sealed
from sanql.engines.failures import not_ready
from sanql.engines.preparation import entry_name, schema_of
from sanql.entropy import OsEntropy
from sanql.errors import Fault, PolicyError
from sanql.kernel import UNIT, ChannelLost, CopyFiles, added_column, stamp
from sanql.kernel.buckets import (
    MANIFEST,
    BucketedTable,
    BucketFile,
    BucketLayout,
    BucketProcess,
    LayoutKey,
    NotAsWritten,
    WriteEncrypted,
    is_as_known,
)
from sanql.sources import Cache, changing_files, locate

if TYPE_CHECKING:
    from sanql.catalog import BoundTable, Description
    from sanql.engines.protocol import Engine
    from sanql.policy import Policy
    from sanql.sources import Source, Stamped, Stamps

_JOURNAL, _SALT = "written.jsonl", "salt"
_PLACE = "engine.encryption_key_file"


def prepare_encrypted(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    stamps: Stamps,
    progress: Callable[[str], None] | None = None,
    known: Description | None = None,
    engine: Engine | None = None,
    *,
    looked_through: bool = False,
) -> PreparedSource:
    """Return the encrypted copy of a source, made if there is none.

    Its bytes are compared when they are read; here too where it is to be `looked_through`, and one that
    is not as it was written is made anew.
    """
    file = key_file(policy.engine)
    assert file is not None  # noqa: S101  (asked where there is one)
    secret, name = read_key(file), entry_name(policy, stamped.hashes)
    _check_source(policy, source)
    schema = schema_of(policy, source, stamped, known, engine)
    bound = bind(policy, source.formats(policy), schema)
    cache = Cache(policy.ledger)
    folder = copy_folder(cache.folder, name)
    found = _found(folder, secret, looked_through=looked_through)
    cache.clear_as_they_are(name)
    if found is None:
        with cache.writing(name):
            found = _found(folder, secret, looked_through=looked_through)
            if found is None:
                request = source.copying(policy, bound, schema, folder, stamps.bucket_secret())
                if not isinstance(request, CopyFiles):
                    raise TypeError
                try:
                    found = _made(policy, request, stamped, folder, secret, bound, progress)
                except PolicyError:
                    _check_unchanged(policy, stamped, stamps)
                    raise
                _check_unchanged(policy, stamped, stamps)
                _publish(folder, found)
            cache.clear_buckets(name)
    read = layout(bound, copied=True, attached=found.attached)
    read = replace(read, parts=found.buckets, buckets={}, row_counts={}, spread=True)
    manifest = folder / MANIFEST
    return PreparedSource(
        **vars(read), database=manifest, fingerprint=name, stamp=stamp([manifest])
    )


def check_no_snapshot(policy: Policy) -> None:
    """Refuse a key where a snapshot would lie on the disk as it is: before one is taken."""
    if policy.origin is not None and key_file(policy.engine) is not None:
        raise _not_encrypted("the snapshot of what is elsewhere is not encrypted")


def _not_encrypted(why: str) -> PolicyError:
    remedy = "keep the data on an encrypted disk, and leave the key out"
    return PolicyError([Fault(_PLACE, why, remedy)])


def _check_unchanged(policy: Policy, stamped: Stamped, stamps: Stamps) -> None:
    """Raise PolicyError where files changed meanwhile: the copy would be of other bytes."""
    if stamps.of(locate(policy)) != stamped:
        raise changing_files()


def _check_source(policy: Policy, source: Source) -> None:
    """Refuse sources of which something else would be on the disk as it is."""
    check_no_snapshot(policy)
    if source.in_place:
        raise _not_encrypted("a .duckdb file is read where it is, and not encrypted")
    if policy.engine.spark is not None:
        raise _not_encrypted("the layout of a cluster is not encrypted")


def _found(folder: Path, secret: str, *, looked_through: bool) -> BucketLayout | None:
    """Return a copy that is complete; PolicyError where it has another key."""
    try:
        found = read_sealed(folder, secret)
    except OtherKey:
        raise PolicyError(
            [
                Fault(
                    _PLACE,
                    f"the copy in {folder.parent.name}/ was encrypted with another key",
                    f"name the file of that key, or remove {folder.parent.name}/{folder.name}/, and it is"
                    " made anew",
                )
            ]
        ) from None
    except (OSError, NotAsWritten):
        return None
    files = [file for table in found.tables for files in table.buckets for file in files]
    sizes = [_size(folder / file.path) == file.bytes for file in files]
    whole = all(sizes) and (
        not looked_through
        or all(is_as_known(folder / file.path, file.bytes, file.sha256) for file in files)
    )
    return found if whole else None


def _size(path: Path) -> int | None:
    with suppress(OSError):
        return path.stat().st_size
    return None


def _made(
    policy: Policy,
    request: CopyFiles,
    stamped: Stamped,
    folder: Path,
    secret: str,
    bound: Mapping[str, BoundTable],
    progress: Callable[[str], None] | None,
) -> BucketLayout:
    """Write what is not yet there of a copy; PolicyError where that is not possible."""
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    key = LayoutKey(secret, _salt(folder))
    public = frozenset(bound[n].name for n, table in policy.tables.items() if table.public)
    process = _begun(
        WriteEncrypted(
            request.files,
            request.tables,
            public,
            folder,
            request.bucket_secret,
            request.memory_bytes,
            key,
            _journal(folder / _JOURNAL),
            stamped.stamp,
        )
    )
    buckets, written = 0, dict[str, list[BucketFile]]()
    try:
        for told in process.told():
            table, path, size, sha256 = json.loads(told)
            if not table:
                buckets = int(size)
                continue
            if not path:
                raise _not_attached(table)
            written.setdefault(table, []).append(BucketFile(path, int(size), str(sha256)))
            _note(folder / _JOURNAL, [path, size, sha256])
            if progress is not None:
                of = 1 if table in public else buckets
                progress(f"encrypting {table}: {len(written[table])} of {of}")
    except ChannelLost:
        raise _not_written() from None
    finally:
        process.discard()
    tables = tuple(
        BucketedTable(
            table.name,
            table.name in public,
            _types(table.name, bound, request),
            tuple((file,) for file in written[table.name]),
        )
        for table in request.tables
    )
    attached = [t.name for t in request.tables if t.unit is None and t.reference is not None]
    name, stamps = entry_name(policy, stamped.hashes), dict(stamped.hashes)
    made = BucketLayout(name, buckets, tables, tuple(attached), stamps, key.salt, key.mark())
    return made.sealed(key)


def _types(name: str, bound: Mapping[str, BoundTable], request: CopyFiles) -> dict[str, str]:
    """Return the columns of a table in the copy, the unit's among them where it was attached."""
    tables = {table.name: table for table in request.tables}
    table = own = tables[name]
    while own.unit is None and own.reference is not None:
        own = tables[own.reference.table]
    attached = own is not table and own.unit is not None
    added = {added_column(UNIT, table.types): own.types[own.unit]} if attached and own.unit else {}
    return {**table.types, **added}


def _begun(request: WriteEncrypted) -> BucketProcess:
    try:
        return BucketProcess(request)
    except OSError:
        raise not_ready() from None


def _salt(folder: Path) -> str:
    """Return what the copy in a folder adds to the key; drawn for one that is begun."""
    file = folder / _SALT
    if not file.exists():
        _write(file, OsEntropy().bytes(16).hex())
    return file.read_text("ascii")


def _journal(path: Path) -> dict[str, tuple[int, str]]:
    """Return which files were written before; the last line may be half of one."""
    known: dict[str, tuple[int, str]] = {}
    with suppress(OSError):
        for line in path.read_text("ascii").splitlines():
            with suppress(ValueError):
                name, size, sha256 = json.loads(line)
                known[str(name)] = int(size), str(sha256)
    return known


def _note(journal: Path, written: list[object]) -> None:
    with journal.open("a", encoding="ascii") as file:
        file.write(json.dumps(written) + "\n")


def _publish(folder: Path, made: BucketLayout) -> None:
    """Put the manifest into a folder, and remove what is no part of the copy."""
    kept = {folder / file.path for t in made.tables for files in t.buckets for file in files}
    for path in folder.rglob("*.parquet*"):
        if path not in kept:
            path.unlink()
    (folder / _JOURNAL).unlink(missing_ok=True)
    _write(folder / MANIFEST, made.to_json())


def _write(path: Path, text: str) -> None:
    """Put a text into a file, which is there as a whole or not at all, and for its owner only."""
    draft = path.with_name(f"{path.name}.making")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _not_attached(table: str) -> PolicyError:
    return PolicyError(
        [
            Fault(
                f"table.{table}",
                "its rows cannot be put where their unit is: what they refer to is stored as another"
                " type, or has a key twice",
                "store both columns as one type, and each key once",
            )
        ]
    )


def _not_written() -> PolicyError:
    return PolicyError(
        [
            Fault(
                "engine.memory",
                "the encrypted copy could not be written to the end: nothing of it is spilled, so what"
                " one unit has, and the keys of a table that others refer to, must fit into memory",
                "raise memory, and see that the files are whole and that the disk has room",
            )
        ]
    )
