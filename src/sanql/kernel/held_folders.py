"""Private folders for rows: locked while some process has them, removed by the next one that comes.

What a lock says is true of every end a process can come to, and of no other process by chance, as an
id might be.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# Nothing is in it yet, so there is time to tell one just made from one that a killed process left.
_UNLOCKED_SECONDS_MAX = 60.0


class FolderNames(NamedTuple):
    """How names of one kind of folder begin: while it is held, and just before, until it is locked."""

    held: str
    unlocked: str


SPILLS = FolderNames("sanql-spill-", "sanql-new-")


def locked_spill() -> tuple[Path, int]:
    """Return a folder for what does not fit into a process's memory, and its lock."""
    return locked_folder(Path(tempfile.gettempdir()), SPILLS)


def sweep_spills() -> None:
    """Remove at once the spill directories whose parent and worker were both killed."""
    sweep_folders(Path(tempfile.gettempdir()), SPILLS)


def locked_folder(place: Path, names: FolderNames) -> tuple[Path, int]:
    """Return a new folder and its lock, which it has had for as long as it has been called so."""
    made = Path(tempfile.mkdtemp(prefix=names.unlocked, dir=place))
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    # mkdtemp has seen to it that nobody else has this ending
    held = made.with_name(names.held + made.name.removeprefix(names.unlocked))
    made.rename(held)
    return held, lock


def sweep_folders(place: Path, names: FolderNames) -> None:
    """Remove folders of a kind, of this user, that nobody holds."""
    for left in place.glob(f"{names.held}*"):
        with suppress(OSError):
            _sweep(left)
    for made in place.glob(f"{names.unlocked}*"):
        with suppress(OSError):
            if time.time() - made.lstat().st_mtime > _UNLOCKED_SECONDS_MAX:
                _sweep(made)


def remove_folder(folder: Path, lock: int) -> None:
    """Remove a folder that this process holds, and let go of it."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


def _sweep(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)
