"""Ordinary SQL over noisy cells: HAVING, ORDER BY, LIMIT, DISTINCT and arithmetic, at no cost.

It runs in a throw-away in-memory DuckDB that sees the noisy cells and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

from sanql.answer.closed_engine import closed_engine
from sanql.answer.display import AS_THEY_ARE, Display, displayed_value, labelled
from sanql.answer.output_intervals import output_band, without_interval
from sanql.answer.plain_rows import plain_rows
from sanql.compile import Emitter
from sanql.measurements import OTHER_GROUPS_COLUMN, Band, NoisyCells, Reals
from sanql.plan import Level
from sanql.question import (
    AggregateRef,
    Expr,
    Grouping,
    IntervalEnd,
    KeyRef,
    Output,
    Query,
    Type,
    walk,
)

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Shown:
    """An answer's columns, the interval ends of those that have any, and noisy ones that have none."""

    table: pyarrow.Table
    intervals: dict[str, tuple[Reals, Reals]]
    without: tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """The groups of one grouping set: their cells as measured, and as their values are shown.

    `keys` are the places of its keys among those of the whole question.
    """

    level: Level
    keys: tuple[int, ...]
    measured: NoisyCells
    shown: NoisyCells


def show(
    level: Level, cells: NoisyCells, confidence: Fraction, display: Display = AS_THEY_ARE
) -> Shown:
    """Return the answer of one level by itself, after the SQL around its aggregates was applied."""
    keys = tuple(range(len(level.query.keys)))
    return show_layers(level.query, [Layer(level, keys, cells, cells)], confidence, display)


def show_layers(
    query: Query, layers: Sequence[Layer], confidence: Fraction, display: Display
) -> Shown:
    """Return the answer to a question whose groups come from several grouping sets."""
    bands = [_bands(query, layer, confidence, display) for layer in layers]
    last = [OTHER_GROUPS_COLUMN] if any(layer.level.outline.other for layer in layers) else []
    table = arranged(query, _stacked(query, layers, bands, display), bands[0], last)
    return Shown(
        table.select([f"o{i}" for i in range(len(query.outputs))]).rename_columns(
            [output.name for output in query.outputs]
        ),
        {
            query.outputs[index].name: (
                table.column(f"low{index}").to_numpy(),
                table.column(f"high{index}").to_numpy(),
            )
            for index in bands[0]
        },
        without_interval(query, bands[0]),
    )


def names_with_intervals(
    query: Query, layer: Layer, confidence: Fraction, display: Display
) -> frozenset[str]:
    """Return which columns have intervals, whatever the cells are."""
    return frozenset(query.outputs[i].name for i in _bands(query, layer, confidence, display))


def _bands(query: Query, layer: Layer, confidence: Fraction, display: Display) -> dict[int, Band]:
    """Return the intervals of the columns that have any; which these are, the question decides."""
    if _merges_groups(query):
        return {}
    bands = (
        (
            i,
            output_band(
                layer.level, layer.measured, o.expression, confidence, display, layer.shown
            ),
        )
        for i, o in enumerate(query.outputs)
    )
    return {index: band for index, band in bands if band is not None}


def _stacked(
    query: Query, layers: Sequence[Layer], bands: Sequence[dict[int, Band]], display: Display
) -> pyarrow.Table:
    """Return the groups of all layers; a key that a layer does not have is NULL, and its g is 1."""
    import pyarrow as pa

    tables = [
        _input(layer.level, layer.shown, own, display)
        for layer, own in zip(layers, bands, strict=True)
    ]
    if not query.sets:
        return tables[0]
    kinds = {
        key: table.schema.field(f"k{place}").type
        for layer, table in zip(layers, tables, strict=True)
        for place, key in enumerate(layer.keys)
    }
    stacked = []
    for layer, table in zip(layers, tables, strict=True):
        columns = {name: table.column(name) for name in table.column_names if name[0] in "alh"}
        for key, kind in sorted(kinds.items()):
            missing = key not in layer.keys
            columns[f"k{key}"] = (
                pa.nulls(layer.shown.count, kind)
                if missing
                else table.column(f"k{layer.keys.index(key)}")
            )
            columns[f"g{key}"] = pa.array([int(missing)] * layer.shown.count, pa.int64())
        stacked.append(pa.table(columns))
    return pa.concat_tables(stacked)


def arrange(query: Query, groups: pyarrow.Table) -> pyarrow.Table:
    """Return an answer's columns from its groups: keys k0…, and aggregates a0… as they are."""
    table = arranged(query, groups, {})
    return table.rename_columns([output.name for output in query.outputs])


def arranged(
    query: Query, groups: pyarrow.Table, bands: dict[int, Band], last: Sequence[str] = ()
) -> pyarrow.Table:
    """Return outputs o0… and the ends of their intervals, as the SQL around the groups has them."""
    plain = None if last else plain_rows(query, groups, bands)
    return plain if plain is not None else arranged_by_engine(query, groups, bands, last)


def arranged_by_engine(
    query: Query, groups: pyarrow.Table, bands: dict[int, Band], last: Sequence[str] = ()
) -> pyarrow.Table:
    """Return the same, whatever stands around the groups."""
    emitter = Emitter(partial(_column_sql, bands))
    sql = _select(query, emitter, bands, last)
    return run_on_cells(sql, emitter.parameters, groups)


def _merges_groups(query: Query) -> bool:
    """Whether DISTINCT may merge groups, so that a row of the answer is not one group."""
    shown = {o.expression.index for o in query.outputs if isinstance(o.expression, KeyRef)}
    return query.distinct and (bool(query.sets) or shown != set(range(len(query.keys))))


def _column_sql(bands: dict[int, Band], expression: Expr) -> str:
    match expression:
        case KeyRef(index):
            return f"k{index}"
        case Grouping(keys):
            bits = (f"g{key} * {2**bit}" for bit, key in enumerate(reversed(keys)))
            return f"({' + '.join(bits)})"
        case AggregateRef(index):
            return f"a{index}"
        case IntervalEnd(index, high):
            end = f"{'high' if high else 'low'}{index}"
            # a column without an interval has no end, and neither has an interval without limit
            return f"CASE WHEN isfinite({end}) THEN {end} END" if index in bands else "NULL::DOUBLE"
        case _:
            raise AssertionError("rows are not visible here")


def _select(
    query: Query, emitter: Emitter, bands: dict[int, Band], last: Sequence[str] = ()
) -> str:
    columns = [f"{_output(emitter, o)} AS o{i}" for i, o in enumerate(query.outputs)]
    columns += [f"low{i}, high{i}" for i in bands]
    distinct = "DISTINCT " if _merges_groups(query) else ""
    having = f" WHERE {emitter.sql(query.having)}" if query.having is not None else ""
    order = [
        f"{emitter.sql(item.expression)} {'DESC' if item.descending else 'ASC'} "
        f"NULLS {'FIRST' if item.nulls_first else 'LAST'}"
        for item in query.order
        if _varies(item.expression)  # a constant orders nothing, and the engine minds
    ]
    if not distinct:
        order += last
        for index in range(len(query.keys)):
            order += [f"g{index}"] if query.sets else []  # a total stands behind its parts
            order.append(f"k{index} ASC NULLS LAST")
    ordering = f" ORDER BY {', '.join(order)}" if order else ""
    limit = f" LIMIT {query.limit}" if query.limit is not None else ""
    offset = f" OFFSET {query.offset}" if query.offset else ""
    source = f"SELECT {distinct}{', '.join(columns)} FROM cells{having}"
    if distinct and order:
        # ORDER BY under DISTINCT may only use what is shown; wrap so that aliases are all there is
        shown = {output.expression: f"o{i}" for i, output in enumerate(query.outputs)}
        named = [
            f"{shown[item.expression]} {'DESC' if item.descending else 'ASC'} "
            f"NULLS {'FIRST' if item.nulls_first else 'LAST'}"
            for item in query.order
            if item.expression in shown
        ]
        ordering = f" ORDER BY {', '.join(named)}" if named else ""
        return f"SELECT * FROM ({source}){ordering}{limit}{offset}"
    return f"{source}{ordering}{limit}{offset}"


def _varies(expression: Expr) -> bool:
    """Return whether the expression can differ from one row of the answer to the next."""
    return expression.facts.type is not Type.NULL and any(
        isinstance(node, KeyRef | Grouping | AggregateRef | IntervalEnd)
        for node in walk(expression)
    )


def _output(emitter: Emitter, output: Output) -> str:
    text = emitter.sql(output.expression)
    if output.expression.facts.type is Type.INTEGER:
        return f"TRY_CAST({text} AS BIGINT)"
    return text


def _input(
    level: Level, cells: NoisyCells, bands: dict[int, Band], display: Display
) -> pyarrow.Table:
    import pyarrow as pa

    columns = {
        name: cells.table.column(name)
        for name in cells.table.column_names
        if name in ("present", OTHER_GROUPS_COLUMN)
    }
    for index in range(len(level.query.keys)):
        columns[f"k{index}"] = labelled(level, cells, index, display)
    for index in range(len(level.estimates)):
        columns[f"a{index}"] = displayed_value(level, cells, index, display)
    for index, band in bands.items():
        columns[f"low{index}"] = pa.array(band.low)
        columns[f"high{index}"] = pa.array(band.high)
    return pa.table(columns)


def run_on_cells(sql: str, parameters: list[object], cells: pyarrow.Table) -> pyarrow.Table:
    """Return what SQL over the table `cells` yields, in an engine that sees nothing else."""
    connection = _database().cursor()
    try:
        connection.register("cells", cells)
        return connection.sql(sql, params=parameters).to_arrow_table()
    finally:
        connection.unregister("cells")
        connection.close()


_database = cache(closed_engine)  # one for all: nothing is kept in it
