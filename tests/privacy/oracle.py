"""Data for comparisons with plain DuckDB: what San reads, and the same cleaned by hand."""

from __future__ import annotations

import math
import random
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from privacy.worlds import ENGINE, REGIONS, STRINGS, UNITS, Bounding, Row, write_policy
from sanql.policy.model import Neighbours, Policy

BOUNDS: dict[str, tuple[Any, Any]] = {
    "age": (0, 40),
    "swing": (-5, 3),
    "level": (1, 9),
    "income": (0.0, 100.0),
    "share": (-1.0, 1.0),
    "rate": (0.0, 10.0),
    "temp": (-10.5, 40.0),
    "day": (date(2020, 1, 1), date(2020, 3, 31)),
    "moment": (datetime(2020, 1, 1), datetime(2020, 1, 3)),
}
ROOMY = Bounding(8, 8, None)  # more than any unit of `orderly_rows` has


def orderly_row(rng: random.Random) -> Row:
    """Return a row on the policy's grids, with missing, impossible and out-of-bounds values."""
    row: Row = {
        "age": rng.choice([0, 40, -3, 500, *range(5, 40, 5)]),
        "swing": rng.choice([-9, -5, -2, 0, 1, 3, 8]),
        "big": rng.choice([0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 120]),
        "level": rng.choice([1, 2, 5, 7, 90]),
        "income": rng.choice([0.0, -0.0, 100.0, 1e300, -5.0, 12.25, 99.99, math.nan, math.inf]),
        "share": rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 7.0]),
        "rate": rng.choice([0.25, 1.5, 9.75, 0.0, 5.0]),
        "temp": rng.choice([-10.5, 40.0, 0.0, -0.0, 36.5, 1e9, -math.inf, math.nan]),
        "raw": rng.choice([0.0, -0.0, 0.5, -7.25, 1e299, math.nan, math.inf, 5e-324]),
        "city": rng.choice(STRINGS[:11]),
        "sex": rng.choice(["F", "M", "it's", "other"]),
        "region": rng.choice(["north", "south", "", "west"]),
        "flag": rng.random() < 0.5,
        "day": rng.choice([date(2020, m, 28) for m in (1, 2, 3)] + [date(2019, 5, 5)]),
        "free_day": rng.choice([date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
        "moment": rng.choice([datetime(2020, 1, 1, 5, 59, 59, 999999), datetime(2020, 1, 2, 13)]),
    }
    return {name: None if rng.random() < 0.1 else value for name, value in row.items()}


def orderly_rows(rng: random.Random, table: str) -> list[Row]:
    """Return rows of 60 units with up to 6 rows each, and some of nobody."""
    unit = UNITS[table]
    if unit is None:
        return [orderly_row(rng) for _ in range(250)]
    rows = [{**orderly_row(rng), unit: None} for _ in range(20)]
    for number in range(60):
        name: Any = number if unit == "person" else f"p'{number}"
        rows += [{**orderly_row(rng), unit: name} for _ in range(rng.randint(1, 6))]
    return rows


def cleaned(rows: list[Row], unit: str | None) -> list[Row]:
    """Return the rows as documented: bounds enforced, NaN and infinities NULL, nobody's left out."""
    return [
        {name: _clean(name, value) for name, value in row.items()}
        for row in rows
        if unit is None or row[unit] is not None
    ]


def _clean(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if name not in BOUNDS:
        return value
    low, high = BOUNDS[name]
    return min(max(value, low), high)


def fill(connection: duckdb.DuckDBPyConnection, tables: dict[str, list[Row]]) -> None:
    """Create the tables of a world in the default schema."""
    connection.execute("CREATE TABLE regions (name VARCHAR, rate DOUBLE)")
    connection.executemany("INSERT INTO regions VALUES (?, ?)", REGIONS)
    for table, rows in tables.items():
        unit = UNITS[table]
        names = [*([unit] if unit else []), *(c for c in ENGINE if c not in UNITS.values())]
        declared = ", ".join(f"{name} {ENGINE[name]}" for name in names)
        connection.execute(f"CREATE TABLE {table} ({declared})")
        columns = [[row[name] for row in rows] for name in names]
        listed = ", ".join(f"unnest(?::{ENGINE[name]}[])" for name in names)
        connection.execute(f"INSERT INTO {table} SELECT {listed}", columns)


def roomy_policy(
    folder: Path, tables: dict[str, list[Row]], neighbours: Neighbours = "add-remove"
) -> Policy:
    """Return a policy whose limits do not bind, over a database file of these tables."""
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        fill(connection, tables)
    limits = {table: ROOMY for table, unit in UNITS.items() if unit is not None}
    return write_policy(folder, neighbours, limits, totals=False)
