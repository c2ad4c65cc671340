"""The ledger's records: canonical text, chained by hashes, with the newest pinned in a second file.

A record's hash covers its sequence, kind, body and the hash before it, so a changed, moved or
missing record breaks every later link. A chain cut short breaks no link: that is what the pinned
head is for. The head is written after the commit it names, so a crash in between leaves it behind
the chain, never ahead of it. Putting back an old chain *and* its old head together, or removing
both, cannot be detected from these two files; keep a copy of the head elsewhere if that matters.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from sanql.errors import LedgerError, LedgerUnreadable

OwnershipKind = Literal["claim", "move", "pin", "merge", "restore", "retire"]
Kind = (
    Literal[
        "open",
        "format",
        "limits",
        "approve",
        "tables",
        "rename",
        "version",
        "reserve",
        "exact",
        "spend",
        "void",
        "failures_reset",
        "erase",
        "checkpoint",
        "tranche",
    ]
    | OwnershipKind
)

SCRATCH_KINDS: frozenset[Kind] = frozenset(
    {"open", "format", "limits", "tables", "tranche", "reserve", "void", "failures_reset", "erase"}
)
"""What a scratch account may record: charges, never an answer, a version of the data or a claim."""

CREATION_RECORDS = 2
"""A new ledger is committed with this many records; with more, its head may not be missing."""

_KINDS = frozenset(kind for part in get_args(Kind) for kind in get_args(part))
_FORM = (int, str, str, str, str)
_HEAD_BYTES_MAX = 4096
_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
GIVE_UP = "`sanql account retire --lost --because 'WHY'`"
"""The command that closes, on record, an account whose ledger is lost."""
RESTORE = (
    "stop answering, keep everything as it is, and put the newest good copy back with "
    "`sanql ledger restore BACKUP --because 'WHY'`, which records what is missing; what was answered "
    f"since is spent all the same. Where there is none, {GIVE_UP} gives the account up on record"
)


LEDGER_FORMAT = 4
"""The format of the records that this version writes; docs/ledger_format.md lists them all."""

FORMAT_OF_KINDS = 5
"""The format of the records of a dataset with several kinds of privacy unit."""

FORMAT_OF_TRANCHES = 6
"""The format of the records of a dataset of which some budget is opened by and by."""

LEDGER_FORMATS = (1, 2, 3, 4, 5, 6)
"""Every format ever written: each is read, verified and honoured."""


@dataclass(frozen=True)
class LedgerRecord:
    """One line of the ledger."""

    sequence: int
    kind: Kind
    body: str
    previous: str
    hash: str

    @property
    def content(self) -> dict[str, object]:
        """The body as values."""
        return parse_body(self.body)


@dataclass(frozen=True)
class Head:
    """The newest record that is known for certain to have been written."""

    sequence: int
    hash: str


BEGINNING = Head(0, "0" * 64)
"""What the first record follows."""


def record_after(head: Head, kind: Kind, content: dict[str, object]) -> LedgerRecord:
    """Return the record that follows `head` and holds this content."""
    body = canonical_json(content)
    sequence = head.sequence + 1
    digest = record_hash(sequence, kind, body, head.hash)
    return LedgerRecord(sequence, kind, body, head.hash, digest)


def record_hash(sequence: int, kind: str, body: str, previous: str) -> str:
    """Return the hash of a record, over a text that no other record can have."""
    text = canonical_json([sequence, kind, body, previous])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def linked(rows: Iterable[tuple[object, ...]], head: Head) -> Iterator[LedgerRecord]:
    """Yield the records that follow `head`, each checked against the one before it."""
    for row in rows:
        record = _read(row, head.sequence + 1)
        if record.previous != head.hash:
            raise damaged(record.sequence, "does not follow the record before it")
        if record.hash != record_hash(record.sequence, record.kind, record.body, record.previous):
            raise damaged(record.sequence, "has been changed: its hash does not match its content")
        head = Head(record.sequence, record.hash)
        yield record


def canonical_json(content: object) -> str:
    """Return the one JSON text of this content."""
    return _JSON.encode(content)


def parse_body(body: str) -> dict[str, object]:
    """Return the content of a record's body; any spelling but the canonical one is a ValueError."""
    content = json.loads(body)
    if not isinstance(content, dict) or canonical_json(content) != body:
        raise ValueError("not the canonical text of a record")
    return content


def head_path(ledger: Path) -> Path:
    """Return where the head of this ledger is pinned."""
    return ledger.with_name(ledger.name + ".head")


def check_readable(ledger: Path) -> bool:
    """Return whether the ledger is there; LedgerUnreadable where this user may not read it.

    The file is not opened: closing any handle of it would give up the locks that SQLite holds for
    this process, and another process would take the log from under it.
    """
    try:
        found = ledger.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as fault:
        raise LedgerUnreadable(ledger.name) from fault
    effective = os.access in os.supports_effective_ids
    if not stat.S_ISREG(found.st_mode) or not os.access(ledger, os.R_OK, effective_ids=effective):
        raise LedgerUnreadable(ledger.name)
    return True


def read_head(ledger: Path) -> Head | None:
    """Return the pinned head, or None when there is none."""
    return read_pinned(head_path(ledger))


def read_pinned(place: Path) -> Head | None:
    """Return the head that is pinned in a file, or None when there is none."""
    try:
        text = read_pinned_text(place)
        return None if text is None else _head_in(text)
    except ValueError:
        raise LedgerError(
            "ledger_head_damaged", f"the pinned head {place.name} cannot be read", RESTORE
        ) from None


@lru_cache(maxsize=64)
def _head_in(text: str) -> Head:
    """Return the head that a text pins, remembered; anything else is a ValueError."""
    content = parse_body(text.removesuffix("\n"))
    match content:
        case {"sequence": int(sequence), "hash": str(digest)} if len(content) == 2:
            return Head(sequence, digest)
        case _:
            raise ValueError("not a head")


def read_pinned_text(place: Path) -> str | None:
    """Return what is written where a head is pinned, or None; ValueError where it is no plain text."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(handle, _HEAD_BYTES_MAX).decode("ascii")
        finally:
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise LedgerUnreadable(place.name) from fault


def write_head(ledger: Path, head: Head) -> None:
    """Pin the head so that it survives a power cut; call it under the ledger's write lock."""
    write_pinned(head_path(ledger), head)


def write_pinned(target: Path, head: Head, *, durable: bool = True) -> None:
    """Pin the head in a file; one that is not `durable` may be an earlier one after a power cut."""
    place, temporary = os.fspath(target), f"{target}.tmp"
    text = canonical_json({"hash": head.hash, "sequence": head.sequence}) + "\n"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, text.encode("ascii"))
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(temporary, place)  # noqa: PTH105  (which is done often, and a Path takes its time)
    if durable:
        _sync_folder(os.path.dirname(place) or ".")  # noqa: PTH120


def _sync_folder(path: str) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_head(head: Head | None, newest: Head, hash_at_head: str | None) -> None:
    """Raise LedgerError unless the pinned head lies on the chain that ends in `newest`.

    `hash_at_head` is the hash of the chain's record with the head's sequence.
    """
    if head is None:
        if newest.sequence > CREATION_RECORDS:
            raise LedgerError(
                "ledger_head_missing",
                f"the ledger has {newest.sequence} records but its pinned head is missing",
                "put the head file back beside the ledger",
            )
    elif head.sequence > newest.sequence:
        raise LedgerError(
            "ledger_rolled_back",
            f"record {newest.sequence + 1} is missing: the ledger ends before it, "
            f"but record {head.sequence} had been written",
            RESTORE,
        )
    elif head.hash != hash_at_head:
        raise damaged(head.sequence, "is not the record that had been written")


def format_for(kinds: Collection[str], *, paced: bool = False) -> int:
    """Return the format in which an account is kept: without kinds or tranches no newer one is needed."""
    if paced:
        return FORMAT_OF_TRANCHES
    return FORMAT_OF_KINDS if kinds else LEDGER_FORMAT


def check_format(written: object) -> int:
    """Return the number of a format that this version knows; anything else is a LedgerError."""
    if type(written) is int and written in LEDGER_FORMATS:
        return written
    raise LedgerError(
        "ledger_format_unknown",
        f"the ledger is written in format {str(written)[:20]}, and this version of SanQL knows the "
        f"formats {LEDGER_FORMATS[0]} to {LEDGER_FORMATS[-1]}",
        "open the ledger with the version that wrote it, or a newer one; nothing has been changed",
    )


def damaged(sequence: int, what: str) -> LedgerError:
    """Return the error that names the first bad record."""
    return LedgerError("ledger_damaged", f"record {sequence} of the ledger {what}", RESTORE)


def _read(row: tuple[object, ...], expected: int) -> LedgerRecord:
    if tuple(map(type, row)) != _FORM:
        raise damaged(expected, "does not have the form of a record")
    record = LedgerRecord(*cast(tuple[int, Kind, str, str, str], row))
    if record.sequence != expected:
        raise damaged(expected, "is missing")
    if record.kind not in _KINDS:
        raise damaged(expected, "is of an unknown kind")
    return record
