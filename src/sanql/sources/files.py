"""Parquet and CSV files, table by table; questions always run on a copy of what is read of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from sanql.account import Address, Origins, Site, address_of
from sanql.catalog import BoundTable, SourceFormat, suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.kernel import CopyFiles, Format, InspectFiles, TableFiles
from sanql.policy import fold, unit_path
from sanql.sources.snapshots import read_manifest

if TYPE_CHECKING:
    from sanql.policy import Policy, Table

_FORMATS: dict[str, Format] = {".parquet": "parquet", ".csv": "csv"}
_LAYOUT = "put NAME.parquet, NAME.csv or a folder NAME/ of such parts into the source folder"


@dataclass(frozen=True)
class FilesSource:
    """A folder with a file, or a folder of files, for each table; or the one file of the only table."""

    tables: tuple[TableFiles, ...]
    suffixes: ClassVar[dict[str, str]] = {".parquet": "Parquet", ".csv": "CSV"}

    @classmethod
    def locate(cls, policy: Policy, root: Path) -> Self | None:
        """Return the files at a path, if it is a folder or one of them."""
        if root.is_dir():
            return cls(_in_folder(policy, root))
        if not root.is_file() or root.suffix.lower() not in cls.suffixes:
            return None
        return cls((_only_table(policy, root),))

    def paths(self) -> tuple[Path, ...]:
        """Return the files of all tables."""
        return tuple(path for files in self.tables for path in files.paths)

    def hashed_files(self) -> Mapping[str, tuple[str, ...]]:
        """Return the files of each table: tables change one by one."""
        return {files.table: (files.format, *map(str, files.paths)) for files in self.tables}

    def site(self, policy: Policy) -> Site:
        """Return the files of private tables and the folders they are in; public ones beside."""
        at = cache(address_of)  # each is looked at once
        root = at(policy.path.parent / policy.source)
        private = [files for files in self.tables if not policy.tables[files.table].public]
        public = [files for files in self.tables if policy.tables[files.table].public]
        paths = [path for files in private for path in files.paths]
        folders = [root.path, *_folders_of({files.table for files in private}, root.path)]
        return Site(
            root,
            tuple(map(at, folders)) if root.folder else (),
            tuple(map(at, paths)),
            tuple(map(at, dict.fromkeys(path.parent for path in paths))),
            tuple(at(path) for files in public for path in files.paths),
            tuple(
                (at(path), files.table, fold(unit_path(policy.tables[files.table], policy.tables)))
                for files in private
                for path in files.paths
            ),
            _origins(policy, root),
        )

    def formats(self, policy: Policy) -> Mapping[str, SourceFormat]:
        """Return the format of each table's files."""
        return {files.table: files.format for files in self.tables}

    @property
    def reads_rows(self) -> bool:
        """Whether a public CSV file is left to show the types of its columns by its values."""
        return any(files.infer and files.format == "csv" for files in self.tables)

    def inspection(self, policy: Policy) -> InspectFiles:
        """Return the request for the names and types in footers and headers."""
        return InspectFiles(self.tables, policy.engine.memory_bytes)

    @property
    def in_place(self) -> bool:
        """Never: an engine opens databases."""
        return False

    def is_copied(self, bound: Mapping[str, BoundTable], schema: Mapping[str, object]) -> bool:
        """Return that they are copied, whatever they hold."""
        return True

    def copying(
        self,
        policy: Policy,
        bound: Mapping[str, BoundTable],
        schema: Mapping[str, object],
        target: Path,
        secret: int,
    ) -> CopyFiles:
        """Return the request for a database with the declared columns of all files."""
        copied = tuple(bound[files.table].copied() for files in self.tables)
        memory = policy.engine.memory_bytes
        return CopyFiles(self.tables, target, copied, memory, secret)

    def not_copied(self, table: str) -> Fault:
        """Return what the owner of files can do about a copy that ended early."""
        return Fault(
            f"table.{table}",
            "its files could not be read to the end",
            "check that they are whole, that the disk has room, and the engine's memory limit",
        )


def _origins(policy: Policy, root: Address) -> Origins:
    """Return what the files are snapshots of, where they are."""
    manifest = read_manifest(root.path) if root.folder else None
    return Origins() if manifest is None else manifest.origins(policy)


def _only_table(policy: Policy, root: Path) -> TableFiles:
    """Return the one table of a source that is one file."""
    if len(policy.tables) != 1:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} is one file, the policy has {len(policy.tables)} tables",
                    "name a folder with a file for each table",
                )
            ]
        )
    (table,) = policy.tables.values()
    return _table_files(policy, table, _FORMATS[root.suffix.lower()], [root])


def _in_folder(policy: Policy, root: Path) -> tuple[TableFiles, ...]:
    """Return the files of every table; PolicyError with all that are missing."""
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith((".", "_")))
    located = [_find(policy, table, entries) for table in policy.tables.values()]
    faults = [item for item in located if isinstance(item, Fault)]
    if faults:
        raise PolicyError(faults)
    return tuple(item for item in located if isinstance(item, TableFiles))


def _find(policy: Policy, table: Table, entries: list[Path]) -> TableFiles | Fault:
    place = f"table.{table.name}"
    named = [entry for entry in entries if _table_name(entry).lower() == table.name.lower()]
    if not named:
        hint = suggest_similar(
            table.name, [_table_name(entry) for entry in entries if _table_name(entry)]
        )
        return Fault(place, "the source folder has no file or folder for it", hint or _LAYOUT)
    if len(named) > 1:
        names = ", ".join(entry.name for entry in named)
        return Fault(place, f"the source has several candidates: {names}", "keep one of them")
    (entry,) = named
    if entry.is_file():
        return _table_files(policy, table, _FORMATS[entry.suffix.lower()], [entry])
    inside = [
        path
        for path in sorted(entry.iterdir())
        if not path.name.startswith((".", "_")) and path.suffix.lower() in _FORMATS
    ]
    formats = {_FORMATS[path.suffix.lower()] for path in inside}
    if len(formats) != 1 or not all(path.is_file() for path in inside):
        return Fault(place, f"the folder {entry.name}/ must hold parts of one format", _LAYOUT)
    return _table_files(policy, table, formats.pop(), inside)


def _table_name(entry: Path) -> str:
    """Return the table an entry of the source folder would hold, or nothing."""
    if entry.is_dir():
        return entry.name
    return entry.stem if entry.suffix.lower() in _FORMATS and entry.is_file() else ""


def _table_files(policy: Policy, table: Table, form: Format, paths: list[Path]) -> TableFiles:
    # types are found in rows, and a scratch account reads none: what is not declared is text to it
    infer = table.public and not table.columns and not policy.scratch
    return TableFiles(table.name, form, tuple(path.resolve() for path in paths), infer)


def _folders_of(tables: set[str], root: Path) -> list[Path]:
    """Return the folders within a source that hold the files of these tables."""
    wanted = {table.lower() for table in tables}
    entries = sorted(root.iterdir()) if root.is_dir() else []
    return [entry for entry in entries if entry.name.lower() in wanted and entry.is_dir()]
