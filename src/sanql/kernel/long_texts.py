"""Long texts of a database file: what reading them takes where they are, and a copy without them.

The engine reads 2,048 values of a column at a time, whatever is asked of how many of them. Texts of a
megabyte, a few hundred bytes each when they are stored, are 2 GB then, and one person may have them. So a
database with such texts is copied, with as much of each as is read; one without is used in place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sanql.kernel.clustering import Copying, place
from sanql.kernel.files import check_database_as_stamped
from sanql.kernel.lockdown import CATALOG, literal
from sanql.kernel.originals import ORIGINAL, Original
from sanql.kernel.stored_types import ROWS_READ_AT_ONCE
from sanql.kernel.summed_tables import add_up

if TYPE_CHECKING:
    import duckdb

    from sanql.kernel.messages import CopyDatabase, Projection, SummedCost

_ROWS_OF_ANY_LENGTH = 1 << 6  # of texts of which the file does not tell how long they are
_MEMORY_PARTS = 16  # of which the texts that are copied at a time may fill one
_LONGEST = "TRY_CAST(stats.max_string_length AS BIGINT)"
_TOTAL = "TRY_CAST(stats.total_string_length AS BIGINT)"


@dataclass(frozen=True)
class _Texts:
    """The texts of some columns in one row group: the longest of each, and 2,048 rows of them.

    Both are in bytes, an upper bound, and None where the file does not tell.
    """

    rows: int
    longest: int | None
    together: int | None

    def and_(self, other: _Texts) -> _Texts:
        """Return the texts of both, in the same row group."""
        return _Texts(
            self.rows, _sum(self.longest, other.longest), _sum(self.together, other.together)
        )


def text_bytes(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[str]
) -> dict[str, dict[str, int | None]]:
    """Return how many bytes 2,048 values of each text column of these tables have at most.

    No row is read for it; None means that the file does not tell.
    """
    sizes_by_table: dict[str, dict[str, int | None]] = {}
    for table in tables:
        sizes: dict[str, list[int | None]] = {}
        for _, column, texts in _stored_texts(connection, CATALOG, table):
            sizes.setdefault(column, []).append(texts.together)
        sizes_by_table[table] = {
            column: _most(bytes_stored) for column, bytes_stored in sizes.items()
        }
    return sizes_by_table


def copy_database(
    connection: duckdb.DuckDBPyConnection, request: CopyDatabase
) -> Generator[str, None, dict[str, SummedCost]]:
    """Fill the attached database from the original; yield a table's name as it begins.

    At the end, return what it took to add rows up.
    """
    memory_bytes = request.memory_bytes
    check = partial(check_database_as_stamped, request.database, request.stamp)
    placed = () if request.long_texts else (t.name for t in request.tables if t.unit or t.reference)
    original = Original(frozenset(placed), check)
    copying = Copying(connection, request, memory_bytes // 2, original)
    for table in request.tables:
        name, (projection,) = table.name, table.projections
        yield name
        if copying.missing(table):
            ranges: Iterable[tuple[int, int | None]] = [(0, None)]
            if request.long_texts:
                groups = _row_groups(connection, ORIGINAL, name, projection.columns)
                ranges = _ranges(groups, memory_bytes // _MEMORY_PARTS)
            with copying.reading(table, 0) as (into, own):
                _copy_rows(connection, name, projection, ranges, into, own)
                check()
        yield from copying.place_own(table)
    yield from copying.attach_units()
    summed = add_up(connection, request.tables, memory_bytes // 2)
    copying.finish()
    return summed


def _copy_rows(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    projection: Projection,
    ranges: Iterable[tuple[int, int | None]],
    into: str,
    number: int,
) -> None:
    """Copy the rows of a table, some at a time; every row is copied once."""
    original, selected = place(ORIGINAL, name), ", ".join(projection.expressions)
    copied = 0
    for first, last in ranges:
        within = f"rowid >= {first}" + ("" if last is None else f" AND rowid < {last}")
        ((count,),) = connection.execute(
            f"INSERT INTO {into} SELECT {selected}, {number} FROM {original} WHERE {within}"  # noqa: S608  (names of the policy)
        ).fetchall()
        copied += count
    if connection.execute(f"SELECT count(*) FROM {original}").fetchall() != [(copied,)]:  # noqa: S608
        raise ValueError


def _ranges(groups: Sequence[_Texts], bytes_max: int) -> Iterator[tuple[int, int | None]]:
    """Yield the first row and the one after the last of what is read together; the end is open."""
    first = 0
    for texts in groups:
        step = _step(texts, bytes_max)
        for start in range(0, texts.rows, step):
            yield first + start, first + min(start + step, texts.rows)
        first += texts.rows
    yield first, None


def _step(texts: _Texts, bytes_max: int) -> int:
    """Return how many rows of a row group may be copied together: all, or a part of 2,048 rows."""
    if texts.together is not None and texts.together <= bytes_max:
        return max(1, texts.rows)
    return max(1, bytes_max // texts.longest) if texts.longest else _ROWS_OF_ANY_LENGTH


def _row_groups(
    connection: duckdb.DuckDBPyConnection, catalog: str, table: str, columns: Sequence[str]
) -> list[_Texts]:
    """Return what is known of these columns' texts, in the order of the rows."""
    groups: dict[int, _Texts] = {}
    for number, column, texts in _stored_texts(connection, catalog, table):
        if column in columns:
            groups[number] = groups[number].and_(texts) if number in groups else texts
    return list(groups.values())


def _stored_texts(
    connection: duckdb.DuckDBPyConnection, catalog: str, table: str
) -> Iterator[tuple[int, str, _Texts]]:
    """Yield the number of a row group, a column and what is known of its texts without reading one.

    What was updated since it was last written to the file is not told of.
    """
    info = f"pragma_storage_info({literal(place(catalog, table))})"
    found = connection.execute(
        "SELECT row_group_id, column_name, sum(count)::BIGINT, "  # noqa: S608  (names of the source)
        f"CASE WHEN bool_and({_LONGEST} IS NOT NULL AND NOT has_updates) THEN max({_LONGEST}) END, "
        f"CASE WHEN bool_and({_TOTAL} IS NOT NULL) THEN sum({_TOTAL})::BIGINT END "
        f"FROM {info} WHERE segment_type IN ('VARCHAR', 'BLOB') "
        "GROUP BY row_group_id, column_name ORDER BY row_group_id"
    ).fetchall()
    for number, column, rows, longest, total in found:
        yield number, column, _Texts(rows, longest, _together(rows, longest, total))


def _together(rows: int, longest: int | None, total: int | None) -> int | None:
    if longest is None:
        return None
    most = longest * min(rows, ROWS_READ_AT_ONCE)
    return most if total is None else min(most, total)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _most(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return max(known, default=0) if len(known) == len(sizes) else None
