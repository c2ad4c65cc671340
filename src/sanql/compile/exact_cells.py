"""A declared release as one SQL statement: of every cell, its records and the sum of their values.

The statement depends on the declaration alone, never on a question, so that whatever is asked the
engine does the same. Values are whole grid steps: clamped on reading, rounded to the grid (bounds
are whole steps far below 2^52, so rounding cannot pass them), a missing one read as the declared
value. A unit column may hold one row for each unit, as declared;
should a unit have several, the least of its values stand for it, so that it still counts once.
"""

from __future__ import annotations

from fractions import Fraction

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import ENGINE_TYPES, Emitter, row_column
from sanql.compile.expressions.values import real
from sanql.compile.parts import PARTIAL, AddedUp, added_up, part_of_cells
from sanql.kernel import PartialCells, Statement
from sanql.policy import ColumnUnit, Table
from sanql.policy.exact import Exact, ExactValues, ExactVerdict
from sanql.question import TYPES, ColumnRef, Type, column_facts


def compile_exact_release(exact: Exact, table: Table, source: Layout) -> Statement:
    """Return the statement; it yields k0…, `records` and `total` (as text) of cells with records.

    Of a verdict it yields them for each value as well: `x` is the value's place.
    """
    scans = source.scans[table.name]
    emitter = Emitter(row_column(scans))
    columns: dict[str, str] = {}
    conditions = []
    for index, (name, values) in enumerate(exact.cells.columns):
        text = emitter.sql(_reference(table, name))
        columns[f"k{index}"] = text
        listed = emitter.parameter(
            list(values), f"{ENGINE_TYPES[TYPES[table.columns[name].type]]}[]"
        )
        conditions.append(f"{text} IN (SELECT unnest({listed}))")
    total = "'0'"
    if isinstance(exact, ExactValues):
        columns["x"] = _value(exact, table, emitter)
        total = "CAST(system.main.sum(x) AS VARCHAR)"
    keys = [name for name in columns if name != "x"]
    if isinstance(exact, ExactVerdict):
        columns["x"] = _place(exact, table, emitter)
        keys.append("x")
    listed_columns = ", ".join(f"{text} AS {name}" for name, text in columns.items())
    relation = source.relations[table.name]
    if isinstance(table.unit, ColumnUnit):
        unit = scans[table.unit.column]
        inner = f"SELECT {unit} AS u, {listed_columns or 'TRUE AS present'} FROM {relation}"
        conditions.append(f"{unit} IS NOT NULL")
        least = ", ".join(f"system.main.min({name}) AS {name}" for name in columns)
        grouped = f"SELECT {least or 'TRUE AS present'} FROM rows_in GROUP BY u"
    else:
        inner = f"SELECT {listed_columns or 'TRUE AS present'} FROM {relation}"
        grouped = "SELECT * FROM rows_in"
    keys_listed = "".join(f"{key}, " for key in keys)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    records = f"WITH rows_in AS ({inner}{where}), records_in AS ({grouped})"
    parameters = tuple(emitter.parameters)
    if not source.spread:
        sql = (
            f"{records}\nSELECT {keys_listed}system.main.count(*) AS records, "
            f"{total} AS total FROM records_in{grouping}"
        )
        return Statement(sql, parameters)
    # the records of a unit are in one bucket, so that what each adds to a cell is a whole number
    sums = "system.main.sum(x)" if isinstance(exact, ExactValues) else "0"
    added = AddedUp("released", tuple(keys), ("records", "total"))
    part = (
        f"{records}, released AS (SELECT {keys_listed}system.main.count(*) AS records, "
        f"{sums} AS total FROM records_in{grouping})\n{part_of_cells([added], keys)}"
    )
    sql = (
        f"WITH {added_up([added])[0]}\nSELECT {keys_listed}CAST(records AS BIGINT) AS records, "
        f"CAST(total AS VARCHAR) AS total FROM released"
    )
    partial = PartialCells(PARTIAL, part, parameters)
    return Statement(sql, parameters, partial=partial, parts=source.parts)


def _place(exact: ExactVerdict, table: Table, emitter: Emitter) -> str:
    """Return at which place of those listed a row's value is; one without any counts as declared."""
    column = table.columns[exact.column]
    text, kind = emitter.sql(_reference(table, exact.column)), ENGINE_TYPES[TYPES[column.type]]
    cases = " ".join(
        f"WHEN {text} = {emitter.parameter(value, kind)} THEN {place}"
        for place, value in enumerate(exact.values)
    )
    return f"CASE {cases} ELSE {exact.missing} END"


def _reference(table: Table, name: str) -> ColumnRef:
    column = table.columns[name]
    return ColumnRef(column.name, column_facts(column))


def _value(exact: ExactValues, table: Table, emitter: Emitter) -> str:
    reference = _reference(table, exact.column)
    text = emitter.sql(reference)
    match reference.facts.type:
        case Type.REAL:
            steps = f"CAST({text} AS DOUBLE) * {real(Fraction(exact.grid.denominator))}"
            if exact.grid.numerator != 1:
                steps = f"{steps} / {real(Fraction(exact.grid.numerator))}"
            text = f"TRY_CAST(system.main.floor({steps} + 0.5e0) AS BIGINT)"
        case Type.BOOLEAN:
            text = f"CASE WHEN {text} THEN 1 WHEN NOT {text} THEN 0 END"
        case Type.INTEGER:
            text = f"CAST({text} AS BIGINT)"
        case _:
            raise AssertionError(f"{exact.column} is no number: the policy checked it")
    return f"coalesce({text}, {exact.missing})"
