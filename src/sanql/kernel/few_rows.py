"""Few rows, fetched as values, as the Arrow table that a stream of them would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


def schema_of(description: Sequence[Sequence[object]] | None) -> pyarrow.Schema | None:
    """Return the schema of a result whose values are the same fetched as streamed; None if not sure."""
    import pyarrow

    known = {
        "BIGINT": pyarrow.int64(),
        "BOOLEAN": pyarrow.bool_(),
        "INTEGER": pyarrow.int32(),
        "VARCHAR": pyarrow.string(),
    }
    fields = [(str(name), known.get(str(kind))) for name, kind, *_ in description or ()]
    typed = [(name, kind) for name, kind in fields if kind is not None]
    return pyarrow.schema(typed) if typed and len(typed) == len(fields) else None


def whole_table(schema: pyarrow.Schema, rows: Sequence[Sequence[object]]) -> pyarrow.Table:
    """Return fetched rows as a table."""
    import pyarrow

    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [
        pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return pyarrow.Table.from_arrays(arrays, schema=schema)
