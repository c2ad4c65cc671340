"""Intervals of what is computed from several noisy numbers hold what they say, or are said to be missing.

Every question is asked often, each time afresh, and the
true value must be inside as often as the confidence says. A false alarm is rarer than one in 10^9.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ask.test_over_statistics import ONE_STAGE, as_sql_says, opened
from sanql.errors import Refused
from sanql.san import San
from support.counting import at_most
from support.samplers import SilentSampler

pytestmark = pytest.mark.usefixtures("in_this_process")

OVER = [
    "SELECT town, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS x FROM people GROUP BY town",
    "SELECT town, SUM(COUNT(*)) OVER (ORDER BY town) AS x FROM people GROUP BY town",
    "SELECT town, COUNT(*) - LAG(COUNT(*), 1, 0) OVER (ORDER BY town) AS x FROM people GROUP BY town",
    "SELECT 'a' AS a, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS x FROM people WHERE age > 50",
    "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
    "SELECT 'a' AS a, MAX(n) - AVG(n) AS x FROM t",
    "SELECT w.name, -2.5 * t.n / w.homes + 1 AS x FROM "
    "(SELECT town, COUNT(*) AS n FROM people GROUP BY town) AS t JOIN towns AS w ON w.town = t.town",
    "SELECT town, COALESCE(NULLIF(GREATEST(COUNT(*), 10), 0), 5) * LEAST(SUM(COUNT(*)) OVER (), 9e9) "
    "AS x FROM people GROUP BY town",
    "SELECT town, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS x FROM people GROUP BY town",
    "SELECT what, x FROM (SELECT 'old' AS what, COUNT(*) AS x FROM people WHERE age > 50 UNION ALL "
    "SELECT 'young', 2 * COUNT(*) FROM people WHERE age <= 50) AS t",
    "SELECT region, SUM(n * 2 - 1) AS x FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
    "AS t JOIN towns USING (town) GROUP BY region",
    "SELECT w.town, (SELECT COUNT(*) FROM people AS p WHERE p.town = w.town) * 1.0 / w.homes AS x FROM "
    "towns AS w",
    "SELECT town, CASE WHEN town < 'c2' THEN COUNT(*) ELSE -SUM(COUNT(*)) OVER () END AS x FROM people "
    "GROUP BY town",
]
TIMES = 16


@pytest.mark.slow
@pytest.mark.parametrize("sql", OVER)
def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path) as san:
        truth = {key: float(x) for key, x in as_sql_says(tmp_path, sql)}  # type: ignore[arg-type]
        inside = dict.fromkeys(truth, 0)
        for _ in range(TIMES):
            answer = san.query(sql, epsilon="0.2", confidence="0.8", fresh=True)
            for (key, x), (low, high) in zip(answer.rows, answer.intervals["x"], strict=True):
                assert low is not None and high is not None
                assert low <= x <= high
                inside[key] += low - 1e-6 <= truth[key] <= high + 1e-6
    # of 16 that hold with a chance of 0.8 each, none or one does with a chance below 1e-9
    assert min(inside.values()) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("sql", OVER)
def test_the_truth_is_inside_what_exact_numbers_make(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path, SilentSampler()) as san:
        answer = san.query(sql, epsilon=1)
        for (_, x), (low, high) in zip(answer.rows, answer.intervals["x"], strict=True):
            assert low is not None and high is not None
            assert low <= x <= high
            assert high - low > 0


NONE = [
    "SELECT town, RANK() OVER (ORDER BY COUNT(*) DESC) AS x FROM people GROUP BY town",
    "SELECT town, NTILE(2) OVER (ORDER BY COUNT(*)) AS x FROM people GROUP BY town",
    "SELECT town, CASE WHEN COUNT(*) > SUM(COUNT(*)) OVER () / 5 THEN 1 ELSE 0 END AS x FROM people "
    "GROUP BY town",
    "SELECT COUNT(DISTINCT n) AS x FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) AS t",
]


@pytest.mark.slow
@pytest.mark.parametrize("sql", NONE)
def test_what_has_no_interval_is_named(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path, SilentSampler()) as san:
        answer = san.query(sql, epsilon=1)
        assert answer.intervals == {}
        assert answer.without_interval == ("x",)
        assert "no interval for x" in answer.footer()[0]


@pytest.mark.slow
def test_an_interval_through_zero_has_no_end(tmp_path: Path) -> None:
    sql = (
        "SELECT (SELECT COUNT(*) FROM people) * 1.0 / "
        "(SELECT COUNT(*) FROM people WHERE town = 'c1' AND town = 'c2') AS x"
    )
    with opened(tmp_path, SilentSampler()) as san:
        assert san.query(sql, epsilon=1).intervals["x"] == [(None, None)]


@pytest.mark.slow
def test_a_share_is_about_as_exact_as_its_parts(tmp_path: Path) -> None:
    with opened(tmp_path, SilentSampler()) as san:
        answer = san.query(ONE_STAGE[0], epsilon=1)
    for (_, share), (low, high) in zip(answer.rows, answer.intervals["share"], strict=True):
        assert low is not None and high is not None
        assert math.isclose((low + high) / 2, share, rel_tol=0.01)
        assert high - low < 2  # percent, of 3,000 people


@pytest.mark.slow
def test_intervals_widen_with_the_confidence(tmp_path: Path) -> None:
    def width(san: San, confidence: str) -> float:
        answer = san.query(ONE_STAGE[0], epsilon=1, confidence=confidence)
        low, high = answer.intervals["share"][0]
        assert low is not None and high is not None
        return high - low

    with opened(tmp_path, SilentSampler()) as san:
        assert width(san, "0.5") < width(san, "0.9") < width(san, "0.999")


@pytest.mark.slow
def test_what_becomes_too_long_with_its_interval_is_shown_without(tmp_path: Path) -> None:
    """Ends are written out of ends: of nested divisions that would be more than the engine can take."""
    part = "(SELECT COUNT(*) FROM people WHERE age > {})"
    several = " / ".join(f"CAST({part.format(age)} AS DECIMAL(15, 4))" for age in range(10, 70, 5))
    sql = f"SELECT {several} AS long, {part.format(3)} * 2 AS short"
    with opened(tmp_path) as san:
        explained = san.explain(sql, epsilon=1)
        with at_most(3_000_000):  # each division makes ends ten times as long: they are not written
            answer = san.query(sql, epsilon=1)
    assert answer.without_interval == ("long",)
    assert set(answer.intervals) == {"short"}
    assert answer.charge == explained.charge


@pytest.mark.slow
def test_what_the_engine_cannot_take_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    value = "(SELECT COUNT(*) FROM people)"
    for _ in range(14):
        value = f"CAST(CAST({value} / 3 AS BIGINT) AS DOUBLE)"
    with opened(tmp_path) as san:
        with pytest.raises(Refused) as refused:
            san.query(f"SELECT {value} AS x, SUM(COUNT(*)) OVER () FROM people", epsilon=1)
        assert refused.value.code == "query_too_complex"
        assert not [record for record in san.ledger.records() if record.kind == "reserve"]
