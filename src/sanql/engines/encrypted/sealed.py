"""The manifest of an encrypted copy: believed as whoever has the key wrote it, of the data it names."""

from __future__ import annotations

from pathlib import Path

from sanql.kernel.buckets import BucketLayout, LayoutKey, NotAsWritten, read_layout

_SUFFIX = ".buckets"


class OtherKey(Exception):
    """A copy was encrypted with another key."""


def copy_folder(cache: Path, name: str) -> Path:
    """Return the folder of the copy of such data."""
    return cache / f"{name}{_SUFFIX}"


def read_sealed(folder: Path, secret: str) -> BucketLayout:
    """Return the manifest in a copy's folder; OSError where there is none.

    NotAsWritten where it is damaged, was changed by somebody without the key, or is that of other data.
    """
    found = read_layout(folder)
    key = LayoutKey(secret, found.salt)
    if key.mark() != found.mark:
        raise OtherKey
    if found != found.sealed(key) or copy_folder(folder.parent, found.made_of) != folder:
        raise NotAsWritten
    return found
