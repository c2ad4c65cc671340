"""One person's long text decides nothing: not what fails, nor what anybody else's rows come to.

Keys leave the engine before a threshold hides the rare ones. So text is cut to a declared number of
bytes when it is read, and keys once more before rows are grouped by them: how large an exact group is
depends on the question alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sanql.catalog.description import PreparedSource
from sanql.compile.group_keys import KEY_BYTES_MAX
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import prepare
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import TEXT_BYTES_DEFAULT
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from support.cells import cells_of
from support.policies import dataset
from support.volume import share_rows_of

POLICY = (
    dataset("{source}", name="letters", epsilon="100.0", delta="1e-3", accounting="renyi")
    + """\
delta_per_query = 1e-6
[engine]
memory = "{memory}"
[table.people]
privacy_unit = "person"
rows_per_unit_max = 2
[table.people.column]
note = {{ type = "text" }}
long_note = {{ type = "text", bytes_max = 20000 }}
ill = {{ type = "boolean" }}
"""
)
LONG = 5_000_000
ATTACKS = {
    "substrings": ("SUBSTRING(note, 1, {n} + 9000000)", 60),
    "substrings of a long column": ("SUBSTRING(long_note, 1, {n} + 9000000)", 20),
    "a conditional": ("CASE WHEN ill THEN RIGHT(note, {n} + 9000000) END", 20),
    "put together": ("LOWER(long_note) || '{n}'", 20),
    "grown": ("UPPER(REPLACE(LEFT(long_note, 9000), 'x', 'ß{n}'))", 20),
    "repeated": ("REPEAT(LEFT(note, 900), 1{n})", 9),
}


def write_people(folder: Path, letter: str) -> Path:
    """Write a thousand people with short notes, and one with this one."""
    folder.mkdir()
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person, 'short' AS note, "
            "'short' AS long_note, range % 2 = 0 AS ill FROM range(1000)"
        )
        connection.execute("INSERT INTO people VALUES (-1, $1, $1, true)", [letter])
    path = folder / "policy.toml"
    path.write_text(POLICY.format(source="people.duckdb", memory="512MB"))
    return path


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[San, San]]:
    """Return two neighbours: one person's notes are short, or millions of bytes long."""
    root = tmp_path_factory.mktemp("letters")
    policies = [
        load(write_people(root / "short", "short")), load(write_people(root / "long", "x" * LONG)),
    ]  # fmt: skip
    with San(policies[0]) as short, San(policies[1]) as long:
        yield short, long


def cells(san: San, sql: str) -> list[dict[str, Any]]:
    """Return the exact cells of a question as they leave the engine, under one secret."""
    opened = san.session.data.open()
    return cells_of(sql, san.policy, opened.source, opened.workers.run, delta="1e-6")


def moved(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> int:
    """Return how far apart two answers' counts are, summed over all groups."""
    counts = [
        {tuple(v for k, v in cell.items() if k[0] == "k"): cell["m0"] for cell in cells}
        for cells in (one, other)
    ]
    groups = counts[0].keys() | counts[1].keys()
    return sum(abs(counts[0].get(group, 0) - counts[1].get(group, 0)) for group in groups)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_question_is_answered_whether_or_not_somebodys_text_is_long(
    worlds: tuple[San, San], attack: str
) -> None:
    """The groups of all others are the same, and no key is longer than the question allows."""
    key, count = ATTACKS[attack]
    keys = ", ".join(f"{key.format(n=n)} AS k{n}" for n in range(count))
    places = ", ".join(f"k{n}" for n in range(count))
    sql = f"SELECT {keys}, COUNT(*) AS n FROM people GROUP BY {places}"
    short, long = (cells(san, sql) for san in worlds)
    assert moved(short, long) <= 2
    for cell in long:
        texts = [value for value in cell.values() if isinstance(value, str)]
        assert max((len(text.encode()) for text in texts), default=0) <= KEY_BYTES_MAX
    for san in worlds if attack == "substrings" else ():
        san.query(sql, epsilon=1)


TEXTS = [
    "", "short", "x" * 4095, "x" * 4096, "x" * 4097, "é" * 4096, "x" + "é" * 4096, "€" * 4096,
    "x" + "€" * 4096, "🦀" * 4096, "x🦀" * 4096, "xx" + "🦀" * 4096, "xxx" + "🦀" * 4096,
    "e\u0301" * 4096, "\x00" * 5000, "a\x00" * 5000, "\u202e" * 5000, "x" * 4093 + "🦀",
    "x" * 4092 + "🦀" * 2, None,
]  # fmt: skip


def beginning_of(text: str | None, most: int) -> str | None:
    """Return as many whole characters as fit: the oracle, letter by letter."""
    if text is None:
        return None
    size, kept = 0, []
    for letter in text:
        size += len(letter.encode())
        if size > most:
            break
        kept.append(letter)
    return "".join(kept)


def rows_of(source: PreparedSource, policy: Policy) -> list[tuple[Any, ...]]:
    scans = source.scans["people"]
    columns = ", ".join(f'{text} AS "{name}"' for name, text in scans.items())
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(Statement(f"SELECT {columns} FROM {source.relations['people']}"))
    return [tuple(row.values()) for row in found.to_pylist()]


def write_duckdb(path: Path, people_read: pa.Table) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM people_read")


def write_enum(path: Path, people_read: pa.Table) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE letter AS ENUM (SELECT DISTINCT note FROM people_read)")
        connection.execute(
            "CREATE TABLE people AS SELECT person, note::letter AS note, "
            "long_note::letter AS long_note, ill FROM people_read"
        )


def write_dictionary(path: Path, people_read: pa.Table) -> None:
    encoded = people_read["note"].combine_chunks().dictionary_encode()
    pq.write_table(people_read.set_column(1, "note", encoded), path)


WRITERS: dict[str, tuple[str, Callable[[Path, pa.Table], object]]] = {
    "duckdb": ("people.duckdb", write_duckdb),
    "enum": ("people.duckdb", write_enum),
    "parquet": ("people.parquet", lambda path, table: pq.write_table(table, path)),
    "dictionary": ("people.parquet", write_dictionary),
    "csv": ("people.csv", lambda path, table: pa.csv.write_csv(table, path)),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITERS)
def test_a_text_is_read_up_to_its_last_whole_character_that_fits(tmp_path: Path, form: str) -> None:
    name, write = WRITERS[form]
    texts = [text or None for text in TEXTS] if form == "csv" else TEXTS  # where '' is missing
    table = pa.table(
        {
            "person": pa.array(range(len(texts)), pa.int64()),
            "note": pa.array(texts, pa.string()),
            "long_note": pa.array(texts, pa.string()),
            "ill": pa.array([True] * len(texts)),
        }
    )
    write(tmp_path / name, table)
    path = tmp_path / "policy.toml"
    path.write_text(
        POLICY.format(source=name, memory="512MB")
        + 'person = { type = "integer" }\n' * (form == "csv")
    )
    policy = load(path)
    found = sorted(rows_of(prepare(policy), policy))
    assert found == [
        (person, beginning_of(text, TEXT_BYTES_DEFAULT), beginning_of(text, 20_000), True)
        for person, text in enumerate(texts)
    ]


UNITS = ["a", "x" * 4096, "x" * 4097, "x" * 4098, "x" * 4096 + "é", "é" * 2049, "é" * 2048]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "form"),
    share_rows_of(product([False, True], ["duckdb", "enum", "parquet", "csv", "blob"]), 2),
)
def test_a_long_identifier_is_never_taken_for_another_one(
    tmp_path: Path, form: str, declared: bool
) -> None:
    """What is too long identifies nobody, and its row is not counted."""
    identifiers = pa.array([unit.encode() for unit in UNITS] if form == "blob" else UNITS)
    rows = len(UNITS)
    table = pa.table(
        {
            "person": identifiers,
            "note": ["n"] * rows,
            "long_note": ["n"] * rows,
            "ill": [True] * rows,
        }
    )
    if form == "enum":
        with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
            people_read = table  # noqa: F841  (scanned below)
            connection.execute("CREATE TYPE name AS ENUM (SELECT person FROM people_read)")
            connection.execute("CREATE TABLE people AS SELECT * FROM people_read")
            connection.execute("ALTER TABLE people ALTER person TYPE name")
        name = "people.duckdb"
    else:
        name, write = WRITERS["duckdb" if form == "blob" else form]
        write(tmp_path / name, table)
    if declared and form == "blob":
        pytest.skip("binary cannot be declared as a column")
    path = tmp_path / "policy.toml"
    path.write_text(
        POLICY.format(source=name, memory="512MB")
        + 'person = { type = "text", bytes_max = 4096 }\n' * declared
    )
    policy = load(path)
    prepared = prepare(policy)
    found = [row[0] for row in rows_of(prepared, policy)]
    short = [unit for unit in UNITS if len(unit.encode()) <= TEXT_BYTES_DEFAULT]
    told = [unit.decode() if isinstance(unit, bytes) else unit for unit in found if unit]
    assert sorted(told) == sorted(short)
    # a row that is nobody's is not in a copy, and is read as nobody's where it is read in place
    copied = prepared.database != tmp_path / name
    assert copied or form not in ("parquet", "csv")
    assert found.count(None) == (0 if copied else len(UNITS) - len(short))
