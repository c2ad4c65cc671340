"""The rows of an answer and their intervals: what an answer is made of, wherever that is kept.

Whoever measured them has an Arrow table; whoever has them from a server has plain lists, and needs
neither Arrow nor NumPy until one of them is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from sanql.results.needed import need

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray

    Ends = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]

Interval = tuple[float | None, float | None]
DIGITS = 38  # of the decimals of exact answers


@dataclass(frozen=True)
class ShownColumn:
    """The name of a column, and its type as people call it."""

    name: str
    type: str


class Content(Protocol):
    """Rows and their intervals; an end that is unbounded is None."""

    @property
    def columns(self) -> list[ShownColumn]:
        """The columns in order."""

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, as tuples of plain values."""

    @property
    def intervals(self) -> dict[str, list[Interval]]:
        """For each column that has noise, a pair for each row."""

    @property
    def table(self) -> pyarrow.Table:
        """The rows as an Arrow table."""

    @property
    def ends(self) -> Ends:
        """The low and high ends of intervals as arrays, unbounded ones infinite."""


@dataclass(frozen=True)
class ReceivedContent:
    """Rows that a server has sent."""

    columns: list[ShownColumn]
    rows: list[tuple[Any, ...]]
    intervals: dict[str, list[Interval]]

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> ReceivedContent:
        """Return the content of an answer that was written as plain data."""
        columns = [ShownColumn(column["name"], column["type"]) for column in shape["columns"]]
        readers = [_READERS.get(column.type) for column in columns]
        return cls(
            columns,
            [_read_row(row, readers) for row in shape["rows"]],
            {
                name: [(low, high) for low, high in column]
                for name, column in shape["intervals"].items()
            },
        )

    @property
    def table(self) -> pyarrow.Table:
        """The rows as an Arrow table, of the types that the server's has."""
        pa = need("pyarrow")
        places = range(len(self.columns))
        values = [[row[place] for row in self.rows] for place in places]
        types = [_arrow_type(self.columns[place].type, values[place]) for place in places]
        arrays = [pa.array(column, kind) for column, kind in zip(values, types, strict=True)]
        table: pyarrow.Table = pa.Table.from_arrays(arrays, [c.name for c in self.columns])
        return table

    @property
    def ends(self) -> Ends:
        """The ends as arrays."""
        np = need("numpy")
        return {
            name: (
                np.array([-math.inf if low is None else low for low, _ in column], np.float64),
                np.array([math.inf if high is None else high for _, high in column], np.float64),
            )
            for name, column in self.intervals.items()
        }


_READERS = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": Decimal,
    "real": float,
}


def _read_row(row: Sequence[Any], readers: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        value if value is None or read is None else read(value)
        for value, read in zip(row, readers, strict=True)
    )


def _arrow_type(name: str, values: Sequence[Any]) -> Any:
    """Return the Arrow type that a column had before it was written as plain data."""
    pa = need("pyarrow")
    match name:
        case "integer":
            return pa.int64()
        case "real":
            return pa.float64()
        case "text":
            return pa.string()
        case "boolean":
            return pa.bool_()
        case "date":
            return pa.date32()
        case "timestamp":
            return pa.timestamp("us")
        case "decimal":
            places = {-value.as_tuple().exponent for value in values if value is not None}
            return pa.decimal128(DIGITS, max(places, default=0))
        case _:
            return None  # whatever suits the values


def with_interval_columns(
    table: pyarrow.Table, intervals: Mapping[str, Sequence[Interval]]
) -> pyarrow.Table:
    """Return rows with columns for interval ends, each pair behind the column that it is of."""
    pa = need("pyarrow")
    names: list[str] = []
    columns = []
    for name in table.column_names:
        names.append(name)
        columns.append(table.column(name))
        for place, end in enumerate(("low", "high") if name in intervals else ()):
            names.append(f"{name}_{end}")
            columns.append(pa.array([pair[place] for pair in intervals[name]], pa.float64()))
    found: pyarrow.Table = pa.Table.from_arrays(columns, names)
    return found
