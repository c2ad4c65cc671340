"""Delta tables: one version of each keeps what every source keeps."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanql
from sanql.errors import LedgerError, PolicyError
from sanql.policy import DeltaTables, load
from sanql.sources import FilesSource, take_snapshot
from sanql.sources.snapshots import delta, read_manifest
from sources.source_contract import POLICY, ROWS, SourceContract
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

deltalake = pytest.importorskip("deltalake")
COUNT = "SELECT COUNT(*) FROM people"


def write_lake(lake: Path, rows: int = ROWS) -> None:
    """Write people with a column that nobody asks for, and cities."""
    people = {"person_id": range(rows), "age": range(20, 20 + rows), "name": ["Alice"] * rows}
    table = pa.table({name: list(values) for name, values in people.items()})
    deltalake.write_deltalake(str(lake / "people"), table, mode="overwrite")
    cities = pa.table({"name": ["A", "B", "C"]})
    deltalake.write_deltalake(str(lake / "cities"), cities, mode="overwrite")


class TestDeltaSource(SourceContract):
    """Two Delta tables, as files beside the ledger."""

    name = "town.tables"
    kind = FilesSource

    def write(self, place: Path, rows: int = ROWS) -> None:
        write_lake(place.parent / "lake", rows)
        (place.parent / "taking.toml").write_text(self.text())
        take_snapshot(load(place.parent / "taking.toml"), None)

    def text(self) -> str:
        return POLICY.format(source="delta:lake")

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people.parquet"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_lake(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def policy(lake: Path, tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY.format(source="delta:lake"))
    return tmp_path / "policy.toml"


def kept(policy: Path) -> pa.Table:
    return pq.read_table(policy.parent / "town.tables" / "people.parquet")


def test_rows_that_were_deleted_and_columns_that_nobody_uses_are_left_out(
    policy: Path, lake: Path
) -> None:
    deltalake.DeltaTable(str(lake / "people")).delete("age < 25")
    take_snapshot(load(policy), None)
    assert sorted(kept(policy).to_pydict()["age"]) == list(range(25, 20 + ROWS))
    assert kept(policy).column_names == ["person_id", "age"]
    manifest = read_manifest(policy.parent / "town.tables")
    assert manifest is not None and manifest.tables["people"].version == "1"


def test_what_is_written_meanwhile_is_of_a_later_version(
    policy: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = delta._rows

    def writing(*given: object) -> pa.RecordBatchReader:
        write_lake(lake, ROWS + 5)
        return rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(delta, "_rows", writing)
    take_snapshot(load(policy), None)
    assert len(kept(policy)) == ROWS


def test_a_snapshot_stays_until_the_owner_refreshes_and_the_account_goes_on(
    policy: Path, lake: Path
) -> None:
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").rows == [(ROWS,)]
        write_lake(lake, ROWS + 2)
        assert san.query(COUNT, epsilon="0.1").cached
        assert san.refresh().number == 2
        assert san.query(COUNT, epsilon="0.1").rows == [(ROWS + 2,)]


@pytest.mark.parametrize("copied", [False, True])
def test_a_second_account_over_a_table_or_its_copy_is_refused(
    copied: bool, policy: Path, lake: Path, tmp_path: Path
) -> None:
    with sanql.open(policy) as san:
        san.query(COUNT, epsilon="0.1")
    (tmp_path / "other").mkdir()
    if copied:
        shutil.copytree(lake, tmp_path / "other" / "lake")
    other = tmp_path / "other" / "policy.toml"
    source = "delta:lake" if copied else "delta:../lake"
    other.write_text(POLICY.format(source=source).replace('"town"', '"village"'))
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(other)
    assert not [*(tmp_path / "other").glob("*.tables/*.parquet")], "no row was read"


def test_a_part_of_a_table_is_its_accounts(policy: Path, lake: Path, tmp_path: Path) -> None:
    people = pa.table({"person_id": [1, 2], "age": [20, 30], "ward": ["a", "b"]})
    shutil.rmtree(lake / "people")
    deltalake.write_deltalake(str(lake / "people"), people, partition_by=["ward"])
    with sanql.open(policy) as san:
        san.query(COUNT, epsilon="0.1")
    part = lake / "people" / "ward=a"
    next(part.glob("*.parquet")).rename(part / "people.parquet")
    (part / "cities.csv").write_text("name\nA\n")
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "policy.toml"
    other.write_text(POLICY.format(source=str(part)).replace('"town"', '"village"'))
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(other)


def write_clone(lake: Path, clone: Path, form: str) -> None:
    """Write tables of their own whose logs name the files of others, as a shallow clone's do."""
    for table in ("people", "cities"):
        log = Path("_delta_log") / "00000000000000000000.json"
        actions = [json.loads(line) for line in (lake / table / log).read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["path"] = form.format(lake / table / action["add"]["path"])
            if "metaData" in action:
                action["metaData"]["id"] = str(uuid.uuid4())
        (clone / table / log).parent.mkdir(parents=True)
        (clone / table / log).write_text("\n".join(map(json.dumps, actions)) + "\n")


@pytest.mark.parametrize("form", ["file://{}", "{}"])
@pytest.mark.parametrize("clone_first", [False, True])
def test_a_clone_is_of_the_account_whose_files_it_reads(
    form: str, clone_first: bool, policy: Path, lake: Path, tmp_path: Path
) -> None:
    write_clone(lake, tmp_path / "other" / "lake", form)
    other = tmp_path / "other" / "policy.toml"
    other.write_text(POLICY.format(source="delta:lake").replace('"town"', '"village"'))
    first, second = (other, policy) if clone_first else (policy, other)
    with sanql.open(first) as san:
        san.query(COUNT, epsilon="0.1")
    (rows,) = first.parent.glob("*.tables/people.parquet")
    assert pq.read_table(rows).num_rows == ROWS
    with pytest.raises(LedgerError, match="another account"):
        sanql.open(second)
    assert not [*second.parent.glob("*.tables/*.parquet")], "no row was read"


def test_a_clone_of_files_that_cannot_be_claimed_is_refused(
    policy: Path, lake: Path, tmp_path: Path
) -> None:
    write_clone(lake, tmp_path / "clone", "s3://bucket{}")
    policy.write_text(POLICY.format(source="delta:clone"))
    with pytest.raises(PolicyError, match="names files that are neither in its folder"):
        take_snapshot(load(policy), None)


def test_what_does_not_fit_is_named_and_no_value_of_it(policy: Path, lake: Path) -> None:
    loaded = load(policy)
    log = lake / "people" / "_delta_log" / "00000000000000000000.json"
    text = log.read_text()
    log.write_text("Alice")
    with pytest.raises(PolicyError, match="could not be read") as caught:
        take_snapshot(loaded, None)
    assert "Alice" not in str(caught.value) and caught.value.__cause__ is None
    log.write_text(text)
    for part in (lake / "people").glob("*.parquet"):
        part.unlink()
    with pytest.raises(PolicyError, match="could not be read"):
        take_snapshot(loaded, None)
    shutil.rmtree(lake / "people")
    with pytest.raises(PolicyError, match=r"table.people: .*has no Delta table"):
        take_snapshot(loaded, None)
    shutil.rmtree(lake)
    with pytest.raises(PolicyError, match="cannot be listed"):
        take_snapshot(loaded, None)


def test_its_folder_is_found_from_the_policy(policy: Path, lake: Path) -> None:
    assert load(policy).origin == DeltaTables(str(lake))
    policy.write_text(POLICY.format(source="delta:s3://bucket/lake"))
    with pytest.raises(PolicyError, match="names no folder"):
        load(policy)
