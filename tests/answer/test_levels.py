"""Rows of all levels in one answer: ordinary SQL over them, and a record that reads back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from sanql.answer.levels import LevelCells, add_noise_to_levels, show_levels
from sanql.answer.post_process import Shown
from sanql.certificate.certificate import certify
from sanql.measurements.noisy_cells import NoisyCells
from sanql.parse.question import parse
from sanql.plan.plan import Plan, outline, price
from support.by_hand import TABLES
from support.samplers import SilentSampler

CONFIDENCE = Fraction(95, 100)
FINE = {"k0": [False, True, False, True], "k1": ["F", "F", "M", "M"], "m0": [10, 20, 30, 44]}
OLD = {"k0": [False, True], "m0": [40, 64]}
SEX = {"k0": ["F", "M"], "m0": [30, 74]}
ALL = {"m0": [104]}
CUBE = "FROM rows GROUP BY CUBE (sex, (age > 60))"


def planned(sql: str, delta: str = "0") -> Plan:
    outlined = outline(parse(sql, TABLES).query, TABLES, "add-remove")
    return price(outlined, Fraction(1), Fraction(delta))


def shown(sql: str, *cells: dict[str, list[Any]], delta: str = "0") -> Shown:
    """Return an answer whose levels have these exact cells, in the order of the plan."""
    plan = planned(sql, delta)
    tables = [pa.table(each) for each in cells]
    return show_levels(plan, add_noise_to_levels(plan, tables, SilentSampler()), CONFIDENCE)


def cube(select: str, rest: str = "") -> list[tuple[Any, ...]]:
    sql = f"SELECT {select} {CUBE} {rest}"
    plan = planned(sql)
    by_set = {(1, 0): FINE, (1,): OLD, (0,): SEX, (): ALL}
    found = shown(sql, *(by_set[own] for own in plan.sets))
    return list(zip(*(column.to_pylist() for column in found.table.columns), strict=True))


def test_totals_stand_behind_their_parts() -> None:
    assert cube("sex, age > 60 AS old, COUNT(*)") == [
        ("F", False, 10),
        ("F", True, 20),
        ("F", None, 30),
        ("M", False, 30),
        ("M", True, 44),
        ("M", None, 74),
        (None, False, 40),
        (None, True, 64),
        (None, None, 104),
    ]


@pytest.mark.parametrize(
    ("select", "rest", "rows"),
    [
        ("COUNT(*)", "HAVING COUNT(*) > 40 ORDER BY 1", [(44,), (64,), (74,), (104,)]),
        ("sex, COUNT(*)", "HAVING GROUPING(sex, (age > 60)) = 1", [("F", 30), ("M", 74)]),
        ("GROUPING((age > 60)), COUNT(*)", "ORDER BY COUNT(*) DESC LIMIT 2 OFFSET 1", [(1, 74), (0, 64)]),
        ("DISTINCT GROUPING(sex)", "HAVING COUNT(*) > 0 ORDER BY 1", [(0,), (1,)]),
        ("DISTINCT sex, age > 60 AS o", "HAVING COUNT(*) < 25 ORDER BY ALL", [("F", False), ("F", True)]),
        ("COALESCE(sex, 'all') AS s, 2 * COUNT(*)", "HAVING COUNT(*) > 70", [("M", 148), ("all", 208)]),
        ("sex IS NULL AS total, COUNT(*)", "HAVING COUNT(*) >= 74", [(False, 74), (True, 104)]),
    ],
)  # fmt: skip
def test_ordinary_sql_runs_over_rows_of_all_levels(
    select: str, rest: str, rows: list[tuple[Any, ...]]
) -> None:
    assert cube(select, rest) == rows


def test_every_row_has_the_interval_of_its_level() -> None:
    sql = "SELECT sex, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM rows GROUP BY ROLLUP (sex)"
    plan = planned(sql)
    found = shown(sql, {"k0": ["F", "M"], "m0": [3000, 4000]}, {"m0": [7000]})
    widths = [level.noises[0].half_width(CONFIDENCE) for level in plan.levels]
    lows, highs = found.intervals["n"]
    assert list(highs - lows) == [2 * widths[0], 2 * widths[0], 2 * widths[1]]
    assert found.table.column("low").to_pylist() == list(lows)


def test_a_set_asked_for_twice_is_shown_twice() -> None:
    sql = "SELECT sex, COUNT(*) FROM rows GROUP BY GROUPING SETS ((sex), (), (sex))"
    found = shown(sql, {"k0": ["F", "M"], "m0": [3, 4]}, {"m0": [7]})
    assert found.table.column(0).to_pylist() == ["F", "F", "M", "M", None]
    assert found.table.column(1).to_pylist() == [3, 3, 4, 4, 7]


def test_distinct_shows_a_set_once() -> None:
    sql = "SELECT DISTINCT sex, COUNT(*) AS n FROM rows GROUP BY GROUPING SETS ((sex), (), (sex))"
    found = shown(f"{sql} ORDER BY n", {"k0": ["F", "M"], "m0": [3, 4]}, {"m0": [7]})
    assert found.table.column(0).to_pylist() == ["F", "M", None]
    assert found.intervals == {}


def test_a_total_stands_behind_the_group_of_missing_values() -> None:
    sql = "SELECT city, sex, COUNT(*) FROM rows GROUP BY CUBE (city, sex)"
    plan = planned(sql, "1e-6")
    assert plan.names == ("(city, sex)", "(city)", "(sex)", "()")
    fine = {"k0": ["a", None, None], "k1": ["F", "F", "M"], "m0": [90, 91, 92]}
    found = shown(
        sql, fine, {"k0": ["a", None], "m0": [90, 183]}, {"k0": ["F", "M"], "m0": [181, 92]},
        {"m0": [273]}, delta="1e-6",
    )  # fmt: skip
    assert found.table.column(2).to_pylist()[:5] == [90, 90, 91, 92, 183]


def test_a_missing_key_is_not_the_group_of_missing_values() -> None:
    sql = "SELECT city, GROUPING(city) AS total, COUNT(*) FROM rows GROUP BY ROLLUP (city)"
    cells = {"k0": ["a", None], "m0": [100, 90]}
    found = shown(sql, cells, {"m0": [190]}, delta="1e-6").table.to_pylist()
    assert [(row["city"], row["total"]) for row in found] == [("a", 0), (None, 0), (None, 1)]


def test_keys_that_do_not_pass_are_missing_at_their_level_only() -> None:
    sql = "SELECT city, COUNT(*) FROM rows GROUP BY ROLLUP (city)"
    found = shown(sql, {"k0": ["a", "b"], "m0": [100, 1]}, {"m0": [101]}, delta="1e-6").table
    assert found.column(0).to_pylist() == ["a", None]


def test_what_was_recorded_reads_back() -> None:
    plan = planned(f"SELECT COUNT(*) {CUBE}")
    cells = LevelCells(tuple(NoisyCells(pa.table(each)) for each in (FINE, OLD, SEX, ALL)))
    again = LevelCells.from_bytes(cells.to_bytes(), plan)
    assert [level.table for level in again.levels] == [level.table for level in cells.levels]


def test_one_level_is_recorded_as_ever() -> None:
    plan = planned("SELECT sex, COUNT(*) FROM rows GROUP BY sex")
    cells = NoisyCells(pa.table(SEX))
    assert LevelCells((cells,)).to_bytes() == cells.to_bytes()
    assert LevelCells.from_bytes(cells.to_bytes(), plan).levels[0].table == cells.table


def test_the_certificate_tells_every_level_and_what_was_fitted() -> None:
    plan = planned("SELECT sex, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex)")
    found = certify(plan)
    assert [part["level"] for part in found.measurements] == ["(sex)", "()"]
    assert found.keys.startswith("(sex): declared keys") and found.keys.endswith("(): one group")
    assert found.limits["(sex): groups_per_unit"] == 2
    assert found.limits["(): groups_per_unit"] == 1
    assert found.epsilon == 1
    told = " ".join(found.assumptions)
    assert "the levels (sex), () are fitted" in told
    assert "left out of every level" in told
    private = planned("SELECT city, COUNT(*) FROM visits GROUP BY ROLLUP (city)", "1e-6")
    assert "shown as measured, so parts need not add up" in " ".join(certify(private).assumptions)


@pytest.mark.parametrize(
    "sql",
    [
        # scaled to an L1 norm, a unit loses as much in every level
        "SELECT age, COUNT(*) FROM visits GROUP BY ROLLUP (age)",
        "SELECT age, sex, SUM(age) FROM visits GROUP BY CUBE (age, sex)",
        # a unit has one row
        "SELECT age, COUNT(*) FROM rows GROUP BY ROLLUP (age)",
        "SELECT age, COUNT(*) FROM first GROUP BY ROLLUP (age)",
        # shown as measured
        "SELECT age, COUNT(DISTINCT person_id) FROM visits GROUP BY ROLLUP (age)",
        "SELECT age, COUNT(*) FROM visits GROUP BY age",
    ],
)
def test_nothing_is_said_where_limits_cut_levels_that_are_fitted_alike(sql: str) -> None:
    assert not [line for line in certify(planned(sql)).caveats() if "fitted to each other" in line]


def test_a_line_says_where_limits_cut_levels_that_are_fitted_unlike() -> None:
    """What a limit takes from one level draws the others with it, which must not be hidden."""
    sql = "SELECT age, sex, COUNT(*), SUM(age), SUM(income) FROM visits GROUP BY CUBE (age, sex)"
    (said,) = [
        line for line in certify(planned(sql, "0.1")).caveats() if "fitted to each other" in line
    ]
    assert "may cut (age, sex), (age), (sex) more or less" in said and "by itself" in said
