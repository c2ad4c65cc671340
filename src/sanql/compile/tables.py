"""One table as SQL: its unit, found along foreign keys, and the columns that are read of it."""

from __future__ import annotations

from collections.abc import Mapping

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import lower_bound, scanned
from sanql.compile.expressions.values import without_negative_zero
from sanql.errors import Refused
from sanql.kernel import IN_PART, unit_bucket
from sanql.policy import Column, ColumnUnit, Table, ViaUnit
from sanql.question import TYPES, Scan, Type, column_facts

# UHUGEINT is none of them: beside another it is compared as a HUGEINT, which fails, or as a DOUBLE
INTEGERS = frozenset(
    [
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
        "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    ]
)  # fmt: skip


SECOND_UNIT = "w"
"""What the unit of a second kind is called that a row belongs to, beside `u` of the first."""


class TableReader:
    """Writes tables of a source, each with `u`, the unit of a row, where it has one."""

    def __init__(
        self, source: Layout, tables: Mapping[str, Table], part_secret: int | None = None
    ) -> None:
        self._source = source
        self._tables = tables
        self._part_secret = part_secret
        self._unit_type: str | None = None
        self._beside: dict[str, dict[str, str]] = {}

    def table(
        self,
        name: str,
        named: Mapping[str, str],
        *,
        unit_elsewhere: bool,
        matched_once: bool,
    ) -> str:
        """Return a table with its unit and these columns, under these names.
        Its unit is left out where a join leads to it anyway; a public table that rows may match only
        once has one row for each key.
        """
        table = self._tables[name]
        columns = {column: self._filled(table, column) for column in named}
        relation = self._source.relations[table.name]
        listed = [f"{text} AS {named[column]}" for column, text in columns.items()]
        listed += [f"{stored} AS {shown}" for shown, stored in self._beside.get(name, {}).items()]
        if isinstance(table.unit, ColumnUnit | ViaUnit):
            self._check_unit_type(table)
        match table.unit:
            case ViaUnit() if name in self._source.units:
                whose = self._source.units[name]
                with_unit = listed if unit_elsewhere else [f"{whose} AS u", *listed]
                rows = f"{relation} WHERE TRUE{self._in_part(table, whose)}"
                return f"(SELECT {', '.join(with_unit) or '1 AS present'} FROM {rows})"
            case ViaUnit() as unit if not self.is_direct(unit) and not unit_elsewhere:
                own = [f"{self._stored(table, unit.column)} AS v", *listed]
                shown = ", ".join(["o.u AS u", *(f"s.{column}" for column in named.values())])
                return (
                    f"(SELECT {shown} FROM (SELECT {', '.join(own)} FROM {relation}) AS s "
                    f"JOIN ({self._owners(self._tables[unit.table], unit.key)}) AS o ON s.v = o.k)"
                )
            case ColumnUnit(column) if table.second is not None:
                whose, other = self._stored(table, column), self._stored(table, table.second.column)
                return (
                    f"(SELECT {', '.join([f'{whose} AS u', f'{other} AS {SECOND_UNIT}', *listed])} "
                    f"FROM {relation} WHERE {whose} IS NOT NULL AND {other} IS NOT NULL"
                    f"{self._in_part(table, column)})"
                )
            case ColumnUnit(column) | ViaUnit(column) if not unit_elsewhere:
                whose = self._stored(table, column)
                return (
                    f"(SELECT {', '.join([f'{whose} AS u', *listed])} FROM {relation} "
                    f"WHERE {whose} IS NOT NULL{self._in_part(table, column)})"
                )
            case _:
                shown = ", ".join(listed) or "1 AS present"
                if table.public and table.key is not None and matched_once:
                    return self._one_for_each_key(table, shown, list(columns.values()))
                return f"(SELECT {shown} FROM {relation})"

    def beside(self, scan: Scan, stored: str, name: str) -> str:
        """Return a column that a copy has besides the table's own: one of this name from now on."""
        self._beside.setdefault(scan.table, {})[name] = stored
        return f"t{scan.slot}.{name}"

    def is_direct(self, unit: ViaUnit) -> bool:
        """Return whether a foreign key refers to the unit's own column, and so is the unit."""
        referred = self._tables[unit.table].unit
        return isinstance(referred, ColumnUnit) and referred.column.lower() == unit.key.lower()

    def _one_for_each_key(self, table: Table, shown: str, read: list[str]) -> str:
        """Return a public table with one row for each key, so that no row is matched twice.

        Which one is decided by what is read of it, never by the order in which rows are met.
        """
        key = next(c for c in table.columns.values() if c.name.lower() == table.key.lower())  # type: ignore[union-attr]
        place = scanned(self._stored(table, key.name), column_facts(key))
        relation = self._source.relations[table.name]
        return (
            f"(SELECT DISTINCT ON ({place}) {shown} FROM {relation} "
            f"ORDER BY {', '.join([place, *read])})"
        )

    def _owners(self, table: Table, key: str) -> str:
        """Return which unit each value of a table's key leads to."""
        relation = self._source.relations[table.name]
        named = f"{self._stored(table, key)} AS k"
        match table.unit:
            case ViaUnit() if table.name in self._source.units:
                whose = self._source.units[table.name]
                part = self._in_part(table, whose)
                return f"SELECT {named}, {whose} AS u FROM {relation} WHERE TRUE{part}"
            case ViaUnit() as unit if not self.is_direct(unit):
                following = self._owners(self._tables[unit.table], unit.key)
                via = self._stored(table, unit.column)
                return (
                    f"SELECT s.k, o.u FROM (SELECT {named}, {via} AS v FROM {relation}) AS s "
                    f"JOIN ({following}) AS o ON s.v = o.k"
                )
            case ColumnUnit(column) | ViaUnit(column):
                whose = self._stored(table, column)
                return (
                    f"SELECT {named}, {whose} AS u FROM {relation} "
                    f"WHERE {whose} IS NOT NULL{self._in_part(table, column)}"
                )
            case _:
                raise AssertionError("the policy checked that references lead to a unit")

    def _in_part(self, table: Table, unit: str) -> str:
        """Return the condition that the unit of a row is in the part that is read, if units are in parts.

        Rows whose unit is found along foreign keys are in the part of the rows that those lead to.
        """
        if self._part_secret is None:
            return ""
        bucket = self._source.buckets.get(table.name)
        if bucket is None:
            kind = self.type_of(table.name, unit)
            bucket = unit_bucket(self._stored(table, unit), kind, self._part_secret)
        return f" AND {bucket} {IN_PART}"

    def check_alike(self, first: str, left: str, second: str, right: str) -> None:
        """Refuse two identifiers that their tables store as different types."""
        kinds = self.type_of(first, left), self.type_of(second, right)
        if not _alike(*kinds):
            raise _differ(f"{first}.{left}", f"{second}.{right}", *kinds)

    def _check_unit_type(self, table: Table) -> None:
        """Refuse units that two tables store as different types: a cast could fail, or merge two."""
        unit = table.unit
        name = table.name
        while isinstance(unit, ViaUnit) and not self.is_direct(unit):
            kinds = self.type_of(name, unit.column), self.type_of(unit.table, unit.key)
            if not _alike(*kinds):
                raise _differ(f"{name}.{unit.column}", f"{unit.table}.{unit.key}", *kinds)
            name, unit = unit.table, self._tables[unit.table].unit
        assert isinstance(unit, ColumnUnit | ViaUnit)  # noqa: S101  (asked of tables with a unit)
        kind = self.type_of(name, unit.column)
        self._unit_type = self._unit_type or kind
        if not _alike(self._unit_type, kind):
            raise _differ(f"{name}.{unit.column}", "another table's", kind, self._unit_type)

    def type_of(self, table: str, column: str) -> str:
        """Return how a column is stored."""
        types = self._source.types[table]
        return next(kind for known, kind in types.items() if known.lower() == column.lower())

    def _filled(self, table: Table, name: str) -> str:
        """Return a column as it is read; of one that is not nullable, a missing value is its lower bound.

        It is filled in before tables are joined: what an outer join leaves out stays missing.
        """
        text, column = self._stored(table, name), _declared(table, name)
        if column is None or column.nullable:
            return text
        facts = column_facts(column)
        return f"coalesce({scanned(text, facts)}, {lower_bound(facts)})"

    def _stored(self, table: Table, name: str) -> str:
        stored = self._source.scans[table.name]
        text = next(text for known, text in stored.items() if known.lower() == name.lower())
        column = _declared(table, name)
        return without_negative_zero(text) if column and TYPES[column.type] is Type.REAL else text


def _declared(table: Table, name: str) -> Column | None:
    return next((c for known, c in table.columns.items() if known.lower() == name.lower()), None)


def _differ(one: str, other: str, first: str, second: str) -> Refused:
    return Refused(
        "units_differ",
        f"{one} is stored as {first} and {other} as {second}; compared, a value could be lost",
        "let the owner store what identifies the unit as one type; of a CSV file, declare it in both "
        'tables, such as pid = { type = "integer" }',
    )


def _alike(first: str, second: str) -> bool:
    """Return whether the engine compares two stored types without a cast that could fail."""
    return first == second or (first in INTEGERS and second in INTEGERS)
