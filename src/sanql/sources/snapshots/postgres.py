"""Tables of a PostgreSQL database: one moment of them, read in one transaction and kept as files.

The database sends rows as CSV (COPY … TO STDOUT), which is read as it comes, column by column with a type
that is known. Before that moment is chosen another connection holds the tables, so that nobody renames,
truncates or rewrites one between the look at it and its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.errors import Fault, PolicyError
from sanql.postgres_driver import PostgresFault
from sanql.sources.snapshots.folder import keep_snapshot, make_folder
from sanql.sources.snapshots.manifest import Manifest
from sanql.sources.snapshots.postgres_session import CopiedBytes, SourceSession, fault_in_words
from sanql.sources.snapshots.postgres_tables import FoundTable, look_up

if TYPE_CHECKING:
    import pyarrow
    from psycopg.sql import Composed

    from sanql.policy import Policy, SourceDatabase

_BLOCK_BYTES = 1 << 24  # read at once; a row must fit
_BLOCK_BYTES_MOST = 1 << 30
_CHARACTER_BYTES = 4  # or two, where it is a quotation mark

Admit = Callable[[Manifest], None]
"""What raises where tables belong to another account."""


def look_at_database(policy: Policy, place: SourceDatabase) -> None:
    """Raise PolicyError with every fault of names, types and rights; no row is read."""
    with _in_words(place), closing(SourceSession(place, "READ COMMITTED")) as session:
        look_up(policy, place, session)


def snapshot_database(policy: Policy, place: SourceDatabase, admit: Admit) -> None:
    """Keep the policy's tables as they are at one moment; PolicyError where that is not possible."""
    make_folder(Path(policy.source))
    with _in_words(place), ExitStack() as stack:
        session, found = _held(policy, place, stack)
        manifest = Manifest(str(place), {table.name: table.origin for table in found})
        admit(manifest)
        reading = _Reading(place, session)
        keep_snapshot(
            Path(policy.source),
            {table.name: partial(reading.rows, table) for table in found},
            reading.failed,
            manifest,
        )


def _held(
    policy: Policy, place: SourceDatabase, stack: ExitStack
) -> tuple[SourceSession, list[FoundTable]]:
    """Return a transaction that sees one moment of the tables, and holds them, with what they are."""
    with closing(SourceSession(place, "READ COMMITTED")) as holding:
        before = look_up(policy, place, holding)
        _hold(holding, before)
        session = stack.enter_context(closing(SourceSession(place, "REPEATABLE READ")))
        found = look_up(policy, place, session)
        if found != before:
            raise PolicyError(
                [
                    Fault(
                        "dataset.source",
                        f"a table of the database {place} was changed while it was looked at",
                        "try again",
                    )
                ]
            )
        _hold(session, found)
    return session, found


def _hold(session: SourceSession, tables: list[FoundTable]) -> None:
    """Lock tables as a reader does, which needs no right but to read something of them."""
    from psycopg import sql

    for table in tables:
        name = sql.Identifier(table.schema, table.relation)
        session.run(sql.SQL("SELECT 1 FROM {} LIMIT 0").format(name))


class _Reading:
    """The rows of tables, one after the other; the connection has one statement at a time."""

    def __init__(self, place: SourceDatabase, session: SourceSession) -> None:
        self._place = place
        self._session = session
        self._bytes: CopiedBytes | None = None

    def rows(self, table: FoundTable) -> pyarrow.RecordBatchReader:
        """Begin to read a table."""
        import pyarrow as pa
        from pyarrow import csv

        schema = pa.schema([column.field() for column in table.columns])
        if self._bytes is not None:
            self._bytes.end()
        self._bytes = CopiedBytes(self._session, _copy_statement(table))
        if self._bytes.is_empty():  # which the reader of CSV refuses
            return pa.table({field.name: pa.array([], field.type) for field in schema}).to_reader()
        wide = 2 * _CHARACTER_BYTES * sum(column.characters_max for column in table.columns)
        return csv.open_csv(
            pa.PythonFile(self._bytes, mode="r"),
            csv.ReadOptions(
                column_names=schema.names,
                block_size=min(max(_BLOCK_BYTES, wide), _BLOCK_BYTES_MOST),
            ),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["t"],
                false_values=["f"],
            ),
        )

    def failed(self, name: str) -> Fault:
        """Return why a table could not be read to its end."""
        if self._bytes is not None and self._bytes.fault is not None:
            return fault_in_words(self._place, self._bytes.fault)
        return Fault(
            f"table.{name}",
            "its rows could not be read: one of them is too long, or has text that is not UTF-8",
            "see to its longest texts, and to the encoding of the database",
        )


def _copy_statement(table: FoundTable) -> Composed:
    """Return what sends a table's columns; the first in quotation marks, wherever it has a value.

    A mark of byte order with which the first text begins would be taken for that of a file, and left out:
    it would be another text, and maybe somebody else.
    """
    from psycopg import sql

    places = [sql.Identifier(f"c{number}") for number, _ in enumerate(table.columns)]
    columns = sql.SQL(", ").join(
        sql.SQL(f"{column.expression} AS {{1}}").format(sql.Identifier(column.name), place)
        for column, place in zip(table.columns, places, strict=True)
    )
    name = sql.Identifier(table.schema, table.relation)
    query = sql.SQL("SELECT {} FROM {}").format(columns, name)
    how = sql.SQL("FORMAT csv, ENCODING 'UTF8', FORCE_QUOTE ({})").format(places[0])
    return sql.SQL("COPY ({}) TO STDOUT ({})").format(query, how)


@contextmanager
def _in_words(place: SourceDatabase) -> Iterator[None]:
    try:
        yield
    except PostgresFault as fault:
        raise PolicyError([fault_in_words(place, fault)]) from None
