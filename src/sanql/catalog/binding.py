"""The policy's tables and columns found in a source's schema, or every fault in the way.

Uses names and types only. Names match without regard to case, as DuckDB's do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from sanql.catalog.similar_names import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    CANONICAL,
    COMPUTED,
    TEXT_BYTES_DEFAULT,
    CopiedTable,
    Projection,
    UnitReference,
    convert,
    identify_unit,
    identity_type,
    quote_name,
    stored_column,
)
from sanql.policy import Column, ColumnUnit, TableDomain, ViaUnit, identifiers, own_unit

if TYPE_CHECKING:
    from sanql.policy import Policy, Table

SourceFormat = Literal["parquet", "csv", "duckdb"]


@dataclass(frozen=True)
class SourceColumn:
    """A column as a source file has it."""

    name: str
    physical: str
    suggested: Column | None


@dataclass(frozen=True)
class BoundTable:
    """A policy table found in the source: its name there, and per part what yields its columns.

    `texts` are the columns declared as another type that a part stores as text. `unit` identifies whose
    a row is, where that is a column of its own; the owner may declare that it is `unique`. Elsewhere a
    `reference` leads to the row that says it.
    """

    name: str
    types: Mapping[str, str]
    projections: tuple[Projection, ...]
    inferred: Mapping[str, Column] | None
    texts: tuple[str, ...]
    unit: str | None = None
    unique: bool = False
    reference: UnitReference | None = None

    def copied(self) -> CopiedTable:
        """Return how the table is copied; one of which only rows are counted still needs a column.

        Its segments are named by their places.
        """
        segments = tuple(map(str, range(len(self.projections))))
        if self.types:
            types, whose = dict(self.types), (self.unit, self.unique, self.reference)
            return CopiedTable(self.name, types, self.projections, *whose, segments)
        counted = (Projection(projection.columns, ("true",), {}) for projection in self.projections)
        return CopiedTable(self.name, {"row": "BOOLEAN"}, tuple(counted), segments=segments)


def bind(
    policy: Policy, formats: Mapping[str, SourceFormat], schema: Mapping[str, object]
) -> dict[str, BoundTable]:
    """Return every policy table as found in the source; raise all faults at once."""
    tables, unfit = _read(schema)
    bound: dict[str, BoundTable] = {}
    faults: list[Fault] = []
    for table in policy.tables.values():
        place = f"table.{table.name}"
        names = [name for name in {**tables, **unfit} if name.lower() == table.name.lower()]
        if not names:
            hint = suggest_similar(table.name, tables) or "name a table of the source"
            faults.append(Fault(place, "the source has no such table", hint))
        elif names[0] in unfit:
            faults.append(Fault(place, *unfit[names[0]]))
        else:
            whose = identifiers(table, policy.tables)
            bound_table = _bind_table(table, whose, names[0], formats[table.name], tables[names[0]])
            if isinstance(bound_table, BoundTable):
                bound[table.name] = replace(bound_table, unit=own_unit(table, policy.tables))
            else:
                faults.extend(bound_table)
            faults += _key_faults(table, tables[names[0]])
    faults += _domain_faults(policy, bound)
    if faults:
        raise PolicyError(faults)
    for table in policy.tables.values():
        if isinstance(table.unit, ViaUnit) and bound[table.name].unit is None:
            referred = bound[table.unit.table].name
            reference = UnitReference(table.unit.column, referred, table.unit.key)
            bound[table.name] = replace(bound[table.name], reference=reference)
    return bound


def _key_faults(table: Table, files: list[list[SourceColumn]]) -> list[Fault]:
    """Return the fault of a key that a public table does not have; a private one's is an identifier."""
    names = [field.name for field in files[0]] if files else []
    if not table.public or table.key is None or table.key.lower() in map(str.lower, names):
        return []
    hint = suggest_similar(table.key, names) or "name a column of the table"
    place = f"table.{table.name}.key"
    return [Fault(place, f"the source has no column {quote_name(table.key)}", hint)]


def _domain_faults(policy: Policy, bound: Mapping[str, BoundTable]) -> list[Fault]:
    """Return the keys of public tables whose type is not the column's: a cast could merge keys."""
    faults = []
    for table in policy.tables.values():
        for column in table.columns.values():
            domain = column.domain
            if not isinstance(domain, TableDomain) or domain.table not in bound:
                continue  # keys are written down, or their table has a fault of its own
            known = policy.tables[domain.table].columns or bound[domain.table].inferred or {}
            listed = known.get(domain.column)
            if listed is None or listed.type != column.type:
                stored = listed.type if listed is not None else "missing or of no known type"
                faults.append(
                    Fault(
                        f"[table.{table.name}.column] {column.name}.domain",
                        f"{domain.table}.{domain.column} is {stored}, and the column is {column.type}",
                        "declare the public table's column with the same type",
                    )
                )
    return faults


def _read(
    schema: Mapping[str, object],
) -> tuple[dict[str, list[list[SourceColumn]]], dict[str, tuple[str, str]]]:
    """Return a worker's report as fields; it crossed a process boundary, so nothing is assumed."""
    tables, unfit = schema["tables"], schema["unfit"]
    if not isinstance(tables, dict) or not isinstance(unfit, dict):
        raise TypeError
    return (
        {
            str(name): [[_field(*column) for column in fields] for fields in files]
            for name, files in tables.items()
        },
        {str(name): (str(why), str(remedy)) for name, (why, remedy) in unfit.items()},
    )


def _field(name: str, physical: str, kind: str | None, precision: str | None) -> SourceColumn:
    suggested = next((known for known in CANONICAL if known == kind), None)
    column = suggested and Column(
        name, suggested, precision=Fraction(precision) if precision else None
    )
    return SourceColumn(str(name), str(physical), column)


def _bind_table(
    table: Table,
    whose: Sequence[str],
    name: str,
    form: SourceFormat,
    files: list[list[SourceColumn]],
) -> BoundTable | list[Fault]:
    inferred = _infer(files) if table.public and not table.columns else None
    columns = table.columns if inferred is None else inferred
    wanted = dict.fromkeys([*whose, *columns])
    faults: list[Fault] = []
    types: dict[str, str] = {}
    chosen: list[dict[str, tuple[str, str]]] = [{} for _ in files]
    for column in wanted:
        is_unit = column.lower() in [identifier.lower() for identifier in whose]
        place = f"table.{table.name}.{'privacy_unit' if is_unit else 'column.' + column}"
        declared = columns.get(column)
        bound = _bind_column(place, column, declared, form, files, is_unit=is_unit)
        if isinstance(bound, Fault):
            faults.append(bound)
            continue
        types[column], expressions = bound
        for sources, expression in zip(chosen, expressions, strict=True):
            sources[column] = expression
    if faults:
        return faults
    projections = tuple(
        Projection(
            # Rows are counted by some column even where none is used.
            tuple(dict.fromkeys(source for source, _ in sources.values())) or (fields[0].name,),
            tuple(expression for _, expression in sources.values()),
            _bytes_max(columns, {column: source for column, (source, _) in sources.items()}),
        )
        for sources, fields in zip(chosen, files, strict=True)
    )
    frozen = None if inferred is None else MappingProxyType(inferred)
    return BoundTable(
        name,
        MappingProxyType(types),
        projections,
        frozen,
        _texts(table, files),
        unique=_is_unique(table, types),
    )


def _is_unique(table: Table, types: Mapping[str, str]) -> bool:
    """Return whether one row for each unit is declared, and equal values of its column are the same."""
    if not (table.unique and isinstance(table.unit, ColumnUnit)):
        return False
    return types[table.unit.column] not in ("DOUBLE", "FLOAT")  # 0.0 and -0.0 are one unit


def _bytes_max(columns: Mapping[str, Column], sources: Mapping[str, str]) -> dict[str, int]:
    """Return how many bytes count of what is read as text or as a unit, and as nothing else."""
    most: dict[str, int] = {}
    whole: set[str] = set()
    for column, source in sources.items():
        declared = columns.get(column)
        if declared is not None and declared.type != "text":
            whole.add(source)
        limit = (declared.bytes_max if declared else None) or TEXT_BYTES_DEFAULT
        most[source] = max(most.get(source, 0), limit)
    return {source: limit for source, limit in most.items() if source not in whole}


def _texts(table: Table, files: list[list[SourceColumn]]) -> tuple[str, ...]:
    stored = {
        field.name.lower()
        for fields in files
        for field in fields
        if field.physical == CANONICAL["text"]
    }
    return tuple(
        column.name
        for column in table.columns.values()
        if column.type != "text" and column.name.lower() in stored
    )


def _bind_column(
    place: str,
    column: str,
    declared: Column | None,
    form: SourceFormat,
    files: list[list[SourceColumn]],
    *,
    is_unit: bool,
) -> tuple[str, list[tuple[str, str]]] | Fault:
    """Return a column's stored type, and for each part its source name and expression."""
    expressions: list[tuple[str, str]] = []
    stored: set[str] = set()
    bytes_max = (declared.bytes_max if declared else None) or TEXT_BYTES_DEFAULT
    for fields in files:
        named = [field for field in fields if field.name.lower() == column.lower()]
        if not named:
            hint = suggest_similar(column, [field.name for field in fields])
            message = f'the source has no column "{column}"'
            return Fault(place, message, hint or "name a column of the source")
        if len(named) > 1:
            return Fault(place, f'several columns are called "{column}"', "rename one of them")
        (field,) = named
        if field.physical == COMPUTED:
            return Fault(
                place,
                f'the source computes "{column}" from other columns when it is read, which may fail '
                "on a row",
                "store its values in a column of their own",
            )
        start = (
            quote_name(field.name)
            if form == "duckdb"
            else stored_column(form, field.name, field.physical)
        )
        if is_unit and form == "csv" and declared and declared.type not in ("text", "integer"):
            return Fault(
                place,
                f"a privacy unit of type {declared.type} read from CSV could merge two people",
                'declare it as "text" or "integer", or store the table as Parquet',
            )
        if is_unit and not (form == "csv" and declared and declared.type == "integer"):
            kind_declared = declared.type if declared else None
            expression = identify_unit(start, field.physical, kind_declared, bytes_max)
            stored.add(CANONICAL[declared.type] if declared else identity_type(field.physical))
        elif declared is not None:
            expression = convert(start, field.physical, declared.type, bytes_max)
            if is_unit and declared.type == "integer":
                # only text that is the number itself: '1.4' and '01' must not become person 1
                expression = (
                    f"CASE WHEN CAST({expression} AS VARCHAR) = {start} THEN {expression} END"
                )
            stored.add(CANONICAL[declared.type])
        else:
            raise AssertionError(column)
        if expression is None:
            kind = declared.type if declared else "privacy unit"
            return Fault(
                place,
                f'the source stores "{column}" as {field.physical}, which is no {kind}',
                "declare the type it is stored as, or store it as the type declared"
                if declared
                else 'store whole numbers or text; in pandas, astype("Int64") has room for missing ones',
            )
        expressions.append((field.name, expression))
    if len(stored) > 1:
        kinds = ", ".join(sorted(stored))
        return Fault(place, f"the parts store the unit as {kinds}", "write them with one type")
    return stored.pop(), expressions


def _infer(files: list[list[SourceColumn]]) -> dict[str, Column]:
    """Return the columns of a public table that its parts agree on, with the type that fits all."""
    inferred: dict[str, Column] = {}
    for field in files[0]:
        matches = [
            other.suggested
            for fields in files
            for other in fields
            if other.name.lower() == field.name.lower()
        ]
        suggestions = [column for column in matches if column is not None]
        if len(matches) != len(files) or len(suggestions) != len(files):
            continue
        kinds = {column.type for column in suggestions}
        if len(kinds) == 1:
            inferred[field.name] = suggestions[0]
        elif kinds == {"integer", "float"}:
            inferred[field.name] = Column(field.name, "float")
        elif all(part_field.physical == "VARCHAR" for part_field in files[0]):
            inferred[field.name] = Column(field.name, "text")
    return inferred
