"""The names an expression can see: columns of what FROM holds, then those of the question around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.parse.expressions.refusals import unknown_construct
from sanql.parse.text.places import located
from sanql.policy import ColumnUnit, Table, ViaUnit, identifiers
from sanql.question import (
    ColumnRef,
    Expr,
    Facts,
    From,
    Grouped,
    Identifier,
    KeyRef,
    Rows,
    Type,
    column_facts,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import CommonTable

UNIT = "unit"
COMPARED_MAX = 300  # names that a mistyped one is compared with
LISTED_MAX = 60  # names that a refusal lists


@dataclass(frozen=True)
class Visible:
    """A column by the name it has here: a value, an identifier, or both."""

    name: str
    value: Expr | None
    identity: Identifier | None

    def nullable(self) -> Visible:
        """Return the column as an outer join shows it, where a row may be missing."""
        value, identity = self.value, self.identity
        if value is not None:
            value = replace(value, facts=replace(value.facts, nullable=True))
        if identity is not None:
            identity = replace(identity, facts=replace(identity.facts, nullable=True))
        return Visible(self.name, value, identity)


@dataclass(frozen=True)
class Item:
    """One item of FROM under its name."""

    alias: str
    columns: tuple[Visible, ...]

    def find(self, name: str) -> Visible | None:
        """Return the column of this name, in any case."""
        return self._by_name.get(name.lower())

    @computed_once
    def _by_name(self) -> Mapping[str, Visible]:
        return {column.name.lower(): column for column in reversed(self.columns)}

    def nullable(self) -> Item:
        """Return the item as an outer join shows it."""
        return Item(self.alias, tuple(column.nullable() for column in self.columns))


def table_item(table: Table, alias: str, slot: int, tables: Mapping[str, Table]) -> Item:
    """Return a table's columns: what analysts may use, and what says whose a row is."""
    whose = {name.lower(): entity for name, entity in _entities(table, tables).items()}
    columns = [
        Visible(
            column.name,
            ColumnRef(column.name, column_facts(column), slot, (table.name, column.name)),
            _identifier(slot, column.name, whose.pop(column.name.lower(), None)),
        )
        for column in table.columns.values()
    ]
    spelled = {name.lower(): name for name in identifiers(table, tables)}
    columns += [
        Visible(spelled[name], None, _identifier(slot, spelled[name], entity))
        for name, entity in whose.items()
    ]
    return Item(alias, tuple(columns))


def _identifier(slot: int, name: str, entity: str | None) -> Identifier | None:
    if entity is None:
        return None
    return Identifier(slot, name, entity, Facts(Type.TEXT, nullable=False))


def _entities(table: Table, tables: Mapping[str, Table]) -> dict[str, str]:
    """Return what each identifying column identifies: the unit, or a row that leads to one."""
    entities: dict[str, str] = {}
    for other in tables.values():
        if isinstance(other.unit, ViaUnit) and other.unit.table == table.name:
            entities[other.unit.key] = f"{table.name}.{other.unit.key.lower()}"
    match table.unit:
        case ColumnUnit(column):
            entities[column] = UNIT
        case ViaUnit(column, referred, key):
            target = tables[referred].unit
            is_unit = isinstance(target, ColumnUnit) and target.column.lower() == key.lower()
            entities[column] = UNIT if is_unit else f"{referred}.{key.lower()}"
        case _:
            pass
    return entities


def derived_item(rows: Rows, alias: str, slot: int) -> Item:
    """Return a subquery's columns as FROM shows them."""
    columns = []
    for index, field in enumerate(rows.fields):
        value = identity = None
        if field.value is not None:
            value = ColumnRef(
                f"c{index}", field.value.facts, slot, _origin(field.value, rows), stored=False
            )
        if field.identity is not None:
            identity = replace(field.identity, slot=slot, name=f"i{index}")
        columns.append(Visible(field.name, value, identity))
    return Item(alias, tuple(columns))


def _origin(value: Expr, rows: Rows) -> tuple[str, str] | None:
    """Return the policy's column that a subquery's values come from unchanged."""
    if isinstance(value, KeyRef) and isinstance(rows, Grouped):
        value = rows.keys[value.index]
    return value.origin if isinstance(value, ColumnRef) else None


@dataclass
class Scope:
    """What can be named: the items of one FROM, columns that USING merged, and the scope around."""

    items: list[Item]
    merged: dict[str, Visible]
    around: Scope | None
    named: Mapping[str, CommonTable]
    source: From | None = None

    def column(self, node: exp.Column) -> Visible:
        """Return the column a name means, or refuse it with the nearest one that exists."""
        if node.args.get("db") or node.args.get("catalog"):
            raise _several_dots(node)
        if not isinstance(node.this, exp.Identifier):
            raise unknown_construct(node.this)
        qualifier = node.args.get("table")
        name = str(node.name)
        prefix = str(qualifier.name) if qualifier is not None else None
        scope: Scope | None = self
        try:
            while scope is not None:
                visible = scope.find(prefix, name)
                if visible is not None:
                    return visible
                scope = scope.around
            raise self._unknown(prefix, name, quoted=bool(node.this.args.get("quoted")))
        except Refused as refused:
            raise located(refused, node) from None

    def has(self, node: exp.Column) -> bool:
        """Return whether a name by itself is a column, here or around."""
        scope: Scope | None = self
        while scope is not None:
            if scope.find(None, str(node.name)) is not None:
                return True
            scope = scope.around
        return False

    def find(self, prefix: str | None, name: str) -> Visible | None:
        """Return the column of this name here, or None; one that several items have is refused."""
        if prefix is None and name.lower() in self.merged:
            return self.merged[name.lower()]
        wanted = prefix.lower() if prefix is not None else None
        columns = [
            (item, column)
            for item in self.items
            if (wanted is None or item.alias.lower() == wanted)
            and (column := item.find(name)) is not None
        ]
        if len(columns) > 1:
            raise Refused(
                "column_ambiguous",
                f"several tables of the question have a column {name}",
                f"say which: {columns[0][0].alias}.{name}",
            )
        return columns[0][1] if columns else None

    def _unknown(self, prefix: str | None, name: str, quoted: bool) -> Refused:
        everywhere = self.items + (self.around.items if self.around is not None else [])
        if prefix is not None and prefix.lower() not in {i.alias.lower() for i in everywhere}:
            return Refused(
                "table_unknown",
                f"{prefix}.{name} names a table the question does not read",
                f"the question reads {', '.join(item.alias for item in self.items)}",
            )
        visible = dict.fromkeys(
            column.name
            for item in self.items
            if prefix is None or item.alias.lower() == prefix.lower()
            for column in item.columns
            if column.value is not None
        )
        usable = list(visible)[:COMPARED_MAX]
        near = get_close_matches(name.lower(), [known.lower() for known in usable], n=1)
        hint = next((f"did you mean {u}? " for u in usable if near and u.lower() == near[0]), "")
        if quoted and prefix is None:
            text = name.replace("'", "''")
            hint += f"double quotes are for names; texts are written in single quotes: '{text}'; "
        where = (
            f"the table {prefix or self.items[0].alias} has"
            if prefix is not None or len(self.items) == 1
            else "the tables of the question have"
        )
        return Refused(
            "column_unknown",
            f"{where} no column {name} that may be used",
            f"{hint}the columns are {_listed(list(visible))}",
        )


def _several_dots(node: exp.Column) -> Refused:
    """Return the refusal of a.b.c, of which b is no table of a schema that the question names."""
    written = ".".join(str(part.name) for part in node.parts)[:120]
    return Refused(
        "column_unknown",
        f"{written} names a schema that no table of the question is said to be in, or a field inside a "
        "column, and columns hold single values",
        f"write {'.'.join(str(part.name) for part in node.parts[-2:])[:120]}, or name the schema in FROM",
    )


def _listed(names: list[str]) -> str:
    """Return names for a refusal; of very many the first."""
    more = len(names) - LISTED_MAX
    return ", ".join(names[:LISTED_MAX]) + (f" and {more:,} more" if more > 0 else "") or "none"
