"""An Iceberg catalogue of this machine, in an SQLite file, for tests."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record

NAMESPACE = "clinic"


def catalogue(folder: Path, name: str = "town") -> SqlCatalog:
    """Return the catalogue in a folder, with the namespace of the tests."""
    folder.mkdir(parents=True, exist_ok=True)
    found = SqlCatalog(name, **_properties(folder))
    with contextlib.suppress(NamespaceAlreadyExistsError):
        found.create_namespace(NAMESPACE)
    return found


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str = "town") -> None:
    """Let a name lead to the catalogue in a folder, as an environment does."""
    for key, value in _properties(folder).items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__{key.upper()}", value)


def write_table(folder: Path, name: str, rows: pa.Table) -> Table:
    """Put rows into a table, in place of those before."""
    found = catalogue(folder)
    table = found.create_table_if_not_exists(f"{NAMESPACE}.{name}", rows.schema)
    table.overwrite(rows)
    return table


def delete_positions(table: Table, positions: list[int]) -> None:
    """Delete rows of the only data file by their places, as Spark and Trino do: merged on reading."""
    (task,) = table.scan().plan_files()
    columns = {"file_path": [task.file.file_path] * len(positions), "pos": positions}
    _commit_deletes(table, pa.table(columns), DataFileContent.POSITION_DELETES, None)


def delete_values(table: Table, column: str, values: list[int], *, noted: bool) -> None:
    """Delete rows by the values of a column, as Flink does, noted in the summary or not."""
    field = table.schema().find_field(column).field_id
    content = DataFileContent.EQUALITY_DELETES
    _commit_deletes(table, pa.table({column: values}), content, [field], noted=noted)


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES


def _commit_deletes(
    table: Table,
    deletes: pa.Table,
    content: DataFileContent,
    fields: list[int] | None,
    *,
    noted: bool = True,
) -> None:
    before = table.current_snapshot()
    assert before is not None
    number, sequence = before.snapshot_id + 1, table.metadata.last_sequence_number + 1
    place = f"{table.location()}/metadata/{number}"
    path = place.removeprefix("file://")
    pq.write_table(deletes, f"{path}.parquet")
    file = DataFile.from_args(
        content=content,
        file_path=f"{place}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(deletes),
        file_size_in_bytes=Path(f"{path}.parquet").stat().st_size,
        equality_ids=fields,
    )
    file.spec_id = table.spec().spec_id
    with _DeletesWriter(
        table.spec(), table.schema(), table.io.new_output(f"{place}.avro"), number, "null"
    ) as writer:
        writer.add(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=file
            )
        )
    with write_manifest_list(
        2, table.io.new_output(f"{place}.list"), number, before.snapshot_id, sequence, "null"
    ) as manifests:
        manifests.add_manifests([*before.manifests(table.io), writer.to_manifest_file()])
    summary = Summary(
        Operation.DELETE, **({"total-equality-deletes": "1"} if noted and fields else {})
    )
    made = Snapshot(
        snapshot_id=number,
        parent_snapshot_id=before.snapshot_id,
        sequence_number=sequence,
        manifest_list=f"{place}.list",
        summary=summary,
        schema_id=table.schema().schema_id,
    )
    with table.transaction() as transaction:
        transaction._apply(
            (
                AddSnapshotUpdate(snapshot=made),
                SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=number),
            )
        )


def _properties(folder: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalogue.db",
        "warehouse": f"file://{folder}",
    }
