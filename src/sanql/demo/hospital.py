"""The demo's data: 20,000 people and their visits, computed from row numbers alone.

Everything comes from DuckDB's hash of a row number, so every machine makes the same hospital.
"""

from __future__ import annotations

from pathlib import Path

PEOPLE = 20_000

PEOPLE_SQL = """
WITH base AS (
  SELECT i AS person_id, hash(i, 1) % 10000 / 10000.0 AS a, hash(i, 2) % 10000 / 10000.0 AS b,
         hash(i, 3) % 10000 / 10000.0 AS c, hash(i, 4) % 10000 / 10000.0 AS d
  FROM range($1) AS numbers(i)
)
SELECT person_id,
       CAST(floor(18 + 70 * a * (0.4 + 0.6 * b)) AS INTEGER) AS age,
       CASE WHEN c < 0.49 THEN 'F' WHEN c < 0.98 THEN 'M' ELSE 'X' END AS sex,
       CASE WHEN d < 0.40 THEN 'Harbour' WHEN d < 0.65 THEN 'Old Town' WHEN d < 0.85 THEN 'Hill'
            WHEN d < 0.97 THEN 'Station' WHEN d < 0.9995 THEN 'Island' ELSE 'Lighthouse' END AS district,
       CAST(round(18000 + 60000 * a + 40000 * b * c, 2) AS DECIMAL(10, 2)) AS income
FROM base
"""

VISITS_SQL = """
WITH base AS (
  SELECT person_id, age, visit, hash(person_id, visit, 5) % 10000 / 10000.0 AS a,
         hash(person_id, visit, 6) % 10000 / 10000.0 AS b
  FROM people, range(CAST(floor(1 + age / 18.0 + (hash(person_id, 7) % 100) / 20.0) AS INTEGER))
       AS visits(visit)
)
SELECT person_id,
       DATE '2025-01-01' + CAST(floor(365 * a) AS INTEGER) AS day,
       CASE WHEN b < 0.5 THEN 'checkup' WHEN b < 0.75 THEN 'emergency' WHEN b < 0.93 THEN 'surgery'
            ELSE 'therapy' END AS kind,
       CAST(round(40 + 900 * a * b + age * 2, 2) AS DECIMAL(10, 2)) AS cost
FROM base
"""

POLICY = """\
[dataset]
name = "hospital"
source = "data/"
neighbours = "add-remove"
budget = { epsilon = 10.0, delta = 1e-6 }     # over all analysts together
accounting = "renyi"

[analyst.ana]
budget = { epsilon = 4.0, delta = 1e-7 }

[analyst.bo]
budget = { epsilon = 4.0, delta = 1e-7 }

[coalition.research]
members = ["ana", "bo"]
budget = { epsilon = 6.0, delta = 5e-7 }

[table.people]
privacy_unit = "person_id"
unique = true                                  # one row a person
[table.people.column]
age = { type = "integer", bounds = [0, 110] }
sex = { type = "text", domain = ["F", "M", "X"] }                    # public keys
district = { type = "text" }                                         # unknown keys
income = { type = "decimal", bounds = [0, 200000], precision = 0.01 }

[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = 12
groups_per_unit_max = 4
[table.visits.column]
day = { type = "date", bounds = [2025-01-01, 2025-12-31] }
kind = { type = "text", domain = ["checkup", "emergency", "surgery", "therapy"] }
cost = { type = "decimal", bounds = [0, 1500], precision = 0.01 }

[exact.income]                                 # exact answers about everybody: see docs/exact.md
adversary = { class = "uniform-component", alpha = 0.4, width = 60000, known_records = 100 }
accept = { epsilon = 0.5, delta = 1e-6 }
records_min = 20000
"""


def make_hospital(directory: Path) -> Path:
    """Write the hospital's data and policy, unless they are there; return the policy's path."""
    policy = directory / "policy.toml"
    if policy.exists():
        return policy
    import duckdb

    data = directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE people AS {PEOPLE_SQL}", [PEOPLE])
        connection.execute(f"CREATE TABLE visits AS {VISITS_SQL}")
        connection.table("people").order("person_id").write_parquet(str(data / "people.parquet"))
        connection.table("visits").order("person_id, day, cost").write_parquet(
            str(data / "visits.parquet")
        )
    policy.write_text(POLICY, encoding="utf-8")
    return policy
