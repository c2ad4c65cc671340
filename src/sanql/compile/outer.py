"""SQL over noisy answers, for an engine that holds them, copies of public tables, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import engine_type
from sanql.compile.relations import RelationWriter
from sanql.kernel import quote_name
from sanql.policy import Table
from sanql.question import (
    ColumnRef,
    Field,
    OverStatistics,
    PublicQuery,
    Scan,
    Selected,
    Type,
    column_facts,
    everything_in,
)

PUBLIC_ROWS_MAX = 1_000_000
"""How many rows of a public table SQL around statistics may read: they are held beside its answers."""


@dataclass(frozen=True)
class OuterStatement:
    """One SELECT over tables by the names they have in a question, with its parameters."""

    sql: str
    parameters: tuple[object, ...]


def compile_outer(query: PublicQuery, tables: Mapping[str, Table]) -> OuterStatement:
    """Return the statement of a question over answers: all its columns, those to order by included."""
    writer = RelationWriter(_layout(tables), tables)
    columns = [_held(f"rows_in.c{i}", field) for i, field in enumerate(query.rows.fields)]
    order = [
        f"rows_in.c{place.index} {'DESC' if place.descending else 'ASC'} "
        f"NULLS {'FIRST' if place.nulls_first else 'LAST'}"
        for place in query.order
    ]
    # rows that are equal in what orders them stand in an order of their own, the same every time
    order += [f"rows_in.c{i} ASC NULLS LAST" for i in range(query.width)]
    listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate(columns))
    sql = f"SELECT {listed} FROM ({writer.rows(query.rows)}) AS rows_in ORDER BY {', '.join(order)}"
    sql += f" LIMIT {query.limit}" if query.limit is not None else ""
    sql += f" OFFSET {query.offset}" if query.offset else ""
    return OuterStatement(sql, tuple(writer.emitter.parameters))


def public_reads(query: OverStatistics, tables: Mapping[str, Table]) -> dict[str, PublicQuery]:
    """Return what must be read of public tables for a question over answers: the columns that it uses.

    One row more than may be read is read where a table has as many.
    """
    used: dict[str, dict[str, ColumnRef]] = {}
    for node in everything_in(query.outer):
        if isinstance(node, Scan) and node.table not in query.tables:
            used.setdefault(node.table, {})
        if isinstance(node, ColumnRef) and node.stored and node.origin is not None:
            table, column = node.origin
            if table not in query.tables:
                used.setdefault(table, {})[column] = _stored(table, column, tables)
    return {
        table: _all_rows(table, columns or _first(table, tables))
        for table, columns in sorted(used.items())
    }


def _stored(table: str, column: str, tables: Mapping[str, Table]) -> ColumnRef:
    return ColumnRef(column, column_facts(tables[table].columns[column]), 0, (table, column))


def _first(table: str, tables: Mapping[str, Table]) -> dict[str, ColumnRef]:
    """Return one column of a table of which only rows are counted: rows of no columns are none."""
    return {name: _stored(table, name, tables) for name in [*tables[table].columns][:1]}


def _all_rows(table: str, columns: Mapping[str, ColumnRef]) -> PublicQuery:
    fields = tuple(Field(name, column, None) for name, column in sorted(columns.items()))
    rows = Selected(Scan(0, table, private=False), None, fields)
    return PublicQuery(rows, len(fields), (), PUBLIC_ROWS_MAX + 1, 0)


def _layout(tables: Mapping[str, Table]) -> Layout:
    return Layout(
        relations={name: quote_name(name) for name in tables},
        scans={name: {c: quote_name(c) for c in table.columns} for name, table in tables.items()},
        types={name: {} for name in tables},
        columns={},
    )


def _held(text: str, field: Field) -> str:
    """Return a column in the type that it is said to have before anything is measured."""
    if field.value is None or field.value.facts.type is Type.NULL:
        return text
    return f"TRY_CAST({text} AS {engine_type(field.value.facts)})"
