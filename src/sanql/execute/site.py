"""Where a policy's data are, as the account that claims them sees it: files, folders, identities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account.address import Address, Site, address_of
from sanql.errors import Fault, PolicyError
from sanql.execute.files import DatabaseFile, Location, PartFiles, locate
from sanql.policy.section import fold
from sanql.policy.units import unit_path

if TYPE_CHECKING:
    from sanql.policy.model import Policy


def site_of(policy: Policy, location: Location | None = None) -> Site:
    """Return where the policy's data are; raise PolicyError naming what is missing.

    A `location` that was found before is not looked for again: its files are the ones meant.
    """
    location = locate(policy) if location is None else location
    try:
        root = address_of(policy.path.parent / policy.source)
        match location:
            case DatabaseFile(path):
                return Site(root, (), (address_of(path),), ())
            case PartFiles():
                return _site_of_parts(policy, location, root)
    except OSError:
        fault = Fault("dataset.source", "a file of it has vanished", "wait until it is complete")
        raise PolicyError([fault]) from None


def _site_of_parts(policy: Policy, location: PartFiles, root: Address) -> Site:
    private = [parts for parts in location.tables if not policy.tables[parts.table].public]
    public = [parts for parts in location.tables if policy.tables[parts.table].public]
    files = [path for parts in private for path in parts.paths]
    folders = [root.path, *_folders_of({parts.table for parts in private}, root.path)]
    return Site(
        root,
        tuple(map(address_of, folders)) if root.folder else (),
        tuple(map(address_of, files)),
        tuple(map(address_of, dict.fromkeys(path.parent for path in files))),
        tuple(address_of(path) for parts in public for path in parts.paths),
        tuple(
            (address_of(path), fold(unit_path(policy.tables[parts.table], policy.tables)))
            for parts in private
            for path in parts.paths
        ),
    )


def _folders_of(tables: set[str], root: Path) -> list[Path]:
    """Return the folders within a source that hold the parts of these tables."""
    wanted = {table.lower() for table in tables}
    entries = sorted(root.iterdir()) if root.is_dir() else []
    return [entry for entry in entries if entry.name.lower() in wanted and entry.is_dir()]
