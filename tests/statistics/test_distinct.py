"""COUNT(DISTINCT x): near the truth where many units share few values; what is said where it may not be.

The data look like a year of flights: planes with some eighty flights each, a few airports that many fly
to and some that one plane has seen. What is missed is told by answers without noise, how far noise
reaches by what is declared of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from plan.golden import TABLES
from sanql.policy import load
from sanql.san import San
from support.cells import priced
from support.policies import dataset
from support.samplers import SilentSampler

PLANES, AIRPORTS, ROWS_MAX = 4_043, 104, 256
COUNTED = "SELECT COUNT(DISTINCT dest) AS n FROM flights"
BY_MONTH = "SELECT month, COUNT(DISTINCT dest) AS n FROM flights GROUP BY month"
TENTH = AIRPORTS / 10

POLICY = """
[table.flights]
privacy_unit = "tailnum"
rows_per_unit_max = 256
[table.flights.column]
dest = { type = "text" }
number = { type = "integer" }
month = { type = "integer", bounds = [1, 12], domain = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
"""


def year_of_flights() -> pa.Table:
    """Return who flew where in which month: airports differ in size by a factor of thousands."""
    rng = random.Random(2013)
    sizes = [1 / (rank + 1) ** 1.1 for rank in range(AIRPORTS - 2)]
    rows = []
    for plane in range(PLANES):
        flown = min(900, 1 + int(rng.expovariate(1 / 82)))
        served = rng.choices(range(AIRPORTS - 2), sizes, k=12)  # by the airline that it belongs to
        rows += [(plane, rng.choice(served), rng.randint(1, 12)) for _ in range(flown)]
    rows += [(77, AIRPORTS - 2, 5), (400, AIRPORTS - 1, 6)]  # one plane, once
    planes, dests, months = zip(*rows, strict=True)
    return pa.table(
        {
            "tailnum": [f"N{plane}" for plane in planes],
            "dest": [f"A{dest}" for dest in dests],
            "month": months,
            "number": range(len(rows)),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flights")
    flights = year_of_flights()  # noqa: F841  (the engine finds it by its name)
    with duckdb.connect(str(folder / "year.duckdb")) as connection:
        connection.execute("CREATE TABLE flights AS SELECT * FROM flights")
    (folder / "policy.toml").write_text(dataset("year.duckdb", epsilon=1_000) + POLICY)
    return folder


@pytest.fixture(scope="module")
def silent(folder: Path) -> Iterator[San]:
    """Return San over the flights, without noise."""
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.slow
def test_values_that_many_share_are_found_and_noise_stays_within_a_tenth(silent: San) -> None:
    answer = silent.query(COUNTED, epsilon=0.5)
    assert AIRPORTS - 2 <= answer.table.column("n")[0].as_py() <= AIRPORTS
    (width,) = (expected.half_width for expected in silent.explain(COUNTED, epsilon=0.5).expected)
    assert width < TENTH  # 19 of 20 answers


@pytest.mark.slow
def test_groups_do_not_take_values_from_each_other(silent: San) -> None:
    flights = year_of_flights()
    held = set(
        zip(flights.column("month").to_pylist(), flights.column("dest").to_pylist(), strict=True)
    )
    answer = silent.query(BY_MONTH, epsilon=0.5).table.to_pylist()
    for row in answer:
        there = sum(month == row["month"] for month, _ in held)
        assert 0.95 * there <= row["n"] <= there
    widths = [expected.half_width for expected in silent.explain(BY_MONTH, epsilon=0.5).expected]
    assert max(widths) < TENTH


@pytest.mark.slow
def test_next_to_a_count_of_rows_it_has_as_much_of_the_price(silent: San) -> None:
    both = "SELECT COUNT(*) AS rows, COUNT(DISTINCT dest) AS n FROM flights"
    rows, values = (e.half_width for e in silent.explain(both, epsilon=0.5).expected)
    assert rows / values == pytest.approx(ROWS_MAX, rel=0.05)


@pytest.mark.slow
def test_a_question_may_say_how_many_values_of_a_unit_count(silent: San) -> None:
    told = "SELECT COUNT(DISTINCT number) AS n FROM flights"
    one = silent.query(told, epsilon=1)
    many = silent.query(told, epsilon=1, max_values_contributed=ROWS_MAX)
    beyond = silent.query(told, epsilon=1, max_values_contributed=1_000)
    assert one.table.column("n")[0].as_py() == PLANES
    assert many.table.column("n")[0].as_py() > 0.9 * year_of_flights().num_rows
    assert beyond.table == many.table
    assert "finds at most one value for each unit" in " ".join(one.certificate.rows_left_out)
    assert not many.certificate.rows_left_out
    assert one.certificate.limits["distinct_values_per_unit"] == 1
    assert many.certificate.limits["distinct_values_per_unit"] == ROWS_MAX
    assert "1 distinct value a tailnum" in one.certificate.limits_in_words
    moved = [answer.certificate.measurements[0]["sensitivity"]["l1"] for answer in (one, many)]
    assert moved == [1, ROWS_MAX]


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT COUNT(DISTINCT id) FROM stays", 4),  # each belongs to one person
        ("SELECT COUNT(DISTINCT age) FROM visits", 1),  # many people have the same
        ("SELECT COUNT(DISTINCT age) FROM rows", None),  # a row has one
    ],
)
def test_an_identifier_has_as_many_values_as_rows_and_other_values_are_shared(
    sql: str, values: int | None
) -> None:
    (level,) = priced(sql, TABLES).levels
    assert level.measurements[0].values_per_unit == values
    assert level.measurements[0].sensitivity.l1 == (values or 1)
