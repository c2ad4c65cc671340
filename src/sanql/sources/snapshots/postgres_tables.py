"""The policy's tables found in a PostgreSQL database: names, types and rights, never a row.

Tables, partitioned ones and materialized views are read; a view is not: its expression may join people,
or fail on a row. A table has the identity that the database gives it, whatever it is called and wherever
it is moved; so have its parts, which could be read by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import Address
from sanql.catalog import bind, suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.kernel import suggest_type
from sanql.policy import fold, identifiers
from sanql.sources.snapshots.manifest import TableOrigin
from sanql.sources.snapshots.postgres_types import ReadColumn, StoredColumn, read_column
from sanql.sources.snapshots.wanted import wanted_columns

if TYPE_CHECKING:
    from sanql.policy import Policy, SourceDatabase, Table
    from sanql.sources.snapshots.postgres_session import SourceSession

_KINDS = {"v": "a view", "f": "a foreign table"}
_COUNTED = ReadColumn("row", "BOOLEAN", "true")  # of a table of which only rows are counted
_RELATIONS = """SELECT n.nspname::text, c.relname::text, c.oid::int8, c.relkind::text,
    pg_catalog.row_security_active(c.oid)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY(%s) AND c.relkind IN ('r', 'p', 'm', 'v', 'f') ORDER BY 1, 2"""
_COLUMNS = """WITH RECURSIVE beneath(relation, number, type, modifier) AS (
      SELECT attrelid, attnum, atttypid, atttypmod FROM pg_catalog.pg_attribute
      WHERE attrelid = %s::pg_catalog.oid AND attnum > 0 AND NOT attisdropped
    UNION ALL
      SELECT b.relation, b.number, t.typbasetype, t.typtypmod
      FROM beneath b JOIN pg_catalog.pg_type t ON t.oid = b.type WHERE t.typtype = 'd')
    SELECT a.attname::text, t.typname::text,
      t.typtype = 'e' OR t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace,
      t.typtype = 'e', b.modifier, a.attgenerated = 'v', coalesce(l.collisdeterministic, true),
      pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    FROM beneath b JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype <> 'd'
    JOIN pg_catalog.pg_attribute a ON a.attrelid = b.relation AND a.attnum = b.number
    LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation ORDER BY b.number"""
_FAMILY = """WITH RECURSIVE found(oid) AS (SELECT %s::pg_catalog.oid UNION
      SELECT i.{next} FROM found f JOIN pg_catalog.pg_inherits i ON i.{known} = f.oid)
    SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text
    FROM found f JOIN pg_catalog.pg_class c USING (oid)
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY 1"""
_PARTS = _FAMILY.format(next="inhrelid", known="inhparent")
_WHOLES = _FAMILY.format(next="inhparent", known="inhrelid")


@dataclass(frozen=True)
class FoundTable:
    """A table of the policy in the database, with the columns that are read of it."""

    name: str
    schema: str
    relation: str
    columns: tuple[ReadColumn, ...]
    origin: TableOrigin


@dataclass(frozen=True)
class _Relation:
    schema: str
    name: str
    oid: int
    kind: str
    hides_rows: bool


def look_up(policy: Policy, place: SourceDatabase, session: SourceSession) -> list[FoundTable]:
    """Return every table of the policy; PolicyError with all faults of names, types and rights."""
    schemas = list(place.schemas or session.search_path)
    relations = [_Relation(*row) for row in session.run(_RELATIONS, (schemas,))]
    found: list[FoundTable] = []
    faults: list[Fault] = []
    for table in policy.tables.values():
        relation = _find(table, relations, schemas)
        if isinstance(relation, Fault):
            faults.append(relation)
            continue
        columns = _columns(policy, table, relation, session)
        origin = _origin(policy, table, relation, place, session)
        faults += [each for each in (*columns, origin) if isinstance(each, Fault)]
        read = tuple(each for each in columns if isinstance(each, ReadColumn))
        if isinstance(origin, TableOrigin):
            found.append(
                FoundTable(table.name, relation.schema, relation.name, read or (_COUNTED,), origin)
            )
    faults = faults or _unfit(policy, found)
    if faults:
        raise PolicyError(faults)
    return found


def _find(table: Table, relations: list[_Relation], schemas: list[str]) -> _Relation | Fault:
    """Return the table in the first schema that has it, spelled as it is or differing by case alone."""
    place = f"table.{table.name}"
    for schema in schemas:
        here = [each for each in relations if each.schema == schema]
        named = [each for each in here if fold(each.name) == fold(table.name)]
        named = [each for each in named if each.name == table.name] or named
        if len(named) > 1:
            spelled = ", ".join(each.name for each in named)
            return Fault(place, f"the schema {schema} has {spelled}", "spell the one that is meant")
        if named:
            return _unsuitable(place, named[0]) or named[0]
    listed = ", ".join(schemas) or "none"
    hint = suggest_similar(table.name, [each.name for each in relations])
    return Fault(
        place,
        f"the database has no such table in its schemas {listed}",
        hint or 'name one that is there, or say where to look: schemas = ["…"] in [dataset]',
    )


def _unsuitable(place: str, relation: _Relation) -> Fault | None:
    called = f"{relation.schema}.{relation.name}"
    if relation.kind in _KINDS:
        return Fault(
            place,
            f"{called} is {_KINDS[relation.kind]}: what computes its rows may join those of several"
            " people",
            "name a table, or store the rows in one (CREATE MATERIALIZED VIEW …)",
        )
    if relation.hides_rows:
        return Fault(
            place,
            f"{called} has row level security that would hide rows from the role",
            "let the role see all of them (ALTER ROLE … BYPASSRLS, or its own table), or name another",
        )
    return None


def _columns(
    policy: Policy, table: Table, relation: _Relation, session: SourceSession
) -> list[ReadColumn | Fault]:
    """Return how each column is read that the policy uses; of a public table that declares none, all."""
    stored = [StoredColumn(*row) for row in session.run(_COLUMNS, (relation.oid,))]
    wanted = wanted_columns(policy, table)
    if wanted is None:
        return [read_column(each, None) for each in stored if each.fault is None]
    whose = {*map(fold, identifiers(table, policy.tables))}
    return [_column(table, name, stored, identifies=fold(name) in whose) for name in wanted]


def _column(
    table: Table, name: str, stored: list[StoredColumn], *, identifies: bool
) -> ReadColumn | Fault:
    place = f"table.{table.name}.{'privacy_unit' if identifies else 'column.' + name}"
    named = [each for each in stored if fold(each.name) == fold(name)]
    named = [each for each in named if each.name == name] or named
    if not named:
        hint = suggest_similar(name, [each.name for each in stored])
        return Fault(place, f'the table has no column "{name}"', hint or "name one that it has")
    if len(named) > 1:
        spelled = ", ".join(each.name for each in named)
        return Fault(place, f"the table has columns {spelled}", "spell the one that is meant")
    (column,) = named
    if column.fault is not None:
        what, remedy = column.fault
        return Fault(place, f'the column "{column.name}" {what}', remedy)
    if identifies and not column.identifies:
        return Fault(
            place,
            f'the column "{column.name}" is of type {column.type}, of which equal values may differ'
            " as they are read",
            "identify units by an integer, a uuid, or a text with a deterministic collation",
        )
    declared = next((each for key, each in table.columns.items() if fold(key) == fold(name)), None)
    return read_column(column, declared)


def _origin(
    policy: Policy, table: Table, relation: _Relation, place: SourceDatabase, session: SourceSession
) -> TableOrigin | Fault:
    parts = session.run(_PARTS, (relation.oid,))
    if any(kind == "f" for *_, kind in parts):
        return Fault(
            f"table.{table.name}",
            f"{relation.schema}.{relation.name} has a part that is a foreign table",
            "name a table all of whose rows are in the database",
        )
    wholes = [row for row in session.run(_WHOLES, (relation.oid,)) if row[0] != relation.oid]
    return TableOrigin(
        tuple(_addresses(place, session.system, parts)),
        tuple(_addresses(place, session.system, wholes)),
        wanted_columns(policy, table),
    )


def _addresses(
    place: SourceDatabase, system: str, rows: list[tuple[int, str, str, str]]
) -> Iterator[Address]:
    """Yield tables as an account claims them: by a path that leads there, and by their identity."""
    server = Path("/postgresql:") / f"{place.host.removeprefix('/')}:{place.port}" / place.database
    for oid, schema, relation, _ in rows:
        path = server / schema.replace("/", "%2F") / relation.replace("/", "%2F")
        yield Address(path, f"postgresql:{system}:{oid}", folder=False)


def _unfit(policy: Policy, found: list[FoundTable]) -> list[Fault]:
    """Return the columns that are not stored as the policy declares them, before any row is read."""
    tables = {table.name: [[*map(_described, table.columns)]] for table in found}
    schema: Mapping[str, object] = {"tables": tables, "unfit": {}}
    try:
        bind(policy, dict.fromkeys(policy.tables, "parquet"), schema)
    except PolicyError as error:
        return list(error.faults)
    return []


def _described(column: ReadColumn) -> tuple[str, str, str | None, str | None]:
    """Return a column as the kernel describes one of a file."""
    suggested = suggest_type(column.physical)
    kind, precision = suggested if suggested is not None else (None, None)
    step: Fraction | None = precision
    return column.name, column.physical, kind, None if step is None else str(step)
