"""A draft says what the files are made of and nothing that is in them."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.errors import PolicyError
from sanql.policy import draft, load
from sanql.policy.model import Column, ViaUnit

Write = Callable[[str], Path]

BLANKS = [
    "[dataset] neighbours",
    "[dataset] budget.epsilon",
    "[dataset] budget.delta",
    "[dataset] accounting",
]
MARKER = "zqmarker"


@pytest.fixture
def people_parquet(tmp_path: Path) -> Path:
    """Return a Parquet file in which every value is a marker, with statistics and metadata."""
    text = pa.array([f"{MARKER}{number}" for number in range(3)])
    table = pa.table(
        {
            "person_id": pa.array([7770001, 7770002, 7770003], pa.int64()),
            "name": text,
            "ward": text.dictionary_encode(),
            "income": pa.array([Decimal("77700.01")] * 3, pa.decimal128(12, 2)),
            "weight": pa.array([777.25] * 3, pa.float32()),
            "smokes": pa.array([True, False, None]),
            "born": pa.array([date(1777, 7, 7)] * 3),
            "seen": pa.array([datetime(1777, 7, 7)] * 3, pa.timestamp("us")),
            "seen_utc": pa.array([datetime(1777, 7, 7)] * 3, pa.timestamp("us", "UTC")),
            "notes": pa.array([[MARKER]] * 3),
            "span": pa.array([timedelta(777)] * 3),
        }
    ).replace_schema_metadata({"comment": MARKER})
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    return path


def fill(text: str, **answers: str) -> str:
    """Return a draft with the owner's decisions made."""
    decided = {
        "neighbours": '"add-remove"',
        "epsilon": "1",
        "delta": "1e-6",
        "accounting": '"renyi"',
        "privacy_unit": '"person_id"',
        "rows_per_unit_max": "5",
        "type": '"text"',
        **answers,
    }
    for key, value in decided.items():
        text = text.replace(f'{key} = ""', f"{key} = {value}")
    return text


def blanks_of(path: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        load(path)
    assert all("is left blank" in fault.message for fault in caught.value.faults)
    return [fault.place.partition(" (line")[0] for fault in caught.value.faults]


def test_a_parquet_draft_needs_only_the_blanks_that_loading_names(
    people_parquet: Path, write: Write
) -> None:
    text = draft([people_parquet], "clinic")
    assert blanks_of(write(text)) == [
        *BLANKS,
        "[table.people] privacy_unit",
        "[table.people] rows_per_unit_max",
    ]
    policy = load(write(fill(text)))
    assert (policy.name, policy.source) == ("clinic", str(people_parquet))
    assert {name: column.type for name, column in policy.tables["people"].columns.items()} == {
        "person_id": "integer",
        "name": "text",
        "ward": "text",
        "income": "decimal",
        "weight": "float",
        "smokes": "boolean",
        "born": "date",
        "seen": "timestamp",
        "seen_utc": "timestamp",
    }
    assert str(policy.tables["people"].columns["income"].precision) == "1/100"
    for left_out in ("notes", "span"):
        assert f"# {left_out} is left out" in text


def test_a_csv_draft_leaves_the_types_blank_too(tmp_path: Path, write: Write) -> None:
    file = tmp_path / "people.csv"
    file.write_text('\ufeffperson_id;age;home town;"a;b"\n1;2;3;4\n', encoding="utf-8")
    text = draft([file], "clinic")
    assert blanks_of(write(text)) == [
        *BLANKS,
        "[table.people] privacy_unit",
        "[table.people] rows_per_unit_max",
        "[table.people.column] person_id.type",
        "[table.people.column] age.type",
        '[table.people.column] "home town".type',
        '[table.people.column] "a;b".type',
    ]
    columns = load(write(fill(text))).tables["people"].columns
    assert list(columns) == ["person_id", "age", "home town", "a;b"]
    assert columns["age"] == Column("age", "text")


def test_a_duckdb_draft_has_the_tables_but_not_the_views(tmp_path: Path, write: Write) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(file) as db:
        db.execute(f"""
            CREATE TYPE ward AS ENUM ('{MARKER}');
            CREATE TABLE visits (person_id BIGINT, ward ward, cost DECIMAL(9, 3), tags VARCHAR[],
                note VARCHAR DEFAULT '{MARKER}' CHECK (note <> '{MARKER}x'), seen TIMESTAMPTZ,
                twice BIGINT GENERATED ALWAYS AS (person_id * 777001), key UUID,
                pair STRUCT(x INTEGER));
            INSERT INTO visits (person_id, ward, note) VALUES (777002, '{MARKER}', '{MARKER}');
            COMMENT ON TABLE visits IS '{MARKER}';
            CREATE VIEW recent AS SELECT * FROM visits WHERE note = '{MARKER}';
            CREATE SCHEMA other; CREATE TABLE other.hidden (x INTEGER);
            CREATE TABLE "A b" ("x.y" DOUBLE);
        """)
    text = draft([file], "clinic")
    assert MARKER not in text
    assert "777" not in text
    policy = load(write(fill(text)))
    assert {
        name: {column.name: column.type for column in table.columns.values()}
        for name, table in policy.tables.items()
    } == {
        "A b": {"x.y": "float"},
        "visits": {
            "person_id": "integer",
            "ward": "text",
            "cost": "decimal",
            "note": "text",
            "seen": "timestamp",
        },
    }


def test_a_parquet_draft_contains_no_value(people_parquet: Path) -> None:
    text = draft([people_parquet], "clinic")
    assert MARKER not in text
    assert "777" not in text


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=5))
def test_a_draft_is_the_same_whatever_the_rows_are(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    drafts = set()
    for values in (rows, []):
        notes = {
            "id": pa.array(range(len(values)), pa.int32()),
            "note": pa.array(values, pa.string()),
        }
        pq.write_table(pa.table(notes), folder / "a.parquet")
        with (folder / "b.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "note"], *enumerate(values)])
        drafts.add(draft([folder], "d"))
    assert len(drafts) == 1


def test_only_the_first_line_of_a_csv_file_matters(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    drafts = set()
    for rest in (
        b"",
        b"\n",
        b"\r\n1,2\r\n",
        b"\r1,2\r",
        b"\n\xff\xfe\x00",
        b"\n" + b"x" * 3_000_000,
    ):
        file.write_bytes(b"a,b" + rest)
        drafts.add(draft([file], "d"))
    assert len(drafts) == 1


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)


@settings(deadline=None)
@given(columns=st.lists(NAMES, max_size=5), name=NAMES)
def test_names_of_any_kind_make_a_draft_that_is_toml(
    tmp_path_factory: pytest.TempPathFactory, columns: list[str], name: str
) -> None:
    file = tmp_path_factory.mktemp("names") / "t\n[x].parquet"
    no_rows = [*[pa.array([], pa.string())] * len(columns), pa.array([], pa.binary())]
    pq.write_table(pa.Table.from_arrays(no_rows, [*columns, "left out\n[y]"]), file)
    content = tomllib.loads(draft([file], name))
    assert content["dataset"]["name"] == name
    assert content["table"]["t\n[x]"]["column"].keys() == {each for each in columns if each.strip()}


def test_several_files_of_one_folder_are_one_source(people_parquet: Path, write: Write) -> None:
    other = people_parquet.with_name("visits.csv")
    other.write_text("person_id,cost\n")
    folder = people_parquet.parent
    several = load(write(fill(draft([people_parquet, other], "clinic"))))
    whole = load(write(fill(draft([folder], "clinic"))))
    assert several.source == whole.source == str(folder)
    assert list(several.tables) == list(whole.tables) == ["people", "visits"]


def test_a_draft_says_how_a_foreign_key_that_leads_to_the_unit_is_written(
    people_parquet: Path, write: Write
) -> None:
    """What the comment shows is read when it is pasted."""
    orders, items = (people_parquet.with_name(f"{name}.csv") for name in ("orders", "items"))
    orders.write_text("order_id,person_id\n")
    items.write_text("order_id,price\n")
    text = fill(draft([items, orders], "shop"))
    shown = '{ via = "order_id", references = "orders" }'
    assert f"through another table, {shown}." in text
    before, _, after = text.partition("[table.orders]")
    filled = next(line for line in before.splitlines() if line.startswith("privacy_unit"))
    pasted = before.replace(filled, f"privacy_unit = {shown}")
    policy = load(write(f'{pasted}[table.orders]\nkey = "order_id"{after}'))
    assert policy.tables["items"].unit == ViaUnit("order_id", "orders", "order_id")


def test_a_folder_of_parts_is_one_table(people_parquet: Path, write: Write) -> None:
    folder = people_parquet.parent / "source"
    (folder / "visits").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    (folder / "empty").mkdir()
    for name in ("visits/2023.csv", "visits/2024.csv", "_temporary/x.csv", ".y.csv", "z.txt"):
        (folder / name).write_text("person_id,cost\n")
    people_parquet.rename(folder / "people.parquet")
    policy = load(write(fill(draft([folder], "clinic"))))
    assert list(policy.tables) == ["people", "visits"]
    assert list(policy.tables["visits"].columns) == ["person_id", "cost"]


def test_a_column_that_appears_twice_is_drafted_once(tmp_path: Path, write: Write) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,a\n")
    text = draft([file], "d")
    assert "# twice in the source: a" in text
    assert list(load(write(fill(text))).tables["t"].columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.parquet", MARKER.encode(), "cannot be read as Parquet"),
        ("x.parquet", None, "no such file"),
        ("x.csv", b"", "does not begin with a line of column names"),
        ("x.csv", b"\n" + MARKER.encode(), "does not begin with a line of column names"),
        ("x.csv", b'a,"b\n' + MARKER.encode() + b'"\n', "a line break in it"),
        ("x.csv", b"\xff\xfe" + MARKER.encode(), "cannot be read as UTF-8"),
        ("x.csv", b"a," * 600_000 + MARKER.encode(), "does not begin"),
        ("x.csv", None, "no such file"),
        ("x.duckdb", MARKER.encode() * 1000, "cannot be read as a DuckDB database"),
        ("x.duckdb", None, "no such file"),
        ("x.json", b"{}", "is not a .parquet, .csv or .duckdb file"),
    ],
)
def test_a_file_without_a_schema_is_refused_without_quoting_it(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        draft([file], "d")
    (fault,) = caught.value.faults
    assert words in fault.message
    assert name in fault.place
    assert MARKER not in str(caught.value)


def test_files_that_cannot_be_one_source_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in ("a.csv", "A.csv", "b.csv", "other/c.csv"):
        (tmp_path / name).write_text("x\n")
    with duckdb.connect(tmp_path / "d.duckdb") as db:
        db.execute("CREATE TABLE t (x INTEGER)")
    with duckdb.connect(tmp_path / "e.duckdb"):
        pass
    (tmp_path / "empty").mkdir()
    for names, words in [
        ([], "no file is named"),
        (["a.csv", "A.csv"], 'two tables would be called "A"'),
        (["b.csv", "other/c.csv"], "a policy has one source"),
        (["b.csv", "d.duckdb"], "a policy has one source"),
        (["e.duckdb"], "no table is found"),
        (["empty"], "holds no .parquet or .csv file"),
    ]:
        with pytest.raises(PolicyError, match=words):
            draft([tmp_path / name for name in names], "d")


def test_reading_a_duckdb_schema_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "d.duckdb"
    with duckdb.connect(file) as db:
        db.execute("CREATE TABLE t (x INTEGER)")
    before = file.read_bytes()
    draft([file], "d")
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["d.duckdb"]
