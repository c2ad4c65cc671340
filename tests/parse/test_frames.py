"""Frames of windows: what is accepted the engine runs, over rows of units and public rows alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.question import Question
from sanql.parse.relations.frames import STEPS_MAX, frame_of

Ask = Callable[[str], Question]

ENDS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING")
OF_UNITS = (
    "SELECT SUM(x) FROM (SELECT SUM(age) OVER (PARTITION BY person_id ORDER BY age {}) AS x "
    "FROM people) AS t"
)
OF_PUBLIC_ROWS = (
    "SELECT SUM(x) OVER (ORDER BY x {}) FROM (SELECT LENGTH(city) AS x FROM cities) AS t"
)
FRAMES = [
    f"{kind} BETWEEN {start} AND {end}"
    for kind, start, end in product(("ROWS", "GROUPS", "RANGE"), ENDS, ENDS)
    if kind != "RANGE" or not (start + end).count("2 ")  # a distance of values
]


def window(frame: str) -> exp.Window:
    found = sqlglot.parse_one(f"SELECT SUM(i) OVER (ORDER BY i {frame})", dialect="duckdb")
    return next(iter(found.find_all(exp.Window)))


def runs(frame: str) -> bool:
    """Return whether the engine takes a frame, on numbers."""
    try:
        duckdb.execute(f"SELECT SUM(i) OVER (ORDER BY i {frame}) FROM range(9) AS t(i)").fetchall()
    except duckdb.Error:
        return False
    return True


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_is_accepted_exactly_where_the_engine_runs_it(frame: str) -> None:
    if runs(frame):
        assert frame_of(window(frame)) == frame
    else:
        with pytest.raises(Refused, match="this frame of a window"):
            frame_of(window(frame))


@pytest.mark.parametrize("frame", [f for f in FRAMES if not runs(f)])
@pytest.mark.parametrize("sql", [OF_UNITS, OF_PUBLIC_ROWS])
def test_what_the_engine_does_not_run_is_refused_before_it_is_charged(
    sql: str, frame: str, ask: Ask
) -> None:
    with pytest.raises(Refused) as refused:
        ask(sql.format(frame))
    assert refused.value.code == "window_frame"


@pytest.mark.parametrize(
    "frame",
    [
        "RANGE BETWEEN 3 PRECEDING AND CURRENT ROW",
        f"ROWS BETWEEN {STEPS_MAX + 1} PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN i PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN '2' PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
    ],
)
def test_places_that_are_no_constants_or_no_rows_are_refused(frame: str) -> None:
    with pytest.raises(Refused):
        frame_of(window(frame))


def test_half_a_frame_ends_with_the_row_itself() -> None:
    assert frame_of(window("ROWS 2 PRECEDING")) == "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
    assert frame_of(window("")) == ""
