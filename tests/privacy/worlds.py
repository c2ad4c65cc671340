"""Small hostile databases, their neighbours, and a policy over them with varied limits.

A world is one database and a neighbour of it, both loaded into one in-memory DuckDB each, under the
names that emitted SQL uses.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sanql.catalog.description import Layout
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import Statement
from sanql.kernel.run import running
from sanql.policy import load
from sanql.policy.model import Neighbours, Policy

Row = dict[str, Any]

STRINGS = [
    "Rome",
    "Oslo",
    "rome ",
    "",
    "'; DROP TABLE visits; --",
    'it\'s "quoted" %_\\',
    "line\nbreak\ttab",
    "żółć 你好 🦀 \u202e",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "NULL",
    "12",
    "-7.5",
    "1e400",
    "true",
    "2021-02-29",
    "2020-02-29",
    "a" * 300,
]
DATES = [date(2020, 1, 1), date(2020, 3, 31), date(2020, 12, 31), date(1, 1, 1), date(9999, 12, 31)]
MOMENTS = [
    datetime(2020, 1, 1),
    datetime(2020, 6, 30, 23, 59, 59, 999999),
    datetime(2020, 1, 1, 5, 30),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59),
]
REALS = [0.0, -0.0, 0.5, 100.0, -10.5, 40.0, 7.25, 33.333333, 1e308, -1e308, 5e-324]
REALS += [float("nan"), float("inf"), float("-inf")]
EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 120, 7]

COLUMNS = """
age = { type = "integer", bounds = [0, 40] }
swing = { type = "integer", bounds = [-5, 3], total_bounds = [-7, 4] }
big = { type = "integer" }
level = { type = "integer", bounds = [1, 9], domain = [1, 2, 5] }
income = { type = "decimal", bounds = [0, 100], precision = 0.01 }
share = { type = "decimal", bounds = [-1, 1], precision = 0.5, total_bounds = [-1, 2] }
rate = { type = "decimal", bounds = [0, 10], precision = 0.25, domain = { table = "regions", column = "rate" } }
temp = { type = "float", bounds = [-10.5, 40] }
raw = { type = "float" }
city = { type = "text" }
sex = { type = "text", domain = ["F", "M", "it's"] }
region = { type = "text", domain = { table = "regions", column = "name" } }
flag = { type = "boolean" }
day = { type = "date", bounds = [2020-01-01, 2020-03-31] }
free_day = { type = "date" }
moment = { type = "timestamp", bounds = [2020-01-01T00:00:00, 2020-01-03T00:00:00] }
"""  # noqa: E501
ENGINE = {
    "person": "BIGINT",
    "patient": "VARCHAR",
    "age": "BIGINT",
    "swing": "BIGINT",
    "big": "BIGINT",
    "level": "BIGINT",
    "income": "DOUBLE",
    "share": "DOUBLE",
    "rate": "DOUBLE",
    "temp": "DOUBLE",
    "raw": "DOUBLE",
    "city": "VARCHAR",
    "sex": "VARCHAR",
    "region": "VARCHAR",
    "flag": "BOOLEAN",
    "day": "DATE",
    "free_day": "DATE",
    "moment": "TIMESTAMP",
}
ARROW = {
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}
UNITS: Mapping[str, str | None] = {"visits": "person", "stays": "patient", "readings": None}
REGIONS = [("north", 0.25), ("south", 1.5), ("south", 9.75), (None, None), ("", 0.0)]


@dataclass(frozen=True)
class Bounding:
    """The limits a policy declares for a table: rows, groups, and rows in one group."""

    rows: int
    groups: int
    per_group: int | None


def draw_bounding(rng: random.Random) -> Bounding:
    """Return limits that a policy accepts, in every relation to each other."""
    rows = rng.choice([1, 2, 3, 4, 6, 7])
    groups = rng.randint(1, rows)
    if rng.random() < 0.5:
        return Bounding(rows, groups, None)
    return Bounding(rows, groups, rng.randint(-(-rows // groups), rows))


def write_policy(
    folder: Path, neighbours: Neighbours, limits: Mapping[str, Bounding], *, totals: bool = True
) -> Policy:
    """Return a loaded policy over the tables of a world, with or without limits on unit sums."""
    parts = [
        "[dataset]",
        'name = "world"',
        'source = "data.duckdb"',
        f'neighbours = "{neighbours}"',
        "budget = { epsilon = 1000000, delta = 0.5 }",
        'accounting = "renyi"',
        "[analyst.ana]",
        "[table.regions]",
        "public = true",
        "[table.regions.column]",
        'name = { type = "text" }',
        'rate = { type = "decimal", bounds = [0, 10], precision = 0.25 }',
    ]
    for table, unit in UNITS.items():
        parts += [f"[table.{table}]", f'privacy_unit = "{unit or "row"}"']
        if unit is not None:
            bounding = limits[table]
            parts.append(f"rows_per_unit_max = {bounding.rows}")
            parts.append(f"groups_per_unit_max = {bounding.groups}")
            if bounding.per_group is not None:
                parts.append(f"rows_per_group_max = {bounding.per_group}")
        columns = COLUMNS
        if unit is None or not totals:
            columns = columns.replace(", total_bounds = [-7, 4]", "")
            columns = columns.replace(", total_bounds = [-1, 2]", "")
        parts += [f"[table.{table}.column]", columns.strip()]
    path = folder / "policy.toml"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return load(path)


def draw_row(rng: random.Random) -> Row:
    """Return a row of ordinary, extreme, missing and impossible values."""

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.08 else value

    def extreme(ends: Sequence[Any], ordinary: Any) -> Any:
        return rng.choice(ends) if rng.random() < 0.6 else ordinary

    return {
        "age": maybe(extreme([0, 40, -3, 500, 2**62], rng.randint(0, 40))),
        "swing": maybe(extreme([-5, 3, -9, 9], rng.randint(-5, 3))),
        "big": maybe(rng.choice(EXTREMES)),
        "level": maybe(rng.choice([1, 2, 5, 5, 7, 12, -1])),
        "income": maybe(extreme([0.0, 100.0, 1e9, *REALS], round(rng.uniform(0, 100), 3))),
        "share": maybe(extreme([-1.0, 1.0, -0.0, 0.24999], rng.uniform(-1.2, 1.2))),
        "rate": maybe(rng.choice([0.25, 1.5, 9.75, 0.0, 5.0, float("nan")])),
        "temp": maybe(extreme([-10.5, 40.0, *REALS], rng.uniform(-10, 40))),
        "raw": maybe(rng.choice(REALS)),
        "city": maybe(rng.choice(STRINGS)),
        "sex": maybe(rng.choice(["F", "M", "it's", "other"])),
        "region": maybe(rng.choice(["north", "south", "", "west"])),
        "flag": maybe(rng.random() < 0.5),
        "day": maybe(extreme(DATES, date(2020, rng.randint(1, 12), rng.randint(1, 28)))),
        "free_day": maybe(rng.choice(DATES)),
        "moment": maybe(rng.choice(MOMENTS)),
    }


def draw_units(rng: random.Random, table: str) -> list[list[Row]]:
    """Return the rows of each unit; the first list of a person-level table has no unit at all."""
    if UNITS[table] is None:
        return [[draw_row(rng)] for _ in range(rng.randint(1, 8))]
    units: list[list[Row]] = [[{**draw_row(rng), UNITS[table]: None} for _ in range(3)]]
    for number in range(rng.randint(1, 5)):
        units.append(draw_unit(rng, table, number))
    return units


def draw_unit(rng: random.Random, table: str, number: int) -> list[Row]:
    """Return what one unit has: often a few rows again and again, so that single groups overflow."""
    column = UNITS[table]
    if column is None:
        return [draw_row(rng)]
    name: Any = number if column == "person" else f"p'{number}"
    count = rng.choice([0, 1, 2, 3, 5, 9, 14])
    rows = [draw_row(rng) for _ in range(count)]
    kind = rng.random()
    if kind < 0.2:  # values nobody else has, no two alike
        for index, row in enumerate(rows):
            own = 100 * number + index
            row |= {"age": index + 1, "big": own, "city": f"city {own}", "income": own / 100}
    elif kind < 0.7 and rows:
        kinds = rows[: rng.randint(1, 3)]
        rows = [dict(rng.choice(kinds)) for _ in range(count)]
    return [{**row, column: name} for row in rows]


def neighbour_of(
    rng: random.Random, table: str, units: list[list[Row]], neighbours: Neighbours
) -> list[list[Row]]:
    """Return the units with one of them gone, or replaced by another."""
    first = 0 if UNITS[table] is None else 1
    target = rng.randrange(first, len(units))
    others = [rows for index, rows in enumerate(units) if index != target]
    if neighbours == "add-remove":
        return others
    number = rng.choice([target - first, 99])
    replaced = draw_unit(rng, table, number)
    if rng.random() < 0.5:
        replaced = [mirrored(row) for row in units[target]]
    return [*others, replaced]


def mirrored(row: Row) -> Row:
    """Return the same row, as far away as it can be in every number that is summed."""
    ends = {"age": (0, 40), "swing": (-5, 3), "income": (0.0, 100.0), "temp": (-10.5, 40.0)}
    far = {
        name: high if row[name] is None or row[name] < (low + high) / 2 else low
        for name, (low, high) in {**ends, "share": (-1.0, 1.0)}.items()
    }
    return {**row, **far, "level": 12 if row["level"] is None else None}


class Database:
    """One in-memory DuckDB that holds a world's tables as a worker would see them."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
        self.connection.execute("SET error_on_division_by_zero = false")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        self._fill(
            "regions",
            {"name": "VARCHAR", "rate": "DOUBLE"},
            [{"name": name, "rate": rate} for name, rate in REGIONS],
        )

    def load(self, table: str, rows: list[Row]) -> None:
        """Replace a table's rows."""
        unit = UNITS[table]
        names = [unit] * (unit is not None) + [c for c in ENGINE if c not in ("person", "patient")]
        self._fill(table, {str(name): ENGINE[str(name)] for name in names}, rows)

    def _fill(self, table: str, types: Mapping[str, str], rows: list[Row]) -> None:
        relation = f"{quote_name(CATALOG)}.main.{quote_name(table)}"
        declared = ", ".join(f"{quote_name(name)} {kind}" for name, kind in types.items())
        self.connection.execute(f"CREATE OR REPLACE TABLE {relation} ({declared})")
        values = pa.table(
            {name: pa.array([r[name] for r in rows], ARROW[kind]) for name, kind in types.items()}
        )
        self.connection.register("incoming", values)
        self.connection.execute(f"INSERT INTO {relation} SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def cells(self, sent: Statement) -> pa.Table:
        """Return the exact cells of a statement."""
        with running(self.connection, sent):
            return self.connection.to_arrow_reader().read_all()


def source_of(policy: Policy) -> Layout:
    """Return how emitted SQL reads an in-memory world: columns have their canonical types."""
    tables = {name: list(table.columns) for name, table in policy.tables.items()}
    for name, unit in UNITS.items():
        tables[name] += [unit] if unit is not None else []
    return Layout(
        {name: f"{quote_name(CATALOG)}.main.{quote_name(name)}" for name in tables},
        {
            name: {column: quote_name(column) for column in columns}
            for name, columns in tables.items()
        },
        {name: dict.fromkeys(columns, "VARCHAR") for name, columns in tables.items()},
        {},
    )
