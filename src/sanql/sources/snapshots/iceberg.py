"""Iceberg tables: the current snapshot of each, as its catalogue names it, deleted rows left out.

A catalogue is known by its name and found as pyiceberg finds it: in its configuration file and in the
environment, where its credentials are, too. A table is known by the identity in its metadata, which it
keeps whatever it is called, and by the folders of its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sanql.account import Address, address_of
from sanql.catalog import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.policy import ObjectStore, fold
from sanql.sources.snapshots.folder import OpenRows, keep_snapshot, make_folder
from sanql.sources.snapshots.in_place import FilesInPlace, files_in_place
from sanql.sources.snapshots.manifest import Manifest, TableOrigin
from sanql.sources.snapshots.object_store import address_in_store
from sanql.sources.snapshots.wanted import chosen_columns, wanted_columns

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import DataScan, FileScanTask
    from pyiceberg.table import Table as IcebergTable

    from sanql.policy import IcebergTables, Policy, Table

_ONE_STORE = {"s3a": "s3", "s3n": "s3", "wasb": "abfs", "wasbs": "abfs"}  # as Hadoop spells them
_ROWS_THAT_MATCH = "total-equality-deletes"

Opened = tuple[TableOrigin, OpenRows | FilesInPlace]


def look_at_iceberg(policy: Policy, place: IcebergTables) -> None:
    """Raise PolicyError where a table or a column is missing; no row is read."""
    _look_up(policy, place)


def snapshot_iceberg(
    policy: Policy, place: IcebergTables, admit: Callable[[Manifest], None]
) -> None:
    """Keep the current snapshot of each of the policy's tables; PolicyError where one cannot be."""
    make_folder(Path(policy.source))
    tables = _look_up(policy, place)
    manifest = Manifest(str(place), {name: origin for name, (origin, _) in tables.items()})
    admit(manifest)
    begin = {name: begin for name, (_, begin) in tables.items()}
    keep_snapshot(Path(policy.source), begin, _failed, manifest)


def _look_up(policy: Policy, place: IcebergTables) -> dict[str, Opened]:
    found: dict[str, Opened] = {}
    faults: list[Fault] = []
    with _in_words(_unreachable(place)), _catalogue(place) as catalogue:
        names = {each[-1]: each for each in catalogue.list_tables(place.namespace)}
        for table in policy.tables.values():
            opened = _found(policy, place, table, catalogue, names)
            if isinstance(opened, Fault):
                faults.append(opened)
            else:
                found[table.name] = opened
    if faults:
        raise PolicyError(faults)
    return found


def _found(
    policy: Policy,
    place: IcebergTables,
    table: Table,
    catalogue: Catalog,
    names: Mapping[str, tuple[str, ...]],
) -> Opened | Fault:
    """Return a table of the policy as the catalogue has it, its name spelled as nearly as it can be."""
    named = [each for each in names if fold(each) == fold(table.name)]
    named = [each for each in named if each == table.name] or named
    if len(named) != 1:
        said = f"{place} has no table, or several, that is called so"
        hint = suggest_similar(table.name, list(names))
        return Fault(f"table.{table.name}", said, hint or "name one that it has")
    with _in_words(_failed(table.name)):
        return _open(policy, table, catalogue.load_table(names[named[0]]))


def _catalogue(place: IcebergTables) -> Catalog:
    """Return a catalogue as it is configured now."""
    try:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config
    except ImportError:
        remedy = "install it: pip install 'sanql[iceberg]'"
        said = "Iceberg tables need a reader, which is not installed"
        raise PolicyError([Fault("dataset.source", said, remedy)]) from None
    configured = Config().get_catalog_config(place.catalogue)
    if configured is None:
        said = f'no catalogue "{place.catalogue}" is configured'
        remedy = (
            "name its uri in ~/.pyiceberg.yaml, or in the environment as"
            f" PYICEBERG_CATALOG__{place.catalogue.upper()}__URI"
        )
        raise PolicyError([Fault("dataset.source", said, remedy)])
    return load_catalog(place.catalogue, **{key: str(each) for key, each in configured.items()})


def _open(policy: Policy, table: Table, opened: IcebergTable) -> Opened | Fault:
    """Return where a table is from and what begins to read its current snapshot, and no later one."""
    snapshot = opened.current_snapshot()
    summary = None if snapshot is None else snapshot.summary
    if summary is not None and int(summary.get(_ROWS_THAT_MATCH) or 0):
        return Fault(
            f"table.{table.name}",
            "rows of it are deleted by their values, which the reader does not follow",
            "rewrite its data files (rewrite_data_files), then take the snapshot anew",
        )
    columns = chosen_columns(policy, table, [each.name for each in opened.schema().fields])
    if isinstance(columns, Fault):
        return columns
    scan = opened.scan(selected_fields=tuple(columns or [opened.schema().fields[0].name]))
    files = list(scan.plan_files())
    place = _address(opened.location())
    identity = Address(place.path, f"iceberg:{opened.metadata.table_uuid}", folder=False)
    folders = {each.file.file_path.rpartition("/")[0] for each in files}
    claimed = dict.fromkeys((place, identity, *map(_address, sorted(folders))))
    version = "" if snapshot is None else str(snapshot.snapshot_id)
    origin = TableOrigin(tuple(claimed), (), wanted_columns(policy, table), version)
    in_place = None
    if policy.engine.spark is not None and columns:
        in_place = _in_place(scan, files)
    return origin, in_place or partial(_rows, table.name, scan, files)


def _in_place(scan: DataScan, files: list[FileScanTask]) -> FilesInPlace | None:
    """Return the files of a snapshot, where all their rows are, in columns of one identity and name."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    projection = scan.projection()
    sizes = []
    for each in files:
        path = _path_of(each.file.file_path)
        if each.delete_files or each.file.file_format.name != "PARQUET" or path is None:
            return None
        sizes.append((path.resolve(), int(each.file.file_size_in_bytes)))
    ids = {field.name: field.field_id for field in projection.fields}
    return files_in_place(sizes, schema_to_pyarrow(projection, include_field_ids=False), ids)


def _path_of(location: str) -> Path | None:
    """Return a path of this machine; None for what lies in a store."""
    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        return None
    return Path(unquote(parts.path) if parts.scheme else location)


def _address(location: str) -> Address:
    """Return how an account claims a folder, in a store or on this machine, whatever spells it."""
    path = _path_of(location)
    if path is not None:
        return address_of(path) if path.exists() else _elsewhere("file", str(path))
    parts = urlsplit(location)
    scheme = _ONE_STORE.get(parts.scheme, parts.scheme)
    container = parts.netloc.rpartition("@")[0] if scheme.startswith("abfs") else ""
    return _elsewhere(scheme, f"{container or parts.netloc}/{parts.path}")


def _elsewhere(scheme: str, within: str) -> Address:
    return address_in_store(ObjectStore(f"{scheme}://"), within)


def _rows(name: str, scan: DataScan, files: list[FileScanTask]) -> pyarrow.RecordBatchReader:
    """Begin to read the files that were found, one after the other; deletions are its reader's."""
    import pyarrow
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    projection = scan.projection()
    with _in_words(_failed(name)):
        kept = schema_to_pyarrow(projection, include_field_ids=False)
        reader = ArrowScan(scan.table_metadata, scan.io, projection, scan.row_filter)

    def batches() -> Iterator[pyarrow.RecordBatch]:
        with _in_words(_failed(name)):
            for each in files:
                for batch in reader.to_record_batches([each]):
                    yield batch.select(kept.names).cast(kept)

    return pyarrow.RecordBatchReader.from_batches(kept, batches())


@contextmanager
def _in_words(fault: Fault) -> Iterator[None]:
    """Say what went wrong in words of our own: those of the reader quote whatever it has met."""
    try:
        yield
    except PolicyError:
        raise
    except Exception:  # of pyiceberg, of its catalogues and of their drivers, which share no class
        raise PolicyError([fault]) from None


def _unreachable(place: IcebergTables) -> Fault:
    return Fault(
        "dataset.source",
        f"{place} cannot be reached and listed",
        "see to the name of the namespace, and to the catalogue's address and credentials in"
        " pyiceberg's configuration",
    )


def _failed(name: str) -> Fault:
    return Fault(
        f"table.{name}",
        "its snapshot of the Iceberg table could not be read",
        "see that its metadata and files are whole and have not expired meanwhile, and that no rows"
        " are deleted by their values; then try again",
    )
