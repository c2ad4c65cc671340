"""Where a copy was seen to have one row for each unit, limits are left out and cells stay the same."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.parse import parse
from sanql.plan import KnownUnits, outline, price, with_known_norms
from sanql.plan.best_norm import UnitLengths
from sanql.policy import Budget, Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

TABLES = """\

[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
city = { type = "text", domain = ["a", "b", "c"] }
town = { type = "text" }
income = { type = "decimal", bounds = [-5, 400], precision = 0.01, total_bounds = [-3, 300] }

[table.places]
public = true
[table.places.column]
place = { type = "text" }
"""
QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*), COUNT(age), SUM(age), AVG(age) FROM people WHERE age > 30",
    "SELECT city, COUNT(*), AVG(age), SUM(income) FROM people GROUP BY city",
    "SELECT town, COUNT(*), VARIANCE(age) FROM people GROUP BY town",
    "SELECT city, COUNT(DISTINCT age), COUNT(DISTINCT id) FROM people GROUP BY city",
    "SELECT MEDIAN(age), QUANTILE_CONT(income, 0.9) FROM people",
    "SELECT city, MEDIAN(age) FROM people GROUP BY ROLLUP (city)",
    "SELECT COUNT(DISTINCT CASE WHEN age > 40 THEN id END) FROM people",
    "SELECT SUM(income) FROM people WHERE city IN (SELECT place FROM places)",
]
ROWS = """
    SELECT i AS id, CASE WHEN i % 11 > 0 THEN i % 100 END AS age, chr((97 + i % 4)::INTEGER) AS city,
    'town ' || (i % 7) AS town, CASE WHEN i % 5 > 0 THEN i * 1.37 - 20 END AS income
    FROM range(300) AS numbers(i)
    UNION ALL SELECT NULL, 5, 'a', 'town 1', 7.5 UNION ALL SELECT NULL, 6, 'a', 'town 1', 8.5
"""
TWICE = " UNION ALL SELECT 7, 70, 'b', 'town 2', 70.5"


def town(folder: Path, rows: str) -> tuple[Policy, PreparedSource]:
    """Return a policy over these people, and their prepared copy."""
    (folder / "data").mkdir()
    with duckdb.connect() as made:
        made.execute(f"COPY ({rows}) TO '{folder}/data/people.parquet'")
        made.execute(f"COPY (SELECT 'a' AS place) TO '{folder}/data/places.parquet'")
    (folder / "policy.toml").write_text(dataset("data") + TABLES)
    policy = load(folder / "policy.toml")
    return policy, prepare(policy, engine=open_engine("in_process"))


@pytest.mark.slow
@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_shorter_way_leads_to_the_same_cells(tmp_path: Path, sql: str) -> None:
    policy, source = town(tmp_path, ROWS)
    assert source.one_row == {"people"}
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        shorter = cells_of(sql, policy, source, pool.run)
        longer = cells_of(sql, policy, replace(source, one_row=frozenset()), pool.run)
    assert sorted(map(str, shorter)) == sorted(map(str, longer))
    assert any(value for row in shorter for value in row.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["in_process", "workers"])
def test_a_unit_with_two_rows_is_noticed_and_bounded(tmp_path: Path, kind: str) -> None:
    policy, source = town(tmp_path, ROWS + TWICE)
    assert source.one_row == frozenset()
    with Pool(source, policy.engine, open_engine(kind)) as pool:
        (row,) = cells_of("SELECT COUNT(*) FROM people", policy, source, pool.run)
    assert row == {"m0": 300}


@pytest.mark.slow
def test_what_a_worker_sees_is_what_this_process_sees(tmp_path: Path) -> None:
    policy, source = town(tmp_path, ROWS)
    (tmp_path / "other").mkdir()
    other = replace(policy, ledger=tmp_path / "other" / "other.ledger")
    assert prepare(other, engine=open_engine("workers")).one_row == source.one_row


def test_what_is_joined_is_bounded_as_ever(tmp_path: Path) -> None:
    """A row of one table may become several: only one table by itself goes the shorter way."""
    policy, source = town(tmp_path, ROWS)
    joined = "SELECT COUNT(*) FROM people JOIN places ON people.city = places.place"
    nested = "SELECT COUNT(*) FROM (SELECT id FROM people) AS p"
    for sql, grouped in [(QUESTIONS[0], False), (joined, True), (nested, True)]:
        (level,) = priced(sql, policy.tables).levels
        assert ("GROUP BY u" in compile_plan(level, source, SECRET).sql) == grouped


def test_what_was_seen_counts_only_while_it_is_declared(tmp_path: Path) -> None:
    """The copy of before is used; a norm may be less than a row adds, and distinct values be chosen."""
    town(tmp_path, ROWS)
    declared = TABLES.replace("unique = true", "rows_per_unit_max = 5")
    (tmp_path / "policy.toml").write_text(dataset("data") + declared)
    policy = load(tmp_path / "policy.toml")
    source = prepare(policy, engine=open_engine("in_process"))
    assert source.one_row == frozenset()
    known = {"people": KnownUnits((UnitLengths(300, 1.0, 1.0),), sizes={"age": Fraction(2)})}
    query = parse("SELECT city, SUM(age) FROM people GROUP BY city", policy.tables).private
    asked = outline(query, policy.tables, policy.neighbours)
    within = Budget(Fraction(1), Fraction(0))
    (level,) = price(with_known_norms(asked, known, within), within.epsilon, within.delta).levels
    (part,) = level.measurements
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        cells = pool.run(compile_plan(level, source, SECRET)).to_pylist()
    assert part.norm is not None and part.norm.bound < part.size
    assert 0 < sum(row["m0"] for row in cells) <= 300 * part.sensitivity.l1
