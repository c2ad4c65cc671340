"""A small town to ask: private and public tables, an exact declaration, people with budgets."""

from __future__ import annotations

from pathlib import Path

import duckdb

from support.policies import dataset

POOR = "pat"  # whose budget is soon spent
POLICY = (
    dataset(
        "town.duckdb",
        name="town",
        neighbours="change-one",
        epsilon=1000,
        delta="1e-4",
        accounting="renyi",
    )
    + """\

[analyst.ana]
budget = { epsilon = 500, delta = 1e-5 }
[analyst.pat]
budget = { epsilon = 0.3, delta = 1e-6 }

[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
region = { type = "text", domain = ["north", "south", "east", "west"] }
street = { type = "text" }
born = { type = "date", bounds = [1950-01-01, 1999-12-31] }
score = { type = "integer", bounds = [1, 5] }
amount = { type = "decimal", bounds = [0, 200], precision = 0.01 }

[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = 4
groups_per_unit_max = 2
[table.visits.column]
kind = { type = "text", domain = ["house", "street"] }
cost = { type = "decimal", bounds = [0, 50], precision = 0.01 }

[table.regions]
public = true

[exact.amount]
partition = ["region"]
adversary = { class = "uniform-component", eta = 0.4, known_records = 5 }
accept = { epsilon = 1, delta = 1e-6 }
"""
)
_TABLES = """
CREATE TABLE people AS SELECT i AS person_id,
       ['north', 'south', 'east', 'west'][i % 4 + 1] AS region, 'street ' || i % 5 AS street,
       DATE '1950-01-01' + (i % 18000)::INTEGER AS born,
       CAST(1 + hash(i, 1) % 5 AS INTEGER) AS score,
       CAST((hash(i, 2) % 20001) / 100.0 AS DECIMAL(9, 2)) AS amount
FROM range(1600) AS people(i);
CREATE TABLE visits AS SELECT i // 3 AS person_id, ['house', 'street'][i % 2 + 1] AS kind,
       CAST((hash(i, 3) % 5001) / 100.0 AS DECIMAL(9, 2)) AS cost FROM range(4000) AS visits(i);
CREATE TABLE regions AS FROM (VALUES ('north', 12.5, DATE '1900-05-01', TRUE),
       ('=south', 7, NULL, FALSE), (NULL, NULL, DATE '1950-01-31', NULL)) AS t(name, size, since, coast);
"""


def make_town(folder: Path) -> Path:
    """Return the policy of a town that is made in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "town.duckdb")) as connection:
        connection.execute(_TABLES)
    policy = folder / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    return policy
