"""A table that somebody filled to do harm ends as an answer or as `unavailable`, in every source.

One unit has thousands of rows, each with a key of its own, and texts of a megabyte. An answer differs
from that without the unit by no more than one unit may add.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sanql
from sources.kinds_of_source import FRAMES, KINDS, Kind
from support.policies import dataset
from support.samplers import SilentSampler

HONEST, ROWS_MOST = 200, 10
MANY_ROWS = 10_000_000
HOSTILE_ROWS, LONG_TEXTS, LONG = 20_000, 24, 1_000_000
TEXT = (
    dataset("data", name="town", epsilon=100, delta="1e-2", accounting="pure")
    + f"""\
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = {ROWS_MOST}
[table.people.column]
city = {{ type = "text" }}
age = {{ type = "integer", bounds = [0, 100] }}
[engine]
memory = "512MB"
deadline = 60
"""
)
QUESTIONS = {
    "SELECT COUNT(*) FROM people": ROWS_MOST,
    "SELECT COUNT(DISTINCT person_id) FROM people": 1,
    "SELECT COUNT(DISTINCT city) FROM people": ROWS_MOST,
    "SELECT SUM(age) FROM people": ROWS_MOST * 100,
    "SELECT city, COUNT(*) FROM people GROUP BY city": ROWS_MOST,
    "SELECT MEDIAN(age) FROM people": 100,
}


def table(hostile: int, long: int) -> pa.Table:
    """Return honest people of one city, and somebody with so many rows and long texts besides."""
    numbers = np.arange(hostile + long)
    keys = pa.array(numbers[:hostile]).cast(pa.string())
    cities = pa.chunked_array(
        [["Bonn"] * HONEST, keys, pa.array([chr(97 + n) * LONG for n in range(long)], pa.string())]
    )
    ids = np.concatenate([np.arange(HONEST), np.full_like(numbers, -1)])
    ages = np.concatenate([np.arange(HONEST) % 90, np.full_like(numbers, 10**18)])
    return pa.table({"person_id": ids, "city": cities, "age": ages})


def answers(kind: Kind, given: pa.Table) -> dict[str, float | None]:
    """Return what each question has for an answer; None where it is unavailable."""
    kind.write({"people": given})
    found: dict[str, float | None] = {}
    with kind.opened(TEXT, SilentSampler()) as san:
        if given.num_rows > HONEST:
            kind.refresh(san)
        for question in QUESTIONS:
            try:
                answer = san.query(question, epsilon=1, delta="1e-4")
            except sanql.Unavailable:
                found[question] = None
                continue
            if "GROUP BY" in question:
                assert [city for city, _ in answer.rows] == ["Bonn"]
            found[question] = float(answer.rows[0][-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(each for each in KINDS if each not in FRAMES), "arrow"])
def test_one_unit_moves_no_answer_further_than_a_unit_may(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kind = KINDS[name](tmp_path, request)
    unavailable = _compared(kind, table(HOSTILE_ROWS, LONG_TEXTS))
    assert unavailable <= 1


@pytest.mark.soak
def test_ten_million_rows_of_one_unit_move_none_either(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    assert _compared(KINDS["parquet"](tmp_path, request), table(MANY_ROWS, 0)) < len(QUESTIONS)


def _compared(kind: Kind, hostile: pa.Table) -> int:
    """Compare answers with and without somebody's rows; return how many were unavailable."""
    before, after = answers(kind, table(0, 0)), answers(kind, hostile)
    for question, most in QUESTIONS.items():
        one, other = before[question], after[question]
        assert one is not None
        assert other is None or abs(other - one) <= most, question
    return sum(each is None for each in after.values())
