"""What an owner declares, in the canonical form that digests are computed from."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import assert_never

from sanql.canonical import DIGEST_FORM, ByName, Named, Shape, digest_of, first_digest_of
from sanql.policy.exact import (
    Acceptance,
    BinaryColumn,
    BinomialSample,
    Cells,
    Exact,
    ExactHistogram,
    ExactValues,
    ExactVerdict,
    Family,
    LatticePart,
    LowerMedian,
    MapEstimate,
    MostFrequent,
    PoissonSample,
    SampleClass,
    ShareAtLeast,
    UniformComponent,
    ValueClass,
    VerdictFunction,
)
from sanql.policy.model import (
    Column,
    ColumnUnit,
    Domain,
    ListedDomain,
    RowUnit,
    SecondKind,
    Table,
    TableDomain,
    Unit,
    ViaUnit,
)


def declaration_digest(declared: Exact) -> str:
    """Return the name of a declaration: equal exactly when everything that was declared is."""
    of = exact_form(declared)
    return digest_of(Named("Declaration", {"form": DIGEST_FORM, "of": of}))


def first_declaration_digest(declared: Exact) -> str:
    """Return the name that version 0.1.0 gave a declaration."""
    return first_digest_of(exact_form(declared))


def exact_form(declared: Exact) -> Named:
    """Return a declared exact release."""
    common: dict[str, Shape] = {
        "name": declared.name,
        "table": declared.table,
        "cells": _cells(declared.cells),
        "accept": _acceptance(declared.accept),
        "known_records": declared.known_records,
    }
    match declared:
        case ExactValues():
            own: dict[str, Shape] = {
                "column": declared.column,
                "adversary": _class(declared.adversary),
                "known_columns": declared.known_columns,
                "grid": declared.grid,
                "low": declared.low,
                "high": declared.high,
                "missing": declared.missing,
                "records_min": declared.records_min,
            }
            return Named("ExactValues", common | own)
        case ExactHistogram():
            own = {"adversary": _class(declared.adversary), "threshold": declared.threshold}
            return Named("ExactHistogram", common | own)
        case ExactVerdict():
            own = {
                "column": declared.column,
                "adversary": _family(declared.adversary),
                "known_columns": declared.known_columns,
                "values": declared.values,
                "missing": declared.missing,
                "function": _function(declared.function),
                "records_min": declared.records_min,
            }
            return Named("ExactVerdict", common | own)
        case _:
            assert_never(declared)


def _cells(cells: Cells) -> Named:
    return Named("Cells", {"columns": cells.columns})


def _acceptance(accept: Acceptance) -> Named:
    return Named("Acceptance", {"epsilon": accept.epsilon, "delta": accept.delta})


def _family(declared: Family) -> Named:
    return Named(
        "Family",
        {"laws": declared.laws, "names": declared.names, "weights": declared.weights},
    )


def _function(declared: VerdictFunction) -> Named:
    match declared:
        case MapEstimate():
            return Named("MapEstimate", {})
        case MostFrequent():
            return Named("MostFrequent", {})
        case LowerMedian():
            return Named("LowerMedian", {})
        case ShareAtLeast(share):
            return Named("ShareAtLeast", {"share": share})
        case _:
            assert_never(declared)


def _class(declared: ValueClass | SampleClass) -> Named:
    match declared:
        case UniformComponent(alpha, width):
            return Named("UniformComponent", {"alpha": alpha, "width": width})
        case LatticePart(points, mass):
            return Named("LatticePart", {"points": points, "mass": mass})
        case BinaryColumn(beta):
            return Named("BinaryColumn", {"beta": beta})
        case PoissonSample():
            return Named("PoissonSample", {})
        case BinomialSample(rate):
            return Named("BinomialSample", {"rate": rate})
        case _:
            assert_never(declared)


def table_form(table: Table, columns: Iterable[str] | None = None) -> Named:
    """Return a table with its columns, or with some of them."""
    chosen = table.columns if columns is None else sorted(columns)
    found = isinstance(table.columns, MappingProxyType)  # in the source: not declared
    return Named(
        "Table",
        {
            "name": table.name,
            "unit": _unit(table.unit),
            "columns": ByName({name: column_form(table.columns[name]) for name in chosen}, found),
            "rows_per_unit_max": table.rows_per_unit_max,
            "rows_per_group_max": table.rows_per_group_max,
            "groups_per_unit_max": table.groups_per_unit_max,
            "key": table.key,
            "unique": table.unique,
            # came later: where there is one kind of unit, names stay as they were
            **({} if table.kind is None else {"kind": table.kind}),
            **({} if table.second is None else {"second": _second(table.second)}),
        },
    )


def _second(second: SecondKind) -> Named:
    return Named(
        "SecondKind",
        {
            "kind": second.kind,
            "column": second.column,
            "rows_per_group_max": second.rows_per_group_max,
        },
    )


def column_form(column: Column) -> Named:
    """Return a column."""
    return Named(
        "Column",
        {
            "name": column.name,
            "type": column.type,
            "bounds": column.bounds,
            "precision": column.precision,
            "domain": None if column.domain is None else domain_form(column.domain),
            "total_bounds": column.total_bounds,
            "bounds_auto": column.bounds_auto,
            # came later: where it is left out, names stay as they were
            **({} if column.bytes_max is None else {"bytes_max": column.bytes_max}),
            **({} if column.nullable is True else {"nullable": column.nullable}),
        },
    )


def domain_form(domain: Domain) -> Named:
    """Return the public keys of a column."""
    match domain:
        case ListedDomain(values):
            return Named("ListedDomain", {"values": values})
        case TableDomain(table, column):
            return Named("TableDomain", {"table": table, "column": column})
        case _:
            assert_never(domain)


def _unit(unit: Unit | None) -> Named | None:
    match unit:
        case None:
            return None
        case RowUnit():
            return Named("RowUnit", {})
        case ColumnUnit(column):
            return Named("ColumnUnit", {"column": column})
        case ViaUnit(column, table, key):
            return Named("ViaUnit", {"column": column, "table": table, "key": key})
        case _:
            assert_never(unit)
