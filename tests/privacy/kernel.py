"""The engine in this process over one database file, and the same with settings no answer may depend on.

What runs is `sanql.engines.in_process`. An engine with other settings than a worker's (`Settings`)
has them set beside the worker's own instead of being locked.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import parquet

from sanql.catalog.description import PreparedSource
from sanql.engines.in_process.connection import ServingConnection
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.preparation import prepare
from sanql.kernel.files import database_files, stamp
from sanql.kernel.lockdown import CATALOG, attach, connect, limit, literal, quote_name, settle
from sanql.kernel.messages import Serve, Statement
from sanql.policy.model import Policy

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]
Schema = Mapping[
    str, Mapping[str, str]
]  # of each table, its columns and what the engine calls them

MEMORY_BYTES = 1 << 30
SECONDS_MAX = 60.0  # of one run; a question that takes so long over a small world has gone wrong
ROW_GROUP_SMALLEST = 2048
FILE_ROW_GROUP = 500
ARROW = {
    "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("us"),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What the engine may be told without an answer changing."""

    threads: int
    keeps_order: bool = True
    disabled: frozenset[str] = frozenset()


class Kernel:
    """Runs statements on one database file, or a folder of Parquet files, as a worker does."""

    def __init__(self, database: Path, settings: Settings | None = None) -> None:
        if settings is None:
            serve = Serve(database, stamp(database_files(database)), MEMORY_BYTES)
            self._server = InProcessEngine().serve(serve)
        else:
            self._server = _Otherwise(Serve(database, (), MEMORY_BYTES), settings)

    def cells(self, sent: Statement) -> pa.Table:
        """Return the exact cells of a statement."""
        found: list[pa.Table] = []
        self._server.run(sent, time.monotonic() + SECONDS_MAX, found.append)
        return pa.concat_tables(found)

    def close(self) -> None:
        """Let the database go."""
        self._server.discard()


class _Otherwise(ServingConnection):
    """A connection with settings besides a worker's, which a locked one would not take."""

    def __init__(self, serve: Serve, settings: Settings) -> None:
        super().__init__(serve)
        self._settings = settings

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = connect()
        if self._serve.database.is_dir():
            _view_files(connection, self._serve.database)
        else:
            attach(connection, self._serve.database, read_only=True)
        limit(connection, MEMORY_BYTES, None, self._settings.threads)
        _settle(connection, self._settings)
        return connection

    def _cursor(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        return connection.cursor()


def _view_files(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Let the tables be Parquet files, which the engine prunes by their own statistics."""
    connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
    for path in sorted(folder.glob("*.parquet")):
        relation = f"{quote_name(CATALOG)}.main.{quote_name(path.stem)}"
        connection.execute(f"CREATE VIEW {relation} AS FROM read_parquet({literal(str(path))})")


def _settle(connection: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Make a worker's settings, and these besides: a rule that a worker does without stays off."""
    settle(connection)
    connection.execute(f"SET GLOBAL preserve_insertion_order = {settings.keeps_order}")
    ((off,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    disabled = settings.disabled | set(filter(None, off.split(",")))
    connection.execute(f"SET GLOBAL disabled_optimizers = '{','.join(sorted(disabled))}'")


def write_database(
    path: Path, schema: Schema, tables: Tables, *, row_group: int | None = None
) -> Path:
    """Write a world as a DuckDB file; small row groups let many threads share a small table."""
    path.unlink(missing_ok=True)
    size = f" (ROW_GROUP_SIZE {row_group})" if row_group is not None else ""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(f"ATTACH '{path}' AS {quote_name(CATALOG)}{size}")
        for name, types in schema.items():
            relation = f"{quote_name(CATALOG)}.main.{quote_name(name)}"
            declared = ", ".join(f"{quote_name(column)} {kind}" for column, kind in types.items())
            connection.execute(f"CREATE TABLE {relation} ({declared})")
            connection.register("incoming", as_arrow(types, tables.get(name, ())))
            connection.execute(f"INSERT INTO {relation} SELECT * FROM incoming")
            connection.unregister("incoming")
        connection.execute(f"DETACH {quote_name(CATALOG)}")
    return path


def write_files(folder: Path, schema: Schema, tables: Tables) -> Path:
    """Write a world as Parquet files with small row groups, into a folder of their own."""
    folder.mkdir()
    for name, types in schema.items():
        values = as_arrow(types, tables.get(name, ()))
        parquet.write_table(values, folder / f"{name}.parquet", row_group_size=FILE_ROW_GROUP)
    return folder


def as_arrow(types: Mapping[str, str], rows: Sequence[Row]) -> pa.Table:
    """Return rows as columns of the types given."""
    return pa.table(
        {n: pa.array([row.get(n) for row in rows], ARROW[kind]) for n, kind in types.items()}
    )


def source_of(policy: Policy, schema: Schema) -> PreparedSource:
    """Return how San itself reads a database of this schema, found out on an empty one."""
    path = policy.ledger.parent / str(policy.source)
    if not path.exists():
        write_database(path, schema, {})
    return prepare(policy, engine=InProcessEngine())


def optimizer_rules() -> list[str]:
    """Return the rules that may be switched off.

    Without `filter_pushdown` the engine keeps rows for which a constant condition is NULL (DuckDB 2.0),
    so a plan without it is no witness.
    """
    with duckdb.connect(":memory:") as connection:
        found = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    return sorted(name for (name,) in found if name not in ("filter_pushdown", "extension"))


def draw_settings(rng: random.Random, rules: Sequence[str]) -> Settings:
    """Return settings at random: some rules off, few or many threads, order kept or not."""
    share = rng.choice([0.05, 0.2, 0.5, 1])
    disabled = frozenset(rule for rule in rules if rng.random() < share)
    return Settings(rng.choice([1, 2, 8]), rng.random() < 0.5, disabled)
