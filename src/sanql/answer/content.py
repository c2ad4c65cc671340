"""The rows of an answer as they were measured: an Arrow table, and arrays of interval ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sanql.measurements import Reals
from sanql.question import Type
from sanql.results import Interval, ShownColumn, finite

if TYPE_CHECKING:
    import pyarrow

TYPE_NAMES = {"int64": "integer", "double": "real", "string": "text", "bool": "boolean"}


def arrow_type(kind: Type) -> pyarrow.DataType:
    """Return the type of a column over noisy cells."""
    import pyarrow as pa

    types = {
        Type.INTEGER: pa.int64(),
        Type.REAL: pa.float64(),
        Type.TEXT: pa.string(),
        Type.BOOLEAN: pa.bool_(),
        Type.DATE: pa.date32(),
        Type.TIMESTAMP: pa.timestamp("us"),
        Type.NULL: pa.null(),
    }
    return types[kind]


@dataclass(frozen=True)
class MeasuredContent:
    """Rows, and for each column that has noise the low and high ends of its rows' intervals."""

    table: pyarrow.Table
    ends: Mapping[str, tuple[Reals, Reals]]

    @property
    def columns(self) -> list[ShownColumn]:
        """The columns in order."""
        return [ShownColumn(field.name, _type_name(str(field.type))) for field in self.table.schema]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, as tuples."""
        columns = [column.to_pylist() for column in self.table.columns]
        return list(zip(*columns, strict=True))

    @property
    def intervals(self) -> dict[str, list[Interval]]:
        """The intervals as pairs of plain numbers."""
        return {name: _as_intervals(*ends) for name, ends in self.ends.items()}


def _as_intervals(lows: Reals, highs: Reals) -> list[Interval]:
    """Return interval ends as pairs; an unbounded end is None."""
    pairs = list(zip(lows.tolist(), highs.tolist(), strict=True))
    if np.isfinite(lows).all() and np.isfinite(highs).all():
        return pairs
    return [(finite(low), finite(high)) for low, high in pairs]


def _type_name(arrow: str) -> str:
    if arrow.startswith("timestamp"):
        return "timestamp"
    if arrow.startswith("date"):
        return "date"
    if arrow.startswith("decimal"):
        return "decimal"
    return TYPE_NAMES.get(arrow, arrow)
