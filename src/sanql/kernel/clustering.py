"""Copies in which the rows of a unit lie together, in the order of the units' buckets.

A part of the units is then a range of rows, and the engine reads no others; grouping by unit finds what
it needs close by. Rows of files are first copied as they come, into a database beside the copy that
is gone afterwards, and then moved in parts that fit into memory; those of a database are moved from where
they are (`originals.py`), unless its texts are long. Rows without a unit count in no question, and
are left behind. In which order rows lie changes no answer; nor does the bucket, a hash of the unit under
a secret that whoever writes rows does not know. Beside each row is how many rows its unit has in the
table: small units need not be looked at for limits that they cannot reach (`compile/small_units.py`).

A row whose unit is found along a foreign key has that unit attached, where no key leads to two rows:
then it is one row of one unit, whether a question follows the key or not.

Beside each row is also which segment it is of: which file it came from. What a copy before has of the
same segments is taken from there, and their files are not read again. Each file, and each part that is
moved, is a step (`steps.py`): a copy that is interrupted goes on from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import CopiedTable, Copy
from sanql.kernel.originals import Original
from sanql.kernel.ranges import bucket_ranges, shares_of
from sanql.kernel.steps import Steps
from sanql.kernel.stored_types import joins_alike, one_zero, unit_bucket

if TYPE_CHECKING:
    import duckdb

STAGING, BEFORE = "staging", "before"  # what the databases beside a copy are called
BUCKET, UNIT, ROWS, SEGMENT = "bucket", "unit", "rows", "segment"  # columns that a copy has besides
_ROW_BYTES = 256  # of memory for a row while it is sorted
_TEXT_COPIES = 2  # of each text while rows are sorted
_WHOLE = "whole"  # the step after which nothing is left to do for a table


def staging_file(target: Path) -> Path:
    """Return the database beside a copy in which rows wait until they have their place.

    It is the same for every copy in a folder: what one has begun may be of use to the next.
    """
    return target.with_name(f"rows.building.{STAGING}")


def added_column(name: str, types: Mapping[str, str]) -> str:
    """Return what a column is called that a copy has besides: as none of the table's own columns.

    >>> added_column(BUCKET, {"id": "BIGINT", "Bucket": "VARCHAR"})
    'bucket_'
    """
    taken = {column.lower() for column in types}
    while name in taken:
        name += "_"
    return name


@dataclass(frozen=True)
class _Unit:
    """The column of a copy that says whose a row is, its type, and where a row that waits has it from.

    That is what follows the rows that wait, called `source`, in a FROM, and an expression over it.
    """

    column: str
    kind: str
    found: str
    expression: str


class Copying:
    """A copy that is being made: rows of its tables that wait, and those that have their places."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        request: Copy,
        memory_bytes: int,
        original: Original | None = None,
    ) -> None:
        self._connection = connection
        self._memory_bytes = memory_bytes
        self._original = original if original is not None else Original()
        self._secret = request.bucket_secret
        self._before = request.before.segments if request.before is not None else {}
        self._tables = {table.name: table for table in request.tables}
        self._waiting = Steps(connection, STAGING)
        self._placed = Steps(connection, CATALOG)
        self._units: dict[str, _Unit] = {}

    def missing(self, table: CopiedTable) -> list[int]:
        """Return which files of a table are still to be read, by their places among them."""
        inputs = self._inputs(table)
        if self._placed.is_done(table.name, inputs, _WHOLE) or self._stays(table):
            return []
        if self._waits(table):
            self._waiting.begin(table.name, _hash(table.types), _definition(table, {}))
        else:
            self._placed.begin(table.name, inputs, _definition(table, {}))
        there = {*self._read(table), *self._kept(table)}
        return [n for n, segment in enumerate(table.segments) if segment not in there]

    @contextmanager
    def reading(self, table: CopiedTable, number: int) -> Iterator[tuple[str, int]]:
        """Give the table that the rows of a file are copied into, and the number of their segment.

        They are copied within, that number behind their columns.
        """
        steps, catalog, own = self._placed, CATALOG, number
        if self._waits(table):
            steps, catalog = self._waiting, STAGING
            own = max(steps.done(table.name).values(), default=-1) + 1
        with steps.step(table.name, table.segments[number], own):
            yield place(catalog, table.name), own

    def place_own(self, table: CopiedTable) -> Iterator[str]:
        """Give the rows of a table their places, unless it refers to another.

        Its name is yielded before each part, where it has several.
        """
        if table.unit is not None:
            whose = f"source.{quote_name(table.unit)}"
            found = f"WHERE {whose} IS NOT NULL"
            self._units[table.name] = _Unit(table.unit, table.types[table.unit], found, whose)
            yield from self._cluster(table, self._units[table.name])
        elif not _refers(table):
            self._fill(table)

    def attach_units(self) -> Iterator[str]:
        """Give the rows of tables that refer to others their places, those first that are referred to.

        A table's name is yielded before each part, where it has several.
        """
        waiting = [table for table in self._tables.values() if _refers(table)]
        while waiting:
            names = {table.name for table in waiting}
            table = next(t for t in waiting if t.reference and t.reference.table not in names)
            waiting.remove(table)
            unit = self._referred(table)
            if unit is None:  # as it is: questions follow its references
                self._fill(table)
            else:
                self._units[table.name] = unit
                yield from self._cluster(table, unit)

    def finish(self) -> None:
        """Leave nothing in the copy but its tables."""
        self._placed.finish()
        self._connection.execute(f"CHECKPOINT {quote_name(CATALOG)}")

    def _stays(self, table: CopiedTable) -> bool:
        """Return whether the rows of a table stay in the original until they get their places."""
        return table.name in self._original.tables

    def _waits(self, table: CopiedTable) -> bool:
        """Return whether the rows of a table must wait before they have their places."""
        return not self._stays(table) and (table.unit is not None or _refers(table))

    @contextmanager
    def _step(self, steps: Steps, table: str, name: str) -> Iterator[None]:
        """Do a step within that may read the original: of another version nothing is kept."""
        with steps.step(table, name):
            yield
            self._original.check()

    def _inputs(self, table: CopiedTable) -> str:
        """Return what tells a table of this copy from that of another that was begun."""
        return _hash(table.types, table.segments, self._secret)

    def _read(self, table: CopiedTable) -> Mapping[str, int]:
        """Return which segments of a table have been copied, and the number that each has there."""
        done = (self._waiting if self._waits(table) else self._placed).done(table.name)
        return {name: done[name] for name in table.segments if name in done}

    def _kept(self, table: CopiedTable) -> Mapping[str, int]:
        """Return which other segments the copy before has, and the number that each has there."""
        held = {name: n for n, name in enumerate(self._before.get(table.name, ()))}
        read = self._read(table)
        return {n: held[n] for n in table.segments if n in held and n not in read}

    def _referred(self, table: CopiedTable) -> _Unit | None:
        """Return how the unit of a table's rows is found; None if one may lead to several."""
        assert table.reference is not None  # noqa: S101  (asked of tables that refer to one)
        referred = self._tables[table.reference.table]
        unit = self._units.get(referred.name)
        column, kind = stored_column_of(table, table.reference.column)
        key, key_kind = stored_column_of(referred, table.reference.key)
        if unit is None or not joins_alike(kind, key_kind):
            return None
        parent = place(CATALOG, referred.name)
        several = (
            f"SELECT 1 FROM {parent} WHERE {key} IS NOT NULL "  # noqa: S608
            f"GROUP BY {key} HAVING count(*) > 1 LIMIT 1"
        )
        if self._connection.execute(several).fetchall():
            return None
        found = f"JOIN {parent} AS parent ON source.{column} = parent.{key}"
        whose = f"parent.{quote_name(unit.column)}"
        return _Unit(added_column(UNIT, table.types), unit.kind, found, whose)

    def _fill(self, table: CopiedTable) -> None:
        """Put what waits of a table, and what the copy before has of it, where it stays, as it is."""
        inputs, target = self._inputs(table), place(CATALOG, table.name)
        if not self._placed.is_done(table.name, inputs, _WHOLE):
            self._placed.begin(table.name, inputs, _definition(table, {}))
            with self._step(self._placed, table.name, _WHOLE):
                for rows in self._sources(table, None):
                    self._connection.execute(f"INSERT INTO {target} {rows}")
        self._let_go(table)

    def _cluster(self, table: CopiedTable, unit: _Unit) -> Iterator[str]:
        """Move the rows that have a unit to their places, in parts that fit into memory."""
        inputs = self._inputs(table)
        if not self._placed.is_done(table.name, inputs, _WHOLE):
            added = {} if unit.column == table.unit else {unit.column: unit.kind}
            added[added_column(BUCKET, table.types)] = "USMALLINT"
            counted = {added_column(ROWS, table.types): "BIGINT"}
            parts = max(1, -(-self._bytes(table) // self._memory_bytes))
            anew = any(not _is_of(name, parts) for name in self._placed.done(table.name))
            definition = _definition(table, added, counted)
            self._placed.begin(table.name, inputs, definition, anew=anew)
            yield from self._cluster_parts(table, unit, added, parts)
            with self._placed.step(table.name, _WHOLE):
                pass
        self._let_go(table)

    def _cluster_parts(
        self, table: CopiedTable, unit: _Unit, added: Mapping[str, str], parts: int
    ) -> Iterator[str]:
        rows = " UNION ALL ".join(self._sources(table, unit))
        done, ranges = self._placed.done(table.name), [*bucket_ranges(parts)]
        for share in shares_of(parts):
            left = [number for number in share if _part(number, parts) not in done]
            some = (ranges[share[0]][0], ranges[share[-1]][1])
            apart = bool(left) and len(share) < parts
            with self._put_apart(table, added, rows, some) if apart else nullcontext(rows) as near:
                for number in share:
                    if parts > 1:
                        yield table.name
                    if number in left:
                        with self._step(self._placed, table.name, _part(number, parts)):
                            self._place(table, unit, near, ranges[number])

    @contextmanager
    def _put_apart(
        self, table: CopiedTable, added: Mapping[str, str], rows: str, some: tuple[int, int]
    ) -> Iterator[str]:
        """Give the rows of some buckets as a table of their own, for as long as it is of use."""
        name = added_column("apart", dict.fromkeys(self._tables, ""))
        inputs = _hash(self._inputs(table), some)
        self._waiting.begin(name, inputs, _definition(table, added))
        if not self._waiting.is_done(name, inputs, _WHOLE):
            with self._step(self._waiting, name, _WHOLE):
                within = self._within(table, rows, some)
                self._connection.execute(f"INSERT INTO {place(STAGING, name)} {within}")
        yield f"SELECT * FROM {place(STAGING, name)}"  # noqa: S608
        self._waiting.remove(name)

    def _place(self, table: CopiedTable, unit: _Unit, rows: str, some: tuple[int, int]) -> None:
        """Move the rows of some buckets to their places, with how many each unit has."""
        bucket, whose = quote_name(added_column(BUCKET, table.types)), quote_name(unit.column)
        same = one_zero(whose, unit.kind)
        part = f"({self._within(table, rows, some)})"
        self._connection.execute(
            f"INSERT INTO {place(CATALOG, table.name)} "  # noqa: S608
            f"SELECT part.*, sizes.size FROM {part} AS part JOIN "
            f"(SELECT {same} AS unit_counted, count(*) AS size FROM {part} GROUP BY {same}) "
            f"AS sizes ON {same} = sizes.unit_counted ORDER BY {bucket}, {whose}"
        )

    def _within(self, table: CopiedTable, rows: str, some: tuple[int, int]) -> str:
        """Return a SELECT of the rows of some buckets: the first of them, and the one after the last."""
        bucket = quote_name(added_column(BUCKET, table.types))
        return f"SELECT * FROM ({rows}) WHERE {bucket} BETWEEN {some[0]} AND {some[1] - 1}"  # noqa: S608

    def _sources(self, table: CopiedTable, unit: _Unit | None) -> Iterator[str]:
        """Yield SELECTs of the rows of a table, as it has them but for counts, wherever they are."""
        attached = unit is not None and unit.column != table.unit
        bucket = quote_name(added_column(BUCKET, table.types))
        read, kept = self._read(table) if self._waits(table) else {}, self._kept(table)
        added, found = [], ""
        if unit is not None:
            added = [f"{unit.expression} AS {quote_name(unit.column)}"] if attached else []
            hashed = unit_bucket(unit.expression, unit.kind, self._secret)
            added.append(f"CAST({hashed} AS USMALLINT) AS {bucket}")
            found = unit.found
        if read:
            yield f"{_numbered(table, STAGING, read, added)} {found}"
        if self._stays(table) and not kept:
            yield f"{self._original.rows(table, added, _segment(table))} {found}"
        if kept:
            added = []
            if unit is not None:
                added = [f"source.{quote_name(unit.column)}"] if attached else []
                added.append(f"source.{bucket}")
            yield _numbered(table, BEFORE, kept, added)

    def _bytes(self, table: CopiedTable) -> int:
        read, kept = self._read(table), self._kept(table)
        places = [place(STAGING, table.name)] * (self._waits(table) and bool(read))
        places += [place(BEFORE, table.name)] * bool(kept)
        if self._stays(table) and not kept:
            places.append(f"({self._original.rows(table, [], _segment(table))})")
        return sum(bytes_to_sort(self._connection, table, each) for each in places)

    def _let_go(self, table: CopiedTable) -> None:
        """Let go of rows that have their places."""
        if self._waits(table):
            self._waiting.remove(table.name)


def bytes_to_sort(connection: duckdb.DuckDBPyConnection, table: CopiedTable, rows: str) -> int:
    """Return how much memory `rows` of a table would take while they are sorted, at most."""
    texts = "".join(f" + {_TEXT_COPIES} * {text}" for text in text_sizes(table))
    counted = f"SELECT count(*) * {_ROW_BYTES}{texts} FROM {rows} AS sorted"  # noqa: S608
    ((size,),) = connection.execute(counted).fetchall()
    return int(size)


def text_sizes(table: CopiedTable) -> list[str]:
    """Return SQL for how many bytes the texts of each of a table's columns have."""
    lengths = {"VARCHAR": "strlen", "BLOB": "octet_length"}
    return [
        f"coalesce(sum(system.main.{lengths[kind]}({quote_name(name)})), 0)"
        for name, kind in table.types.items()
        if kind in lengths
    ]


def has_unit(connection: duckdb.DuckDBPyConnection, table: CopiedTable) -> bool:
    """Return whether a copied table has the unit of its rows beside them."""
    shown = connection.execute(f"SELECT * FROM {place(CATALOG, table.name)} LIMIT 0")  # noqa: S608
    return added_column(UNIT, table.types) in [name for name, *_ in shown.description]


def place(catalog: str, table: str, schema: str = "main") -> str:
    """Return a table of an attached database."""
    return f"{quote_name(catalog)}.{quote_name(schema)}.{quote_name(table)}"


def _refers(table: CopiedTable) -> bool:
    return table.unit is None and table.reference is not None


def _segment(table: CopiedTable) -> str:
    return quote_name(added_column(SEGMENT, table.types))


def _definition(
    table: CopiedTable, added: Mapping[str, str], last: Mapping[str, str] | None = None
) -> str:
    """Return the columns of a table in a copy: its own, those that are added, that of the segment."""
    segment = {added_column(SEGMENT, table.types): "UINTEGER"}
    columns = {**table.types, **added, **segment, **(last or {})}
    return f"({', '.join(f'{quote_name(name)} {kind}' for name, kind in columns.items())})"


def _numbered(table: CopiedTable, catalog: str, there: Mapping[str, int], added: list[str]) -> str:
    """Return a SELECT of these segments from somewhere, each with the number that it has in this copy."""
    now = {name: number for number, name in enumerate(table.segments)}
    pairs = ", ".join(f"({before}, {now[name]})" for name, before in there.items())
    columns = [f"source.{quote_name(name)}" for name in table.types]
    listed = ", ".join([*columns, *added, f"numbered.now::UINTEGER AS {_segment(table)}"])
    return (
        f"SELECT {listed} FROM {place(catalog, table.name)} AS source "  # noqa: S608
        f"JOIN (VALUES {pairs}) AS numbered(before, now) "
        f"ON source.{_segment(table)} = numbered.before"
    )


def _part(number: int, parts: int) -> str:
    return f"{number} of {parts}"


def _is_of(name: str, parts: int) -> bool:
    return name.endswith(f" of {parts}")


def _hash(*content: object) -> str:
    listed = [dict(each) if isinstance(each, Mapping) else each for each in content]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def stored_column_of(table: CopiedTable, name: str) -> tuple[str, str]:
    """Return a column of a table, whatever the case of its name, and its type."""
    return next(
        (quote_name(c), kind) for c, kind in table.types.items() if c.lower() == name.lower()
    )
