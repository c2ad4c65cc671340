"""Under an answer that says nothing it says so, and which epsilon would help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
POLICY = (
    dataset("people.duckdb", name="people", epsilon="1000", delta="1e-6")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
sex = { type = "text", domain = ["F", "M"] }
age = { type = "integer", bounds = [0, 100] }
"""
)


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    """Forty people, twenty-six of them women, and no noise: what is shown is what is there."""
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, range AS age, "
            "CASE WHEN range < 26 THEN 'F' ELSE 'M' END AS sex FROM range(40)"
        )
    (tmp_path / "policy.toml").write_text(POLICY)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def promised(line: str) -> tuple[str, float]:
    """Return the epsilon that a line names, and the half-width that it promises."""
    found = re.search(r"with epsilon ([\d.]+) it would be ± ([\d.e+]+)", line)
    assert found, line
    return found[1], float(found[2])


@pytest.mark.parametrize("statistic", ["COUNT(*)", "SUM(age)"])
def test_numbers_smaller_than_their_noise_name_an_epsilon_that_keeps_its_promise(
    san: San, statistic: str
) -> None:
    sql = f"SELECT sex, {statistic} AS n FROM people GROUP BY sex"
    (line,) = san.query(sql, epsilon="0.02").nothing_told
    assert line.startswith("n is smaller than its noise in all 2 rows: it cannot be told from 0")
    epsilon, width = promised(line)
    helped = san.query(sql, epsilon=epsilon)
    assert not helped.nothing_told
    (low, high) = helped.intervals["n"][0] or (0, 0)
    assert (high - low) / 2 == pytest.approx(width, rel=0.01)
    assert width <= max(n for _, n in helped.rows) / 4


def test_an_average_as_wide_as_its_bounds_names_an_epsilon(san: San) -> None:
    (line,) = san.query("SELECT AVG(age) AS mean FROM people", epsilon="0.01").nothing_told
    assert "as wide as its bounds: the number says nothing; with epsilon" in line
    assert line.endswith("if the group has 1,000 rows")
    assert promised(line)[1] <= 25


def test_one_number_that_can_be_told_is_enough_to_say_nothing(san: San) -> None:
    """At this price 26 is beyond its noise and 14 is not: the column does say something."""
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    answer = san.query(sql, epsilon="0.16")
    (low, _), (other, _) = answer.intervals["n"]
    assert low > 0 > other
    assert not answer.nothing_told


def test_of_nothing_nothing_is_promised(san: San) -> None:
    (line,) = san.query("SELECT COUNT(*) AS n FROM people WHERE age > 90", epsilon=1).nothing_told
    assert line == "n is smaller than its noise: it cannot be told from 0"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(age) AS mean FROM people",
        "SELECT AVG(age) / 2 AS half, SUM(COUNT(*)) OVER () AS n FROM people",
    ],
)
def test_widths_of_averages_are_explained_over_the_rows_that_are_guessed(
    san: San, sql: str
) -> None:
    def width(rows: int) -> float:
        found = [
            each
            for each in san.explain(sql, epsilon=1, rows_guessed=rows).expected
            if each.note.endswith(f"if the group has {rows:,} rows, as guessed")
        ]
        assert found and found[0].half_width is not None
        return found[0].half_width

    assert width(10_000) == pytest.approx(width(1_000) / 10, rel=0.1)
    assert san.query(sql, epsilon=1, rows_guessed=7).rows == san.query(sql, epsilon=1).rows
    assert len([r for r in san.ledger.records() if r.kind == "reserve"]) == 1


def test_a_sum_on_too_fine_a_grid_shows_a_coarser_one_that_is_answered_at_its_price(
    tmp_path: Path,
) -> None:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS id, 3.25 AS pay FROM range(40)")
    pay = 'pay = { type = "decimal", bounds = [0, 200000], precision = 0.01 }\n'
    (tmp_path / "policy.toml").write_text(POLICY.split("sex =")[0] + pay)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        for epsilon in ("0.001", "0.05"):
            with pytest.raises(Refused) as refused:
                opened.query("SELECT SUM(pay * pay) AS s FROM people", epsilon=epsilon)
            assert refused.value.code == "noise_too_large"
            assert "values rounded to the nearest" in refused.value.fill_in
            assert opened.query(refused.value.nearest, epsilon=epsilon).rows
