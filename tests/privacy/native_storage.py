"""Questions answered without noise as a worker answers them: native storage, locked connection.

Blocks of rows are as small as the engine allows, so that a few thousand rows have several, each with a
least and a greatest value of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sanql.catalog.description import PreparedSource
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.preparation import prepare
from sanql.kernel import Statement
from sanql.kernel.lockdown import attach, connect, limit, lock, question_cursor
from sanql.kernel.run import running
from sanql.policy import load
from sanql.policy.model import Policy
from support.cells import cells_of
from support.policies import dataset

BLOCK_ROWS = 2048
HEAD = dataset("data.duckdb", name="native", epsilon="10.0", delta="1e-6")


class Asked:
    """A prepared source, asked without noise on the connection that a worker would use."""

    def __init__(self, policy: Path) -> None:
        """Prepare the source of a policy file."""
        self.policy: Policy = load(policy)
        self.source: PreparedSource = prepare(self.policy, engine=InProcessEngine())

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
        def run(sent: Statement) -> pa.Table:
            with question_cursor(connection) as cursor, running(cursor, sent):
                return cursor.to_arrow_reader().read_all()

        return cells_of(question, self.policy, self.source, run)


class Native(Asked):
    """A policy over tables; what they are filled with is written once."""

    def __init__(self, folder: Path, policy: str, schema: Sequence[str]) -> None:
        """Write the policy of tables that CREATE statements declare."""
        self._folder = folder
        self._schema = schema
        self._files: dict[tuple[str, ...], Path] = {}
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
        file = self._files.get(tuple(fill))
        if file is None:
            file = self._folder / f"rows{len(self._files)}.duckdb"
            self._write(file, fill)
            self._files[tuple(fill)] = file
        return self.cells_of(questions, file, threads)
