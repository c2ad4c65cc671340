"""Files of an object store, here the file system of this machine, keep what every source keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import sanql
from sanql.errors import LedgerError, PolicyError
from sanql.policy import ObjectStore, load
from sanql.sources import FilesSource, take_snapshot
from sanql.sources.snapshots import object_store
from sources.source_contract import POLICY, ROWS, SourceContract
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

COUNT = "SELECT COUNT(*) FROM people"


def write_store(store: Path, rows: int = ROWS) -> None:
    """Write people in two parts, with a column that nobody asks for, and cities in one file."""
    (store / "people").mkdir(parents=True, exist_ok=True)
    people = {"person_id": range(rows), "age": range(20, 20 + rows), "name": ["Alice"] * rows}
    table = pa.table({name: list(values) for name, values in people.items()})
    pq.write_table(table.slice(0, rows // 2), store / "people" / "0.parquet")
    pq.write_table(table.slice(rows // 2), store / "people" / "1.parquet")
    pq.write_table(pa.table({"name": ["A", "B", "C"]}), store / "cities.parquet")


class TestObjectStore(SourceContract):
    """Two tables of a store, as files beside the ledger."""

    name = "town.tables"
    kind = FilesSource

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.store = tmp_path / "store"

    def write(self, place: Path, rows: int = ROWS) -> None:
        write_store(self.store, rows)
        (place.parent / "taking.toml").write_text(self.text())
        take_snapshot(load(place.parent / "taking.toml"), None)

    def text(self) -> str:
        return POLICY.format(source=f"file://{self.store}")

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people.parquet"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_store(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def policy(store: Path, tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY.format(source=f"file://{store}"))
    return tmp_path / "policy.toml"


def test_only_columns_that_the_policy_uses_are_kept(policy: Path) -> None:
    take_snapshot(load(policy), None)
    kept = pq.read_table(policy.parent / "town.tables" / "people.parquet")
    assert kept.column_names == ["person_id", "age"] and len(kept) == ROWS


def test_a_snapshot_stays_until_the_owner_refreshes_and_the_account_goes_on(
    policy: Path, store: Path
) -> None:
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").rows == [(ROWS,)]
        write_store(store, ROWS + 2)
        assert san.query(COUNT, epsilon="0.1").cached
        assert san.refresh().number == 2
        assert san.query(COUNT, epsilon="0.1").rows == [(ROWS + 2,)]


def test_a_second_account_over_the_same_files_is_refused(
    policy: Path, store: Path, tmp_path: Path
) -> None:
    with sanql.open(policy) as san:
        san.query(COUNT, epsilon="0.1")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "policy.toml"
    for source in (f"file://{store}", str(store)):
        other.write_text(POLICY.format(source=source).replace('"town"', '"village"'))
        with pytest.raises(LedgerError, match="another account"):
            sanql.open(other)
    part = POLICY.format(source=f"file://{store}/people").partition("[table.cities]")[0]
    other.write_text(part.replace("table.people", "table.0"))
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(other)


def test_files_that_change_while_they_are_read_are_no_moment(
    policy: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = object_store._rows

    def changing(*given: object) -> pa.RecordBatchReader:
        pq.write_table(pa.table({"name": ["D"] * 9}), store / "cities.parquet")
        return rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(object_store, "_rows", changing)
    with pytest.raises(PolicyError, match=r"changed while they were read|could not be read"):
        take_snapshot(load(policy), None)
    assert not [*(policy.parent / "town.tables").glob("*.parquet")]


def _gone(store: Path) -> None:
    (store / "cities.parquet").unlink()


def _column(store: Path) -> None:
    pq.write_table(pa.table({"person_id": [1]}), store / "people" / "0.parquet")
    pq.write_table(pa.table({"person_id": [1]}), store / "people" / "1.parquet")


def _part(store: Path) -> None:
    pq.write_table(pa.table({"person_id": [1], "age": ["x"]}), store / "people" / "1.parquet")


def _text(store: Path) -> None:
    (store / "people" / "2.csv").write_text("person_id,age\n")


def _broken(store: Path) -> None:
    (store / "cities.parquet").write_bytes(b"Alice")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_gone, "table.cities: the source has no file or folder for it"),
        (_column, 'no column "age"'),
        (_part, 'a part lacks the column "age", or has another type'),
        (_text, "people is no Parquet file, or no folder of such"),
        (_broken, "cannot be listed and read"),
    ],
)
def test_what_does_not_fit_is_named_and_no_value_of_it(
    spoil: Callable[[Path], None], said: str, policy: Path, store: Path
) -> None:
    spoil(store)
    with pytest.raises(PolicyError) as caught:
        take_snapshot(load(policy), None)
    assert said in str(caught.value) and "Alice" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://bucket/path/", ""),
        ("s3://bucket/path?region=eu-north-1", ""),
        ("gs://bucket/path", ""),
        ("abfs://container@account.dfs.core.windows.net/path", ""),
        ("s3://key:hunter2@bucket/path", "credentials"),
        ("abfs://user:hunter2@account/path", "credentials"),
        ("s3://bucket/path?secret_key=hunter2", "not known"),
        ("s3:///path", "cannot be read"),
        ("file://host/path", "cannot be read"),
        ("s3://bucket", "cannot be read"),
    ],
)
def test_an_address_names_a_folder_and_holds_no_credentials(
    address: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text(POLICY.format(source=address))
    if not said:
        assert load(tmp_path / "policy.toml").origin == ObjectStore(address)
        return
    with pytest.raises(PolicyError) as caught:
        load(tmp_path / "policy.toml")
    assert said in str(caught.value) and "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "abfs://clinic@north.dfs.core.windows.net/a",
            "abfss://clinic@north.dfs.core.windows.net/a",
        ),
        (
            "abfs://clinic@north.dfs.core.windows.net/a",
            "abfss://north.dfs.core.windows.net/clinic/a",
        ),
        ("s3://clinic/a?region=eu-north-1", "s3://clinic//a/./?region=eu-north-1"),
        ("gs://clinic/a", "gs://clinic//a/"),
    ],
)
def test_a_store_spelled_otherwise_belongs_to_the_same_account(first: str, second: str) -> None:
    addresses = [
        object_store.address_in_store(ObjectStore(each), fs.FileSystem.from_uri(each)[1])
        for each in (first, second)
    ]
    assert addresses[0] == addresses[1]
