"""How many rows of a Parquet file are read at a time, so that they fit into memory when written out.

A text that many rows share is in a file once: in a dictionary, or as what differs from the text before.
Three thousand rows of a megabyte are 50 kB there and 3 GB when they are read, and one person may have
them. So a dictionary is looked at before its rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.arrow_values import gathered, is_text, of_any_length, plain_type, shortened, total
from sanql.kernel.stored_types import ROWS_READ_AT_ONCE

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_ROWS_OF_ANY_LENGTH = 1 << 6  # of texts of which the file does not tell how long they are
_BYTES = 16 << 20  # of rows as long as the mean
BATCH_BYTES = 8 << 20  # of rows as long as the longest; DuckDB may copy several batches at once
_READ_BYTES = 1 << 20
_TEXT_BYTES = 32 << 20  # of all texts of a row group, which may be those of a few rows
_DICTIONARIES = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}


def parquet_file(path: Path, dictionaries: Sequence[str] = ()) -> pyarrow.parquet.ParquetFile:
    """Return a file that is read page by page: a row group may be larger than the memory."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(
        path,
        read_dictionary=list(dictionaries),
        buffer_size=_READ_BYTES,
        coerce_int96_timestamp_unit="us",  # in nanoseconds, years beyond 2262 would wrap around
    )


def narrow_batches(
    path: Path,
    fields: Sequence[pyarrow.Field],
    bytes_max: Mapping[str, int],
    share: tuple[int, int] = (0, 1),
) -> Iterator[pyarrow.RecordBatch]:
    """Yield these fields of a file's rows, read few at a time where they may be long.

    Of those in `bytes_max`, values that are longer may be shortened to a character more than that. A
    `share` is its number and how many there are: each row group is in one of them.
    """
    from pyarrow import types

    names = [field.name for field in fields]
    # Asked for as dictionaries, or Arrow would convert them itself, and stop where text is broken.
    encoded = [
        field.name
        for field in fields
        if types.is_dictionary(field.type) and is_text(field.type.value_type)
    ]
    texts = [field.name for field in fields if of_any_length(field.type)]
    file, looked_up = parquet_file(path, encoded), parquet_file(path, texts)
    widest = max(1, BATCH_BYTES // max(_fixed_width(fields), 1))
    own, shares = share
    for number in range(file.num_row_groups):
        if number * shares // file.num_row_groups != own:
            continue
        rows = min(widest, _by_mean(file, number, names), _by_longest(looked_up, number, texts))
        batches = file.iter_batches(rows, [number], columns=names, use_threads=False)
        if rows < ROWS_READ_AT_ONCE:
            short = (_shortened(batch, bytes_max) for batch in batches)
            batches = gathered(short, BATCH_BYTES, ROWS_READ_AT_ONCE)
        yield from batches


def _shortened(batch: pyarrow.RecordBatch, bytes_max: Mapping[str, int]) -> pyarrow.RecordBatch:
    """Return a batch without what counts of no text, before more rows come to it."""
    for place, field in enumerate(batch.schema):
        if of_any_length(field.type):
            column = total(batch.column(place))
            if field.name in bytes_max:
                column = shortened(column, bytes_max[field.name])
            batch = batch.set_column(place, field.name, column)
    return batch


def _fixed_width(fields: Sequence[pyarrow.Field]) -> int:
    """Return the bytes of a row whose number is part of their type; they may be shared, too."""
    from pyarrow import types

    plain = (plain_type(field.type) for field in fields)
    return sum(int(kind.byte_width) for kind in plain if types.is_fixed_size_binary(kind))


def _by_mean(file: pyarrow.parquet.ParquetFile, number: int, names: Sequence[str]) -> int:
    """Return how many rows of a row group may be read together if all are as long as the mean."""
    group = file.metadata.row_group(number)
    size = sum(int(chunk.total_uncompressed_size) for chunk in _chunks(group, names))
    return min(ROWS_READ_AT_ONCE, 1 + _BYTES * int(group.num_rows) // max(size, 1))


def _by_longest(file: pyarrow.parquet.ParquetFile, number: int, texts: Sequence[str]) -> int:
    """Return how many rows may be read together if all have the longest texts of the row group.

    `file` reads these texts as dictionaries.
    """
    chunks = _chunks(file.metadata.row_group(number), texts)
    shared = [c.path_in_schema for c in chunks if _DICTIONARIES & set(c.encodings)]
    longest = _longest(file, number, shared)
    size = sum(int(chunk.total_uncompressed_size) for chunk in chunks)
    differences = any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks)
    if longest is None or differences or size > _TEXT_BYTES:
        return max(1, min(_ROWS_OF_ANY_LENGTH, BATCH_BYTES // max(longest or 0, 1)))
    return max(1, min(ROWS_READ_AT_ONCE, BATCH_BYTES // max(longest, 1)))


def _longest(file: pyarrow.parquet.ParquetFile, number: int, shared: Sequence[str]) -> int | None:
    """Return the bytes of the longest texts in a row group's dictionaries; None if one is not shown."""
    from pyarrow import compute, types

    if not shared:
        return 0
    batches = file.iter_batches(1, [number], columns=list(shared), use_threads=False)
    first = next(batches, None)
    if first is None:  # no rows
        return 0
    if not all(types.is_dictionary(column.type) for column in first.columns):
        return None
    lengths = (compute.max(compute.binary_length(c.dictionary)).as_py() for c in first.columns)
    return sum(int(length or 0) for length in lengths)


def _chunks(
    group: pyarrow.parquet.RowGroupMetaData, names: Sequence[str]
) -> list[pyarrow.parquet.ColumnChunkMetaData]:
    """Return what a row group holds of these columns."""
    chunks = (group.column(place) for place in range(group.num_columns))
    return [chunk for chunk in chunks if chunk.path_in_schema in names]
