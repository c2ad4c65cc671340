"""Questions answered without noise as a worker answers them: native storage, locked connection.

Blocks of rows are as small as the engine allows, so that a few thousand rows have several, each with a
least and a greatest value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from sanql.execute import Source, prepare
from sanql.execute.lockdown import attach, connect, limit, lock, question_cursor
from sanql.execute.messages import Query
from sanql.execute.run import running
from sanql.execute.statement import statement
from sanql.parse import parse
from sanql.plan import outline, plan
from sanql.policy import Policy, load

BLOCK_ROWS = 2048
HEAD = """
[dataset]
name = "native"
source = "data.duckdb"
neighbours = "add-remove"
budget = { epsilon = 10.0, delta = 1e-6 }
accounting = "pure"
"""


class Asked:
    """A prepared source, asked without noise on the connection that a worker would use."""

    def __init__(self, policy: Path) -> None:
        """Prepare the source of a policy file."""
        self.policy: Policy = load(policy)
        self.source: Source = prepare(self.policy)

    def cells_of(
        self, questions: Sequence[str], file: Path, threads: int = 2
    ) -> list[list[dict[str, Any]]]:
        """Return the exact cells of questions over a database file with the source's tables."""
        with connect() as connection:
            attach(connection, file, read_only=True)
            limit(connection, 512 << 20, None, threads)
            lock(connection, files_confined=False)
            return [self._run(connection, question) for question in questions]

    def _run(self, connection: duckdb.DuckDBPyConnection, question: str) -> list[dict[str, Any]]:
        tables = self.policy.tables
        outlined = outline(parse(question, tables).query, tables, self.policy.neighbours)
        planned = plan(outlined, Fraction(1), Fraction(1, 1000))
        sent = statement(planned, self.source, 7)
        query = Query(sent.sql, sent.parameters, sent.public)
        with question_cursor(connection) as cursor, running(cursor, query):
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


class Native(Asked):
    """A policy over tables that are filled anew for each question."""

    def __init__(self, folder: Path, policy: str, schema: Sequence[str]) -> None:
        """Write the policy of tables that CREATE statements declare."""
        self._folder = folder
        self._schema = schema
        self._files = 0
        self._write(folder / "data.duckdb", [])
        path = folder / "policy.toml"
        path.write_text(HEAD + policy)
        super().__init__(path)

    def _write(self, file: Path, fill: Sequence[str]) -> None:
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"ATTACH '{file}' AS data (ROW_GROUP_SIZE {BLOCK_ROWS})")
            connection.execute("USE data.main")
            for sql in (*self._schema, *fill):
                connection.execute(sql)
            connection.execute("CHECKPOINT")

    def cells(self, question: str, fill: Sequence[str], threads: int = 2) -> list[dict[str, Any]]:
        """Return the exact cells of a question over the rows that INSERT statements make."""
        return self.several([question], fill, threads)[0]

    def several(
        self, questions: Sequence[str], fill: Sequence[str], threads: int = 2
    ) -> list[list[dict[str, Any]]]:
        """Return the exact cells of several questions over the same rows."""
        self._files += 1
        file = self._folder / f"rows{self._files}.duckdb"
        self._write(file, fill)
        return self.cells_of(questions, file, threads)
