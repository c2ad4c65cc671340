"""Where data are: the path of a file or folder, and the identity that its other names share.

A symbolic link, a hard link, a mount under another path and a renamed folder lead to the same device
and inode. An inode's number is given away again once its file is deleted, so the moment it was made,
where the file system keeps it, is part of its identity. A copy has an identity of its own.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sanql.computed_once import computed_once

_AT_FDCWD = -100
_STATX_BTIME = 0x800


@dataclass(frozen=True)
class Address:
    """A file or folder that is there, under its real path; or a table elsewhere, under a made-up one."""

    path: Path
    identity: str
    folder: bool


@dataclass(frozen=True)
class Origins:
    """Tables elsewhere of which files are snapshots: private ones are claimed as the files are.

    What a private table is a part of is looked `around` for claims; `public` are those of public files.
    """

    claimed: tuple[Address, ...] = ()
    around: tuple[Address, ...] = ()
    public: tuple[Address, ...] = ()
    units: tuple[tuple[Address, str, str], ...] = ()


@dataclass(frozen=True)
class Site:
    """Everything a policy's private rows are read from, and what it calls public besides.

    `folders` are those whose files are read; the data files directly in one belong to it, so each file
    has a folder `around` it that may have been claimed. `public` files are nobody's, unless an account
    has claimed them. `units` are the table of each private file and whom it protects.

    Files may be snapshots of tables elsewhere: those are its `origins`.
    """

    root: Address
    folders: tuple[Address, ...]
    files: tuple[Address, ...]
    around: tuple[Address, ...]
    public: tuple[Address, ...] = ()
    units: tuple[tuple[Address, str, str], ...] = ()
    origins: Origins = Origins()

    @computed_once
    def claimed(self) -> tuple[Address, ...]:
        """What an account over this source claims."""
        return tuple(dict.fromkeys((self.root, *self.folders, *self.files, *self.origins.claimed)))

    @computed_once
    def here(self) -> tuple[Address, ...]:
        """The files and folders that claims may lie beside, whoever's they are."""
        places = (self.root, *self.folders, *self.files, *self.around, *self.public)
        return tuple(dict.fromkeys(places))

    @computed_once
    def called_public(self) -> tuple[Address, ...]:
        """What the policy says is about nobody."""
        return (*self.public, *self.origins.public)

    @computed_once
    def all_units(self) -> tuple[tuple[Address, str, str], ...]:
        """The table of each private file, and of what it is a snapshot of, and whom it protects."""
        return (*self.units, *self.origins.units)

    @computed_once
    def met(self) -> frozenset[str]:
        """The identities of everything that a claim may be about."""
        elsewhere = (*self.origins.claimed, *self.origins.around, *self.origins.public)
        return frozenset(address.identity for address in (*self.here, *elsewhere))


def address_of(path: Path) -> Address:
    """Return the address of a file or folder, whatever name leads to it; OSError if nothing does."""
    real = path.resolve(strict=True)
    return Address(real, identity_of(real), real.is_dir())


def identity_of(path: Path) -> str:
    """Return device, inode and time of birth of what a path leads to."""
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}:{_born(path)}"


def name_identity_of(path: Path) -> str:
    """Return the identity of a file together with that of its name: its folder's, and the name in it.

    A ledger's newest records are in a log that is found by name, so under another name of the same file
    they are missed. A folder that is moved or mounted elsewhere as a whole takes the log along.
    """
    return f"{identity_of(path)} {identity_of(path.parent)} {path.name}"


class _Moment(ctypes.Structure):
    _fields_ = (
        ("seconds", ctypes.c_int64),
        ("nanoseconds", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
    )


class _Statx(ctypes.Structure):
    """The kernel's `struct statx`, as far as the time of birth."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("before", ctypes.c_uint8 * 60),
        ("accessed", _Moment),
        ("born", _Moment),
        ("after", ctypes.c_uint8 * 160),
    )


def _born(path: Path) -> str:
    """Return when an inode was made, in nanoseconds; a question mark where nobody knows."""
    statx = _statx()
    if statx is None:
        known = getattr(path.stat(), "st_birthtime", None)  # macOS and the BSDs
        return "?" if known is None else str(round(known * 10**9))
    found = _Statx()
    failed = statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, ctypes.byref(found))
    if failed or not found.mask & _STATX_BTIME:
        return "?"
    return str(found.born.seconds * 10**9 + found.born.nanoseconds)


@cache
def _statx() -> ctypes._NamedFuncPointer | None:
    """Return the C library's statx, which Python does not offer; None where there is none."""
    return getattr(ctypes.CDLL(None), "statx", None)
