"""A town whose people answer a survey: 1,600 records in four cells, exact answers declared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from sanql import San
from support.policies import dataset

ROWS = """
SELECT i AS person_id,
       ['north', 'south', 'east', 'west'][i % 4 + 1] AS region,
       i % 8 < 4 AS urban,
       CAST(1 + hash(i, 1) % 5 AS INTEGER) AS score,
       CAST((hash(i, 2) % 20001) / 100.0 AS DECIMAL(9, 2)) AS amount,
       hash(i, 3) % 10 < 4 AS member,
       CAST(hash(i, 4) % 100 AS INTEGER) AS age
FROM range(1600) AS people(i)
"""
POLICY = (
    dataset(
        "people.parquet",
        name="town",
        neighbours="change-one",
        epsilon=4,
        delta="1e-6",
        accounting="renyi",
    )
    + """\

[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
region = { type = "text", domain = ["north", "south", "east", "west"] }
urban = { type = "boolean", domain = [false, true] }
score = { type = "integer", bounds = [1, 5] }
amount = { type = "decimal", bounds = [0, 200], precision = 0.01 }
member = { type = "boolean" }
age = { type = "integer", bounds = [0, 100] }
"""
)
SCORE = """
[exact.score]
partition = ["region", "urban"]
adversary = { class = "lattice", mass = 0.15, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
records_min = 150
"""
AMOUNT = """
[exact.amount]
partition = ["region"]
adversary = { class = "uniform-component", eta = 0.4, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
"""
MEMBER = """
[exact.member]
partition = ["region"]
adversary = { class = "binary", beta = 0.3, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
records_min = 350
"""
REGIONS = """
[exact.regions]
table = "people"
partition = ["region", "urban"]
adversary = { class = "binomial", rate = 0.1, known_records = 2 }
accept = { epsilon = 1, delta = 1e-6 }
"""
MEMBERS = """
[exact.members]
column = "member"
function = "share"
share = 0.5
missing = false
adversary = { class = "family", laws = [[0.6, 0.4], [0.3, 0.7]], known_records = 20 }
accept = { delta = 1e-6 }
"""
DECLARED = {"score": SCORE, "amount": AMOUNT, "member": MEMBER, "regions": REGIONS}

Town = Callable[..., San]
Truth = Callable[[str], list[tuple[Any, ...]]]


def write_people(folder: Path, rows: str = ROWS) -> None:
    duckdb.sql(f"COPY ({rows}) TO '{folder / 'people.parquet'}'")


def write_policy(folder: Path, exact: str, policy: str = POLICY) -> Path:
    path = folder / "policy.toml"
    path.write_text(policy + exact, encoding="utf-8")
    return path
