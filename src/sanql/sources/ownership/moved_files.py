"""Files that move with a ledger: the stamps of its data, and prepared copies."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from sanql.account import Ledger
from sanql.sources.cache import Cache, secret_copies
from sanql.sources.stamps import Stamps


def move_stamps_and_copies(ledger: Ledger, now: Path, before: Collection[Path]) -> bool:
    """Bring stamps and prepared copies to a ledger that was moved, from the places that it left.

    Returns whether the data are known by their stamps, or nothing has been read yet. What is there
    already stays; prepared copies that cannot be brought are removed, and made again when needed.
    """
    stamps = Stamps(now)
    left = [Stamps(place).path for place in before]
    known = stamps.recover([*left, *secret_copies(ledger)])
    for place in before:
        _bring(Cache(place).folder, Cache(now).folder)
    for path in left if known else ():
        with suppress(OSError):
            if not path.samefile(stamps.path):
                path.unlink()
    return known or ledger.versions.newest() is None


def _bring(left: Path, wanted: Path) -> None:
    if left.is_symlink() or not left.is_dir() or (wanted.exists() and left.samefile(wanted)):
        return
    try:
        left.rename(wanted)
    except OSError:  # there is another one, or it is on another disk
        shutil.rmtree(left, ignore_errors=True)
