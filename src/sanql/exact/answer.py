"""Exact answers: unions of recorded cells, computed exactly, in whatever form was asked for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.account import Balance, Charge
from sanql.answer import MeasuredContent, arrange, run_on_cells
from sanql.compile import ENGINE_TYPES, Emitter
from sanql.exact.cells import ExactCells, Released
from sanql.exact.plan import ExactPlan, Reading
from sanql.policy import Table, show_number
from sanql.policy.exact import ExactValues, ExactVerdict
from sanql.question import TYPES, ColumnRef, Expr
from sanql.results import ExactAnswer, ExactCertificate

if TYPE_CHECKING:
    import pyarrow


DIGITS = 38


def exact_answer(
    plan: ExactPlan,
    table: Table,
    released: Released,
    certificate: ExactCertificate,
    remaining: tuple[Balance, ...],
    version: int | None,
) -> ExactAnswer:
    """Return the answer to an exact question from the cells of its release, as of their version."""
    return ExactAnswer(
        content=MeasuredContent(_shown(plan, table, released.cells), {}),
        confidence=Fraction(1),
        noise={},
        charge=Charge((), Fraction(0), Fraction(0)),
        remaining=remaining,
        certificate=certificate,
        cached=released.cached,
        version=version,
    )


def differences_from_sql(plan: ExactPlan) -> list[str]:
    """Return in what the numbers differ from SQL's: a record without a value counts all the same.

    It cannot be otherwise: how many values are missing is data, and only sums over records whose
    number is public are certified. No policy says that a column has a value in every record.
    """
    if isinstance(plan.exact, ExactVerdict):
        value = plan.exact.values[plan.exact.missing]
        return [f"records without a listed value count as {value}"]
    if not isinstance(plan.exact, ExactValues):
        return []
    value = show_number(plan.exact.missing * plan.exact.grid)
    if Reading.MEAN in plan.readings:
        return [
            f"AVG is over all records: those without a value count as {value}, where SQL leaves "
            "them out"
        ]
    if Reading.TOTAL in plan.readings and plan.exact.missing:
        return [f"records without a value count as {value}, where SQL leaves them out"]
    return []


def exact_columns(plan: ExactPlan, table: Table) -> pyarrow.Schema:
    """Return names and types of an exact answer's columns: those that empty cells have."""
    nothing = (0,) * len(plan.exact.cells.keys())
    return _shown(plan, table, ExactCells(nothing, nothing)).schema


def _shown(plan: ExactPlan, table: Table, cells: ExactCells) -> pyarrow.Table:
    return arrange(plan.query, _groups(plan, table, cells))


def _groups(plan: ExactPlan, table: Table, cells: ExactCells) -> pyarrow.Table:
    """Return k0… and a0… of every group: its cells added up, in whole numbers."""
    import pyarrow as pa

    names = {name: f"c{index}" for index, name in enumerate(plan.exact.cells.names)}

    def leaf(expression: Expr) -> str:
        assert isinstance(expression, ColumnRef)  # noqa: S101  (WHERE and keys have columns only)
        return (
            f"{names[expression.name]}::{ENGINE_TYPES[TYPES[table.columns[expression.name].type]]}"
        )

    emitter = Emitter(leaf)
    keys = [f"{emitter.sql(key)} AS k{index}" for index, key in enumerate(plan.query.keys)]
    where = f" WHERE {emitter.sql(plan.where)}" if plan.where is not None else ""
    grouping = f" GROUP BY {', '.join(f'k{i}' for i in range(len(keys)))}" if keys else ""
    sums = (
        "coalesce(sum(records), 0)::VARCHAR AS records, coalesce(sum(total), 0)::VARCHAR AS total, "
        "min(total)::VARCHAR AS verdict"
    )
    sql = f"SELECT {', '.join([*keys, sums])} FROM cells{where}{grouping}"
    groups = run_on_cells(sql, emitter.parameters, _base(plan, cells))
    columns = {f"k{index}": groups.column(f"k{index}") for index in range(len(keys))}
    records = [int(text) for text in groups.column("records").to_pylist()]
    totals = [int(text) for text in groups.column("total").to_pylist()]
    verdicts = groups.column("verdict").to_pylist()
    for index, reading in enumerate(plan.readings):
        columns[f"a{index}"] = (
            _verdicts(plan, table, verdicts)
            if reading is Reading.VERDICT
            else _column(plan, reading, records, totals)
        )
    if not columns:
        columns["present"] = pa.array([True] * groups.num_rows)
    return pa.table(columns)


def _base(plan: ExactPlan, cells: ExactCells) -> pyarrow.Table:
    import pyarrow as pa

    keys = plan.exact.cells.keys()
    columns = {
        f"c{index}": pa.array([key[index] for key in keys])
        for index in range(len(plan.exact.cells.columns))
    }
    whole = pa.decimal128(DIGITS, 0)
    columns["records"] = pa.array([Decimal(n) for n in cells.records], whole)
    columns["total"] = pa.array([Decimal(n) for n in cells.totals], whole)
    return pa.table(columns)


def _verdicts(plan: ExactPlan, table: Table, places: list[str | None]) -> pyarrow.Array:
    """Return the outputs that are meant; a group has one cell, and a group of none has no verdict."""
    import pyarrow as pa

    assert isinstance(plan.exact, ExactVerdict)  # noqa: S101  (nothing else has verdicts)
    outputs = plan.exact.outputs
    kinds = {"integer": pa.int64(), "boolean": pa.bool_()}
    kind = pa.string()
    if not isinstance(outputs[0], str):
        kind = kinds["boolean" if isinstance(outputs[0], bool) else "integer"]
    return pa.array([None if place is None else outputs[int(place)] for place in places], kind)


def _column(
    plan: ExactPlan, reading: Reading, records: list[int], totals: list[int]
) -> pyarrow.Array:
    import pyarrow as pa

    if reading is Reading.RECORDS:
        return pa.array(records, pa.int64())
    assert isinstance(plan.exact, ExactValues)  # noqa: S101  (a histogram has nothing to add up)
    grid = plan.exact.grid
    if reading is Reading.MEAN:
        # a quotient of whole numbers, rounded once to the nearest double
        means = [float(t * grid / n) if n else None for n, t in zip(records, totals, strict=True)]
        return pa.array(means, pa.float64())
    places = _places(grid)
    if places == 0 and grid.denominator == 1:
        return pa.array([total * int(grid) for total in totals], pa.int64())
    scaled = [Decimal(int(total * grid * 10**places)).scaleb(-places) for total in totals]
    return pa.array(scaled, pa.decimal128(DIGITS, places))


def _places(grid: Fraction) -> int:
    """Return how many decimals a multiple of the grid can have; policies write decimals."""
    places = 0
    while (grid * 10**places).denominator != 1:
        places += 1
    return places
