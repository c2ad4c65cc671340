"""Files that their owner alone may read: a secret that is all one holds, and what is kept secret."""

from __future__ import annotations

import os
import stat
from pathlib import Path

SECRET_BYTES_MAX = 10_000


class SecretFileFault(Exception):
    """What is wrong with a file that should hold a secret; never what it holds."""


def read_secret_file(path: Path) -> str:
    """Return the one line of a file; one that others may read, or that holds more, holds no secret."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(SECRET_BYTES_MAX + 1).decode()
    except (OSError, UnicodeError):
        raise SecretFileFault("cannot be read") from None
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise SecretFileFault("is open to others than its owner")
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret or "\n" in secret or len(text.encode()) > SECRET_BYTES_MAX:
        raise SecretFileFault("is not one line with a secret")
    return secret


def write_for_owner(path: Path, text: str) -> None:
    """Write a text to a file that nobody but its owner may read, whoever could before.

    Raises OSError where it cannot be written, or its rights cannot be taken from others.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)  # first: what others may read of it is what was there
        file.truncate()
        file.write(text)
