"""A hospital with two kinds of privacy unit, patients and doctors, over small files."""

from __future__ import annotations

from pathlib import Path

import duckdb

POLICY = """\
[dataset]
name = "hospital"
source = "data"
neighbours = "{neighbours}"
accounting = "{accounting}"

[unit.patient]
budget = {{ epsilon = 4, delta = 1e-6 }}
[unit.doctor]
budget = {{ epsilon = 2, delta = 1e-6 }}

[analyst.ana]
budget = {{ epsilon = 1, delta = 1e-7 }}
[analyst.ben]
[coalition.both]
members = ["ana", "ben"]
budget = {{ epsilon = 2, delta = 1e-6 }}

[table.people]
privacy_unit = {{ patient = "person_id" }}
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}

[table.bills]
privacy_unit = {{ patient = {{ via = "person", references = "people" }} }}
rows_per_unit_max = 4
[table.bills.column]
paid = {{ type = "integer", bounds = [0, 10] }}

[table.doctors]
privacy_unit = {{ doctor = "doctor_id" }}
unique = true
[table.doctors.column]
years = {{ type = "integer", bounds = [0, 50] }}

[table.visits]
privacy_unit = {{ patient = "person_id", doctor = "doctor_id" }}
rows_per_group_max = {{ patient = 3, doctor = 4 }}
[table.visits.column]
cost = {{ type = "integer", bounds = [-2, 5] }}
ward = {{ type = "text", domain = ["a", "b"] }}
note = {{ type = "text" }}
day = {{ type = "integer" }}

[table.wards]
public = true
key = "name"
[table.wards.column]
name = {{ type = "text" }}
beds = {{ type = "integer", bounds = [0, 100] }}
"""
TABLES = {
    "people": "person_id, age FROM (VALUES (1, 30), (2, 40), (3, 50)) t(person_id, age)",
    "bills": "person, paid FROM (VALUES (1, 3), (1, 4), (2, 5)) t(person, paid)",
    "doctors": "doctor_id, years FROM (VALUES (1, 10), (2, 20)) t(doctor_id, years)",
    "wards": "name, beds FROM (VALUES ('a', 10), ('b', 20)) t(name, beds)",
}
VISITS = "(1, 1, 5, 'a'), (1, 2, -2, 'b'), (2, 1, 3, 'a'), (3, 2, 1, NULL), (NULL, 1, 1, 'a')"


def hospital(
    folder: Path,
    visits: str = VISITS,
    *,
    neighbours: str = "add-remove",
    accounting: str = "pure",
) -> Path:
    """Write a policy with its data into a folder, and return where the policy is."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    columns = "person_id, doctor_id, cost, ward"
    tables = TABLES | {
        "visits": f"{columns}, ward AS note, 1 AS day FROM (VALUES {visits}) t({columns})"
    }
    with duckdb.connect() as connection:
        for name, select in tables.items():
            connection.execute(f"COPY (SELECT {select}) TO '{data / name}.parquet'")
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(neighbours=neighbours, accounting=accounting))
    return policy
