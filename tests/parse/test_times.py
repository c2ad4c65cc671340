"""Times of a day, as the texts that they are printed as: equal, and in order, as DuckDB has them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, time, timedelta

import duckdb
import pytest

from sanql.errors import Refused
from sanql.parse.question import Question
from sanql.question.expressions import Call, Literal

Ask = Callable[[str], Question]
FIRST = datetime(2020, 2, 29)
FRACTIONS = [0, 0, 1, 500_000, 120_000, 999_999, 100]


def test_texts_of_times_compare_as_times_do() -> None:
    """What CAST(t AS TIME) is computed as, against the engine's own type."""
    rng = random.Random(5)
    seconds = [*range(0, 86_400, 3_599), 0, 10, 600, 36_000, 86_399]
    moments = [
        FIRST + timedelta(seconds=each, microseconds=rng.choice(FRACTIONS)) for each in seconds
    ]
    written = "rtrim(rtrim(strftime(t, '%H:%M:%S.%f'), '0'), '.')"
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE m AS SELECT unnest(?::TIMESTAMP[]) AS t", [moments])
        pairs = (
            f"SELECT a.t::TIME < b.t::TIME, a.x < b.x, a.t::TIME = b.t::TIME, a.x = b.x FROM "
            f"(SELECT t, {written} AS x FROM m) AS a, (SELECT t, {written} AS x FROM m) AS b"
        )
        found = engine.execute(pairs).fetchall()
        printed = engine.execute(f"SELECT t::TIME::VARCHAR, {written} FROM m").fetchall()
    assert len(found) == len(moments) ** 2
    assert all(less == as_text and same == alike for less, as_text, same, alike in found)
    assert all(own == text for own, text in printed)


@pytest.mark.parametrize(
    ("typed", "printed"),
    [("08:30", "08:30:00"), ("08:30:05", "08:30:05"), ("23:59:59.500000", "23:59:59.5")],
)
def test_a_time_that_is_written_is_printed_alike(ask: Ask, typed: str, printed: str) -> None:
    where = ask(f"SELECT COUNT(*) FROM people WHERE seen::TIME < TIME '{typed}'").private.where
    assert isinstance(where, Call) and where.op == "less"
    assert isinstance(where.args[1], Literal) and where.args[1].value == printed
    assert str(time.fromisoformat(typed)).startswith(printed)


@pytest.mark.parametrize(
    "test",
    [
        "seen::TIME BETWEEN '08:30' AND '09:00'", "seen::TIME IN ('08:30', '09:00:00')",
        "'08:30' <= CAST(seen AS TIME)", "seen::TIME > born::TIMESTAMP::TIME",
    ],
)  # fmt: skip
def test_texts_beside_a_time_are_read_as_times(ask: Ask, test: str) -> None:
    where = ask(f"SELECT COUNT(*) FROM people WHERE {test}").private.where
    assert isinstance(where, Call)
    texts = [each.value for each in where.args if isinstance(each, Literal)]
    assert all(len(str(text)) == 8 for text in texts)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT seen::TIME AS t, COUNT(*) FROM people GROUP BY t",
        "SELECT COUNT(*) FROM people WHERE seen::TIME = city",
        "SELECT COUNT(*) FROM people WHERE seen::TIME || '' = '08:30'",
        "SELECT COUNT(*) FROM (SELECT seen::TIME AS t FROM people) AS p WHERE t = '08:30'",
        "SELECT MIN(seen::TIME) FROM people",
    ],
)
def test_as_a_text_it_is_not_to_be_had(ask: Ask, sql: str) -> None:
    with pytest.raises(Refused, match="compared with times of day"):
        ask(sql)


@pytest.mark.parametrize(
    "typed", ["TIME '25:00'", "TIME 'noon'", "TIME '08'", "TIME '08:00+01:00'", "city::TIME"]
)
def test_what_is_no_time_is_refused(ask: Ask, typed: str) -> None:
    with pytest.raises(Refused) as refused:
        ask(f"SELECT COUNT(*) FROM people WHERE seen::TIME < {typed}")
    assert refused.value.code in ("date_invalid", "cast_unsupported")
