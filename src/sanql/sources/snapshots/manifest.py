"""What a snapshot is of: the data that it was taken from, noted in its folder.

Tables elsewhere belong to an account as files do. Each has an address: a path that leads to it, and an
identity that it keeps whatever it is called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.account import Address, Origins
from sanql.errors import Fault, PolicyError
from sanql.policy import fold, unit_path

if TYPE_CHECKING:
    from sanql.policy import Policy

MANIFEST = ".origin.json"
"""The file in the folder of a snapshot that says what it is of; tables that were passed have none."""

_FORMAT = 1


@dataclass(frozen=True)
class TableOrigin:
    """Where one table is from: what of it is claimed, what it is a part of, and what was read of it."""

    claimed: tuple[Address, ...]
    around: tuple[Address, ...]
    columns: tuple[str, ...] | None  # None where all were read
    version: str = ""


@dataclass(frozen=True)
class Manifest:
    """What a snapshot is of, and where its tables are from."""

    of: str
    tables: Mapping[str, TableOrigin]

    def origins(self, policy: Policy) -> Origins:
        """Return what an account claims of it, and looks at besides."""
        known = {fold(name): table for name, table in self.tables.items()}
        tables = [
            (table, known[fold(table.name)])
            for table in policy.tables.values()
            if fold(table.name) in known
        ]
        private = [(table, origin) for table, origin in tables if not table.public]
        public = [origin for table, origin in tables if table.public]
        return Origins(
            tuple(each for _, origin in private for each in origin.claimed),
            tuple(each for _, origin in private for each in origin.around),
            tuple(each for origin in public for each in (*origin.claimed, *origin.around)),
            tuple(
                (each, table.name, fold(unit_path(table, policy.tables)))
                for table, origin in private
                for each in origin.claimed
            ),
        )

    def text(self) -> str:
        """Return it as it is kept."""
        tables = {
            name: {
                "around": [[str(each.path), each.identity] for each in table.around],
                "claimed": [[str(each.path), each.identity] for each in table.claimed],
                "columns": None if table.columns is None else list(table.columns),
                "version": table.version,
            }
            for name, table in self.tables.items()
        }
        content = {"format": _FORMAT, "of": self.of, "tables": tables}
        return json.dumps(content, indent=1, sort_keys=True) + "\n"


def read_manifest(folder: Path) -> Manifest | None:
    """Return what the snapshot in a folder is of; None where there is none, or tables were passed."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        raise _unreadable(folder) from None
    try:
        if content["format"] != _FORMAT:
            raise ValueError
        tables = {str(name): _table(kept) for name, kept in content["tables"].items()}
        return Manifest(str(content["of"]), tables)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unreadable(folder) from None


def _table(kept: Mapping[str, Any]) -> TableOrigin:
    columns = kept["columns"]
    return TableOrigin(
        _addresses(kept["claimed"]),
        _addresses(kept["around"]),
        None if columns is None else tuple(map(str, columns)),
        str(kept["version"]),
    )


def _addresses(kept: list[list[str]]) -> tuple[Address, ...]:
    return tuple(Address(Path(path), str(identity), folder=False) for path, identity in kept)


def _unreadable(folder: Path) -> PolicyError:
    return PolicyError(
        [
            Fault(
                "dataset.source",
                f"the file {MANIFEST} in {folder.name}/ cannot be read",
                "see to its rights and its disk, or take the snapshot anew: `sanql refresh`",
            )
        ]
    )
