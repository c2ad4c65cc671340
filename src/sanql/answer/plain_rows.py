"""The rows of a question that shows its keys and statistics as they are, arranged without an engine.

Most questions put no arithmetic around their statistics and ask for no order. What SQL would make of
their groups is then the columns themselves, ordered by the keys; an engine takes a hundred times as long
to say so. Wherever the outcome could differ by a bit, nothing is arranged here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sanql.answer.content import arrow_type
from sanql.question import AggregateRef, Expr, KeyRef, Query, Type

if TYPE_CHECKING:
    import pyarrow

_ROWS_MAX = 4096  # of more, an engine's share of the time is small


def plain_rows(query: Query, groups: pyarrow.Table, bands: Collection[int]) -> pyarrow.Table | None:
    """Return outputs o0… and interval ends of `bands`, as SQL over the groups would; None if it must."""
    sources = [_column_of(output.expression) for output in query.outputs]
    if not _is_plain(query) or None in sources or groups.num_rows > _ROWS_MAX:
        return None
    columns = {f"o{i}": source for i, source in enumerate(sources) if source is not None}
    for output, name in zip(query.outputs, columns, strict=True):
        if groups.schema.field(columns[name]).type != _stays(output.expression.facts.type):
            return None
    columns |= {f"{end}{i}": f"{end}{i}" for i in bands for end in ("low", "high")}
    keys = [f"k{index}" for index in range(len(query.keys))]
    if not all(_is_ordered_alike(groups.schema.field(key).type) for key in keys):
        return None
    shown = _ordered(groups, keys).select(list(columns.values()))
    return shown.rename_columns(list(columns))


def _is_plain(query: Query) -> bool:
    """Return whether nothing stands around the groups: no condition, order, limit or total."""
    limited = query.limit is not None or query.offset
    return not (query.sets or query.distinct or query.order or query.having is not None or limited)


def _column_of(expression: Expr) -> str | None:
    match expression:
        case KeyRef(index):
            return f"k{index}"
        case AggregateRef(index):
            return f"a{index}"
        case _:
            return None


def _ordered(groups: pyarrow.Table, keys: Sequence[str]) -> pyarrow.Table:
    """Return the groups in the order of their keys, in which no two are alike; NULL is last."""
    if groups.num_rows < 2 or not keys:
        return groups
    import pyarrow.compute as pc

    order = [(key, "ascending") for key in keys]
    return groups.take(pc.sort_indices(groups, sort_keys=order))  # NULL at the end


def _stays(kind: Type) -> pyarrow.DataType | None:
    """Return the type in which values of a kind pass through the engine as they are."""
    return None if kind in (Type.TIMESTAMP, Type.NULL) else arrow_type(kind)


def _is_ordered_alike(kind: pyarrow.DataType) -> bool:
    """Return whether values of a type have the same order here as in the engine."""
    import pyarrow as pa

    return kind in (pa.int64(), pa.string(), pa.bool_(), pa.date32())
