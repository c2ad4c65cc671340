"""Copies in which the rows of a unit lie together, in the order of the units' buckets.

A part of the units is then a range of rows, and the engine reads no others; grouping by unit finds what
it needs close by. Rows are first copied as they come, into a database beside the copy that is gone
afterwards, and then moved in parts that fit into memory. Rows without a unit count in no question, and
are left behind. In which order rows lie changes no answer; nor does the bucket, a hash of the unit under
a secret that nobody keeps. Beside each row is how many rows its unit has in the table: small units need
not be looked at for limits that they cannot reach (`compile/small_units.py`).

A row whose unit is found along a foreign key has that unit attached, where no key leads to two rows:
then it is one row of one unit, whether a question follows the key or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import BUCKETS, CopiedTable
from sanql.kernel.stored_types import joins_alike, one_zero, unit_bucket

if TYPE_CHECKING:
    import duckdb

STAGING = "staging"
BUCKET, UNIT, ROWS = "bucket", "unit", "rows"  # columns that a copy has besides
_ROW_BYTES = 256  # of memory for a row while it is sorted


def staging_file(target: Path) -> Path:
    """Return the database beside a copy in which rows wait until they have their place."""
    return target.with_name(f"{target.name}.{STAGING}")


def added_column(name: str, types: Mapping[str, str]) -> str:
    """Return what a column is called that a copy has besides: as none of the table's own columns.

    >>> added_column(BUCKET, {"id": "BIGINT", "Bucket": "VARCHAR"})
    'bucket_'
    """
    taken = {column.lower() for column in types}
    while name in taken:
        name += "_"
    return name


def begin_table(connection: duckdb.DuckDBPyConnection, table: CopiedTable) -> str:
    """Return the new table that rows are copied into, in the order of its columns."""
    waits = table.unit is not None or table.reference is not None
    begun = place(STAGING if waits else CATALOG, table.name)
    columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in table.types.items())
    connection.execute(f"CREATE TABLE {begun} ({columns})")
    return begun


def end_table(
    connection: duckdb.DuckDBPyConnection, table: CopiedTable, secret: int, memory_bytes: int
) -> None:
    """Give the rows of a table that has units of its own their places."""
    if table.unit is None:
        return
    unit = _Unit(table.unit, table.types[table.unit])
    rows = f"SELECT * FROM {place(STAGING, table.name)} WHERE {quote_name(unit.column)} IS NOT NULL"  # noqa: S608
    _cluster(connection, table, rows, unit, secret, memory_bytes)


def attach_units(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[CopiedTable],
    secret: int,
    memory_bytes: int,
) -> None:
    """Give the rows of tables that refer to others their places, those first that are referred to."""
    units = {t.name: _Unit(t.unit, t.types[t.unit]) for t in tables if t.unit is not None}
    known = {table.name: table for table in tables}
    waiting = [table for table in tables if table.unit is None and table.reference is not None]
    while waiting:
        names = {table.name for table in waiting}
        table = next(t for t in waiting if t.reference and t.reference.table not in names)
        waiting.remove(table)
        found = _referred(connection, table, known, units)
        if found is None:  # as it is: questions follow its references
            target, begun = place(CATALOG, table.name), place(STAGING, table.name)
            connection.execute(f"CREATE TABLE {target} AS SELECT * FROM {begun}")  # noqa: S608
            connection.execute(f"DROP TABLE {begun}")
        else:
            rows, units[table.name] = found
            _cluster(connection, table, rows, units[table.name], secret, memory_bytes)


def has_unit(connection: duckdb.DuckDBPyConnection, table: CopiedTable) -> bool:
    """Return whether a copied table has columns besides its own."""
    shown = connection.execute(f"SELECT * FROM {place(CATALOG, table.name)} LIMIT 0")  # noqa: S608
    return len(shown.description) > len(table.types)


@dataclass(frozen=True)
class _Unit:
    """The column of a copy that says whose a row is, and its type."""

    column: str
    kind: str


def _referred(
    connection: duckdb.DuckDBPyConnection,
    table: CopiedTable,
    known: Mapping[str, CopiedTable],
    units: Mapping[str, _Unit],
) -> tuple[str, _Unit] | None:
    """Return the rows of a table with the unit that each refers to; None if one may lead to several."""
    assert table.reference is not None  # noqa: S101  (asked of tables that refer to one)
    unit, referred = units.get(table.reference.table), known[table.reference.table]
    column, kind = _stored(table, table.reference.column)
    key, key_kind = _stored(referred, table.reference.key)
    if unit is None or not joins_alike(kind, key_kind):
        return None
    parent = place(CATALOG, referred.name)
    several = (
        f"SELECT 1 FROM {parent} WHERE {key} IS NOT NULL GROUP BY {key} HAVING count(*) > 1 LIMIT 1"  # noqa: S608
    )
    if connection.execute(several).fetchall():
        return None
    attached = _Unit(added_column(UNIT, table.types), unit.kind)
    rows = (
        f"SELECT child.*, parent.{quote_name(unit.column)} AS {quote_name(attached.column)} "  # noqa: S608
        f"FROM {place(STAGING, table.name)} AS child JOIN {parent} AS parent "
        f"ON child.{column} = parent.{key}"
    )
    return rows, attached


def _stored(table: CopiedTable, name: str) -> tuple[str, str]:
    """Return a column of a table, whatever the case of its name, and its type."""
    return next(
        (quote_name(c), kind) for c, kind in table.types.items() if c.lower() == name.lower()
    )


def _cluster(
    connection: duckdb.DuckDBPyConnection,
    table: CopiedTable,
    rows: str,
    unit: _Unit,
    secret: int,
    memory_bytes: int,
) -> None:
    """Move the rows of a SELECT, all of which have a unit, from where they wait to their places."""
    waiting, target = place(STAGING, table.name), place(CATALOG, table.name)
    whose, bucket = quote_name(unit.column), quote_name(added_column(BUCKET, table.types))
    hashed = unit_bucket(whose, unit.kind, secret)
    counted = quote_name(added_column(ROWS, table.types))
    added = f"0::USMALLINT AS {bucket}, 0::BIGINT AS {counted}"
    connection.execute(f"CREATE TABLE {target} AS SELECT *, {added} FROM ({rows}) LIMIT 0")  # noqa: S608
    ((count,),) = connection.execute(f"SELECT count(*) FROM {waiting}").fetchall()  # noqa: S608
    for first, after in bucket_ranges(max(1, -(-count * _ROW_BYTES // memory_bytes))):
        part = f"({rows}) WHERE {hashed} BETWEEN {first} AND {after - 1}"
        same = one_zero(whose, unit.kind)
        connection.execute(
            f"INSERT INTO {target} SELECT part.*, CAST({hashed} AS USMALLINT) AS {bucket}, "  # noqa: S608
            f"sizes.size FROM (SELECT * FROM {part}) AS part JOIN "
            f"(SELECT {same} AS unit_counted, count(*) AS size FROM {part} GROUP BY {same}) AS sizes "
            f"ON {same} = sizes.unit_counted ORDER BY {bucket}, {whose}"
        )
    connection.execute(f"DROP TABLE {waiting}")


def bucket_ranges(parts: int) -> Iterator[tuple[int, int]]:
    """Yield the first bucket of each part and the one after its last; every bucket is in one of them.

    >>> list(bucket_ranges(2))
    [(0, 32768), (32768, 65536)]
    """
    for part in range(parts):
        yield part * BUCKETS // parts, (part + 1) * BUCKETS // parts


def place(catalog: str, table: str) -> str:
    """Return a table of an attached database."""
    return f"{quote_name(catalog)}.{quote_name('main')}.{quote_name(table)}"
