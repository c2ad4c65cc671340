"""The private folder beside the ledger that keeps prepared copies of Parquet and CSV sources.

An entry is `FINGERPRINT.json` (names and types found) and, where there is something to ingest,
`FINGERPRINT.duckdb`. Entries appear by renaming, under an exclusive lock, so a reader sees all of
an entry or none of it.

What a writer was killed over stays for the next: `FINGERPRINT.building` is a copy that is not
complete, and beside it wait rows that have no place yet. Neither is ever read by a question.

An entry says what the copy's file is: device, inode, size and times, and a hash of its bytes. While the
former are the same the file is, for no program can set back the time of its last change; where they
differ, as in a folder that was restored, its bytes are hashed. A copy that was cut off, exchanged or
changed in a single byte is none, and is made anew. So is one whose entry was: an entry ends with a hash
of what it says and of the name that it was written under, so that none stands for another's copy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sanql.account import Ledger, Registry, registry_folders
from sanql.errors import Fault, PolicyError
from sanql.kernel import database_files, identify, staging_file

# Between preparing a source and opening it nobody holds its lock; that takes moments.
_SECONDS_UNUSED_MAX = 600.0
_FILE = "file"  # in an entry: what the file of its copy is


class Cache:
    """The folder `LEDGER.cache/`, open to its owner only."""

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.with_suffix(".cache").absolute()

    def schema(self, fingerprint: str) -> dict[str, object] | None:
        """Return what an entry recorded about names and types, or None if it is not as written."""
        with suppress(OSError, ValueError):
            said, _, own = (self.folder / f"{fingerprint}.json").read_text().rpartition("\n")
            recorded = json.loads(said) if own == _vouched(fingerprint, said) else None
            return recorded if isinstance(recorded, dict) else None
        return None

    def database(self, fingerprint: str) -> Path:
        """Return where an entry's prepared copy is, or will be."""
        return self.folder / f"{fingerprint}.duckdb"

    def holds(self, fingerprint: str, entry: Mapping[str, object]) -> bool:
        """Return whether an entry's copy is the file that was made, with all of its bytes."""
        database, made = self.database(fingerprint), entry.get(_FILE)
        if not isinstance(made, dict) or len(database_files(database)) > 1:
            return False  # a log beside it is no part of what was made
        with suppress(OSError):
            if made.get("identity") == list(identify(database)):
                return True
            if database.stat().st_size == made["identity"][2]:
                return made.get("hash") == _hash(database)
        return False

    def touch(self, fingerprint: str) -> None:
        """Mark an entry as wanted now, so that nobody clears it away before it is opened."""
        # not the database: its time is part of its identity, and workers may be opening it now
        with suppress(OSError):
            os.utime(self.folder / f"{fingerprint}.json")

    @contextmanager
    def writing(self, fingerprint: str) -> Iterator[None]:
        """Hold the folder's lock, to write an entry; what others left unfinished is removed first.

        What a writer of this entry had done when it was killed stays, and so do rows that wait. What the
        disk or the folder's rights do not allow within is a PolicyError.
        """
        self._make_private()
        try:
            with self._locked():
                kept = {self.building(fingerprint), self._waiting}
                for leftover in self._leftovers():
                    if not any(_is_of(leftover, each) for each in kept):
                        leftover.unlink()
                yield
        except OSError:
            raise PolicyError(
                [
                    Fault(
                        "dataset.ledger",
                        f"the folder {self.folder.name}/ beside the ledger cannot be written to",
                        "see to its rights and the room on the disk, or remove it",
                    )
                ]
            ) from None

    def _leftovers(self) -> list[Path]:
        """Return what was not finished, or not removed: also copies for which no entry vouches."""
        return [
            *self.folder.glob("*.building*"),
            *(
                copy
                for copy in self.folder.glob("*.duckdb*")
                if not (self.folder / f"{copy.name.partition('.')[0]}.json").exists()
            ),
        ]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        held = os.fdopen(os.open(self.folder / "lock", flags, 0o600), "rb")
        with held:  # closes it where an interrupt came before it was closed below
            try:
                fcntl.flock(held.fileno(), fcntl.LOCK_EX)
                yield
            finally:
                held.close()

    def building(self, fingerprint: str) -> Path:
        """Return the name a copy has until it is complete."""
        return self.folder / f"{fingerprint}.building"

    @property
    def _waiting(self) -> Path:
        return staging_file(self.building(""))

    def is_begun(self, fingerprint: str) -> bool:
        """Return whether something is there of a copy that is not complete."""
        return self.building(fingerprint).exists() or self._waiting.exists()

    def begin_anew(self, fingerprint: str) -> None:
        """Remove what is there of a copy that is not complete."""
        for unfinished in self.folder.glob("*.building*"):
            kinds = (self.building(fingerprint), self._waiting)
            if any(_is_of(unfinished, each) for each in kinds):
                unfinished.unlink(missing_ok=True)

    def entries(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the names of entries and what they say, the newest first."""
        notes = [(_modified(path), path) for path in self.folder.glob("*.json")]
        for _, path in sorted(notes, reverse=True):
            said = self.schema(path.stem)
            if said is not None:
                yield path.stem, said

    def record(self, fingerprint: str, schema: Mapping[str, object]) -> None:
        """Publish an entry: the copy first, if there is one, then the schema vouching for it."""
        built, database = self.building(fingerprint), self.database(fingerprint)
        for former in database_files(database):  # of an entry that this one takes the place of
            former.unlink(missing_ok=True)
        if built.exists():
            built.chmod(0o600)
            _sync(built)
            built.rename(database)
            made = {"identity": identify(database), "hash": _hash(database)}
            schema = {**schema, _FILE: made}
        note = self.folder / f"{fingerprint}.json.building"
        note.touch(mode=0o600)
        said = json.dumps(schema)
        note.write_text(f"{said}\n{_vouched(fingerprint, said)}")
        _sync(note)
        note.rename(self.folder / f"{fingerprint}.json")
        _sync(self.folder)

    def clear(self, keep: str, seconds_unused: float = _SECONDS_UNUSED_MAX) -> None:
        """Remove other fingerprints' entries that no worker pool holds and nobody just wanted."""
        for path in self.folder.glob("*.json"):
            if path.stem != keep and _unused(path, self.database(path.stem), seconds_unused):
                path.unlink(missing_ok=True)
                self.database(path.stem).unlink(missing_ok=True)

    def clear_as_they_are(self, fingerprint: str) -> None:
        """Remove what is there of copies that are not encrypted, unless a worker pool holds one."""
        if any(self.folder.glob("*.duckdb*")) or any(self.folder.glob("*.building*")):
            with self.writing(fingerprint):
                self.begin_anew(fingerprint)
                self.clear("", seconds_unused=0)

    def clear_buckets(self, keep: str) -> None:
        """Remove encrypted copies of other data, which no worker pool holds."""
        for folder in self.folder.glob("*.buckets"):
            if folder.stem != keep and _unused(folder, folder / "manifest.json"):
                shutil.rmtree(folder, ignore_errors=True)

    def _make_private(self) -> None:
        try:
            with suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            status = self.folder.lstat()
        except OSError:
            raise PolicyError(
                [
                    Fault(
                        "dataset.ledger",
                        f"the folder {self.folder.name}/ cannot be made beside the ledger",
                        "name a ledger in a folder that you may write to",
                    )
                ]
            ) from None
        if (
            not stat.S_ISDIR(status.st_mode)
            or status.st_uid != os.geteuid()
            or status.st_mode & 0o077
        ):
            raise PolicyError(
                [
                    Fault(
                        "dataset.ledger",
                        f"the folder {self.folder.name}/ beside the ledger is open to others",
                        "make it yours alone (chmod 700), or remove it",
                    )
                ]
            )


def _is_of(path: Path, database: Path) -> bool:
    """Return whether a file is a database, or its log."""
    return path.name in (database.name, f"{database.name}.wal")


def _modified(path: Path) -> float:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0


def _unused(note: Path, database: Path, seconds: float = _SECONDS_UNUSED_MAX) -> bool:
    with suppress(FileNotFoundError):
        if time.time() - note.stat().st_mtime < seconds:
            return False
        handle = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
    return True


def _vouched(fingerprint: str, said: str) -> str:
    """Return the hash that ends an entry."""
    return hashlib.sha256(f"{fingerprint}\n{said}".encode()).hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def secret_copies(ledger: Ledger) -> list[Path]:
    """Return where the secret of a ledger's stamps may be kept besides; the first is written to."""
    account = ledger.owner.account
    folders = registry_folders() if account is not None else ()
    return [Registry(folder).stamps_path(account or "") for folder in folders]
