"""San over a hostile database: strange rows, macros that shadow built-ins, and secrets to look for."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

SECRET = "Alice-7f3a"  # stands in rows; must never stand in an error, a log line or a warning
POLICY = (
    dataset("{source}", name="hostile", neighbours="{neighbours}", epsilon=9000, delta="1e-2")
    + """\
failures_max = 3
[analyst.ana]
budget = {{ epsilon = 4000, delta = 5e-3 }}
[analyst.bob]
budget = {{ epsilon = 10, delta = 1e-6 }}
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 4
rows_per_group_max = 4
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}
wide = {{ type = "integer" }}
income = {{ type = "decimal", bounds = [0, 1000], precision = 0.01 }}
free = {{ type = "float" }}
city = {{ type = "text" }}
note = {{ type = "text" }}
born = {{ type = "date", bounds = [1900-01-01, 2026-12-31] }}
member = {{ type = "boolean" }}
"""
)
PEOPLE = 200
AWKWARD = [
    # person, age, wide, income and free, city, note, born
    ("9007199254740992", "30", "9223372036854775807", "nan", "'; DROP TABLE people; --", SECRET, "infinity"),
    ("9007199254740993", "30", "-9223372036854775808", "inf", "<script>alert(1)</script>", "NaN", "0001-01-01"),
    ("9007199254740994", "-5", "0", "-inf", "=cmd|' /C calc'!A0", "1e400", "9999-12-31"),
    ("9007199254740995", "500", "-1", "-0.0", "\u202egnol\u200b", "99999999999999999999", "2020-02-29"),
    ("9007199254740996", None, None, None, None, None, None),
    (None, "40", "7", "1", SECRET, SECRET, "2000-01-01"),
    (None, "40", "7", "1", SECRET, SECRET, "2000-01-01"),
]  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A folder with a database and policies over it."""

    folder: Path

    def database(self, name: str, people: int = PEOPLE) -> Path:
        """Create a database: ordinary people, then the awkward ones."""
        path = self.folder / name
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE TABLE people (person_id BIGINT, age BIGINT, wide BIGINT, income DOUBLE, "
                "free DOUBLE, city VARCHAR, note VARCHAR, born DATE, member BOOLEAN)"
            )
            connection.execute(
                "INSERT INTO people SELECT 1 + range, range % 90, range, range, range, "
                f"'city ' || range % 4, range::VARCHAR, DATE '2000-01-01' + (range % 300)::INTEGER, "
                f"range % 2 = 0 FROM range({people})"
            )
            for row in AWKWARD:
                person, age, wide, income, city, note, born = row
                values = [person, age, wide, income, income, city, note, born]
                connection.execute(
                    "INSERT INTO people VALUES (?::BIGINT, ?::BIGINT, ?::BIGINT, ?::DOUBLE, "
                    "?::DOUBLE, ?, ?, ?::DATE, NULL)",
                    values,
                )
        return path

    def policy(self, source: str, name: str = "policy", neighbours: str = "add-remove") -> Policy:
        """Write and load a policy over a database of this folder."""
        path = self.folder / f"{name}.toml"
        text = POLICY.format(source=source, neighbours=neighbours)
        path.write_text(text.replace('"hostile"', f'"{name}"'), encoding="utf-8")
        return load(path)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a folder that all threats share: starting an engine takes a second."""
    return Place(tmp_path_factory.mktemp("threats"))


@pytest.fixture(scope="session")
def policy(place: Place) -> Policy:
    """Return the policy over the hostile database, full of macros that shadow what San calls."""
    path = place.database("hostile.duckdb")
    with duckdb.connect(str(path)) as connection:
        for name, arity in SHADOWS:
            parameters = ", ".join(f"p{number}" for number in range(arity))
            connection.execute(f'CREATE MACRO "{name}"({parameters}) AS 42')
        connection.execute("CREATE SCHEMA system")
        connection.execute(
            "CREATE VIEW hostile.system.people AS SELECT * FROM people WHERE age = 0"
        )
        connection.execute("CREATE SCHEMA main2")
        connection.execute("CREATE TABLE main2.people AS SELECT * FROM people WHERE age = 0")
        connection.execute("CREATE VIEW cells AS SELECT 7 AS m0")
        connection.execute("CREATE VIEW input AS SELECT 7 AS m0")
    return place.policy("hostile.duckdb")


SHADOWS = [
    ("least", 2), ("greatest", 2), ("sum", 1), ("count", 1), ("count", 0), ("count_star", 0), ("min", 2),
    ("hash", 2), ("hash", 3), ("list_last", 1), ("isfinite", 1), ("floor", 1), ("ceil", 1), ("trunc", 1),
    ("round", 2), ("abs", 1), ("sign", 1), ("sqrt", 1), ("ln", 1), ("exp", 1), ("pow", 2), ("lower", 1),
    ("upper", 1), ("trim", 1), ("length", 1), ("date_part", 2), ("date_trunc", 2), ("nullif", 2),
    ("unnest", 1), ("+", 2), ("-", 2), ("-", 1), ("*", 2), ("/", 2), ("//", 2), ("%", 2), ("~~", 2),
    ("!~~", 2), ("~~*", 2), ("like_escape", 3), ("prefix", 2), ("suffix", 2), ("contains", 2),
    ("mean", 1), ("ceiling", 1), ("year", 1), ("power", 2),
]  # fmt: skip
# DuckDB keeps one macro a name; what is overloaded above is created once
SHADOWS = list({name: (name, arity) for name, arity in SHADOWS}.values())


@pytest.fixture(scope="session")
def san(policy: Policy) -> Iterator[San]:
    """Return San over it for ana, without noise."""
    with San(policy, "ana", sampler=SilentSampler()) as opened:
        yield opened


@pytest.fixture(scope="session")
def exact(san: San) -> Callable[[str], object]:
    """Return a function that gives the one value the mechanism was given for a question."""
    return lambda sql: san.query(sql, epsilon=1).value


@pytest.fixture
def silent() -> SilentSampler:
    """Return a sampler without noise."""
    return SilentSampler()
