"""The kinds of sources, told apart in this one place, and their faults."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.policy import PassedTables
from sanql.sources.database import DatabaseSource
from sanql.sources.files import FilesSource
from sanql.sources.snapshots import REFRESH, check_complete, lacking, read_manifest

if TYPE_CHECKING:
    from sanql.policy import Policy
    from sanql.sources.protocol import Source

SOURCE_KINDS: tuple[type[FilesSource] | type[DatabaseSource], ...] = (FilesSource, DatabaseSource)


def locate(policy: Policy) -> Source:
    """Return the source of a policy; raise PolicyError naming what is missing."""
    try:
        return _locate(policy)
    except OSError:
        raise _fault(
            f"{policy.source!r} cannot be listed and read by this user",
            "give whoever runs San the right to list its folders and to read its files",
        ) from None


def _locate(policy: Policy) -> Source:
    root = (policy.path.parent / policy.source).resolve()
    if policy.origin is not None:
        _check_snapshot(policy, root)
    for kind in SOURCE_KINDS:
        source = kind.locate(policy, root)
        if source is not None:
            return source
    if not root.is_file():
        raise _fault(
            f"there is no file or folder {policy.source!r}",
            "name one that is there, as seen from the folder of the policy",
        )
    known = {suffix: name for kind in SOURCE_KINDS for suffix, name in kind.suffixes.items()}
    raise _fault(
        f"{policy.source!r} is no {_listed(known.values())} file",
        f"name a {_listed(known)} file, or a folder",
    )


def _check_snapshot(policy: Policy, folder: Path) -> None:
    """Raise PolicyError where no snapshot is there, or one that is not complete, or of something else."""
    if isinstance(policy.origin, PassedTables) and not folder.is_dir():
        raise _fault(
            "the policy names no source, and no tables have been passed",
            'name one, or pass data frames in Python: sanql.open(policy, tables={"NAME": frame})',
        )
    check_complete(folder)
    manifest = read_manifest(folder)
    passed = manifest is None and folder.is_dir()
    if manifest is None and not isinstance(policy.origin, PassedTables):
        raise _fault(
            f"there is no snapshot of {policy.origin} yet",
            "a scratch account reads no row and takes none: open the policy without `scratch` first"
            if policy.scratch
            else REFRESH,
        )
    of = str(PassedTables()) if passed or manifest is None else manifest.of
    if of != str(policy.origin):
        raise _fault(f"the snapshot in {folder.name}/ is of {of}, not of {policy.origin}", REFRESH)
    faults = [] if manifest is None else lacking(policy, manifest.tables)
    if faults:
        raise PolicyError(faults)


def check_files_readable(source: Source) -> None:
    """Raise PolicyError naming the first file that may not be read."""
    for path in source.paths():
        try:
            path.open("rb").close()
        except OSError as fault:
            raise unreadable_file(path.name, fault.strerror) from None


def unreadable_file(name: str, reason: str | None = None) -> PolicyError:
    """Return the error of a file that is there and cannot be read, and why; its name is the owner's."""
    why = f" ({reason})" if reason else ""
    return _fault(
        f"{name} cannot be read{why}",
        "give whoever runs San the right to read all files of it, and see that the disk is sound",
    )


def vanished_file() -> PolicyError:
    """Return the error of a source of which a file was there a moment ago."""
    return _fault("a file of it has vanished", "wait until it is complete")


def changing_files() -> PolicyError:
    """Return the error of a source whose files do not stay the same while they are read."""
    return _fault(
        "its files keep changing while they are read",
        "wait until they are complete, then try again",
    )


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"


def _fault(message: str, remedy: str) -> PolicyError:
    return PolicyError([Fault("dataset.source", message, remedy)])
