"""A condition on a key leaves the same groups whether its domain is a list or a public table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

CARRIERS = ["9E", "AA", "B6", "DL", "UA", "a%b", "ua", "é"]
POLICY = (
    dataset("flights.duckdb", name="flights", epsilon=1000, delta="1e-3")
    + """\
[table.flights]
privacy_unit = "tailnum"
rows_per_unit_max = 4
[table.flights.column]
carrier = {{ type = "text", domain = {carrier} }}
gate = {{ type = "integer", bounds = [0, 5], domain = {gate} }}
[table.airlines]
public = true
{columns}
"""
)
LISTED = {"carrier": str(CARRIERS).replace("'", '"'), "gate": "[1, 2, 3]", "columns": ""}
TABLED = {
    "carrier": '{ table = "airlines", column = "code" }',
    "gate": '{ table = "airlines", column = "gate" }',
    "columns": "",
}
DECLARED = TABLED | {
    "columns": '[table.airlines.column]\ncode = { type = "text" }\ngate = { type = "integer" }'
}


def opened(folder: Path, domains: dict[str, str]) -> San:
    folder.mkdir()
    with duckdb.connect(str(folder / "flights.duckdb")) as connection:
        connection.execute("CREATE TABLE airlines (code VARCHAR, gate BIGINT)")
        gates = [1, 2, 3, 9]
        for place, code in enumerate(CARRIERS):
            row = [code, gates[place % 4]]
            connection.execute("INSERT INTO airlines VALUES (?, ?)", row)
        connection.execute("CREATE TABLE flights (tailnum VARCHAR, carrier VARCHAR, gate BIGINT)")
        for number in range(60):
            carrier = [*CARRIERS, "ZZ", None][number % 10]
            row = [f"N{number}", carrier, [None, 1, 2, 3, 9][number % 5]]
            connection.execute("INSERT INTO flights VALUES (?, ?, ?)", row)
    (folder / "policy.toml").write_text(POLICY.format(**domains), encoding="utf-8")
    return San(load(folder / "policy.toml"), sampler=SilentSampler())


@pytest.fixture(scope="module", params=["inferred", "declared"])
def tabled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[San]:
    domains = TABLED if request.param == "inferred" else DECLARED
    with opened(tmp_path_factory.mktemp("domain") / "tabled", domains) as san:
        yield san


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with opened(tmp_path_factory.mktemp("domain") / "listed", LISTED) as san:
        yield san


PRUNED = [
    # condition on the carrier, and the carriers that are left
    ("carrier IN ('UA', 'B6')", ["B6", "UA"]),
    ("carrier = 'UA'", ["UA"]),
    ("carrier NOT IN ('UA', 'B6', '9E')", ["AA", "DL", "a%b", "ua", "é"]),
    ("carrier <> 'UA' AND carrier <> 'ua'", ["9E", "AA", "B6", "DL", "a%b", "é"]),
    ("carrier IN ('UA', 'B6') AND gate > 0 AND carrier <> 'B6'", ["UA"]),
    ("carrier IN ('UA', 'ZZ', 'nowhere')", ["UA"]),
    ("'UA' = carrier", ["UA"]),
]
OF_TABLES = [
    ("carrier BETWEEN 'B' AND 'E'", ["B6", "DL"]),
    ("carrier > 'DL'", ["UA", "a%b", "ua", "é"]),
    ("carrier LIKE '_A'", ["AA", "UA"]),
    ("carrier ILIKE 'ua'", ["UA", "ua"]),
    ("carrier = 'AA' OR carrier = 'DL'", ["AA", "DL"]),
    ("NOT (carrier = 'AA' OR carrier > 'B')", ["9E"]),
    ("carrier = 'none of them'", []),
]
KEPT = ["gate = 2", "carrier = 'UA' OR gate = 2", "UPPER(carrier) = 'UA'", "1 = 1"]


def carriers(san: San, where: str) -> dict[str, int]:
    sql = f"SELECT carrier, COUNT(*) FROM flights WHERE {where} GROUP BY carrier"
    return dict(san.query(sql, epsilon=1).rows)


@pytest.mark.parametrize(("where", "left"), PRUNED)
def test_a_condition_leaves_the_same_keys_of_a_list_and_of_a_table(
    tabled: San, listed: San, where: str, left: list[str]
) -> None:
    found = carriers(tabled, where)
    assert sorted(found) == left
    if "'UA' =" not in where:
        assert found == carriers(listed, where)


@pytest.mark.parametrize(("where", "left"), OF_TABLES)
def test_every_comparison_of_a_key_with_constants_is_asked_of_the_table(
    tabled: San, where: str, left: list[str]
) -> None:
    found = carriers(tabled, where)
    assert sorted(found) == left
    assert all(count == 6 for count in found.values())  # nobody's row is lost with a key


@pytest.mark.parametrize("where", KEPT)
def test_conditions_on_anything_else_leave_every_key(tabled: San, where: str) -> None:
    assert sorted(carriers(tabled, where)) == CARRIERS


def test_whole_numbers_are_compared_as_they_are_read(tabled: San) -> None:
    sql = "SELECT gate, COUNT(*) FROM flights WHERE gate BETWEEN 2 AND 5 GROUP BY gate"
    assert san_rows(tabled, sql) == [(2, 12), (3, 12)]  # 9 is read as 5, which no table lists


def test_levels_leave_the_keys_that_a_condition_leaves(tabled: San) -> None:
    sql = (
        "SELECT carrier, gate, COUNT(*) FROM flights WHERE carrier IN ('UA', 'B6') AND gate < 3 "
        "GROUP BY ROLLUP (carrier, gate)"
    )
    keys = {row[:2] for row in san_rows(tabled, sql)}
    assert keys == {
        ("UA", 1), ("UA", 2), ("B6", 1), ("B6", 2), ("UA", None), ("B6", None), (None, None)
    }  # fmt: skip


def test_a_key_of_a_subquery_is_chosen_too(tabled: San) -> None:
    sql = (
        "SELECT c, COUNT(*) FROM (SELECT carrier AS c FROM flights WHERE gate > 0) AS t "
        "WHERE c IN ('UA', 'B6') GROUP BY c"
    )
    assert [row[0] for row in san_rows(tabled, sql)] == ["B6", "UA"]


def san_rows(san: San, sql: str) -> list[tuple[object, ...]]:
    return san.query(sql, epsilon=1).rows
