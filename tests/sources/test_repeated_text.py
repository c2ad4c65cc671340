"""A long text that many rows share is little in a Parquet file: whose rows they are decides for nobody.

One person has hundreds of rows of one text of a megabyte. Written in a dictionary, as differences or
compressed they are a few hundred kilobytes; what is read of them is 4,096 bytes each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import prepare
from sanql.kernel.arrow_values import shortened
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import ColumnType
from sanql.policy.model import Policy
from support.volume import few_of

MakePolicy = Callable[..., Policy]

ROWS = 500  # of a megabyte each: more than the memory of 512 MB and what is beside it
LONG = "€" * 350_000
READ = "€" * 1_365  # three bytes each: one more would be beyond 4,096
OTHERS = [(person, f"note {person}") for person in range(200)]


def notes(kind: pa.DataType, rows: int) -> pa.Table:
    """Return two hundred people's notes, and in their midst as many rows of one person's."""
    people = [person for person, _ in OTHERS]
    texts = pa.array([text for _, text in OTHERS] + [LONG])
    places = pa.array(people[:100] + [len(OTHERS)] * rows + people[100:], pa.int32())
    note = pa.DictionaryArray.from_arrays(places, texts)
    if not pa.types.is_dictionary(kind):
        pieces = [note.slice(at, 100).cast(kind) for at in range(0, len(note), 100)]
        note = pa.chunked_array(pieces)
    return pa.table({"id": people[:100] + [5_000] * rows + people[100:], "note": note})


def written(table: pa.Table, path: Path, **options: Any) -> None:
    pq.write_table(table, path, compression="zstd", **{"row_group_size": 1 << 20, **options})
    assert path.stat().st_size < 400_000


ENCODED = pa.dictionary(pa.int32(), pa.string())
# A page has no more than ten of them: it must fit into memory.
PLAIN = {"use_dictionary": False, "write_batch_size": 10}
FILES: dict[str, tuple[pa.DataType, dict[str, Any]]] = {
    "a dictionary": (ENCODED, {"store_schema": False}),
    "dictionaries of many row groups": (ENCODED, {"store_schema": False, "row_group_size": 300}),
    "large text": (pa.large_string(), {}),
    "differences": (pa.string(), {**PLAIN, "column_encoding": {"note": "DELTA_BYTE_ARRAY"}}),
    "a dictionary, and the file says so": (ENCODED, {}),
    "lengths": (pa.string(), {**PLAIN, "column_encoding": {"note": "DELTA_LENGTH_BYTE_ARRAY"}}),
}


def cells(policy: Policy) -> Counter[tuple[object, object]]:
    """Return how often each unit and what is read of its text are in the only table."""
    source = prepare(policy)
    (table,) = policy.tables
    stored = ", ".join(f'{sql} AS "{name}"' for name, sql in source.scans[table].items())
    sql = f"SELECT *, count(*) AS n FROM (SELECT {stored} FROM {source.relations[table]}) GROUP BY ALL"
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        rows = workers.run(Statement(sql)).to_pylist()
    return Counter({(row["id"], row.get("note")): row["n"] for row in rows})


@pytest.mark.slow
@pytest.mark.parametrize("name", few_of(FILES, 2))
def test_one_text_of_many_rows_is_read_and_everybody_elses_beside_it(
    name: str, folder: Path, make_policy: MakePolicy
) -> None:
    kind, options = FILES[name]
    columns: dict[str, ColumnType] = {"note": "text"}
    policy = make_policy({"t": ("id", columns)})
    written(notes(kind, ROWS), folder / "t.parquet", **options)
    assert cells(policy) == Counter(OTHERS) + Counter({(5_000, READ): ROWS})


@pytest.mark.slow
def test_without_those_rows_the_same_is_read_of_everybody_else(
    folder: Path, make_policy: MakePolicy
) -> None:
    written(notes(ENCODED, 0), folder / "t.parquet")
    assert cells(make_policy({"t": ("id", {"note": "text"})})) == Counter(OTHERS)


@pytest.mark.slow
def test_a_row_group_without_rows_is_read(folder: Path, make_policy: MakePolicy) -> None:
    table = notes(pa.string(), 0)
    with pq.ParquetWriter(folder / "t.parquet", table.schema) as writer:
        writer.write_table(table.slice(0, 0))
        writer.write_table(table)
    assert cells(make_policy({"t": ("id", {"note": "text"})})) == Counter(OTHERS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", few_of([pa.string(), pa.binary()], 1), ids=str)
def test_units_that_are_too_long_are_nobody_and_keep_nobody_from_being_counted(
    kind: pa.DataType, folder: Path, make_policy: MakePolicy
) -> None:
    table = notes(ENCODED, ROWS)
    units = table["note"].chunk(0)
    units = pa.DictionaryArray.from_arrays(units.indices, units.dictionary.cast(kind))
    written(pa.table({"id": units}), folder / "t.parquet", store_schema=False)
    texts = (text.encode() if kind == pa.binary() else text for _, text in OTHERS)
    policy = make_policy({"t": ("id", {})})
    assert cells(policy) == Counter({(text, None): 1 for text in texts}), "nobody is not copied"


@pytest.mark.slow
def test_units_of_a_megabyte_each_by_their_type_are_nobody(
    folder: Path, make_policy: MakePolicy
) -> None:
    one = pa.array([LONG.encode()], pa.binary(len(LONG.encode())))
    units = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), one)
    written(pa.table({"id": units}), folder / "t.parquet", store_schema=False)
    assert cells(make_policy({"t": ("id", {})})) == Counter()


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("character", ["a", "é", "€", "😀"])
def test_what_is_shortened_begins_as_before_and_is_as_much_too_long_as_it_was(
    character: str, kind: pa.DataType
) -> None:
    texts = ["x" * before + character * count for before in range(4) for count in range(12)]
    short = shortened(pa.array([text.encode() for text in texts], kind), 10)
    assert short.type == kind
    for text, found in zip(texts, short.to_pylist(), strict=True):
        encoded = text.encode()
        assert encoded.startswith(found)
        assert found.decode() == text[: len(found.decode())]
        assert found == encoded or 10 < len(found) <= 14


def test_what_is_no_text_and_too_long_stays_so_wherever_it_is_broken() -> None:
    values = [b"a" * 30 + b"\xff", b"\xff" + b"a" * 30, b"\xff", None, b"short"]
    first, second, *others = shortened(pa.array(values), 10).to_pylist()
    for found in (first, second):
        assert 10 < len(found) <= 14
        with pytest.raises(UnicodeDecodeError):
            found.decode()
    assert others == [b"\xff", None, b"short"]
