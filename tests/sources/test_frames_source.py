"""Data frames that are passed keep what every source keeps, and are told apart from files by nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import sanql
from sanql.errors import PolicyError, Refused
from sanql.policy import load
from sanql.sources import FilesSource, locate, snapshot_frames
from sources.source_contract import POLICY, ROWS, SourceContract
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

TEXT = POLICY.replace('source = "{source}"\n', "").format()
CITIES = {"name": ["A", "B", "C"]}
COUNT = "SELECT COUNT(*) FROM people"


def people(rows: int = ROWS) -> dict[str, list[int]]:
    return {"person_id": list(range(rows)), "age": [20 + i for i in range(rows)]}


class TestFramesSource(SourceContract):
    """Two tables that were passed, as files beside the ledger."""

    name = "town.tables"
    kind = FilesSource

    def write(self, place: Path, rows: int = ROWS) -> None:
        (place.parent / "passed.toml").write_text(TEXT)
        snapshot_frames(
            load(place.parent / "passed.toml"), {"people": people(rows), "cities": CITIES}
        )

    def text(self) -> str:
        return TEXT

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people.parquet"}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(TEXT)
    return tmp_path / "policy.toml"


def _pandas(columns: dict[str, list[int]]) -> object:
    return pytest.importorskip("pandas").DataFrame(columns)


def _indexed(columns: dict[str, list[int]]) -> object:
    return pytest.importorskip("pandas").DataFrame(columns).set_index("age", drop=False)


def _by_person(columns: dict[str, list[int]]) -> object:
    return pytest.importorskip("pandas").DataFrame(columns).set_index("person_id")


def _doubled(columns: dict[str, list[int]]) -> object:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    return pandas.concat([frame, frame[["age"]]], axis=1)


def _polars(columns: dict[str, list[int]]) -> object:
    polars = pytest.importorskip("polars")
    halves = [polars.DataFrame({k: v[:3] for k, v in columns.items()})]
    return polars.concat([*halves, polars.DataFrame({k: v[3:] for k, v in columns.items()})])


def _batches(columns: dict[str, list[int]]) -> object:
    return pa.Table.from_batches(pa.table(columns).to_batches(max_chunksize=2)).to_reader()


def _relation(columns: dict[str, list[int]]) -> object:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.connect().from_arrow(pa.table(columns))


KINDS: list[Callable[[dict[str, list[int]]], object]] = [
    dict, pa.table, _batches, _pandas, _polars, _relation,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_are_the_same_data_whatever_frame_holds_them(
    kind: Callable[[dict[str, list[int]]], object], policy: Path
) -> None:
    loaded = load(policy)
    snapshot_frames(loaded, {"people": pa.table(people()), "cities": CITIES})
    before = _files(locate(loaded).paths())
    snapshot_frames(loaded, {"PEOPLE": kind(people()), "cities": CITIES})
    assert _files(locate(loaded).paths()) == before, "not even written anew"


def test_an_index_of_pandas_is_no_hindrance(policy: Path) -> None:
    for frame in (_indexed(people()), _by_person(people())):
        with sanql.open(policy, tables={"people": frame, "cities": CITIES}) as san:
            assert san.query(COUNT, epsilon="0.1").columns == ["count"]
            assert san.query("SELECT AVG(age) FROM people", epsilon="0.1").columns == ["avg"]


def _with_remarks(columns: dict[str, list[int]]) -> object:
    mixed = [*["so", 7] * len(columns["age"])][: len(columns["age"])]
    return pytest.importorskip("pandas").DataFrame({"remark": mixed, **columns})


@pytest.mark.parametrize("kind", [_with_remarks, lambda c: {"remark": [["a"]] * ROWS, **c}])
def test_columns_that_the_policy_does_not_use_are_not_kept_and_change_nothing(
    kind: Callable[[dict[str, list[int]]], object], policy: Path
) -> None:
    loaded = load(policy)
    snapshot_frames(loaded, {"people": pa.table(people()), "cities": CITIES})
    before = _files(locate(loaded).paths())
    snapshot_frames(loaded, {"people": kind(people()), "cities": CITIES})
    assert _files(locate(loaded).paths()) == before


def test_texts_that_a_library_codes_are_texts(policy: Path) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    loaded, names = load(policy), ["A", "B", None]
    snapshot_frames(loaded, {"people": people(), "cities": {"name": names}})
    before = _files(locate(loaded).paths())
    coded = [
        polars.DataFrame({"name": polars.Series(names, dtype=polars.Categorical)}),
        polars.DataFrame({"name": polars.Series(names, dtype=polars.Enum(["B", "A"]))}),
        pandas.DataFrame({"name": pandas.Categorical(names)}),
        pa.table({"name": pa.array(names).dictionary_encode()}),
    ]
    for cities in coded:
        snapshot_frames(loaded, {"people": people(), "cities": cities})
        assert _files(locate(loaded).paths()) == before


def test_a_frame_that_lacks_a_column_leaves_what_was_passed_before(policy: Path) -> None:
    with sanql.open(policy, tables={"people": people(), "cities": CITIES}) as san:
        san.query(COUNT, epsilon="0.1")
    with pytest.raises(PolicyError, match='no column "age"'):
        sanql.open(policy, tables={"people": {"person_id": [1, 2]}, "cities": CITIES})
    with sanql.open(policy) as san:
        assert san.query("SELECT AVG(age) FROM people", epsilon="0.1").version == 1


def test_questions_are_asked_of_what_was_passed(policy: Path) -> None:
    loaded = load(policy)
    snapshot_frames(loaded, {"people": people(7), "cities": CITIES})
    with sanql.San(loaded, sampler=SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").rows == [(7,)]


def test_other_rows_are_another_version_and_the_account_goes_on(policy: Path) -> None:
    tables = {"people": people(7), "cities": CITIES}
    with sanql.open(policy, tables=tables) as san:
        san.query(COUNT, epsilon="0.1")
        assert san.query(COUNT, epsilon="0.1").cached
    with sanql.open(policy, tables=tables | {"people": people(8)}) as san:
        with pytest.raises(Refused, match="refresh"):
            san.query("SELECT AVG(age) FROM people", epsilon="0.1")
        assert san.refresh().number == 2
        san.query(COUNT, epsilon="0.1")
        assert san.refresh(tables).number == 3
        san.query(COUNT, epsilon="0.1")
        (spent,) = {balance.spent_upper.epsilon for balance in san.balances()}
        assert spent == Fraction(3, 10)


def test_the_folder_is_open_to_its_owner_only(policy: Path) -> None:
    snapshot_frames(load(policy), {"people": people(), "cities": CITIES})
    folder = policy.parent / "town.tables"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_policy_without_a_source_says_how_tables_are_passed(policy: Path) -> None:
    with pytest.raises(PolicyError, match=r"no tables have been passed.*tables="):
        sanql.open(policy).query(COUNT, epsilon="0.1")


def test_a_policy_with_a_source_takes_no_tables(policy: Path) -> None:
    policy.write_text(POLICY.format(source="data"))
    with pytest.raises(PolicyError, match="names a source"):
        sanql.open(policy, tables={"people": people(), "cities": CITIES})


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"people": people()}, "table.cities: no such table was passed"),
        (
            {"peple": people(), "cities": CITIES},
            "table.people: no such table was passed; did you mean",
        ),
        (
            {"people": people(), "cities": CITIES, "visits": CITIES},
            "table.visits: a table was passed that",
        ),
        ({"people": people(), "People": people(), "cities": CITIES}, "passed twice"),
        ({"people": 7, "cities": CITIES}, "table.people: a int is no table"),
        (people(), "table.people: no such table was passed"),
        (_pandas(people()), "a DataFrame was passed, and not tables by their names"),
        (
            {"people": {"person_id": [1, "Alice"], "age": [1, 2]}, "cities": CITIES},
            "table.people.column.person_id: the column mixes types",
        ),
        (
            {"people": _pandas({"person_id": [1, "Alice"], "age": [1, 2]}), "cities": CITIES},
            "table.people.column.person_id: the column mixes types",
        ),
        (
            {"people": {"person_id": [1, 2], "age": [1]}, "cities": CITIES},
            "not as long as the others",
        ),
        (
            {"people": {"person_id": [1]}, "cities": CITIES},
            'table.people.column.age: the source has no column "age"',
        ),
        ({"people": _doubled(people()), "cities": CITIES}, 'several columns are called "age"'),
    ],
)
def test_what_does_not_fit_is_named_and_no_value_of_it(
    tables: dict[str, object], told: str, policy: Path
) -> None:
    with pytest.raises(PolicyError) as caught:
        sanql.open(policy, tables=tables)
    assert told in str(caught.value)
    assert "Alice" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not [*(policy.parent / "town.tables").glob("*.parquet")], "nothing of it is kept"


def test_a_snapshot_whose_exchange_was_interrupted_is_not_read(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, tables = load(policy), {"people": people(), "cities": CITIES}
    snapshot_frames(loaded, tables)
    replaced: list[Path] = []

    def cut_off(draft: Path, place: Path) -> Path:
        if replaced:
            os.sync()
            raise KeyboardInterrupt
        replaced.append(place)
        os.replace(draft, place)  # noqa: PTH105
        return place

    with monkeypatch.context() as power:
        power.setattr(Path, "replace", cut_off)
        with pytest.raises(KeyboardInterrupt):
            snapshot_frames(loaded, {"people": people(9), "cities": {"name": ["D"]}})
    with pytest.raises(PolicyError, match="not complete"):
        locate(loaded)
    snapshot_frames(loaded, tables)
    assert locate(loaded).paths()


def test_a_failing_stream_leaves_the_snapshot_before(policy: Path) -> None:
    loaded, tables = load(policy), {"people": people(), "cities": CITIES}
    snapshot_frames(loaded, tables)
    before = _files(locate(loaded).paths())

    def rows() -> Iterator[pa.RecordBatch]:
        yield from pa.table(people()).to_batches()
        raise ValueError("Alice")

    broken = pa.RecordBatchReader.from_batches(pa.table(people()).schema, rows())
    with pytest.raises(PolicyError, match="cannot be kept"):
        snapshot_frames(loaded, tables | {"people": broken})
    assert _files(locate(loaded).paths()) == before


def _files(paths: tuple[Path, ...]) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_ino, path.read_bytes()) for path in paths}
