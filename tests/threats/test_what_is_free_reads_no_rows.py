"""A question that costs nothing reads nothing private but how many rows a table has.

Its time, and whether it ends at all, would otherwise tell about rows for no epsilon, as often as asked.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.volume import few_of

pytestmark = pytest.mark.slow

POLICY = (
    dataset("data.duckdb", name="free", neighbours="NEIGHBOURS", epsilon=1, delta="1e-6")
    + """\
[table.people]
UNIT
[table.people.column]
nm = { type = "text" }
sex = { type = "text", domain = ["f", "m"] }
town = { type = "text", domain = { table = "towns", column = "name" } }
age = { type = "integer", bounds = [0, 120] }
share = { type = "float", bounds = [0, 1] }
[table.prices]
public = true
[table.prices.column]
k = { type = "integer" }
n = { type = "integer" }
[table.towns]
public = true
[table.towns.column]
name = { type = "text" }
"""
)
UNITS = {"column": 'privacy_unit = "person"\nrows_per_unit_max = 2', "row": 'privacy_unit = "row"'}
SETTINGS = [(order, unit) for order in ("add-remove", "change-one") for unit in UNITS]
ZEROS = [
    "SUM(0)",
    "SUM(t.age * 0)",
    "SUM(0 * t.share)",
    "SUM(t.age CLAMPED BETWEEN 0 AND 0)",
    "SUM(GREATEST(0, LEAST(0, t.age)))",
    "SUM(CASE WHEN t.nm LIKE '%i%c%' THEN 0 ELSE 0 END)",
    "SUM((SELECT COUNT(*) FROM prices r WHERE r.n > t.age) * 0)",
    "SUM(0), SUM(t.age - t.age CLAMPED BETWEEN 0 AND 0)",
]
ROWS = {
    "column": " FROM people t, prices p, prices q WHERE t.nm = 'victim' AND p.n * q.n > t.age * p.k",
    "row": " FROM people t WHERE EXISTS (SELECT 1 FROM prices p, prices q WHERE p.n * q.n > t.age)",
}


def opened(folder: Path, neighbours: str, unit: str) -> San:
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person, 'victim' AS nm, 'f' AS sex, 'x' AS town, "
            "range % 90 AS age, 0.5 AS share FROM range(7)"
        )
        connection.execute("CREATE TABLE prices AS SELECT range AS k, range AS n FROM range(5)")
        connection.execute("CREATE TABLE towns AS SELECT * FROM (VALUES ('x'), ('y')) AS _(name)")
    text = POLICY.replace("NEIGHBOURS", neighbours).replace("UNIT", UNITS[unit])
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return San(load(folder / "policy.toml"))


def told(san: San, sql: str) -> str:
    """Return what the engine is told to answer a question."""
    text = san.explain(sql).to_dict()["sql"]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("zeros", few_of([ZEROS[::3], ZEROS], 1), ids=["some", "all"])
@pytest.mark.parametrize(("neighbours", "unit"), SETTINGS)
def test_zeros_are_answered_without_a_private_row(
    tmp_path: Path, neighbours: str, unit: str, zeros: list[str]
) -> None:
    with opened(tmp_path, neighbours, unit) as san:
        for zero in zeros:
            for key, groups in (("", 1), ("t.sex", 2), ("t.town", 2), ("t.sex, t.town", 4)):
                grouping = f" GROUP BY {key}" if key else ""
                sql = f"SELECT {key + ', ' if key else ''}{zero}{ROWS[unit]}{grouping}"
                answer = san.query(sql)
                assert answer.charge.epsilon == 0
                assert "people" not in told(san, sql)
                rows = answer.table.to_pylist()
                assert len(rows) == groups
                assert {n for row in rows for n in row.values() if not isinstance(n, str)} == {0}


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_public_keys_alone_are_answered_without_a_private_row(
    tmp_path: Path, neighbours: str
) -> None:
    with opened(tmp_path, neighbours, "column") as san:
        sql = f"SELECT t.sex, t.town{ROWS['column']} GROUP BY t.sex, t.town"
        assert "people" not in told(san, sql)
        assert len(san.query(sql).table) == 4


def test_the_number_of_rows_is_all_that_is_read_of_them_under_change_one(tmp_path: Path) -> None:
    heavy = "CASE WHEN t.nm LIKE '%i%c%' THEN 5 ELSE 5 END"
    with opened(tmp_path, "change-one", "row") as san:
        for sql, value in (
            ("SELECT COUNT(*) AS s FROM people t", 7),
            (f"SELECT SUM({heavy}) AS s FROM people t", 35),
            (f"SELECT COUNT({heavy}) AS s FROM people t", 7),
        ):
            assert san.query(sql).value == value
            assert "LIKE" not in told(san, sql) and '"age"' not in told(san, sql)
        with pytest.raises(Refused) as refused:  # a condition makes it depend on somebody
            san.query(f"SELECT SUM({heavy}) FROM people t WHERE t.age > 3")
        assert refused.value.code == "epsilon_needed"
