"""Iceberg tables: one snapshot of each keeps what every source keeps."""

from __future__ import annotations

import shutil
import sys
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanql
from sanql.errors import LedgerError, PolicyError
from sanql.policy import IcebergTables, load
from sanql.sources import FilesSource, look_at_origin, take_snapshot
from sanql.sources.snapshots import iceberg, read_manifest
from sources.source_contract import POLICY, ROWS, SourceContract
from support.samplers import SilentSampler

pytest.importorskip("pyiceberg")
from support.iceberg import (
    NAMESPACE,
    catalogue,
    configure,
    delete_positions,
    delete_values,
    write_table,
)

pytestmark = pytest.mark.slow

COUNT = "SELECT COUNT(*) FROM people"
TEXT = POLICY.format(source=f"iceberg://town/{NAMESPACE}")


def write_lake(lake: Path, rows: int = ROWS) -> None:
    """Write people with a column that nobody asks for, and cities."""
    people = {"person_id": range(rows), "age": range(20, 20 + rows), "name": ["Alice"] * rows}
    table = pa.table({name: list(values) for name, values in people.items()})
    write_table(lake, "people", table)
    write_table(lake, "cities", pa.table({"name": ["A", "B", "C"]}))


class TestIcebergSource(SourceContract):
    """Two Iceberg tables, as files beside the ledger."""

    name = "town.tables"
    kind = FilesSource

    @pytest.fixture(autouse=True)
    def _configured(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        configure(monkeypatch, tmp_path / "lake")

    def write(self, place: Path, rows: int = ROWS) -> None:
        write_lake(place.parent / "lake", rows)
        (place.parent / "taking.toml").write_text(self.text())
        take_snapshot(load(place.parent / "taking.toml"), None)

    def text(self) -> str:
        return TEXT

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people.parquet"}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_lake(tmp_path / "lake")
    configure(monkeypatch, tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def policy(lake: Path, tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(TEXT)
    return tmp_path / "policy.toml"


def kept(policy: Path) -> pa.Table:
    return pq.read_table(policy.parent / "town.tables" / "people.parquet")


def ages(policy: Path) -> list[int]:
    return sorted(kept(policy).to_pydict()["age"])


def test_rows_that_were_deleted_and_columns_that_nobody_uses_are_left_out(
    policy: Path, lake: Path
) -> None:
    table = catalogue(lake).load_table("clinic.people")
    table.delete("age < 25")
    take_snapshot(load(policy), None)
    assert ages(policy) == list(range(25, 20 + ROWS))
    assert kept(policy).column_names == ["person_id", "age"]
    manifest = read_manifest(policy.parent / "town.tables")
    snapshot = table.refresh().current_snapshot()
    assert manifest is not None and snapshot is not None
    assert manifest.tables["people"].version == str(snapshot.snapshot_id)


def test_rows_that_are_deleted_by_their_places_are_left_out(policy: Path, lake: Path) -> None:
    delete_positions(catalogue(lake).load_table("clinic.people"), [0, 9])
    take_snapshot(load(policy), None)
    assert ages(policy) == list(range(21, 29))


@pytest.mark.parametrize(("noted", "said"), [(True, "deleted by their values"), (False, "be read")])
def test_rows_that_are_deleted_by_their_values_are_refused_and_not_read(
    noted: bool, said: str, policy: Path, lake: Path
) -> None:
    delete_values(catalogue(lake).load_table("clinic.people"), "age", [20], noted=noted)
    with pytest.raises(PolicyError, match=said):
        take_snapshot(load(policy), None)
    assert not [*(policy.parent / "town.tables").glob("*.parquet")]


def test_what_is_written_meanwhile_is_of_a_later_snapshot(
    policy: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = iceberg._rows

    def writing(*given: object) -> pa.RecordBatchReader:
        write_lake(lake, ROWS + 5)
        return rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(iceberg, "_rows", writing)
    take_snapshot(load(policy), None)
    assert len(kept(policy)) == ROWS


def test_columns_are_followed_whatever_they_were_called(policy: Path, lake: Path) -> None:
    table = catalogue(lake).load_table("clinic.people")
    with table.update_schema() as schema:
        schema.rename_column("age", "years")
        schema.rename_column("name", "age")
    with table.update_schema() as schema:
        schema.delete_column("age")
        schema.rename_column("years", "age")
    take_snapshot(load(policy), None)
    assert ages(policy) == list(range(20, 20 + ROWS))


def test_a_table_without_rows_is_one(policy: Path, lake: Path) -> None:
    found = catalogue(lake)
    schema = found.load_table("clinic.people").schema()
    found.drop_table("clinic.people")
    found.create_table("clinic.people", schema)
    take_snapshot(load(policy), None)
    assert len(kept(policy)) == 0


def _renamed(lake: Path) -> str:
    catalogue(lake).create_namespace("other")
    for name in ("people", "cities"):
        catalogue(lake).rename_table(f"clinic.{name}", f"other.{name}")
    return "iceberg://town/other"


def _registered(lake: Path) -> str:
    """Register the same metadata in a catalogue elsewhere."""
    elsewhere = catalogue(lake.with_name("elsewhere"), "elsewhere")
    for name in ("people", "cities"):
        location = catalogue(lake).load_table(f"clinic.{name}").metadata_location
        elsewhere.register_table(f"clinic.{name}", location)
    return "iceberg://elsewhere/clinic"


def _as_files(lake: Path) -> str:
    (lake / "clinic" / "people" / "data" / "cities.csv").write_text("name\nA\n")
    only = next((lake / "clinic" / "people" / "data").glob("*.parquet"))
    only.rename(only.with_name("people.parquet"))
    return str(only.parent)


def _as_files_of_a_part(lake: Path) -> str:
    parts = (lake / "clinic" / "people" / "data").glob("*=3/*.parquet")
    for number, part in enumerate(parts):
        part.rename(part.with_name("people.parquet" if number == 0 else f"{number}.parquet"))
    (part.parent / "cities.csv").write_text("name\nA\n")
    return str(part.parent)


@pytest.mark.parametrize(
    "reached",
    [lambda _: "iceberg://town/clinic", _renamed, _registered, _as_files, _as_files_of_a_part],
)
def test_a_second_account_is_refused_whatever_leads_to_the_table(
    reached: object, policy: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reached is _as_files_of_a_part:
        with catalogue(lake).load_table("clinic.people").update_spec() as spec:
            spec.add_identity("person_id")
        write_lake(lake)
    with sanql.open(policy) as san:
        san.query(COUNT, epsilon="0.1")
    configure(monkeypatch, tmp_path / "elsewhere", "elsewhere")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "policy.toml"
    source = reached(lake)  # type: ignore[operator]
    other.write_text(POLICY.format(source=source).replace('"town"', '"village"'))
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(other)
    assert not [*(tmp_path / "other").glob("*.tables/*.parquet")], "no row was read"


def test_a_table_that_is_made_anew_is_another_with_the_same_account(
    policy: Path, lake: Path
) -> None:
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        san.query(COUNT, epsilon="0.1")
        catalogue(lake).drop_table("clinic.people")
        write_lake(lake, ROWS + 1)
        assert san.refresh().number == 2
        assert san.query(COUNT, epsilon="0.1").rows == [(ROWS + 1,)]


def test_looking_at_it_reads_no_row(policy: Path, lake: Path) -> None:
    for part in (lake / "clinic").glob("*/data/*.parquet"):
        part.unlink()
    assert look_at_origin(load(policy))
    assert not (policy.parent / "town.tables").exists()


def test_what_does_not_fit_is_named_and_no_value_of_it(
    policy: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(policy)

    def refused(match: str) -> None:
        with pytest.raises(PolicyError, match=match) as caught:
            take_snapshot(loaded, None)
        assert "Alice" not in str(caught.value)
        assert "Alice" not in "".join(traceback.format_exception(caught.value))

    (part,) = (lake / "clinic" / "people" / "data").glob("*.parquet")
    content = part.read_bytes()
    part.write_bytes(b"Alice" + content[5:40] + b"Alice")
    refused("table.people: its snapshot of the Iceberg table could not be read")
    part.unlink()
    refused("could not be read")
    part.write_bytes(content)
    metadata = catalogue(lake).load_table("clinic.people").metadata_location
    path = Path(metadata.removeprefix("file://"))
    text = path.read_text()
    path.write_text("Alice")
    refused("table.people: its snapshot of the Iceberg table could not be read")
    path.write_text(text)
    with catalogue(lake).load_table("clinic.people").update_schema() as schema:
        schema.delete_column("age")
    refused('table.people.column.age: the source has no column "age"')
    catalogue(lake).drop_table("clinic.people")
    refused(r"table.people: iceberg://town/clinic has no table, or several")
    shutil.rmtree(lake)
    refused("cannot be reached and listed")
    monkeypatch.delenv("PYICEBERG_CATALOG__TOWN__URI")
    monkeypatch.delenv("PYICEBERG_CATALOG__TOWN__TYPE")
    monkeypatch.delenv("PYICEBERG_CATALOG__TOWN__WAREHOUSE")
    refused('no catalogue "town" is configured; .*PYICEBERG_CATALOG__TOWN__URI')


def test_a_reader_that_is_not_installed_is_named(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(PolicyError, match=r"pip install 'sanql\[iceberg\]'"):
        take_snapshot(load(policy), None)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("iceberg://town/clinic", ""),
        ("iceberg://town/clinic/2026", ""),
        ("iceberg://town", "names no namespace"),
        ("iceberg:clinic", "names no namespace"),
        ("iceberg://reader:hunter2@town/clinic", "names no namespace"),
        ("iceberg://town/clinic?token=hunter2", "names no namespace"),
    ],
)
def test_an_address_names_a_namespace_and_holds_no_credentials(
    address: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text(POLICY.format(source=address))
    if not said:
        parts = tuple(address.removeprefix("iceberg://town/").split("/"))
        assert load(tmp_path / "policy.toml").origin == IcebergTables("town", parts)
        assert str(IcebergTables("town", parts)) == address
        return
    with pytest.raises(PolicyError) as caught:
        load(tmp_path / "policy.toml")
    assert said in str(caught.value) and "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "identity"),
    [
        ("s3://lake/clinic/people", "s3:lake/clinic/people"),
        ("s3a://lake/clinic//people/", "s3:lake/clinic/people"),
        ("gs://lake/clinic/people", "gs:lake/clinic/people"),
        ("abfss://lake@north.dfs.core.windows.net/people", "abfs:lake/people"),
        ("wasbs://lake@north.blob.core.windows.net/people", "abfs:lake/people"),
        ("hdfs://node/clinic/people", "hdfs:node/clinic/people"),
    ],
)
def test_a_place_in_a_store_is_claimed_as_a_source_there_claims_it(
    location: str, identity: str
) -> None:
    assert iceberg._address(location).identity == identity
