"""A world for engines to go wrong in: order-dependent floats, equal values that differ, duplicates.

People and their visits (a foreign key leads from one to the other) are protected by person, readings row
by row; prices and places are public, with real numbers that have no bounds and whose sum depends on the
order in which they are added. Private columns hold values that compare equal and print differently,
ends of types, values next to thresholds, and mostly one text, so that statistics of it say much.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from sanql.policy import load
from sanql.policy.model import Neighbours, Policy
from support.policies import dataset

Row = dict[str, Any]
World = dict[str, list[Row]]

_ROWS: Mapping[str, str] = {
    "k": "BIGINT", "v": "BIGINT", "age": "BIGINT", "big": "BIGINT", "x": "DOUBLE", "y": "DOUBLE",
    "c": "DOUBLE", "nm": "VARCHAR", "sex": "VARCHAR", "ok": "BOOLEAN", "day": "DATE",
    "moment": "TIMESTAMP",
}  # fmt: skip
SCHEMA: Mapping[str, Mapping[str, str]] = {
    "people": {"person": "BIGINT", **_ROWS},
    "visits": {"person": "BIGINT", **_ROWS},
    "readings": _ROWS,
    "prices": {
        "k": "BIGINT", "x": "DOUBLE", "q": "DOUBLE", "y": "DOUBLE", "n": "BIGINT", "w": "VARCHAR",
    },
    "places": {"k": "BIGINT", "x": "DOUBLE", "n": "BIGINT", "w": "VARCHAR"},
}  # fmt: skip
PRIVATE = ("people", "visits", "readings")

_COLUMNS = """
k = { type = "integer", bounds = [0, 6] }
v = { type = "integer", bounds = [-3, 8] }
age = { type = "integer", bounds = [0, 120] }
big = { type = "integer" }
x = { type = "float" }
y = { type = "float", bounds = [-10, 50] }
c = { type = "decimal", bounds = [0, 10], precision = 0.01 }
nm = { type = "text" }
sex = { type = "text", domain = ["F", "M"] }
ok = { type = "boolean" }
day = { type = "date" }
moment = { type = "timestamp" }
"""
_PUBLIC = """
[table.prices]
public = true
[table.prices.column]
k = { type = "integer" }
x = { type = "float" }
q = { type = "decimal" }
y = { type = "float", bounds = [0, 1] }
n = { type = "integer", bounds = [0, 9] }
w = { type = "text" }

[table.places]
public = true
key = "k"
[table.places.column]
k = { type = "integer" }
x = { type = "float" }
n = { type = "integer", bounds = [0, 9] }
w = { type = "text" }
"""
_DATASET = (
    dataset(
        "data.duckdb",
        name="mixed",
        neighbours="{neighbours}",
        epsilon=1000000,
        delta="0.5",
        accounting="renyi",
    )
    + """\
[analyst.ana]
"""
)

TEXTS = [
    "abc",
    "abc",
    "abc",
    "abc",
    "abd",
    "xyz",
    "",
    "a",
    "ABC",
    "old",
    "abcd",
    "12",
    "-0.0",
    None,
]
BIGS = [
    9007199250740993,
    9007199250740994,
    0,
    1,
    -1,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    7,
    27,
    1000,
    None,
]
REALS = [0.1, 0.2, 0.3, 0.0, -0.0, 0.6, 1.0, -1.0, 0.5, 7.25, 1e16, -1e16, 1e308, 5e-324, -5e-324]
REALS += [math.nan, math.inf, -math.inf, 9007199250740992.0, 27.0, 0.30000000000000004]
DAYS = [
    date(2020, 1, 1),
    date(2020, 2, 29),
    date(2020, 3, 31),
    date(1, 1, 1),
    date(9999, 12, 31),
    None,
]
MOMENTS = [
    datetime(2020, 1, 1), datetime(2020, 6, 30, 23, 59, 59, 999999), datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59), None,
]  # fmt: skip
# of one key: added in different orders they give different sums, close to a threshold of the grammar
UNSTABLE: Sequence[Sequence[float]] = [
    [0.1, 0.2, 0.3], [0.3, 0.2, 0.1, 0.0, 0.0], [0.1] * 6, [1e16, 0.6, -1e16], [0.1, 0.2],
    [0.7, 0.1, 0.2], [1e308, 1e308, -1e308], [0.0, -0.0], [0.6], [math.inf, 0.1], [0.1, 0.7, 0.3, 0.4],
]  # fmt: skip


def write_policy(folder: Path, neighbours: Neighbours, rng: random.Random) -> Policy:
    """Return a policy with limits drawn at random, some of which bind."""
    parts = [_DATASET.format(neighbours=neighbours)]
    units = {
        "people": '"person"',
        "visits": '{ via = "person", references = "people" }',
        "readings": '"row"',
    }
    for name, unit in units.items():
        parts += [f"[table.{name}]", f"privacy_unit = {unit}"]
        if name != "readings":
            rows = rng.choice([1, 2, 3, 6, 40])
            parts.append(f"rows_per_unit_max = {rows}")
            parts.append(f"groups_per_unit_max = {rng.randint(1, rows)}")
        parts += [f"[table.{name}.column]", _COLUMNS]
    path = folder / "policy.toml"
    path.write_text("\n".join([*parts, _PUBLIC]), encoding="utf-8")
    return load(path)


def draw_row(rng: random.Random, dull: bool) -> Row:
    """Return a row; a dull one has what most people have."""
    ages = [rng.randint(0, 120), 40, 41, 99, 100, None, -3, 500]
    return {
        "k": rng.choice([0, 1, 2, 3, 4, 5, None, 9]) if not dull else rng.randint(0, 2),
        "v": rng.choice([-3, 0, 1, 2, 8, None]) if not dull else 1,
        "age": rng.choice(ages) if not dull else rng.choice([30, 39]),
        "big": rng.choice(BIGS) if not dull else BIGS[0],
        "x": rng.choice([*REALS, None]) if not dull else rng.choice([0.0, -0.0, 0.1]),
        "y": rng.choice([*REALS, None]) if not dull else rng.choice([0.5, 40.0]),
        "c": rng.choice([0.1, 0.2, 0.3, 3.33, 10.0, 0.005, math.nan, None]),
        "nm": rng.choice(TEXTS) if not dull else "abc",
        "sex": rng.choice(["F", "M", "F", "M", "X", None]),
        "ok": rng.choice([True, False, None]),
        "day": rng.choice(DAYS),
        "moment": rng.choice(MOMENTS),
    }


def draw_person(rng: random.Random, name: int) -> World:
    """Return one person's rows, often the same ones several times."""
    world: World = {table: [] for table in PRIVATE}
    dull = rng.random() < 0.6
    for table, most in (("people", 2), ("visits", 5)):
        rows = [draw_row(rng, dull) for _ in range(rng.randint(table == "people", most))]
        if rows and rng.random() < 0.5:
            rows = [dict(rng.choice(rows[:2])) for _ in rows]
            for row in rows:  # duplicates but for one column
                row["v"] = rng.choice([row["v"], row["v"], 2])
        world[table] = [{"person": name, **row} for row in rows]
    world["readings"] = [draw_row(rng, dull)]
    return world


def draw_nobody(rng: random.Random) -> World:
    """Return rows whose person is not known."""
    rows = {table: [{"person": None, **draw_row(rng, False)}] for table in ("people", "visits")}
    return {**rows, "readings": []}


def draw_public(rng: random.Random, size: int) -> World:
    """Return the public tables, the prices with about so many rows."""
    prices: list[Row] = []
    for key in range(6):
        for value in rng.choice(UNSTABLE):
            prices.append({"k": key, "x": value, "q": value})
    rest = [{"k": rng.randint(0, 9), "x": 0.0, "q": 0.0} for _ in range(size - len(prices))]
    prices += rest
    rng.shuffle(prices)
    for row in prices:
        row |= {"y": rng.choice([0.1, 0.2, 0.3, None]), "n": rng.choice([0, 1, 2, 9, 12])}
        row["w"] = rng.choice(["abc", "abd", "xyz", "", None])
    places = [
        {
            "k": rng.randint(0, 9),
            "x": rng.choice(REALS),
            "n": rng.randint(0, 9),
            "w": rng.choice(TEXTS),
        }
        for _ in range(rng.randint(1, 9))
    ]
    return {"prices": prices, "places": places}
