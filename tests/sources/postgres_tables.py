"""Tables in a PostgreSQL server, and policies that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from sanql.policy import Policy, load
from support.policies import dataset
from support.postgres import PostgresServer

COUNT = "SELECT COUNT(*) FROM people"
TABLES = (
    "CREATE TABLE IF NOT EXISTS people (person_id int, age int, name text)",
    "CREATE TABLE IF NOT EXISTS cities (name text)",
    "TRUNCATE people, cities",
    "INSERT INTO cities VALUES ('A'), ('B'), ('C')",
    "GRANT SELECT ON people, cities TO sanql",
)
ONE_TABLE = """[table.t]
privacy_unit = "id"
rows_per_unit_max = 1
[table.t.column]
"""
Statements = Callable[..., None]
People = Callable[[int], None]


def one_table(
    server: PostgresServer, database: str, folder: Path, columns: str, more: str = ""
) -> Policy:
    text = dataset(server.url(database), name="town", epsilon=1) + ONE_TABLE + columns
    text = text.replace("[dataset]\n", f"[dataset]\n{more}\n")
    (folder / "policy.toml").write_text(text)
    return load(folder / "policy.toml")


def kept(policy: Policy, table: str = "t") -> dict[str, list[object]]:
    return pq.read_table(Path(policy.source) / f"{table}.parquet").to_pydict()
