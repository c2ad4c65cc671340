"""A policy's data as the compiler sees them: what each table is called, and how its columns are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from sanql.catalog.binding import BoundTable
from sanql.catalog.owner_remarks import Remark
from sanql.kernel import (
    BUCKET,
    CATALOG,
    ROWS,
    UNIT,
    Stamp,
    SummedCost,
    added_column,
    quote_name,
)
from sanql.policy import Column


@dataclass(frozen=True)
class Summary:
    """A relation of a copy in which a table's rows are added up: those of each unit, or of each unit and
    value of a `column`.

    It has the columns that say whose rows they are, and `counted`, how many. `sums` are for values, by
    how they are written in SQL, the columns that say how many rows have one, and their sum. Where there
    is a `column`, `groups` say how many of its values the unit has, and `squares` what the squares of
    its counts add up to, or 2^62; else `lists`, for values on bins, are the column that has all of them
    in ascending order. Its units are taken in so many `parts`, and `cost` is what it takes.
    """

    name: str
    relation: str
    column: str | None
    counted: str
    sums: Mapping[str, tuple[str, str]]
    groups: str
    squares: str
    lists: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parts: int = 1
    cost: SummedCost = field(default=SummedCost(0, 0, 0.0))


@dataclass(frozen=True)
class Layout:
    """How the policy's tables and columns are read in SQL.

    `scans` are expressions over a relation's columns that give the canonical type whatever a row
    holds, and `types` what the engine calls those types; `columns` are the facts about public tables
    whose columns the policy left to the source. `one_row` are the tables in which no unit has two rows:
    it was looked at when they were copied, and shortens the way to the same cells. `parts` is how many
    parts units are taken in, one after the other, so that what is computed of them fits into memory;
    `buckets` are the columns that say in which part a row is, of all tables that have units of their own,
    or of none. `units` are those of tables whose unit is another table's, and attached to their rows;
    `row_counts` say beside each row how many rows its unit has in the table; `summaries` are rows added
    up, those of fewest first. Where rows are grouped by more than their unit, `parts_by_key` are quicker,
    if these are more. Pairs of units and keys may be found in `blocks` of a part, one after the
    other, which is quicker. Where units are `spread` over buckets of files, each part is computed by
    whoever has its bucket open.
    """

    relations: Mapping[str, str]
    scans: Mapping[str, Mapping[str, str]]
    types: Mapping[str, Mapping[str, str]]
    columns: Mapping[str, Mapping[str, Column]]
    one_row: frozenset[str] = field(default=frozenset(), kw_only=True)
    parts: int = field(default=1, kw_only=True)
    parts_by_key: int = field(default=1, kw_only=True)
    blocks: int = field(default=1, kw_only=True)
    buckets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), kw_only=True)
    units: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), kw_only=True)
    spread: bool = field(default=False, kw_only=True)
    row_counts: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), kw_only=True
    )
    summaries: Mapping[str, tuple[Summary, ...]] = field(
        default_factory=lambda: MappingProxyType({}), kw_only=True
    )


@dataclass(frozen=True)
class Description(Layout):
    """The policy's tables and columns as found in the source: only names and types were read.

    `schema` is what was found, before it was bound, in files with this `stamp` (None: in a copy made
    of them); `remarks` are what the owner should know of it.
    """

    stamp: Stamp | None
    schema: Mapping[str, object]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class PreparedSource(Layout):
    """A database file that an engine can open, and how the policy's tables are read in it.

    `stamp` is what its files were when they were taken for the data; None leaves it to whoever opens.
    `segments` name what the rows of each table of a copy are of.
    """

    database: Path
    fingerprint: str
    stamp: Stamp | None = None
    segments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def layout(
    bound: Mapping[str, BoundTable],
    *,
    copied: bool,
    one_row: Collection[str] = (),
    attached: Collection[str] = (),
) -> Layout:
    """Return how tables are read, in place or in a copy, which holds canonical values already.

    `one_row` are the source's tables that were seen to have one row for each unit, `attached` those whose
    rows have the unit beside them that a reference leads to. What was seen counts only where the policy
    still declares it (`unique`): elsewhere it would be a fact about the rows that decides the way a
    question takes, and the policy's limits say that there may be more rows.
    """
    referring = {name: table for name, table in bound.items() if table.name in attached}
    own = {name: table for name, table in bound.items() if copied and table.unit is not None}
    return Layout(
        relations=MappingProxyType({name: _relation(table) for name, table in bound.items()}),
        scans=MappingProxyType(
            {name: _scans(table, copied=copied) for name, table in bound.items()}
        ),
        types=MappingProxyType({name: table.types for name, table in bound.items()}),
        columns=MappingProxyType(
            {name: table.inferred for name, table in bound.items() if table.inferred is not None}
        ),
        one_row=frozenset(
            n for n, table in bound.items() if table.unique and table.name in one_row
        ),
        buckets=_added(BUCKET, {**own, **referring}),
        units=_added(UNIT, referring),
        row_counts=_added(ROWS, {**own, **referring}),
    )


def _added(column: str, tables: Mapping[str, BoundTable]) -> Mapping[str, str]:
    """Return what a column is called that copies of these tables have besides."""
    named = ((name, added_column(column, table.types)) for name, table in tables.items())
    return MappingProxyType({name: quote_name(found) for name, found in named})


def _relation(table: BoundTable) -> str:
    return f"{quote_name(CATALOG)}.{quote_name('main')}.{quote_name(table.name)}"


def _scans(table: BoundTable, *, copied: bool) -> Mapping[str, str]:
    if copied:
        return MappingProxyType({column: quote_name(column) for column in table.types})
    return MappingProxyType(dict(zip(table.types, table.projections[0].expressions, strict=True)))
