"""Tables of a lake whose files executors read where they are: the rows that a reader of the table has."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sanql
from sanql.engines import open_engine, prepare
from sanql.errors import LedgerError, PolicyError
from sanql.policy import Policy, load
from sanql.sources import FilesSource, Stamps, locate, take_snapshot
from sanql.sources.snapshots import read_manifest
from sources.source_contract import POLICY, ROWS, SourceContract
from support.samplers import SilentSampler

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
import deltalake

from support import iceberg
from support.delta import delete_places
from support.iceberg import catalogue, configure, write_table

pytestmark = pytest.mark.slow

ON_SPARK = '\n[engine]\nkind = "spark"\nmaster = "local[2]"\nlayout = "layout"\n'
SOURCES = {"delta": "delta:lake", "iceberg": f"iceberg://town/{iceberg.NAMESPACE}"}


def people(rows: int) -> pa.Table:
    return pa.table({"person_id": list(range(rows)), "age": list(range(20, 20 + rows))})


def write_delta(lake: Path, table: str, rows: pa.Table, mode: str = "overwrite") -> None:
    deltalake.write_deltalake(str(lake / table), rows, mode=mode, schema_mode=None)


def text_of(kind: str) -> str:
    return POLICY.format(source=SOURCES[kind]) + ON_SPARK


class InPlace(SourceContract):
    """What every source keeps, of tables that are read where they are."""

    name = "town.tables"
    of: str

    kind = FilesSource

    @pytest.fixture(autouse=True)
    def _configured(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        configure(monkeypatch, tmp_path / "lake")

    def write(self, place: Path, rows: int = ROWS) -> None:
        write_lake(self.of, place.parent / "lake", rows)
        (place.parent / "taking.toml").write_text(self.text())
        take_snapshot(load(place.parent / "taking.toml"), None)

    def text(self) -> str:
        return text_of(self.of)

    def private_files(self, place: Path) -> set[Path]:
        links = list((place / "people").iterdir())
        assert links and all(link.is_symlink() for link in links)
        return {link.resolve() for link in links}


class TestDeltaInPlace(InPlace):
    """Delta tables."""

    of = "delta"


class TestIcebergInPlace(InPlace):
    """Iceberg tables."""

    of = "iceberg"


def write_lake(kind: str, lake: Path, rows: int = ROWS) -> None:
    for name, table in (("people", people(rows)), ("cities", pa.table({"name": ["A", "B", "C"]}))):
        if kind == "delta":
            write_delta(lake, name, table)
        else:
            write_table(lake, name, table)


@pytest.fixture(params=["delta", "iceberg"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lake(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    configure(monkeypatch, tmp_path / "lake")
    write_lake(kind, tmp_path / "lake")
    (tmp_path / "policy.toml").write_text(text_of(kind))
    yield tmp_path / "lake"


def taken(lake: Path) -> Policy:
    policy = load(lake.parent / "policy.toml")
    take_snapshot(policy, None)
    return policy


def is_in_place(lake: Path, table: str = "people") -> bool:
    folder = lake.parent / "town.tables"
    assert (folder / table).is_dir() != (folder / f"{table}.parquet").is_file()
    return (folder / table).is_dir()


def rows_read(lake: Path) -> Counter[int]:
    """Return the ages of the people that San reads."""
    found: Counter[int] = Counter()
    policy = load(lake.parent / "policy.toml")
    for path in locate(policy).paths():
        stored = pq.ParquetFile(path).read()
        if "age" in stored.column_names:
            found += Counter(stored["age"].to_pylist())
    return found


def test_files_of_a_version_are_named_and_none_is_copied(lake: Path, kind: str) -> None:
    add = people(3)
    if kind == "delta":
        write_delta(lake, "people", add, "append")
    else:
        catalogue(lake).load_table("clinic.people").append(add)
    policy = taken(lake)
    assert is_in_place(lake) and is_in_place(lake, "cities")
    paths = locate(policy).paths()
    assert len(paths) == 3 and all(lake in path.parents for path in paths)
    assert rows_read(lake) == Counter(range(20, 20 + ROWS)) + Counter(range(20, 23))


def test_what_is_written_later_is_not_read_before_the_owner_says_so(lake: Path, kind: str) -> None:
    policy = taken(lake)
    before = Stamps(policy.ledger).of(locate(policy)).hashes
    write_lake(kind, lake, ROWS + 4)
    assert rows_read(lake) == Counter(range(20, 20 + ROWS))
    assert Stamps(policy.ledger).of(locate(policy)).hashes == before
    take_snapshot(policy, None)
    assert rows_read(lake) == Counter(range(20, 24 + ROWS))


def delta_deletes(lake: Path) -> None:
    deltalake.DeltaTable(str(lake / "people")).delete("age < 25")


def iceberg_deletes(lake: Path) -> None:
    catalogue(lake).load_table("clinic.people").delete("age < 25")


@pytest.mark.parametrize("table", ["delta", "iceberg"])
def test_files_that_were_rewritten_without_rows_are_read_in_place(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _lake(table, tmp_path, monkeypatch)
    (delta_deletes if table == "delta" else iceberg_deletes)(lake)
    taken(lake)
    assert is_in_place(lake)
    assert rows_read(lake) == Counter(range(25, 20 + ROWS))


def _lake(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    configure(monkeypatch, folder / "lake")
    write_lake(kind, folder / "lake")
    (folder / "policy.toml").write_text(text_of(kind))
    return folder / "lake"


def partitioned(lake: Path) -> None:
    """Ages stand in the log alone."""
    shutil.rmtree(lake / "people")
    deltalake.write_deltalake(str(lake / "people"), people(ROWS), partition_by=["age"])


def without_rows(lake: Path) -> None:
    deltalake.DeltaTable(str(lake / "people")).delete()


def with_a_column_added(lake: Path) -> None:
    """Files from before the column lack it."""
    shutil.rmtree(lake / "people")
    write_delta(lake, "people", people(ROWS).select(["person_id"]))
    table = deltalake.DeltaTable(str(lake / "people"))
    table.alter.add_columns([deltalake.Field("age", deltalake.schema.PrimitiveType("long"))])


def of_another_size(lake: Path) -> None:
    """The log notes another size for the file: it is not the file that was written."""
    log = lake / "people" / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            path = lake / "people" / action["add"]["path"]
            pq.write_table(people(ROWS), path, compression="none")
            assert path.stat().st_size != action["add"]["size"]
            action["add"].pop("stats", None)
    log.write_text("\n".join(map(json.dumps, actions)) + "\n")


def renamed(lake: Path) -> None:
    """What was called age is another column now."""
    table = catalogue(lake).load_table("clinic.people")
    with table.update_schema() as schema:
        schema.rename_column("age", "years")
        schema.rename_column("person_id", "age")
    with table.update_schema() as schema:
        schema.rename_column("years", "person_id")


def positions(lake: Path) -> None:
    iceberg.delete_positions(catalogue(lake).load_table("clinic.people"), [0, 9])


def widened(lake: Path) -> None:
    """Files from before have a narrower type."""
    found = catalogue(lake)
    found.drop_table("clinic.people")
    rows = people(ROWS)
    write_table(lake, "people", rows.set_column(1, "age", rows["age"].cast(pa.int32())))
    with found.load_table("clinic.people").update_schema() as schema:
        from pyiceberg.types import LongType

        schema.update_column("age", LongType())


@pytest.mark.parametrize(
    ("of", "change", "expected"),
    [
        ("delta", partitioned, range(20, 20 + ROWS)),
        ("delta", without_rows, ()),
        ("delta", with_a_column_added, None),
        ("iceberg", renamed, range(ROWS)),
        ("iceberg", positions, range(21, 29)),
        ("iceberg", widened, range(20, 20 + ROWS)),
    ],
)
def test_where_files_alone_do_not_say_what_rows_are_the_reader_of_the_table_does(
    of: str,
    change: Callable[[Path], None],
    expected: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = _lake(of, tmp_path, monkeypatch)
    change(lake)
    taken(lake)
    assert not is_in_place(lake) and is_in_place(lake, "cities")
    assert rows_read(lake) == (Counter({None: ROWS}) if expected is None else Counter(expected))


def test_a_file_that_is_not_as_its_log_notes_is_not_read_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _lake("delta", tmp_path, monkeypatch)
    of_another_size(lake)
    try:
        taken(lake)
    except PolicyError as fault:
        assert "could not be read" in str(fault)
    else:
        assert not is_in_place(lake)


def test_rows_that_are_deleted_by_their_values_stay_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _lake("iceberg", tmp_path, monkeypatch)
    iceberg.delete_values(catalogue(lake).load_table("clinic.people"), "age", [20], noted=False)
    with pytest.raises(PolicyError):
        taken(lake)


def test_rows_that_are_deleted_by_their_places_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the table's reader; where no row is, files are read in place though some might be."""
    lake = _lake("delta", tmp_path, monkeypatch)
    delete_places(lake / "people", [0, 9])
    taken(lake)
    assert not is_in_place(lake)
    assert rows_read(lake) == Counter(range(21, 29))


DECLARED = """\
[table.people.column]
price = { type = "decimal", bounds = [-10, 10], precision = 0.01 }
day = { type = "date", bounds = ["0001-01-01", "2030-01-01"] }
moment = { type = "timestamp", bounds = ["2000-01-01T00:00:00", "2030-01-01T00:00:00"] }
note = { type = "text" }
share = { type = "float", bounds = [0, 2], precision = 0.01 }
yes = { type = "boolean" }
"""


def test_every_type_is_read_as_the_reader_of_the_table_has_it(tmp_path: Path) -> None:
    moment = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=UTC)
    rows = pa.table(
        {
            "person_id": pa.array([1, 2, None], pa.int64()),
            "age": pa.array([1, -5, None], pa.int16()),
            "price": pa.array([Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(9, 2)),
            "day": [date(2020, 1, 1), None, date(1, 1, 1)],
            "moment": pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
            "note": ["é", None, ""],
            "share": [1.5, float("nan"), None],
            "yes": [True, None, False],
        }
    )
    text = POLICY.format(source="delta:lake").partition("[table.cities]")[0]
    text = text.replace("[table.people.column]\n", DECLARED)
    copies = []
    for place, engine in ((tmp_path / "here", ""), (tmp_path / "there", ON_SPARK)):
        write_delta(place / "lake", "people", rows)
        (place / "policy.toml").write_text(text + engine)
        policy = load(place / "policy.toml")
        take_snapshot(policy, None)
        copies.append(_copied(policy))
    assert is_in_place(tmp_path / "there" / "lake") and not is_in_place(tmp_path / "here" / "lake")
    assert copies[0] == copies[1] and len(copies[0]) >= 2


def _copied(policy: Policy) -> list[str]:
    """Return the rows of a copy, as text: NaN is like itself."""
    made = prepare(policy, engine=open_engine("in_process"))
    with duckdb.connect(str(made.database), read_only=True) as connection:
        ((table,),) = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        columns = ", ".join(["person_id", *policy.tables["people"].columns])
        rows = connection.sql(f'SELECT {columns} FROM "{table}" ORDER BY ALL')
        return [repr(rows.types), *map(repr, rows.fetchall())]


def test_files_that_are_gone_are_named_and_a_refresh_mends_it(lake: Path, kind: str) -> None:
    policy = lake.parent / "policy.toml"
    with sanql.open(policy):
        assert is_in_place(lake)
    write_lake(kind, lake, ROWS + 2)
    for link in (lake.parent / "town.tables" / "people").iterdir():
        link.resolve().unlink()
    with pytest.raises(PolicyError, match="the snapshot names is gone") as caught:
        locate(load(policy))
    assert "sanql refresh" in str(caught.value)
    with sanql.open(policy) as san:
        san.refresh()
    assert rows_read(lake) == Counter(range(20, 22 + ROWS))


def test_a_table_may_be_read_in_place_and_copied_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _lake("delta", tmp_path, monkeypatch)
    policy = taken(lake)
    assert is_in_place(lake)
    manifest = read_manifest(tmp_path / "town.tables")
    without_rows(lake)
    take_snapshot(policy, None)
    assert not is_in_place(lake) and rows_read(lake) == Counter()
    write_delta(lake, "people", people(4), "append")
    take_snapshot(policy, None)
    assert is_in_place(lake) and rows_read(lake) == Counter(range(20, 24))
    assert read_manifest(tmp_path / "town.tables") != manifest


def test_files_that_are_read_in_place_are_their_accounts(lake: Path, kind: str) -> None:
    """As the table is: whoever names them as Parquet files has no fresh budget."""
    policy = lake.parent / "policy.toml"
    with sanql.open(policy):
        assert is_in_place(lake)
    policy.write_text(policy.read_text().replace(ON_SPARK, ""))
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        assert san.query("SELECT COUNT(*) FROM people", epsilon="0.1").rows == [(ROWS,)]
    folder = lake.parent / "town.tables" / "people"
    (path,) = (link.resolve() for link in folder.glob("*.parquet"))
    write_lake(kind, lake, ROWS + 1)
    with sanql.San(load(policy), sampler=SilentSampler()) as san:
        policy.write_text(policy.read_text() + ON_SPARK)
        take_snapshot(load(policy), san.session.ledger.owner.holder_now)
    assert len(rows_read(lake)) == ROWS + 1
    assert (folder / ".sanql-account").is_file()
    other = lake.parent / "other"
    other.mkdir()
    (other / "people").symlink_to(path.parent)
    (other / "cities.csv").write_text("name\nA\n")
    (lake.parent / "other.toml").write_text(
        POLICY.format(source="other").replace('"town"', '"village"')
    )
    with (
        pytest.raises(LedgerError, match="another account"),
        sanql.open(lake.parent / "other.toml"),
    ):
        pass
