"""NULL among public keys, when it is asked for: without noise the groups are those of SQL itself."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=100000, delta="1e-3")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 3] }
sex = { type = "text", domain = ["F", "M"] }
member = { type = "boolean" }
rate = { type = "decimal", precision = 0.5, domain = [0.5, 1.5] }
town = { type = "text", domain = { table = "towns", column = "name" } }
place = { type = "text" }

[table.bought]
privacy_unit = "id"
rows_per_unit_max = 6
groups_per_unit_max = 6
[table.bought.column]
price = { type = "integer", bounds = [0, 50] }
kind = { type = "text", domain = ["a", "b"] }
stars = { type = "integer", domain = [1, 2, 3] }

[table.towns]
public = true
[table.regions]
public = true
"""
)
TOWNS = "('Rome', 'south', 1), ('Oslo', 'north', 2), ('Kiel', NULL, 3)"
REGIONS = "('south', 'warm'), ('north', 'cold'), ('west', NULL)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(made / "shop.duckdb")) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            "CREATE TABLE people AS SELECT i AS id, nullif(i % 5, 4) AS age, "
            "['F', 'M', NULL][1 + i % 3] AS sex, [true, false, NULL][1 + i % 3] AS member, "
            "[0.5, 1.5, NULL][1 + i * 7 % 3]::DOUBLE AS rate, "
            "['Rome', 'Oslo', 'Kiel', NULL][1 + i % 4] AS town, "
            "['Rome', 'Oslo', 'Elba', NULL][1 + i * 3 % 4] AS place FROM range(240) AS t(i)"
        )
        connection.execute(
            "CREATE TABLE bought AS SELECT i % 60 AS id, i % 7 AS price, "
            "['a', 'b', NULL][1 + i % 3] AS kind, [1, 2, 3, NULL][1 + i % 4] AS stars "
            "FROM range(240) AS t(i)"
        )
        connection.execute(
            f"CREATE TABLE towns AS SELECT * FROM (VALUES {TOWNS}) AS t(name, region, rank)"
        )
        connection.execute(
            f"CREATE TABLE regions AS SELECT * FROM (VALUES {REGIONS}) AS t(name, climate)"
        )
    (made / "policy.toml").write_text(POLICY, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def san(folder: Path) -> Iterator[San]:
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def plain(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, float | Decimal) else value


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(plain, row)) for row in rows), key=repr)


SAME = [
    "SELECT sex, COUNT(*) FROM people GROUP BY sex",
    "SELECT member, COUNT(*), AVG(age) FROM people GROUP BY member",
    "SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex",
    "SELECT rate, COUNT(*) FROM people GROUP BY rate",
    "SELECT age > 1 AS old, COUNT(*) FROM people GROUP BY old",
    "SELECT town, COUNT(*) FROM people GROUP BY town",
    "SELECT town, sex, COUNT(*), SUM(age) FROM people GROUP BY town, sex",
    "SELECT sex, COUNT(*) FROM people WHERE age > 1 GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people WHERE sex IS NULL GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people WHERE sex IS NOT NULL GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people WHERE sex = 'F' OR sex IS NULL GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people WHERE sex <> 'F' GROUP BY sex",
    "SELECT sex, COUNT(*) FROM people WHERE NOT sex = 'F' GROUP BY sex",
    "SELECT town, COUNT(*) FROM people WHERE town > 'L' GROUP BY town",
    "SELECT CASE WHEN age > 1 THEN 'old' END AS band, COUNT(*) FROM people GROUP BY band",
    "SELECT COALESCE(sex, 'unknown') AS s, COUNT(*) FROM people GROUP BY s",
    "SELECT IFNULL(sex, 'F') AS s, COUNT(*) FROM people GROUP BY s",
    "SELECT sex, age, COUNT(*), GROUPING(sex, age) FROM people GROUP BY ROLLUP (sex, age)",
    "SELECT sex, town, COUNT(*), GROUPING(sex, town) FROM people GROUP BY CUBE (sex, town)",
    "SELECT kind, COUNT(*), SUM(price), COUNT(DISTINCT id) FROM bought GROUP BY kind",
    "SELECT kind, stars, COUNT(*) FROM bought GROUP BY kind, stars",
    "SELECT kind, COUNT(DISTINCT price) FROM bought GROUP BY kind",
    "SELECT sex, COUNT(*), MIN(age), MAX(age) FROM people GROUP BY sex",
    "SELECT p.sex, b.kind, COUNT(*) FROM people p JOIN bought b ON p.id = b.id GROUP BY p.sex, b.kind",
    "SELECT b.kind, COUNT(p.id) FROM people p LEFT JOIN bought b ON p.id = b.id GROUP BY b.kind",
    # keys that public tables list: rows without a match, and rows whose match has no value
    "SELECT t.region, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name GROUP BY t.region",
    "SELECT t.name, t.region, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name "
    "GROUP BY t.name, t.region",
    "SELECT t.rank, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name GROUP BY t.rank",
    "SELECT t.region, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name WHERE t.rank > 1 "
    "GROUP BY t.region",
    "SELECT t.region, COUNT(*) FROM people p JOIN towns t ON p.place = t.name GROUP BY t.region",
    "SELECT p.place, COUNT(*) FROM people p JOIN towns t ON p.place = t.name GROUP BY p.place",
    "SELECT t.name, r.climate, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name "
    "LEFT JOIN regions r ON t.region = r.name GROUP BY t.name, r.climate",
    "SELECT r.climate, COUNT(*) FROM people p LEFT JOIN towns t ON p.town = t.name "
    "LEFT JOIN regions r ON t.region = r.name GROUP BY r.climate",
    "SELECT t.region, p.sex, COUNT(*) FROM people p LEFT JOIN towns t ON p.place = t.name "
    "GROUP BY ROLLUP (t.region, p.sex)",
    # over statistics
    "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY sex",
    "WITH t AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) SELECT COUNT(*) AS k, SUM(n) AS s "
    "FROM t WHERE sex IS NULL",
]


@pytest.mark.parametrize("sql", SAME)
def test_groups_are_those_of_sql(san: San, folder: Path, sql: str) -> None:
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
        expected = connection.execute(sql).fetchall()
    answer = san.query(sql, epsilon=100, null_group=True)
    found = ordered(answer.rows)
    # every known group is there, also those that nobody is in; what is not shown is nobody's
    groups = {row for row in found if not _is_empty(row, answer.columns, sql)}
    assert set(ordered(expected)) == groups
    assert len(found) == len(set(found))
    assert not any("is NULL are in no group" in line for line in answer.certificate.caveats())


def _is_empty(row: tuple[Any, ...], columns: object, sql: str) -> bool:
    """Return whether a group has nobody: all its numbers behind the keys are 0 or missing."""
    keys = sql.rsplit("GROUP BY", maxsplit=1)[-1].count(",") + 1 if "GROUP BY" in sql else 0
    if "OVER ()" in sql or sql.startswith("WITH"):
        return False
    return all(value in (0, None) for value in row[keys : keys + 1])


def test_without_it_they_are_in_none_and_a_line_says_so(san: San) -> None:
    answer = san.query("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon=100)
    assert ordered(answer.rows) == [("F", 80), ("M", 80)]
    assert any(
        "sex is NULL are in no group" in line and "null_group" in line
        for line in answer.certificate.caveats()
    )


def test_it_may_stand_in_the_text_and_holds_for_statistics_inside(san: San) -> None:
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 100, null_group = TRUE)"
    text = f"SELECT {clause} sex, COUNT(*) AS n FROM people GROUP BY sex"
    assert ordered(san.query(text).rows) == [("F", 80), ("M", 80), (None, 80)]
    inside = f"WITH t AS ({text}) SELECT SUM(n) AS s FROM t"
    assert [int(n) for (n,) in san.query(inside).rows] == [240]


def test_one_question_with_and_without_it_are_two(san: San) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"  # limits are the same
    assert len(san.query(sql, epsilon=2).rows) == 2
    with_it = san.query(sql, epsilon=2, null_group=True)
    assert len(with_it.rows) == 3 and not with_it.cached
    assert san.query(sql, epsilon=2, null_group=True).cached


def test_batches_and_totals_keep_them_apart(san: San) -> None:
    sql = [
        "SELECT sex, COUNT(*) FROM people GROUP BY sex",
        "SELECT sex, age, COUNT(*) FROM people GROUP BY 1, 2",
    ]
    one, two = san.batch(sql, epsilon=100, null_group=True)
    assert sum(n for _, n in one.rows) == 240 == sum(n for *_, n in two.rows)


def test_keys_that_are_selected_have_null_with_and_without_it(san: San) -> None:
    sql = "SELECT place, COUNT(*) FROM people GROUP BY place"
    without = san.query(sql, epsilon=100, delta="1e-6")
    assert (None, 60) in without.rows
    assert san.query(sql, epsilon=100, delta="1e-6", null_group=True).cached


def test_an_exact_answer_has_the_groups_that_its_owner_declares(san: San) -> None:
    with pytest.raises(Refused, match="null_group is given with an exact answer"):
        san.query("SELECT COUNT(*) FROM people", exact=True, null_group=True)
