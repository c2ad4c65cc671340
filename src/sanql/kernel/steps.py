"""What is done of a database that is being made, so that whoever is killed need not begin anew.

A step is a transaction: its rows and the word that it is done are there together, or neither is. A table
is kept only if it was begun for the same inputs; of any other, or of one about which nothing is said,
nothing is known, and it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sanql.kernel.lockdown import quote_name

if TYPE_CHECKING:
    import duckdb

_SCHEMA = "preparing"


class Steps:
    """The steps of making the tables of one attached database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalog: str) -> None:
        self._connection = connection
        self._main = f"{quote_name(catalog)}.main"
        self._schema = f"{quote_name(catalog)}.{_SCHEMA}"
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self._begun} (made VARCHAR, of VARCHAR)")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self._done} (made VARCHAR, step VARCHAR, number UINTEGER)"
        )

    @property
    def _begun(self) -> str:
        return f"{self._schema}.begun"

    @property
    def _done(self) -> str:
        return f"{self._schema}.done"

    def begin(self, table: str, inputs: str, definition: str, *, anew: bool = False) -> None:
        """Have a table that was begun for these inputs, as far as it is done; else an empty one.

        `definition` is what follows its name when it is created.
        """
        if self._is_begun(table, inputs) and not anew:
            return
        with self._transaction():
            self._forget(table)
            self._connection.execute(f"CREATE TABLE {self._main}.{quote_name(table)} {definition}")
            self._connection.execute(f"INSERT INTO {self._begun} VALUES (?, ?)", [table, inputs])  # noqa: S608

    def is_done(self, table: str, inputs: str, name: str) -> bool:
        """Return whether a step is done of a table that was begun for these inputs."""
        return self._is_begun(table, inputs) and name in self.done(table)

    def done(self, table: str) -> Mapping[str, int]:
        """Return the steps of a table that are done, each with its number."""
        asked = f"SELECT step, number FROM {self._done} WHERE made = ?"  # noqa: S608
        return dict(self._connection.execute(asked, [table]).fetchall())

    @contextmanager
    def step(self, table: str, name: str, number: int = 0) -> Iterator[None]:
        """Do a step within: all of it, and the word that it is done, or nothing."""
        with self._transaction():
            yield
            done = [table, name, number]
            self._connection.execute(f"INSERT INTO {self._done} VALUES (?, ?, ?)", done)  # noqa: S608

    def remove(self, table: str) -> None:
        """Remove a table, and what is said of it."""
        with self._transaction():
            self._forget(table)

    def finish(self) -> None:
        """Remove what is said: the database is made."""
        self._connection.execute(f"DROP SCHEMA {self._schema} CASCADE")

    def _is_begun(self, table: str, inputs: str) -> bool:
        asked = f"SELECT of FROM {self._begun} WHERE made = ?"  # noqa: S608  (names of ours)
        return self._connection.execute(asked, [table]).fetchall() == [(inputs,)]

    def _forget(self, table: str) -> None:
        self._connection.execute(f"DROP TABLE IF EXISTS {self._main}.{quote_name(table)}")
        for said in (self._begun, self._done):
            self._connection.execute(f"DELETE FROM {said} WHERE made = ?", [table])  # noqa: S608

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
