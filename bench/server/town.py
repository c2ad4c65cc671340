"""A town of 20,000 people, with many analysts, and questions about it that all differ."""

from __future__ import annotations

from pathlib import Path

ANALYSTS = 32
PEOPLE = 20_000
POLICY = """\
[dataset]
name = "town"
source = "data/"
neighbours = "add-remove"
accounting = "pure"
budget = { epsilon = 1000000, delta = 0 }

[engine]
workers = 2

[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
city = { type = "text", domain = ["a", "b", "c", "d", "e"] }
income = { type = "integer", bounds = [0, 100000] }

[table.places]
public = true
"""


def make_town(folder: Path) -> Path:
    """Write data and policy; return the policy's path."""
    import duckdb

    (folder / "data").mkdir(parents=True)
    folder.chmod(0o700)
    people = (
        "SELECT i AS id, (hash(i, 1) % 100)::INTEGER AS age,"
        " chr(97 + (hash(i, 2) % 5)::INTEGER) AS city,"
        f" (hash(i, 3) % 90000)::INTEGER AS income FROM range({PEOPLE}) AS numbers(i)"
    )
    places = (
        "SELECT i AS place, 'street ' || i AS street, i / 8 AS east"
        " FROM range(1000000) AS numbers(i)"
    )
    with duckdb.connect() as made:
        made.execute(f"COPY ({people}) TO '{folder}/data/people.parquet'")
        made.execute(f"COPY ({places}) TO '{folder}/data/places.parquet'")
    policy = folder / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    return policy


def names() -> list[str]:
    """Return the analysts."""
    return [f"analyst{number}" for number in range(ANALYSTS)]


def questions(analyst: int, count: int, turn: int) -> list[str]:
    """Return questions that nobody has asked: filters with numbers of their own, some by city."""
    asked = []
    for number in range(count):
        unlike = (turn * 1000 + number) * ANALYSTS + analyst
        where = f"WHERE income > {unlike % 89_000} AND age < {40 + unlike // 89_000 % 60}"
        if number % 4 == 3:
            asked.append(f"SELECT city, COUNT(*) FROM people {where} GROUP BY city")
        elif number % 4 == 1:
            asked.append(f"SELECT AVG(age) FROM people {where}")
        else:
            asked.append(f"SELECT COUNT(*) FROM people {where}")
    return asked
