"""A process that asks SmartNoise the eight questions, in an environment of its own, and times itself.

It needs `smartnoise-sql` and `duckdb` and imports nothing of ours. The first line says where the rows
are; each line after it names a question, and is answered by what it took. SmartNoise limits the rows of
a person in all: ten, or forty where a person may be in four groups with ten each.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import duckdb
from snsql import Privacy, from_connection

warnings.filterwarnings("ignore")
COLUMNS = {
    "user_id": {"type": "int", "private_id": True},
    "city": {"type": "string"},
    "category": {"type": "string"},
    "amount": {"type": "float", "lower": 0, "upper": 500},
    "age": {"type": "int", "lower": 0, "upper": 120},
    "item": {"type": "int"},
}


class Connection:
    """A DuckDB connection that looks as SmartNoise wants those of PostgreSQL to look."""

    def __init__(self, data: str) -> None:
        self._inner = duckdb.connect()
        self._inner.execute(f"CREATE TABLE events AS FROM '{data}'")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def cursor(self) -> Connection:
        """Return what runs statements."""
        return self

    def __iter__(self) -> Any:
        return iter(self._inner.fetchall())


def main() -> None:
    """Copy the rows, then answer as long as lines come."""
    given = json.loads(sys.stdin.readline())
    connection = Connection(given["data"])
    print("{}", flush=True)
    for line in sys.stdin:
        number = json.loads(line)["question"]
        print(json.dumps(_asked(connection, number, given)), flush=True)


def _asked(connection: Connection, number: int, given: dict[str, Any]) -> dict[str, Any]:
    grouped = number in {3, 4, 5}
    table = {
        "sample_max_ids": True,
        "clamp_counts": False,
        "rows": given["rows"],
        "censor_dims": number in {4, 5},
        "max_ids": 40 if grouped else 10,
    }
    metadata = {"": {"main": {"events": table | COLUMNS}}}
    sql = given["questions"][number].replace("FROM events", "FROM main.events")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        privacy = Privacy(epsilon=1.0, delta=1e-6)
        reader = from_connection(connection, privacy=privacy, metadata=metadata, engine="postgres")
        reader.execute(sql)
    except Exception as error:  # it has no class of its own for what it does not do
        return {"refused": type(error).__name__ + ": " + str(error)[:100]}
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


if __name__ == "__main__":
    main()
