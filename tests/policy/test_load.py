from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import PassedTables, SourceDatabase, load
from sanql.policy.model import (
    Analyst,
    Budget,
    Coalition,
    Column,
    ColumnUnit,
    EngineLimits,
    ListedDomain,
    Policy,
    RowUnit,
    Table,
    TableDomain,
)

Write = Callable[[str], Path]
Text = Callable[..., str]

WHOLE = """
[dataset]
name = "hospital"
source = "data/"
ledger = "accounts/hospital.ledger"
neighbours = "change-one"
budget = { epsilon = 4.0, delta = 1e-6 }
accounting = "renyi"
delta_per_query = 1e-9
failures_max = 5

[engine]
memory = "512MB"
deadline = 2.5
workers = 3

[analyst.ana]
budget = { epsilon = 0.1, delta = 1e-7 }
[analyst.ben]
epsilon_per_query = 0.05

[coalition.both]
members = ["ben", "ana"]
budget = { epsilon = 3, delta = 1e-6 }

[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
person_id = { type = "integer" }
age = { type = "integer", bounds = [0, 120], total_bounds = [0, 120] }
city = { type = "text", domain = { table = "cities", column = "name" } }
sex = { type = "text", domain = ["F", "M", "X"] }
income = { type = "decimal", bounds = [-0.1, 5e5], precision = 0.01, total_bounds = [0, 1e6] }
born = { type = "date", bounds = [1900-01-01, "2024-12-31"], domain = [2000-01-01] }
seen = { type = "timestamp", bounds = ["2024-01-01T00:00:00", 2024-12-31T23:59:59.5] }
smokes = { type = "boolean", domain = [true, false] }
weight = { type = "float", bounds = [0, 300.5] }

[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = 50
groups_per_unit_max = 4

[table.sensors]
privacy_unit = "row"
column.value = { type = "integer" }

[table.cities]
public = true
"""


def test_every_declaration_arrives_exactly_as_written(write: Write, tmp_path: Path) -> None:
    policy = load(write(WHOLE))
    assert policy == Policy(
        path=tmp_path / "policy.toml",
        name="hospital",
        source=str(tmp_path / "data"),
        ledger=tmp_path / "accounts" / "hospital.ledger",
        neighbours="change-one",
        budget=Budget(Fraction(4), Fraction(1, 10**6)),
        accounting="renyi",
        tables={
            "people": Table(
                "people",
                ColumnUnit("person_id"),
                {
                    "person_id": Column("person_id", "integer"),
                    "age": Column(
                        "age", "integer", (0, 120), total_bounds=(Fraction(0), Fraction(120))
                    ),
                    "city": Column("city", "text", domain=TableDomain("cities", "name")),
                    "sex": Column("sex", "text", domain=ListedDomain(("F", "M", "X"))),
                    "income": Column(
                        "income",
                        "decimal",
                        (Fraction(-1, 10), Fraction(500_000)),
                        Fraction(1, 100),
                        total_bounds=(Fraction(0), Fraction(1_000_000)),
                    ),
                    "born": Column(
                        "born",
                        "date",
                        (date(1900, 1, 1), date(2024, 12, 31)),
                        domain=ListedDomain((date(2000, 1, 1),)),
                    ),
                    "seen": Column(
                        "seen",
                        "timestamp",
                        (datetime(2024, 1, 1), datetime(2024, 12, 31, 23, 59, 59, 500_000)),
                    ),
                    "smokes": Column("smokes", "boolean", domain=ListedDomain((True, False))),
                    "weight": Column("weight", "float", (Fraction(0), Fraction(601, 2))),
                },
                rows_per_unit_max=1,
                groups_per_unit_max=1,
                unique=True,
            ),
            "visits": Table(
                "visits",
                ColumnUnit("person_id"),
                {},
                rows_per_unit_max=50,
                groups_per_unit_max=4,
            ),
            "sensors": Table(
                "sensors",
                RowUnit(),
                {"value": Column("value", "integer")},
                rows_per_unit_max=1,
                groups_per_unit_max=1,
            ),
            "cities": Table("cities", None, {}),
        },
        analysts={
            "ana": Analyst("ana", Budget(Fraction(1, 10), Fraction(1, 10**7))),
            "ben": Analyst("ben", None, Fraction(1, 20)),
        },
        coalitions={
            "both": Coalition(
                "both", frozenset({"ana", "ben"}), Budget(Fraction(3), Fraction(1, 10**6))
            )
        },
        engine=EngineLimits(memory_bytes=512_000_000, deadline_seconds=2.5, workers=3),
        delta_per_query=Fraction(1, 10**9),
        failures_max=5,
    )


def test_bounds_of_an_integer_column_are_integers(write: Write, policy_text: Text) -> None:
    column = (
        '[table.t]\nprivacy_unit = "row"\ncolumn.x = { type = "integer", bounds = [-0.0, 1e6] }'
    )
    bounds = load(write(policy_text(tables=column))).tables["t"].columns["x"].bounds
    assert bounds == (0, 1_000_000)
    assert [type(bound) for bound in bounds or ()] == [int, int]


def test_what_is_left_out_has_the_documented_defaults(
    write: Write, policy_text: Text, tmp_path: Path
) -> None:
    policy = load(write(policy_text()))
    assert policy.ledger == tmp_path / "clinic.ledger"
    assert policy.engine == EngineLimits(4_000_000_000, 60.0, 1)
    assert (policy.failures_max, policy.delta_per_query) == (3, None)
    assert (policy.analysts, policy.coalitions) == ({}, {})


def test_a_missing_delta_is_zero_under_pure_accounting(write: Write, policy_text: Text) -> None:
    text = policy_text({"accounting": '"pure"', "budget": "{ epsilon = 0.3 }"})
    assert load(write(text)).budget == Budget(Fraction(3, 10), Fraction(0))


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ("unique = true", (1, None, 1)),
        ("unique = true\nrows_per_unit_max = 1", (1, None, 1)),
        ("unique = false\nrows_per_unit_max = 7", (7, None, 7)),
        ("rows_per_unit_max = 7", (7, None, 7)),
        ("rows_per_unit_max = 7\ngroups_per_unit_max = 2", (7, None, 2)),
        ("rows_per_unit_max = 7\nrows_per_group_max = 3", (7, 3, 7)),
        ("rows_per_group_max = 3\ngroups_per_unit_max = 5", (15, 3, 5)),
        ("rows_per_unit_max = 12\nrows_per_group_max = 3\ngroups_per_unit_max = 5", (12, 3, 5)),
        ("rows_per_unit_max = 1048576", (2**20, None, 2**20)),
    ],
)
def test_limits_that_follow_from_others_are_filled_in(
    write: Write,
    policy_text: Text,
    written: str,
    limits: tuple[int, int | None, int],
) -> None:
    table = load(write(policy_text(tables=f'[table.t]\nprivacy_unit = "id"\n{written}'))).tables[
        "t"
    ]
    assert (table.rows_per_unit_max, table.rows_per_group_max, table.groups_per_unit_max) == limits


@pytest.mark.parametrize(
    "source",
    ["data", "data/", "../release-1.2", "people.parquet", "a b/people.CSV", "/srv/x.duckdb", "."],
)
def test_a_source_is_found_from_the_policy_file(
    write: Write, policy_text: Text, tmp_path: Path, source: str
) -> None:
    assert load(write(policy_text({"source": f'"{source}"'}))).source == str(tmp_path / source)


@pytest.mark.parametrize(
    ("memory", "size"), [("4GB", 4 * 10**9), ("512 MB", 512 * 10**6), ("1GiB", 2**30)]
)
def test_memory_is_read_with_its_unit(
    write: Write, policy_text: Text, memory: str, size: int
) -> None:
    policy = load(write(policy_text(more=f'[engine]\nmemory = "{memory}"')))
    assert policy.engine.memory_bytes == size


def test_the_largest_exact_grid_is_allowed(write: Write, policy_text: Text) -> None:
    tables = f"""
    [table.t]
    privacy_unit = "row"
    column.i = {{ type = "integer", bounds = [{-(2**53)}, {2**53}] }}
    column.d = {{ type = "decimal", bounds = [0, {2**53 - 1}], precision = 1 }}
    """
    columns = load(write(policy_text(tables=tables))).tables["t"].columns
    assert columns["d"].bounds == (0, 2**53 - 1)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(
    tmp_path: Path, policy_text: Text
) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"\xef\xbb\xbf" + policy_text().replace("\n", "\r\n").encode())
    assert load(path).name == "clinic"


def test_a_relative_path_to_the_policy_is_made_absolute(
    write: Write, policy_text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(policy_text())
    monkeypatch.chdir(tmp_path)
    assert load("policy.toml").path == tmp_path / "policy.toml"


def test_a_policy_can_be_handed_to_another_process(write: Write) -> None:
    policy = load(write(WHOLE))
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_a_policy_without_a_source_reads_tables_that_are_passed_beside_its_ledger(
    write: Write, policy_text: Text, tmp_path: Path
) -> None:
    passed = load(write(policy_text({"source": None, "ledger": '"books/own.ledger"'})))
    assert (passed.origin, passed.source) == (
        PassedTables(),
        str(tmp_path / "books" / "own.tables"),
    )
    rehearsed = load(write(policy_text({"source": None, "scratch": "true"})))
    assert rehearsed.source == str(tmp_path / f"{rehearsed.name}.tables"), "those of the account"
    assert load(write(policy_text({}))).origin is None


def test_a_database_is_a_source_with_a_snapshot_beside_the_ledger(
    write: Write, policy_text: Text, tmp_path: Path
) -> None:
    address = '"postgresql://reader@db.example/clinic?sslrootcert=ca.pem"'
    more = {"schemas": '["b", "a"]', "source_password_file": '"secret"'}
    policy = load(write(policy_text({"source": address} | more)))
    place = policy.origin
    assert place == SourceDatabase("db.example", 5432, "clinic", ("b", "a"))
    assert isinstance(place, SourceDatabase) and place.password_file == tmp_path / "secret"
    assert (place.user, dict(place.tls)) == (
        "reader",
        {"sslmode": "verify-full", "sslrootcert": str(tmp_path / "ca.pem")},
    )
    assert policy.source == str(tmp_path / f"{policy.name}.tables")
    assert pickle.loads(pickle.dumps(policy)) == policy


@pytest.mark.parametrize("schemas", ["[]", '"public"', "[1]", '["a", "a"]', "['a\"b']"])
def test_schemas_are_a_list_of_names(write: Write, policy_text: Text, schemas: str) -> None:
    text = policy_text({"source": '"postgresql://db.example/clinic"', "schemas": schemas})
    with pytest.raises(PolicyError, match="schemas"):
        load(write(text))
