"""Whether only the account that San runs as can reach what it guards: data, copies, ledger, people, keys.

A budget binds nobody who can read the files. What others can reach is not served; the refusal lists the
commands that mend it.
"""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sanql.account import registry_folders
from sanql.errors import ServerError
from sanql.policy import Policy

_SHOWN_MAX = 12
_GROUP, _OTHERS = 3, 0  # how far the bits of a class stand to the left


@dataclass(frozen=True)
class Exposure:
    """A place that somebody else can reach, and the command that mends it."""

    path: Path
    what: str
    command: str


def check_permissions(
    policies: Sequence[Policy], *keys: Path, settings: Path | None = None
) -> None:
    """Refuse to serve what others can read or change, and by words that others can change."""
    found = [each for policy in policies for each in exposures(policy)]
    found += [each for key in keys for each in (*_exposed(key), *_replaceable(key))]
    if settings is not None:
        found += [*_changeable(settings), *_replaceable(settings)]
    if not found:
        return
    commands = list(dict.fromkeys(each.command for each in found))
    shown = [f"  - {each.path}: {each.what}" for each in found[:_SHOWN_MAX]]
    more = len(found) - len(shown)
    raise ServerError(
        "permissions_open",
        "others on this machine can reach what San guards:\n"
        + "\n".join([*shown, *([f"  - and {more} more"] if more > 0 else [])]),
        "run, as somebody who may:\n" + "\n".join(f"  {command}" for command in commands),
    )


def exposures(policy: Policy) -> Iterator[Exposure]:
    """Yield every place of a policy that somebody else can reach."""
    for place in dict.fromkeys(_guarded(policy)):
        yield from _exposed(place)
        yield from _replaceable(place)
    yield from _changeable(policy.path)
    yield from _replaceable(policy.path)
    for registry in registry_folders():
        yield from _exposed(registry)


def _guarded(policy: Policy) -> Iterator[Path]:
    """Yield the files and folders that hold data, copies of them, the account and people."""
    yield Path(policy.source)
    ledger = policy.ledger
    beside = {ledger.stem, ledger.name}
    for path in sorted(ledger.parent.glob(f"{_plain(ledger.stem)}.*")):
        if path != policy.path and (path.name in beside or path.name.startswith(f"{ledger.stem}.")):
            yield path
    if policy.head is not None:
        yield policy.head


def _plain(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _exposed(place: Path) -> Iterator[Exposure]:
    """Yield what of a file, or of a folder with all that is in it, others can reach."""
    try:
        real = place.resolve(strict=True)
    except OSError:
        return
    if not real.is_dir():
        yield from _one(real, place)
        return
    closed = [*_one(real, place)]
    yield from closed
    if not _reachable(real, _OTHERS) and not _reachable(real, _GROUP):
        return  # nobody else gets in
    for folder, folders, files in os.walk(real):
        for name in sorted([*folders, *files]):
            yield from _one(Path(folder, name), place)


def _one(path: Path, place: Path) -> Iterator[Exposure]:
    try:
        found = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(found.st_mode):
        yield from _led_to(path)
        return
    me = os.geteuid()
    if found.st_uid not in (me, 0):
        command = f"chown -R {_name(me)} {shlex.quote(str(place))}"
        yield Exposure(path, f"belongs to {_name(found.st_uid)}", command)
    for shift, who in ((_OTHERS, "everybody"), (_GROUP, "its group")):
        allowed = (found.st_mode >> shift) & 0o6
        another_name = (
            stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        )  # perhaps in an open folder
        if allowed and (another_name or _parents_open(path, shift)):
            can = " and ".join(word for bit, word in ((4, "read"), (2, "change")) if allowed & bit)
            command = f"chmod -R go-rwx {shlex.quote(str(place))}"
            yield Exposure(path, f"{who} can {can} it", command)
            return


def _led_to(link: Path) -> Iterator[Exposure]:
    """Yield what others can reach of what a link leads to; links in there are not followed."""
    try:
        real = link.resolve(strict=True)
    except (OSError, RuntimeError):  # it leads nowhere, or in a circle
        return
    yield from _one(real, real)
    for folder, folders, files in os.walk(real):
        for path in (Path(folder, name) for name in sorted([*folders, *files])):
            if not path.is_symlink():
                yield from _one(path, real)


def _changeable(file: Path) -> Iterator[Exposure]:
    """Yield a file that says what San does, where others can change it; it may be read."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return
    for shift, who in ((_OTHERS, "everybody"), (_GROUP, "its group")):
        if (mode >> shift) & 0o2 and _parents_open(file.resolve(), shift):
            yield Exposure(file, f"{who} can change it", f"chmod go-w {shlex.quote(str(file))}")
            return


def _replaceable(place: Path) -> Iterator[Exposure]:
    """Yield the folders above a place in which everybody can put something else where it is."""
    try:
        real = place.resolve(strict=True)
    except OSError:
        return
    for folder in real.parents:
        mode = folder.stat().st_mode
        if mode & 0o2 and not mode & stat.S_ISVTX and (mode & 0o1) and _parents_open(folder, 0):
            what = f"everybody can put something else in the place of {real.name}"
            yield Exposure(folder, what, f"chmod go-w {shlex.quote(str(folder))}")


def _reachable(folder: Path, shift: int) -> bool:
    """Return whether a class of users can get to what is in a folder."""
    return bool((folder.stat().st_mode >> shift) & 0o1) and _parents_open(folder, shift)


def _parents_open(path: Path, shift: int) -> bool:
    """Return whether a class of users gets through every folder above a path.

    Whoever is of the group of one folder may be among the others of the next: one way through is enough.
    """
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not ((mode >> shift) & 0o1 or mode & 0o1):
            return False
    return True


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
