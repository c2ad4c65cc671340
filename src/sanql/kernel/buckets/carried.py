"""Rows on their way from one kernel to another: as Arrow has them, or as text where it would lose some.

Sums are whole numbers of 128 bits, which Arrow does not know, and what identifies a unit may be of any
type. The schema says what the engine called each type, and so every value arrives as it left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sanql.kernel.arrow_values import split_batch
from sanql.kernel.lockdown import quote_name
from sanql.kernel.run import PIECE_BYTES, pieces

if TYPE_CHECKING:
    import duckdb
    import pyarrow

AS_THEY_ARE = frozenset(
    [
        "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
        "UBIGINT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP",
    ]
)  # fmt: skip
"""Types whose values Arrow and Parquet have too, each of them; others are written as text."""

_TYPES = b"sanql.types"
_BATCH_ROWS = 1 << 10
_BATCH_ROWS_BY_PLACE = 1 << 12

Placed = tuple[int, "pyarrow.Table"]
"""Some rows, and the place that they all go to."""


def carried(types: Mapping[str, str]) -> str:
    """Return a list of columns, each as it is carried.

    >>> carried({"n": "HUGEINT", "city": "VARCHAR"})
    'CAST("n" AS VARCHAR) AS "n", "city"'
    """
    return ", ".join(
        name if kind in AS_THEY_ARE else f"CAST({name} AS VARCHAR) AS {name}"
        for name, kind in _quoted(types)
    )


def restored(types: Mapping[str, str]) -> str:
    """Return a list of columns, each of the type that it had before it was carried."""
    return ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in _quoted(types))


def carried_rows(rows: duckdb.DuckDBPyRelation) -> Iterator[pyarrow.Table]:
    """Yield rows in pieces of about a megabyte, at least one, which say what their types were."""
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    batches = rows.project(carried(types)).to_arrow_reader(_BATCH_ROWS)
    for piece in pieces(batches):
        yield piece.replace_schema_metadata({_TYPES: json.dumps(types).encode()})
    batches.close()


def carried_by_place(rows: duckdb.DuckDBPyRelation) -> Iterator[Placed]:
    """Yield rows in pieces of about a megabyte, those of a place together.

    The last column says which place that is, and is not carried.
    """
    *names, place = rows.columns
    types = dict(zip(names, map(str, rows.types), strict=False))
    last = quote_name(place)
    batches = (
        rows.project(f"{carried(types)}, {last}").order(last).to_arrow_reader(_BATCH_ROWS_BY_PLACE)
    )
    noted = {_TYPES: json.dumps(types).encode()}
    waiting: list[pyarrow.RecordBatch] = []
    current = size = 0
    for found, piece in _runs(batches):
        if waiting and (found != current or size >= PIECE_BYTES):
            yield current, _table(waiting, noted)
            waiting, size = [], 0
        current = found
        waiting.append(piece)
        size += piece.nbytes
    if waiting:
        yield current, _table(waiting, noted)
    batches.close()


def _runs(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Yield rows that follow each other and go to one place, without its column."""
    from pyarrow import compute

    for batch in batches:
        runs, start = compute.run_end_encode(batch.column(batch.num_columns - 1)), 0
        rows = batch.select(range(batch.num_columns - 1))
        for place, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            for piece in split_batch(rows.slice(start, end - start), PIECE_BYTES):
                yield place, piece
            start = end


def _table(batches: list[pyarrow.RecordBatch], noted: dict[bytes, bytes]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_batches(batches).replace_schema_metadata(noted)


def receive_rows(
    cursor: duckdb.DuckDBPyConnection, name: str, carried_pieces: Iterable[pyarrow.Table]
) -> None:
    """Make a table of a session, or fill it, with rows that were carried here."""
    arriving = f"arriving_{name}"
    for piece in carried_pieces:
        types: dict[str, str] = json.loads(piece.schema.metadata[_TYPES])
        columns = ", ".join(f"{quoted} {kind}" for quoted, kind in _quoted(types))
        cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {quote_name(name)} ({columns})")
        cursor.register(arriving, piece.replace_schema_metadata())
        cursor.execute(
            f"INSERT INTO temp.main.{quote_name(name)} SELECT {restored(types)} FROM {arriving}"  # noqa: S608
        )
        cursor.unregister(arriving)


def _quoted(types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((quote_name(name), kind) for name, kind in types.items())
