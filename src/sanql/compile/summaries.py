"""Rows that a prepared copy has added up, where a question reads nothing that this leaves out.

A policy names columns, `summaries = { by = …, of = … }`. A copy then has one row for each unit, and one
for each unit and value of a column that it is `by`: how many rows these are, and for each column that it
is `of` how many of them have a value, and what the values add up to, in steps of their grid. Beside the
values of a column is how many of them the unit has, and how long its counts are, so that units that are
short enough need not be looked at as a whole (`small_units.py`). A question about one table that reads
no other column of its rows, and measures nothing but rows and sums of these values, is computed from it:
whole numbers are the same to the bit in whatever order they are added. That two values are the same is
seen by how they are written.

For columns that it names as `quantiles_of`, the row of a unit also has the bins of all of its values in
ascending order: those that count in a quantile of all rows are picked from these (`quantile_bins.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from sanql.catalog import Layout, Summary
from sanql.compile.expressions.emitter import Emitter
from sanql.compile.group_keys import KeyWriter
from sanql.compile.measured_values import (
    Layers,
    binned_value,
    layered,
    measured_value,
    summed_value,
    value_column,
)
from sanql.compile.quantile_bins import ascending, held_values
from sanql.compile.relations import RelationWriter
from sanql.errors import Refused
from sanql.kernel import CATALOG, SUMMARIES, SummedTable, added_column, quote_name
from sanql.measurements import (
    Measured,
    Measurement,
    Sensitivity,
    bounds_of,
    grid_for,
    make_quantile_bins,
)
from sanql.plan import Level
from sanql.policy import ColumnUnit, Table
from sanql.question import Call, ColumnRef, Expr, Literal, Scan, column_facts, walk

_ADDED_UP = (
    Measured.ROWS,
    Measured.UNITS,
    Measured.KEY_WEIGHTS,
)  # besides sums and what goes with them
_NONE = Sensitivity(0, 0, 0)
_NARROW = 1 << 24
SQUARES_MAX = 1 << 62
"""Where the sum of a unit's squared counts is held: so many, or more."""


@dataclass(frozen=True)
class SummedRows:
    """A relation that a question is computed from in place of a table's rows.

    `are_pairs` says that each of its rows is all there is of a unit in one group. `columns` are those of
    each value that is measured, by its place: how many rows have one, and what they add up to; `lists`
    those of each that is ranked.
    """

    table: str
    summary: Summary
    are_pairs: bool
    columns: Mapping[int, tuple[str, str]]
    lists: Mapping[int, str]

    @property
    def beside(self) -> Mapping[str, str]:
        """The columns of `input` that are added up, and where they are: as those of `pairs`."""
        found = {"n": self.summary.counted}
        for place, (counted, added) in self.columns.items():
            found |= {f"v{place}": counted, f"s{place}": added}
        return found | {f"b{place}": column for place, column in self.lists.items()}

    def within(self, source: Layout) -> Layout:
        """Return how tables are read where this relation stands for its table."""
        relations = {**source.relations, self.table: self.summary.relation}
        return replace(
            source, relations=relations, parts=self.summary.parts, parts_by_key=1, blocks=1
        )


def summed_rows(level: Level, layout: Layout) -> SummedRows | None:
    """Return the relation of fewest rows that has all that a level reads; None where none has."""
    source = level.query.source
    if not isinstance(source, Scan) or source.table not in layout.summaries:
        return None
    read = _columns_read(level)
    written = _values_measured(level, layout)
    if read is None or written is None:
        return None
    summed, ranked = (
        {place: text for place, text in written.items() if level.computed[place].by_bins is by_bins}
        for by_bins in (False, True)
    )
    for summary in layout.summaries[source.table]:
        if read <= {summary.column} and _has(summary, summed, ranked):
            columns = {place: summary.sums[text] for place, text in summed.items()}
            lists = {place: summary.lists[text] for place, text in ranked.items()}
            pairs = _are_pairs(level, layout, summary)
            if pairs or not lists:
                return SummedRows(source.table, summary, pairs, columns, lists)
    return None


def _has(summary: Summary, summed: Mapping[int, str], ranked: Mapping[int, str]) -> bool:
    """Return whether a relation has the sums and the lists of values that are written like these."""
    sums, lists = set(summed.values()), set(ranked.values())
    return sums <= summary.sums.keys() and lists <= summary.lists.keys()


def summaries_of(tables: Mapping[str, Table], layout: Layout) -> Mapping[str, tuple[Summary, ...]]:
    """Return the relations that a copy has of each table."""
    return MappingProxyType(
        {
            table.name: tuple(made.summary for made in _made(table, tables, layout))
            for table in tables.values()
            if table.summaries is not None
        }
    )


def summing(tables: Mapping[str, Table], layout: Layout) -> dict[str, tuple[SummedTable, ...]]:
    """Return how the relations of each table are made in a copy that is laid out like this."""
    return {
        table.name: tuple(made.asked() for made in _made(table, tables, layout))
        for table in tables.values()
        if table.summaries is not None
    }


@dataclass(frozen=True)
class _Made:
    """A relation, and how it is made of the rows of its table."""

    summary: Summary
    table: Table
    tables: Mapping[str, Table]
    layout: Layout

    def asked(self) -> SummedTable:
        """Return the SELECT that makes it, of each part of the units."""
        relations = RelationWriter(self.layout, self.tables, part_secret=0)
        scan, name = Scan(0, self.table.name, private=True), self.table.name
        assert isinstance(self.table.unit, ColumnUnit)  # noqa: S101  (the policy has no others)
        relations.enter(scan, None)
        kept = {"b": self.layout.buckets[name], "r": self.layout.row_counts[name]}
        if self.summary.column is not None:
            kept["k"] = self.layout.scans[name][self.summary.column]
        named = {"u": quote_name(self.table.unit.column), **kept}
        columns = [f"{relations.unit(scan)} AS u"]
        columns += [
            f"{relations.readers.beside(scan, text, at)} AS {at}" for at, text in kept.items()
        ]
        emitter = relations.emitter
        summed = list(_values(self.table, emitter))
        kinds = [kind for _, kind in summed]
        values = {f"x{n}": value for n, (value, _) in enumerate(summed)}
        ranked = list(_ranked_values(self.table, emitter)) if self.summary.lists else []
        values |= {f"y{number}": value for number, value in enumerate(ranked)}
        columns += [f"{value.text} AS {name}" for name, value in values.items()]
        text = relations.once(f"SELECT {', '.join(columns)} FROM {relations.filtered(scan, None)}")
        body = layered(text, [], {name: value.above for name, value in values.items()})
        shown = [f"{at} AS {column}" for at, column in named.items()]
        shown.append(f"system.main.count(*) AS {self.summary.counted}")
        for number, (counted, added) in enumerate(self.summary.sums.values()):
            total = f"coalesce(system.main.sum(x{number}), 0)::{kinds[number]}"
            shown += [f"system.main.count(x{number}) AS {counted}", f"{total} AS {added}"]
        for number, listed in enumerate(self.summary.lists.values()):
            shown.append(f"{ascending(held_values(f'y{number}'))} AS {listed}")
        sql = f"SELECT {', '.join(shown)} FROM ({body}) GROUP BY {', '.join(named)}"
        if self.summary.column is not None:
            sql = self._with_units(sql, named["u"])
        return SummedTable(self.summary.name, sql, f"{kept['b']}, {named['u']}")

    def _with_units(self, pairs: str, unit: str) -> str:
        """Return pairs with what all pairs of their unit are together."""
        summary = self.summary
        count = f"system.main.least({summary.counted}, {1 << 31})::HUGEINT"
        squares = f"system.main.least(system.main.sum({count} * {count}), {SQUARES_MAX})::BIGINT"
        whole = (
            f"SELECT {unit} AS whose, system.main.count(*) AS {summary.groups}, "
            f"{squares} AS {summary.squares} FROM pairs GROUP BY {unit}"
        )
        return (
            f"WITH pairs AS MATERIALIZED ({pairs}), units AS ({whole}) "
            f"SELECT pairs.*, {summary.groups}, {summary.squares} FROM pairs "
            f"JOIN units ON pairs.{unit} = units.whose"
        )


def _made(table: Table, tables: Mapping[str, Table], layout: Layout) -> Iterator[_Made]:
    """Yield the relations of a table: that of its units alone, then that of each column."""
    assert table.summaries is not None  # noqa: S101  (asked of those that have some)
    types = layout.types[table.name]
    relations = RelationWriter(layout, tables)
    relations.enter(Scan(0, table.name, private=True), None)
    written = dict.fromkeys(value.written for value, _ in _values(table, relations.emitter))
    sums = {
        text: (quote_name(added_column(f"v{n}", types)), quote_name(added_column(f"s{n}", types)))
        for n, text in enumerate(written)
    }
    ranked = dict.fromkeys(value.written for value in _ranked_values(table, relations.emitter))
    lists = {text: quote_name(added_column(f"b{n}", types)) for n, text in enumerate(ranked)}
    counted, groups, squares = (
        quote_name(added_column(name, types)) for name in ("n", "groups", "squares")
    )
    for number, column in enumerate((None, *table.summaries.by)):
        name = f"{number} {table.name}"
        relation = ".".join(map(quote_name, (CATALOG, SUMMARIES, name)))
        summary = Summary(
            name,
            relation,
            column,
            counted,
            MappingProxyType(sums),
            groups,
            squares,
            MappingProxyType(lists if column is None else {}),
        )
        yield _Made(summary, table, tables, layout)


def _values(table: Table, emitter: Emitter) -> Iterator[tuple[Layers, str]]:
    """Yield what is added up of a row, for each column, and the type that bears the sum of its rows.

    A column too wide is refused in questions as well. No table has the 2^39 rows whose values, where
    they have 24 bits, could be more than 64 bits hold.
    """
    assert table.summaries is not None  # noqa: S101
    for column, grid, bottom, top in _gridded(table, table.summaries.of):
        summed = Measurement(Measured.SUM, column, _NONE, grid, low=bottom, high=top)
        narrow = max(abs(bottom), abs(top)) <= _NARROW
        yield summed_value(summed, column, emitter), "BIGINT" if narrow else "HUGEINT"


def _ranked_values(table: Table, emitter: Emitter) -> Iterator[Layers]:
    """Yield in which bin a row is, for each column that has lists of them."""
    assert table.summaries is not None  # noqa: S101
    for column, grid, bottom, top in _gridded(table, table.summaries.quantiles_of):
        bins = make_quantile_bins(grid, bottom, top, several=True, groups=1)
        picks = Measurement(Measured.PICKS, column, _NONE, quantile_bins=bins)
        yield binned_value(picks, bins, column, emitter)


def _gridded(table: Table, names: Sequence[str]) -> Iterator[tuple[ColumnRef, Fraction, int, int]]:
    """Yield columns, each with its grid and the steps of its bounds, but those that are too wide."""
    for name in names:
        column = ColumnRef(name, column_facts(table.columns[name]), 0, (table.name, name))
        try:
            grid, (low, high) = grid_for(column), bounds_of(column)
        except Refused:
            continue
        bottom, top = (math.floor(end / grid + Fraction(1, 2)) for end in (low, high))
        yield column, grid, bottom, top


def _values_measured(level: Level, layout: Layout) -> dict[int, str] | None:
    """Return how each value that is measured is written; None where more than these is."""
    relations = RelationWriter(layout, level.outline.tables)
    keys = KeyWriter(level, layout, relations)
    relations.enter(level.query.source, None)
    written: dict[int, str] = {}
    for place, part in enumerate(level.computed):
        if part.kind is Measured.LADDER:
            continue  # counted among the rows of other picks
        if part.of is not None or part.values or part.around is not None:
            return None
        if part.expression is None:
            if part.kind not in _ADDED_UP:
                return None
            continue
        column = value_column(level.computed, place)
        kind = level.computed[column].kind
        if kind not in (Measured.SUM, Measured.PICKS) or not _is_plain(part.expression):
            return None
        written[column] = measured_value(level.computed[column], relations.emitter, keys).written
    return written


def _columns_read(level: Level) -> set[str | None] | None:
    """Return the columns by which rows are grouped and chosen; None where it is by more than columns."""
    query, others = level.query, level.outline.filtering_keys
    found: set[str | None] = {None}
    for expression in (query.where, *query.keys, *(other.key for other in others)):
        nodes = [] if expression is None else walk(expression)
        if not all(map(_is_plain, nodes)):
            return None
        found |= {node.name for node in nodes if isinstance(node, ColumnRef)}
    return found - {None}


def _is_plain(node: Expr) -> bool:
    """Return whether a part of an expression is a column of the one table, or made of such."""
    return isinstance(node, Literal | Call) or (
        isinstance(node, ColumnRef) and node.stored and node.slot == 0
    )


def _are_pairs(level: Level, layout: Layout, summary: Summary) -> bool:
    """Return whether a level groups by just what the rows of a summary are apart by."""
    if summary.column is None:
        return not level.query.keys
    if len(level.query.keys) != 1 or not isinstance(level.query.keys[0], ColumnRef):
        return False
    relations = RelationWriter(layout, level.outline.tables)
    keys = KeyWriter(level, layout, relations)
    relations.enter(level.query.source, None)
    (key,) = level.query.keys
    bare = relations.emitter.unbounded(key)
    same = [bare]
    assert isinstance(level.query.source, Scan)  # noqa: S101
    if layout.types[level.query.source.table][summary.column] == "BIGINT":
        same.append(f"TRY_CAST({bare} AS BIGINT)")
    return keys.grouped(key) in same and not keys.shortened()
