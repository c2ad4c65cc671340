"""The same questions for OpenDP and SmartNoise, each in an environment of its own.

OpenDP's frames want another Polars than the one we have, SmartNoise another OpenDP. Environments
are made once, beside the interpreter; a library that cannot be installed is not measured.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.utility.ask import DELTA
from bench.utility.questions import Question, questions
from bench.utility.score import OF_UNITS
from bench.utility.shapes import POLICIES

HERE = Path(__file__).parent
ENVIRONMENTS = Path(sys.prefix) / "peers"
NEEDED = {
    "OpenDP": ("opendp[polars]==0.16.0",),
    "SmartNoise": ("smartnoise-sql==1.0.10", "duckdb==1.3.2"),
}
PRIVATE = "dest"  # the one column whose values are not public
RESERVED = ("month", "day", "hour")  # words that SmartNoise's grammar keeps for itself
ROWS_OF_MEANS = {False: 128, True: 64}  # without keys, and with
"""How many rows of a plane should count in a mean: as many as San chooses by the profile."""
GROUPS = {("carrier",): 1, ("month",): 12}
"""In how many groups a plane is counted, where the owner or a profile knows that it is in no more."""


@dataclass(frozen=True)
class Job:
    """What OpenDP is asked: a statistic of one value, by keys, of rows that meet a condition."""

    kind: str
    keys: tuple[str, ...] = ()
    value: str = "0"
    bounds: tuple[int, int] = (0, 1)
    where: str = "TRUE"
    limit: int = 0


DELAY = ("dep_delay", (-60, 600))
LATE = ("CAST(dep_delay > 15 AS BIGINT)", (0, 1))
DEPARTED = "dep_delay IS NOT NULL"
JOBS = {
    "how many flights": Job("count"),
    "how many planes": Job("units"),
    "flights by origin": Job("count", ("origin",)),
    "flights by carrier": Job("count", ("carrier",)),
    "flights by month": Job("count", ("month",)),
    "flights by hour": Job("count", ("hour",)),
    "flights on each day of the year": Job("count", ("month", "day")),
    "flights by origin and month": Job("count", ("origin", "month")),
    "flights by carrier and origin": Job("count", ("carrier", "origin")),
    "flights by destination": Job("count", ("dest",)),
    "flights by carrier and destination": Job("count", ("carrier", "dest")),
    "top ten destinations": Job("count", ("dest",), limit=10),
    "top twenty routes": Job("count", ("origin", "dest"), limit=20),
    "summer flights by origin": Job("count", ("origin",), where="month IN (6, 7, 8)"),
    "evening flights from JFK": Job("count", where="origin = 'JFK' AND hour >= 18"),
    "planes by carrier": Job("units", ("carrier",)),
    "planes by month": Job("units", ("month",)),
    "planes by destination": Job("units", ("dest",)),
    "cancelled flights": Job("count", where="dep_delay IS NULL"),
    "share cancelled by origin": Job(
        "mean", ("origin",), "CAST(dep_delay IS NULL AS BIGINT)", (0, 1)
    ),
    "average departure delay": Job("mean", (), *DELAY, DEPARTED),
    "average arrival delay": Job("mean", (), "arr_delay", (-90, 600), "arr_delay IS NOT NULL"),
    "average departure delay by carrier": Job("mean", ("carrier",), *DELAY, DEPARTED),
    "average departure delay by month": Job("mean", ("month",), *DELAY, DEPARTED),
    "average departure delay by origin": Job("mean", ("origin",), *DELAY, DEPARTED),
    "average departure delay of flights that were late": Job("mean", (), *DELAY, "dep_delay > 0"),
    "share more than 15 minutes late": Job("mean", (), *LATE, DEPARTED),
    "share more than 15 minutes late by carrier": Job("mean", ("carrier",), *LATE, DEPARTED),
    "total distance": Job("sum", (), "distance", (0, 5000)),
    "total distance by carrier": Job("sum", ("carrier",), "distance", (0, 5000)),
    "average distance by origin": Job("mean", ("origin",), "distance", (0, 5000)),
    "total minutes of delay by month": Job("sum", ("month",), *DELAY, "dep_delay > 0"),
}


def environment(library: str) -> Path | None:
    """Return the interpreter of a library's environment, made where it is missing, or None."""
    folder = ENVIRONMENTS / library.lower()
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet", *NEEDED[library]]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return None
        (folder / "ready").touch()
    return python


def ask_peer(
    library: str, flights: Path, folder: Path, runs: int, epsilons: list[str]
) -> Iterator[dict[str, Any]] | None:
    """Return what a library answers to the questions of flights, or None where it cannot be had."""
    python = environment(library)
    if python is None:
        return None
    given = {"runs": runs, "epsilons": epsilons, "delta": float(DELTA)}
    given |= _for_opendp(flights, folder) if library == "OpenDP" else _for_smartnoise(flights)
    script = HERE / f"ask_{library.lower()}.py"
    done = subprocess.run(
        [python, script], input=json.dumps(given), text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{library} ended with {done.returncode}: {done.stderr[-2000:]}")
    return map(json.loads, done.stdout.splitlines())


def _of_flights() -> list[tuple[int, Question]]:
    return [(n, each) for n, each in enumerate(questions()) if each.shape == "flights"]


def _for_opendp(flights: Path, folder: Path) -> dict[str, Any]:
    """Return jobs over rows that hold no more than each needs: looked at one row at a time."""
    limits = _table()
    jobs = []
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE flights AS FROM '{flights}' WHERE {OF_UNITS['flights']}")
        for number, question in _of_flights():
            job = JOBS.get(question.title)
            if job is None:
                continue
            path = folder / f"{number}.parquet"
            columns = ", ".join(["tailnum AS unit", *job.keys, f"{job.value} AS value"])
            connection.execute(
                f"COPY (SELECT {columns} FROM flights WHERE {job.where}) TO '{path}'"
            )
            jobs.append(
                {
                    "question": number,
                    "data": str(path),
                    "kind": job.kind,
                    "keys": job.keys,
                    "bounds": job.bounds,
                    "limit": job.limit,
                    "public": _public(connection, job.keys),
                    "rows": ROWS_OF_MEANS[bool(job.keys)]
                    if job.kind == "mean"
                    else limits["rows_per_unit_max"],
                    "groups": GROUPS.get(job.keys, limits["groups_per_unit_max"]),
                }
            )
    return {"jobs": jobs}


def _public(
    connection: duckdb.DuckDBPyConnection, keys: tuple[str, ...]
) -> dict[str, list[Any]] | None:
    """Return the columns of all public keys, or None where they are not public."""
    if PRIVATE in keys:
        return None
    columns = ", ".join(keys) or "1"
    rows = connection.execute(f"SELECT DISTINCT {columns} FROM flights").fetchall()
    return {key: [row[place] for row in rows] for place, key in enumerate(keys)}


def _for_smartnoise(flights: Path) -> dict[str, Any]:
    table = _table()
    columns: dict[str, Any] = {"tailnum": {"type": "string", "private_id": True}}
    for name, column in table["column"].items():
        low, high = column.get("bounds", (None, None))
        columns[_spelled(name)] = (
            {"type": "int", "lower": low, "upper": high}
            if column["type"] == "integer"
            else {"type": "string"}
        )
    limits = {
        "sample_max_ids": True, "clamp_counts": False, "rows": 400_000,
    }  # fmt: skip
    renamed = ", ".join(f"{name} AS {_spelled(name)}" for name in RESERVED)
    return {
        "rows": f"SELECT *, {renamed} FROM '{flights}' WHERE {OF_UNITS['flights']}",
        "metadata": limits | columns,
        "jobs": [
            {
                "question": number,
                "sql": _spelled(each.sql),
                "private_keys": PRIVATE in each.key_columns,
                "max_ids": ROWS_OF_MEANS[bool(each.key_columns)]
                if "AVG(" in each.sql and "COUNT(*)" not in each.sql
                else table["rows_per_unit_max"],
            }
            for number, each in _of_flights()
            if each.refusal is None and " JOIN " not in each.sql
        ],
    }


def _spelled(text: str) -> str:
    return re.sub(rf"\b({'|'.join(RESERVED)})\b", r"of_\1", text)


def _table() -> dict[str, Any]:
    policy = tomllib.loads((POLICIES / "flights.toml").read_text(encoding="utf-8"))
    table: dict[str, Any] = policy["table"]["flights"]
    return table
