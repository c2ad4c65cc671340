"""A level as one SQL statement whose result is the exact cells: keys and one integer a measurement.

Read the common table expressions from top to bottom:

    input     rows that count, with unit, keys and gridded values
    pairs     one row for each unit and group
    heavy     units in more groups than they may be, with the hash below which their groups stay
    kept      the pairs that stay
    crowded   units with more rows than may count
    sized     the number of rows of each pair that count
    rounded   the number of values of each pair that count
    bounded   each pair's contribution, scaled to that number
    cells     one row for each group

Where units are bounded by norm nothing is dropped (`norms.py`): `pairs`, then

    held      each pair's numbers
    long      units whose numbers are longer than they may be
    scaled    each pair's part of the cells

where keys are selected by weights, all units are looked at once instead of those that are too long
(`reached`, `weighed`), and `scaled` has weights too.

Limits are written by `limits.py`, cells by `cells.py`. Quantiles take the rows that count bin by bin
instead (`quantile_bins.py`); distinct values are counted before the statement (`distinct_pairs.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sanql.catalog import Layout
from sanql.compile.blocks import blocks_of, in_blocks
from sanql.compile.cells import DROPPED, CellWriter
from sanql.compile.distinct_pairs import greedy_count, taken_in_all, taken_values
from sanql.compile.expressions import SQL_LENGTH_MAX
from sanql.compile.group_keys import KeyWriter, is_listed, place
from sanql.compile.key_weights import WEIGHTS
from sanql.compile.limits import LimitWriter
from sanql.compile.measured_values import SqlLayer, layered, measured_value, value_column
from sanql.compile.norms import NormWriter
from sanql.compile.parts import PARTIAL, AddedUp, added_up, part_of_cells, part_of_several
from sanql.compile.poured_sums import poured_sum
from sanql.compile.public_first import PublicTables
from sanql.compile.quantile_bins import bin_counts, bin_lists
from sanql.compile.relations import RelationWriter
from sanql.compile.released import ReleasedAnswer, with_released
from sanql.compile.small_units import GROUPS, SmallUnits, small_units
from sanql.compile.summaries import SummedRows, summed_rows
from sanql.compile.tables import SECOND_UNIT
from sanql.errors import Refused
from sanql.kernel import GreedyCount, PartialCells, PouredSum, Statement
from sanql.measurements import Measured
from sanql.plan import Level, OneGroup, PrivateKeys, PublicKeys
from sanql.policy import ColumnUnit, Table
from sanql.question import BIGINT_RANGE, Field, PublicQuery, Scan, Type, scans

SMALL = "small"  # the rows of units that no limit binds
_FEW_ROWS = 1_000
_PLAIN = (Type.BOOLEAN, Type.INTEGER, Type.TEXT)


def compile_plan(
    level: Level,
    layout: Layout,
    secret: int,
    released: Sequence[ReleasedAnswer] = (),
    length_max: int = SQL_LENGTH_MAX,
) -> Statement:
    """Return the statement that computes a plan's exact cells.

    It finds the answers that are `released` to it as finished public tables. An expression or a subquery
    that would be longer than `length_max` is refused.
    """
    public = PublicTables()
    layout = with_released(layout, released, public)
    rows_are_units = _rows_are_units(level, layout)
    summed = None if rows_are_units else summed_rows(level, layout)
    if summed is not None:
        layout = summed.within(layout)
    spread = layout.spread and not level.outline.table.public
    parts = 1 if rows_are_units and not spread else _parts(level, layout)
    blocks = 1 if rows_are_units or spread else blocks_of(level, layout)
    in_parts = spread or parts > 1 or blocks > 1
    # who has a bucket open reads all of it, and no other
    part_secret = secret if in_parts and not spread else None
    relations = RelationWriter(layout, level.outline.tables, public, part_secret, length_max)
    if spread and rows_are_units:
        _check_adds_up(level)
    group_keys = KeyWriter(level, layout, relations)
    weighed = None if rows_are_units else _weighed_along(level)
    cells = CellWriter(
        level, group_keys, rows_are_units=rows_are_units, weighed_along=weighed is not None
    )
    statements = group_keys.domains()
    greedy: tuple[GreedyCount | PouredSum, ...] = ()
    partial: PartialCells | None = None
    if level.outline.reads_no_rows:
        sql = (f"WITH {', '.join(statements)} " if statements else "") + cells.zeros()
    else:
        key = f"({secret})::BIGINT"
        domains = list(statements)
        small = None if rows_are_units else small_units(level, layout, summed)
        rows = _input(level, relations, group_keys, summed, small)
        inputs, read = _inputs(in_blocks(rows, blocks), rows, small)
        statements += read
        if not rows_are_units:
            greedy = _greedy(level, key, statements, relations.emitter.parameters)
        limits = LimitWriter(level, key, summed, inputs)
        limited, adding = _limited(
            level, cells, limits, key, rows_are_units=rows_are_units, apart=small
        )
        statements += limited
        if in_parts:
            select = f"{_with(statements)}{part_of_cells(adding, _key_columns(level))}"
            several = part_of_several(adding, _key_columns(level))
            partial = PartialCells(PARTIAL, select, tuple(relations.emitter.parameters), several)
            statements = [*domains, *added_up(adding)]
        statements += _of_all_units(level, rows_are_units=rows_are_units)
        sql = _with(statements) + cells.final()
    return Statement(
        sql,
        tuple(relations.emitter.parameters),
        tuple(public.made),
        few_rows=_has_few_rows(level),
        greedy=greedy,
        partial=partial,
        parts=parts,
    )


def _parts(level: Level, layout: Layout) -> int:
    """Return in how many parts units are taken: no more than must be where only units are grouped."""
    by_unit = not level.query.keys and not any(
        part.by_bins or part.kind is Measured.DISTINCT for part in level.computed
    )
    return layout.parts if by_unit else max(layout.parts, layout.parts_by_key)


def _with(statements: Sequence[str]) -> str:
    return "WITH " + ",\n".join(statements) + "\n"


def compile_public_query(
    query: PublicQuery, layout: Layout, tables: Mapping[str, Table]
) -> Statement:
    """Return the statement that reads public tables as they are."""
    relations = RelationWriter(layout, tables)
    columns = ", ".join(_shown(index, field) for index, field in enumerate(query.shown))
    order = ", ".join(
        f"rows_in.c{place.index} {'DESC' if place.descending else 'ASC'} "
        f"NULLS {'FIRST' if place.nulls_first else 'LAST'}"
        for place in query.order
    )
    sql = f"SELECT {columns} FROM ({relations.rows(query.rows)}) AS rows_in"
    sql += f" ORDER BY {order}" if order else ""
    sql += f" LIMIT {query.limit}" if query.limit is not None else ""
    sql += f" OFFSET {query.offset}" if query.offset else ""
    return Statement(sql, tuple(relations.emitter.parameters))


def _shown(index: int, field: Field) -> str:
    """Return a column of the answer; arithmetic widens whole numbers, also those that need no more."""
    column, facts = f"rows_in.c{index}", None if field.value is None else field.value.facts
    if facts is None or facts.type is not Type.INTEGER:
        return column
    ends, (least, most) = (facts.low, facts.high), BIGINT_RANGE
    fits = all(isinstance(end, Fraction) and least <= end <= most for end in ends)
    return f"CAST({column} AS BIGINT)" if fits else column


def _has_few_rows(level: Level) -> bool:
    """Return whether the result is a few rows of plain values, however many rows are read for it."""
    keys = level.outline.keys
    count = 1 if isinstance(keys, OneGroup) else getattr(keys, "count", None)
    plain = all(key.facts.type in _PLAIN for key in level.query.keys)
    listed = any(measurement.by_bins or measurement.choices for measurement in level.computed)
    return count is not None and count <= _FEW_ROWS and plain and not listed


def _rows_are_units(level: Level, layout: Layout) -> bool:
    """Return whether each row that counts is all there is of its unit, so that no limit binds.

    Rows are units by declaration, or because the one table that is read is declared `unique` and was seen
    to be: then every limit keeps the row as it is, and the cells are the same as with limits. A norm may
    be less than one row adds; where there is one rows go the way of all others.
    """
    source = level.query.source
    return not isinstance(level.outline.table.unit, ColumnUnit) or (
        isinstance(source, Scan)
        and source.table in layout.one_row
        and all(part.norm is None for part in level.computed)
    )


def _check_adds_up(level: Level) -> None:
    """Refuse what rows that are units do not add up to: different values, which buckets may share."""
    if any(measurement.kind is Measured.DISTINCT for measurement in level.computed):
        raise Refused(
            "not_on_buckets",
            "where each row is a unit by itself, COUNT(DISTINCT …) does not add up over the buckets that "
            "the engine 'spark' computes with",
            "GROUP BY the column and count the groups, or let the owner declare what identifies a unit, "
            "or choose the engine of this machine",
        )


def _limited(
    level: Level,
    cells: CellWriter,
    limits: LimitWriter,
    secret: str,
    *,
    rows_are_units: bool,
    apart: SmallUnits | None,
) -> tuple[list[str], list[AddedUp]]:
    """Return what lies between the rows that count and the cells, and which of it adds up over units."""
    by_unit = not rows_are_units
    norms = NormWriter(level, secret)
    weighed = _weighed_along(level) if by_unit else None
    groups = [GROUPS] if weighed is not None else []
    small = limits.by_row(SMALL, *groups) if apart is not None else None
    adding = [cells.added_up()]
    if by_unit and _counted_before(level):
        statements = [cells.cells("(SELECT * FROM input WHERE FALSE)")]
    elif by_unit and norms.needed:
        scaled = norms.scaled(weighed, small, *groups)
        statements = [*limits.pairs(), *scaled, cells.cells_by_norm("scaled")]
        if limits.drops:
            statements += [*limits.bounded(small), cells.cells("bounded", DROPPED)]
            adding.append(cells.added_up(DROPPED))
    else:
        statements = [*limits.pairs(), *limits.bounded(small)] if by_unit else []
        statements.append(cells.cells("bounded" if by_unit else "input"))
    keys = _key_columns(level)
    for index, measurement in enumerate(level.computed):
        if measurement.by_bins:
            statements += bin_counts(index, keys, by_unit=by_unit, in_order=limits.in_order)
            adding.append(AddedUp(f"leaves{index}", (*keys, "leaf"), ("c",)))
        if measurement.groups_max is not None and weighed is None:
            statements += limits.weights(measurement.groups_max)
            adding.append(AddedUp(WEIGHTS, tuple(keys), ("s",)))
    return statements, adding


def _weighed_along(level: Level) -> int | None:
    """Return of how many groups of a unit keys are weighed, where norms alone decide what counts.

    All of a unit's pairs are looked at once then, for its norm and for its weight.
    """
    most = next((m.groups_max for m in level.computed if m.groups_max is not None), None)
    alone = NormWriter(level, "").needed and not LimitWriter(level, "").drops
    return most if alone else None


def _of_all_units(level: Level, *, rows_are_units: bool) -> list[str]:
    """Return what is made of all units together: distinct values, and bins as lists."""
    keys, statements = _key_columns(level), []
    for index, measurement in enumerate(level.computed):
        if measurement.counted_before and not rows_are_units:
            statements.append(taken_values(index, keys))
            if measurement.choices:
                statements.append(taken_in_all(index, len(measurement.choices)))
        if measurement.by_bins:
            statements.append(bin_lists(index, keys))
    return statements


def _key_columns(level: Level) -> list[str]:
    return [f"k{index}" for index in range(len(level.query.keys))]


def _greedy(
    level: Level, secret: str, before: Sequence[str], parameters: Sequence[object]
) -> tuple[GreedyCount | PouredSum, ...]:
    """Return what is counted in turns before the statement: distinct values, rows of two kinds."""
    keys = _key_columns(level)
    return tuple(
        poured_sum(index, level.computed, keys, secret, before, parameters)
        if measurement.poured is not None
        else greedy_count(
            index,
            keys,
            secret,
            measurement.choices or [measurement.values_per_unit or 1],
            before,
            parameters,
        )
        for index, measurement in enumerate(level.computed)
        if measurement.counted_before
    )


def _counted_before(level: Level) -> bool:
    """Return whether all cells are counted before the statement, and their keys known besides."""
    before = {part.counted_before for part in level.computed if part.of is None}
    return before == {True} and not isinstance(level.outline.keys, PrivateKeys)


def _inputs(
    in_blocks: Sequence[str], rows: str, small: SmallUnits | None
) -> tuple[list[str], list[str]]:
    """Return the names of the rows that count, in blocks, and what they and those beside them are.

    Rows of `small` units are apart from the others.
    """
    names = [f"input{n}" if n else "input" for n in range(len(in_blocks))]
    if small is None:
        return names, [f"{name} AS ({block})" for name, block in zip(names, in_blocks, strict=True)]
    read = [
        f"{name} AS (SELECT * FROM ({block}) WHERE NOT ({small.condition}))"
        for name, block in zip(names, in_blocks, strict=True)
    ]
    return names, [*read, f"{SMALL} AS (SELECT * FROM ({rows}) WHERE {small.condition})"]


def _input(
    level: Level,
    relations: RelationWriter,
    group_keys: KeyWriter,
    summed: SummedRows | None,
    small: SmallUnits | None,
) -> str:
    """Return the rows that count, with unit, keys and gridded values, or rows added up."""
    query = level.query
    relations.enter(query.source, query.where)
    unit = relations.unit(query.source)
    columns = [f"{unit} AS u"] if unit is not None else []
    if level.outline.table.second is not None:
        (scan,) = (scan for scan in scans(query.source) if scan.private)
        columns.append(f"t{scan.slot}.{SECOND_UNIT} AS {SECOND_UNIT}")
    if isinstance(query.source, Scan):
        beside = {} if small is None else dict(small.beside)
        beside |= {} if summed is None else summed.beside
        columns += [
            f"{relations.readers.beside(query.source, stored, name)} AS {name}"
            for name, stored in beside.items()
        ]
    columns += [f"{group_keys.grouped(key)} AS k{i}" for i, key in enumerate(query.keys)]
    layers: dict[str, tuple[SqlLayer, ...]] = {}
    for index, measurement in enumerate(level.computed):
        if summed is not None:
            break  # values are added up
        if measurement.expression is not None and value_column(level.computed, index) == index:
            value = measured_value(measurement, relations.emitter, group_keys)
            columns.append(f"{value.text} AS x{index}")
            layers[f"x{index}"] = value.above
    listed = []
    keys = level.outline.keys
    if isinstance(keys, PublicKeys):
        for index, column in enumerate(keys.columns):
            if column.filtered:
                key = group_keys.grouped(query.keys[index])
                listed.append(is_listed(key, column, *place(keys, index)))
    for index, other in enumerate(level.outline.filtering_keys):
        key = group_keys.grouped(other.key)
        listed.append(is_listed(key, other.column, f"beside{index}", "v0"))
    rows = relations.filtered(query.source, query.where, listed)
    text = f"SELECT {', '.join(columns) or 'TRUE AS present'} FROM {rows}"
    body = relations.once(text)
    shortened = [f"{key} AS k{index}" for index, key in group_keys.shortened().items()]
    # around the rows, so that what a key or a value is made of is written once
    return layered(body, shortened, layers)
