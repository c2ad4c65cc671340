"""Delta tables: one version of each, read exactly as its log says, deleted rows left out.

A table is known by the identity in its log, which it keeps wherever it is moved or copied to, by its
folder, and by those of the files that its log names: a clone may have none of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sanql.account import Address, address_of
from sanql.catalog import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.policy import fold
from sanql.sources.snapshots.folder import OpenRows, keep_snapshot, make_folder
from sanql.sources.snapshots.in_place import FilesInPlace, files_in_place
from sanql.sources.snapshots.manifest import Manifest, TableOrigin
from sanql.sources.snapshots.wanted import chosen_columns, wanted_columns

if TYPE_CHECKING:
    import pyarrow
    from deltalake import DeltaTable

    from sanql.policy import DeltaTables, Policy, Table

_LOG = "_delta_log"
_READ_AS_THEY_ARE = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""What a log may ask of readers that does not change how rows stand in its files."""
_DELETED, _NAMES = "deletionVectors", "delta.columnMapping.mode"


def look_at_delta(policy: Policy, place: DeltaTables) -> None:
    """Raise PolicyError where a table or a column is missing; no row is read."""
    _look_up(policy, place)


def snapshot_delta(policy: Policy, place: DeltaTables, admit: Callable[[Manifest], None]) -> None:
    """Keep the newest version of each of the policy's tables; PolicyError where one cannot be read."""
    make_folder(Path(policy.source))
    tables = _look_up(policy, place)
    manifest = Manifest(str(place), {name: origin for name, (origin, _) in tables.items()})
    admit(manifest)
    begin = {name: begin for name, (_, begin) in tables.items()}
    keep_snapshot(Path(policy.source), begin, _failed, manifest)


def _look_up(
    policy: Policy, place: DeltaTables
) -> dict[str, tuple[TableOrigin, OpenRows | FilesInPlace]]:
    import pyarrow

    found: dict[str, tuple[TableOrigin, OpenRows | FilesInPlace]] = {}
    faults: list[Fault] = []
    for table in policy.tables.values():
        folder = _folder_of(place, table)
        opened = folder if isinstance(folder, Fault) else _open(table, folder)
        if isinstance(folder, Fault) or isinstance(opened, Fault):
            faults += [each for each in (opened,) if isinstance(each, Fault)]
            continue
        schema = pyarrow.schema(opened.schema().to_arrow())
        columns = chosen_columns(policy, table, schema.names)
        if isinstance(columns, Fault):
            faults.append(columns)
            continue
        own = address_of(folder)
        identity = Address(own.path, f"delta:{opened.metadata().id}", folder=False)
        version = str(opened.version())
        files = _files_in_log(table, folder, opened)
        if isinstance(files, Fault):
            faults.append(files)
            continue
        claimed = dict.fromkeys((own, identity, *_folders_of_parts(folder), *_folders_of(files)))
        origin = TableOrigin(tuple(claimed), (), wanted_columns(policy, table), version)
        in_place = None
        if policy.engine.spark is not None and _rows_stand_in_files(opened, columns):
            in_place = files_in_place(files, pyarrow.schema([schema.field(c) for c in columns]))
        found[table.name] = origin, in_place or partial(_rows, opened, schema, columns)
    if faults:
        raise PolicyError(faults)
    return found


def _folder_of(place: DeltaTables, table: Table) -> Path | Fault:
    at, root = f"table.{table.name}", Path(place.folder)
    try:
        tables = [each for each in sorted(root.iterdir()) if (each / _LOG).is_dir()]
    except OSError:
        remedy = "name a folder that is there, as seen from the policy, with a Delta table for each"
        return Fault("dataset.source", f"{place.folder!r} cannot be listed", remedy)
    named = [each for each in tables if fold(each.name) == fold(table.name)]
    if len(named) != 1:
        hint = suggest_similar(table.name, [each.name for each in tables])
        said = f"{place.folder!r} has no Delta table, or several, that is called so"
        return Fault(at, said, hint or "name a folder with a Delta table for each table")
    return named[0]


def _folders_of_parts(folder: Path) -> list[Address]:
    """Return the folders in that of a table that have files with rows, now or in a version before."""
    parts = {path.parent for path in folder.rglob("*.parquet")} - {folder, folder / _LOG}
    return [address_of(each) for each in sorted(parts)]


def _files_in_log(table: Table, folder: Path, opened: DeltaTable) -> list[tuple[Path, int]] | Fault:
    """Return the files that a version names, and their sizes: those of a clone are another table's."""
    import pyarrow

    files = []
    noted = pyarrow.table(opened.get_add_actions(flatten=True)).select(["path", "size_bytes"])
    for named, size in zip(*(column.to_pylist() for column in noted.columns), strict=True):
        parts = urlsplit(str(named))
        if parts.scheme not in ("", "file") or parts.netloc:
            return Fault(
                f"table.{table.name}",
                "its log names files that are neither in its folder nor elsewhere on this machine",
                "name a table that has its own files, such as a deep clone of it",
            )
        files.append(((folder / unquote(parts.path)).resolve(), int(size)))
    return files


def _folders_of(files: list[tuple[Path, int]]) -> list[Address]:
    folders = {path.parent for path, _ in files}
    return [address_of(each) for each in sorted(folders) if each.is_dir()]


def _rows_stand_in_files(opened: DeltaTable, columns: list[str]) -> bool:
    """Return whether a version's rows are those of its files, all of them, in columns of their names."""
    asked, noted = opened.protocol(), opened.metadata()
    if noted.configuration.get(_NAMES) not in (None, "none"):
        return False
    if set(noted.partition_columns) & set(columns):  # their values stand in the log
        return False
    features = set(asked.reader_features or ())
    if _DELETED in features and any(True for _ in opened.deletion_vectors()):
        return False
    return features <= {*_READ_AS_THEY_ARE, _DELETED, "columnMapping"}


def _open(table: Table, folder: Path) -> DeltaTable | Fault:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        remedy = "install it: pip install 'sanql[delta]'"
        return Fault("dataset.source", "Delta tables need a reader, which is not installed", remedy)
    try:
        return DeltaTable(str(folder))
    except (DeltaError, OSError, ValueError):  # their words are not ours to tell
        return _failed(table.name)


def _rows(
    opened: DeltaTable, schema: pyarrow.Schema, columns: list[str]
) -> pyarrow.RecordBatchReader:
    """Begin to read the version that was opened; one of which only rows are counted has no column."""
    import pyarrow

    read = pyarrow.RecordBatchReader.from_stream(opened.scan(columns=columns or schema.names[:1]))
    kept = pyarrow.schema([schema.field(name) for name in read.schema.names])

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for batch in read:
            yield batch.cast(kept)

    return pyarrow.RecordBatchReader.from_batches(kept, batches())


def _failed(name: str) -> Fault:
    return Fault(
        f"table.{name}",
        "its version of the Delta table could not be read",
        "see that its log and files are whole, and were not vacuumed meanwhile; then try again",
    )
