"""A process that asks SmartNoise, in an environment of its own: `python ask_smartnoise.py < jobs`.

It needs `smartnoise-sql` and `duckdb` and imports nothing of ours. Jobs come as JSON: the table, its
metadata, questions and epsilons; answers go out as `ask.py` prints them. SmartNoise spends the epsilon it
is given on each column and on keys; here it is given as much less as makes the whole question cost what
San's does.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import duckdb
from snsql import Privacy, from_connection

warnings.filterwarnings("ignore")


class Connection:
    """A DuckDB connection that looks as SmartNoise wants those of PostgreSQL to look."""

    def __init__(self, rows: str) -> None:
        self._inner = duckdb.connect()
        self._inner.execute(f"CREATE TABLE flights AS {rows}")

    def cursor(self) -> Connection:
        """Return what runs statements."""
        return self

    def execute(self, text: str) -> None:
        """Run a statement."""
        self._inner.execute(text)

    @property
    def description(self) -> Any:
        """The columns of the result."""
        return self._inner.description

    def __iter__(self) -> Any:
        return iter(self._inner.fetchall())

    def commit(self) -> None:
        """There is nothing to commit."""

    def rollback(self) -> None:
        """There is nothing to roll back."""


def main() -> None:
    """Ask everything and print what comes back."""
    given = json.load(sys.stdin)
    connection = Connection(given["rows"])
    for job in given["jobs"]:
        for epsilon in given["epsilons"]:
            answers = _ask(connection, given, job, float(epsilon))
            told = {"question": job["question"], "epsilon": epsilon, "answers": answers}
            print(json.dumps(told), flush=True)


def _ask(
    connection: Connection, given: dict[str, Any], job: dict[str, Any], epsilon: float
) -> list[dict[str, Any]]:
    table = given["metadata"] | {"censor_dims": job["private_keys"], "max_ids": job["max_ids"]}
    metadata = {"": {"main": {"flights": table}}}
    delta = given["delta"]

    def reader(share: float) -> Any:
        privacy = Privacy(epsilon=share, delta=delta)
        return from_connection(connection, privacy=privacy, metadata=metadata, engine="postgres")

    sql = job["sql"].replace("FROM flights", "FROM main.flights")
    try:
        cost, _ = reader(epsilon).get_privacy_cost(sql)
        asked = reader(epsilon * epsilon / float(cost))
        return [{"rows": _plain(asked.execute(sql)[1:])} for _ in range(given["runs"])]
    except Exception as error:  # it has no class of its own for what it does not do
        return [{"refused": type(error).__name__, "message": str(error)[:200]}]


def _plain(rows: Any) -> list[list[Any]]:
    return [[each.item() if hasattr(each, "item") else each for each in row] for row in rows]


if __name__ == "__main__":
    main()
