"""Columns that are not nullable: a missing value is read as the lower bound, so that none is missing."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import duckdb
import pytest

from sanql.engines import Pool, open_engine, prepare
from sanql.errors import PolicyError
from sanql.measurements import Measured
from sanql.plan import Plan
from sanql.policy import Policy, load
from support.cells import cells_of, priced
from support.policies import dataset

PEOPLE = """\

[table.people]
privacy_unit = {unit}
[table.people.column]
age = {{ type = "integer", bounds = [-2, 3], nullable = false }}
cost = {{ type = "float", bounds = [10, 20], precision = 0.5, nullable = false }}
day = {{ type = "date", bounds = [2026-01-01, 2026-01-31], nullable = false }}
height = {{ type = "integer", bounds = [-2, 3] }}
"""
ROWS = """
    SELECT * FROM (VALUES
        (1, 3, 15.0, DATE '2026-01-05', 3), (2, NULL, 'nan'::DOUBLE, NULL, NULL),
        (3, 99, 'inf'::DOUBLE, DATE '2031-01-01', 99), (4, NULL, NULL, DATE '2026-01-07', NULL)
    ) AS rows(id, age, cost, day, height)
"""


def people(folder: Path, rows: str = ROWS, unit: str = '"id"', **declared: str) -> Policy:
    """Return a policy over people of whom some lack something."""
    (folder / "data").mkdir(exist_ok=True)
    with duckdb.connect() as made:
        made.execute(f"COPY ({rows}) TO '{folder}/data/people.parquet'")
    limit = "rows_per_unit_max = 1\n" if unit != '"row"' else ""
    text = PEOPLE.format(unit=unit).replace(
        "[table.people.column]", limit + "[table.people.column]"
    )
    (folder / "policy.toml").write_text(dataset("data", **declared) + text)
    return load(folder / "policy.toml")


def exact(policy: Policy, sql: str) -> list[dict[str, object]]:
    source = prepare(policy, engine=open_engine("in_process"))
    with Pool(source, policy.engine, open_engine("in_process")) as pool:
        return cells_of(sql, policy, source, pool.run)


def kinds(plan: Plan) -> list[Measured]:
    return [measurement.kind for measurement in plan.levels[0].measurements]


@pytest.mark.slow
def test_what_is_missing_or_cannot_be_read_is_the_lower_bound(tmp_path: Path) -> None:
    policy = people(tmp_path)
    (row,) = exact(policy, "SELECT COUNT(age), SUM(age), SUM(cost) FROM people")
    ages, costs = [3, -2, 3, -2], [15, 10, 10, 10]  # an infinite cost is none, as ever
    plan = priced("SELECT COUNT(age), SUM(age), SUM(cost) FROM people", policy.tables)
    steps = [
        (sum(values) - len(values) * m.centre * m.grid) / m.grid
        for values, m in zip((ages, costs), plan.levels[0].measurements[1:], strict=True)
    ]
    assert [row["m0"], row["m1"], row["m2"]] == [4, *steps]
    found = exact(policy, "SELECT day, COUNT(*) FROM people GROUP BY day")
    assert {str(cell["k0"]): cell["m0"] for cell in found if cell["m0"]} == {
        "2026-01-01": 1, "2026-01-05": 1, "2026-01-07": 1, "2026-01-31": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_conditions_see_the_value_that_is_read(tmp_path: Path) -> None:
    policy = people(tmp_path)
    for condition, count in [
        ("age IS NULL", 0),
        ("age = -2", 2),
        ("cost <= 10", 3),
        ("height IS NULL", 2),
    ]:
        (row,) = exact(policy, f"SELECT COUNT(*) FROM people WHERE {condition}")
        assert row["m0"] == count, condition


def test_counting_values_is_counting_rows_and_is_measured_once(tmp_path: Path) -> None:
    tables = people(tmp_path).tables
    assert kinds(priced("SELECT COUNT(*), COUNT(age), AVG(age) FROM people", tables)) == [
        Measured.UNITS, Measured.SUM,
    ]  # fmt: skip
    assert (
        len(kinds(priced("SELECT COUNT(*), COUNT(height), AVG(height) FROM people", tables))) == 3
    )


def test_what_an_outer_join_leaves_out_stays_missing(tmp_path: Path) -> None:
    policy = people(tmp_path)
    joined = (
        "FROM people AS a LEFT JOIN (SELECT id, age FROM people WHERE age > 0) AS b ON a.id = b.id"
    )
    (row,) = exact(policy, f"SELECT COUNT(*), COUNT(b.age) {joined}")
    assert sorted(row.values()) == [2, 4]


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_under_change_one_rows_are_public_and_sums_move_by_the_width_of_bounds(
    tmp_path: Path, missing: bool
) -> None:
    """Every value of one row, missing ones included, beside another row: no move is wider."""
    declared = {"unit": '"row"', "neighbours": "change-one"}
    policy = people(tmp_path, **declared)
    (level,) = priced("SELECT AVG(age) FROM people", policy.tables, "change-one").levels
    assert [m.kind for m in level.measurements] == [Measured.SUM, Measured.UNITS]
    assert level.measurements[1].sensitivity.zero
    sums = set()
    for value in ["NULL", -2, 0, 3, 7] if missing else [-2, 0, 3, 7]:
        rows = (
            f"SELECT 1 AS id, {value}::BIGINT AS age, 15.0 AS cost, "
            "DATE '2026-01-05' AS day, 1 AS height"
        )
        policy = people(
            tmp_path, f"{rows} UNION ALL {rows.replace(str(value), '2', 1)}", **declared
        )
        (row,) = exact(policy, "SELECT AVG(age) FROM people")
        assert row["m1"] == 2
        sums.add(row["m0"])
    moves = [abs(one - other) for one, other in product(sums, sums)]
    assert max(moves) == level.measurements[0].sensitivity.l1 == 5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('name = { type = "text", nullable = false }', "lower bound"),
        ('n = { type = "integer", nullable = false }', "lower bound"),
        ('n = { type = "integer", bounds = "auto", nullable = false }', "lower bound"),
        ('n = { type = "integer", bounds = [0, 1], nullable = 0 }', "true or false"),
        ('id = { type = "integer", bounds = [0, 9], nullable = false }', "identifies"),
    ],
)
def test_it_is_for_columns_with_stated_bounds_that_identify_nobody(
    tmp_path: Path, line: str, words: str
) -> None:
    auto = "auto_bounds.epsilon = 0.1\n"
    text = dataset("data") + auto + PEOPLE.format(unit='"id"\nrows_per_unit_max = 1') + line
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(PolicyError, match=words) as caught:
        load(tmp_path / "policy.toml")
    assert len(caught.value.faults) == 1
