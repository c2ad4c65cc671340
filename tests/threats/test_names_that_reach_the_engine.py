"""Names that an analyst gives to columns of statistics are names to the engine, whatever they are.

The columns of a statistic are read by other SQL, around it or in a later stage, under the names that the
question gave them. No such name may end a question that is paid for, or mean anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ask.test_over_statistics import opened, spent
from sanql.errors import Refused
from sanql.san import San
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
NAMES = [
    'a""b', 'x"" OR 1=1 --', "$1", "?", "é", "u", "c0", "d", "_n", "statistic 1", "t0", "SELECT ",
    "key 0", "measure 0", "rows_in", " ", "n high of 5", "n low of 5", "unnest", "x; DROP TABLE y",
]  # fmt: skip
BESIDE = (
    "SELECT COUNT(*) AS n FROM people AS p JOIN (SELECT town AS {0}, AVG(age) AS a FROM people GROUP BY \
town) AS m ON p.town = m.{0} WHERE p.age > m.a"
)
AROUND = (
    "SELECT n, SUM(n) OVER () AS s, {0} FROM (SELECT town, COUNT(*) AS n, SUM(age) AS {0} FROM people \
GROUP BY town) AS t ORDER BY town"
)
INSIDE = (
    "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT {0} FROM (SELECT AVG(age) AS {0} FROM people) \
AS t)"
)


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with opened(tmp_path_factory.mktemp("shop"), SilentSampler()) as san:
        yield san


@pytest.mark.parametrize("sql", [BESIDE, AROUND, INSIDE])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_changes_no_number(san: San, name: str, sql: str) -> None:
    plain = san.query(sql.format("plain"), epsilon=1)
    named = san.query(sql.format(f'"{name}"'), epsilon=1)
    assert named.rows == plain.rows
    mine = [*named.intervals.values()]
    assert mine == [*plain.intervals.values()]


@pytest.mark.parametrize("sql", [BESIDE, AROUND, INSIDE])
def test_no_name_is_refused_before_it_is_paid_for(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path, SilentSampler()) as san:
        with pytest.raises(Refused, match="has no letters"):
            san.query(sql.format('""'), epsilon=1)
        assert spent(san) == 0
