"""Keyed hashes of a source's files, which are read again only when a file has changed.

A file is hashed once. Afterwards device, inode, size and times say that it is the same; where they
differ, it is hashed again, so a file that was touched or copied is still the same data. A file that
changed less than `SETTLED_NS` ago could change again without another time to show for it, so it is
hashed each time.

Hashes of data are never shown: whoever knew all rows but one could try what the last one is. What leaves
this module is keyed with a secret that stays in the file `LEDGER.stamps`, which only its owner may read,
and in a copy beside the registry's head of the account. Where both are lost, nobody can tell any more
whether the data are the same, and the owner must say.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sanql.entropy import OsEntropy
from sanql.errors import Fault, PolicyError
from sanql.kernel import FileIdentity, Stamp, stamp
from sanql.sources.kinds import changing_files, unreadable_file
from sanql.sources.protocol import Source
from sanql.sources.sightings import SETTLED_NS

_ATTEMPTS_MAX = 3
_KEY_BYTES = 32


@dataclass(frozen=True)
class Stamped:
    """The files of a source as they are, and keyed hashes of their bytes, by table and by file."""

    stamp: Stamp
    hashes: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)


class Stamps:
    """The hashes of a ledger's sources that are known; safe to share among threads."""

    def __init__(self, ledger: Path) -> None:
        self.path = ledger.with_suffix(".stamps").absolute()
        self._lock = threading.Lock()
        self._key = b""
        self._files: dict[str, tuple[FileIdentity, str]] = {}

    @property
    def secret_known(self) -> bool:
        """Whether the secret has been read or made; it stays what it is."""
        return bool(self._key)

    def recover(self, copies: Iterable[Path]) -> bool:
        """Return whether the secret is known; the first of its copies takes the place of a lost file."""
        with self._lock:
            try:
                if self._key or self.path.exists():
                    return True
                known = (_key_in(copy) for copy in copies)
                self._key = next((key for key in known if key is not None), b"")
                if self._key:
                    self._put(self.path, self._files)
            except OSError:
                raise _unwritable(self.path) from None
            return bool(self._key)

    def copy_key(self, place: Path) -> None:
        """Keep the secret in one more place, where that can be; nothing is made for it."""
        with self._lock, suppress(OSError):
            if self._key and _key_in(place) != self._key:
                self._put(place, {})

    def bucket_secret(self) -> int:
        """Return a number that nobody who writes rows knows: nobody fills one bucket with units.

        It stays what it is, so that a copy fits to what there was before it.
        """
        with self._lock:
            self._load()
            return int(self._sign(["buckets"])[:16], 16) >> 1

    def of(self, source: Source) -> Stamped:
        """Return the stamp of a source's files; PolicyError where unreadable or changing."""
        with self._lock:
            self._load()
            known = dict(self._files)
            for _ in range(_ATTEMPTS_MAX):
                stamped = self._look(source)
                if stamped is not None:
                    if self._files != known:
                        self._save()
                    return stamped
        raise changing_files()

    def _look(self, source: Source) -> Stamped | None:
        """Return what is there; None if it changed meanwhile."""
        now = time.time_ns()
        try:
            before = stamp(source.paths())
            hashed = {path: self._hash(path, identity, now) for path, identity in before}
            if stamp(source.paths()) != before:
                return None
        except FileNotFoundError:
            return None
        except OSError:
            raise unreadable_file("a file of it") from None
        files = {path: self._sign([digest]) for path, digest in hashed.items()}
        return Stamped(before, self._keyed(source, hashed), files)

    def _hash(self, path: str, identity: FileIdentity, now: int) -> str:
        known = self._files.get(path)
        if known is not None and known[0] == identity:
            return known[1]
        try:
            with Path(path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise
        except OSError as fault:
            raise unreadable_file(Path(path).name, fault.strerror) from None
        if now - identity[-1] > SETTLED_NS:
            self._files[path] = identity, digest
        return digest

    def _keyed(self, source: Source, hashed: dict[str, str]) -> dict[str, str]:
        return {
            name: self._sign([form, *(hashed[path] for path in paths if path in hashed)])
            for name, (form, *paths) in source.hashed_files().items()
        }

    def _sign(self, content: list[str]) -> str:
        return hmac.digest(self._key, json.dumps(content).encode(), "sha256").hex()

    def _load(self) -> None:
        """Read what is known, once; make the secret where there is none."""
        if self._key:
            return
        try:
            if not self.path.exists():
                self._key = OsEntropy().bytes(_KEY_BYTES)
                with suppress(FileExistsError):  # of two who come at once, one is first
                    self._put(self.path, self._files, first=True)
            self._key, self._files = _parsed(self.path.read_text("ascii"))
        except OSError:
            raise _unwritable(self.path) from None
        except (ValueError, KeyError, TypeError):
            raise _damaged(self.path) from None

    def _save(self) -> None:
        try:
            self._put(self.path, self._files)
        except OSError:
            raise _unwritable(self.path) from None

    def _put(
        self, path: Path, files: Mapping[str, tuple[FileIdentity, str]], *, first: bool = False
    ) -> None:
        """Put what is known into a file; a reader sees all of it or what was there before."""
        draft = path.with_name(f"{path.name}.{OsEntropy().bytes(8).hex()}")
        content = {"key": self._key.hex(), "files": dict(files)}
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            if first:
                path.hardlink_to(draft)
            else:
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _key_in(path: Path) -> bytes | None:
    """Return the secret kept in a file, or None where there is none or it is no longer whole."""
    try:
        return _parsed(path.read_text("ascii"))[0]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _parsed(text: str) -> tuple[bytes, dict[str, tuple[FileIdentity, str]]]:
    content = json.loads(text)
    key = bytes.fromhex(content["key"])
    if len(key) != _KEY_BYTES:
        raise ValueError("not the secret of a ledger's stamps")
    files: dict[str, tuple[FileIdentity, str]] = {}
    for path, (identity, digest) in content["files"].items():
        device, inode, size, modified, changed = map(int, identity)
        files[path] = (device, inode, size, modified, changed), str(digest)
    return key, files


def _unwritable(path: Path) -> PolicyError:
    message = f"the file {path.name} cannot be kept beside the ledger"
    remedy = "name a ledger in a folder that you may write to"
    return PolicyError([Fault("dataset.ledger", message, remedy)])


def _damaged(path: Path) -> PolicyError:
    message = f"the file {path.name} beside the ledger is damaged"
    remedy = "restore it, or remove it and say `sanql refresh`"
    return PolicyError([Fault("dataset.ledger", message, remedy)])
