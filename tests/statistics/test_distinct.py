"""COUNT(DISTINCT x): near the truth where many units share few values, and where nobody shares any.

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
from sanql.errors import Refused
from sanql.parse import parse
from sanql.plan import outline
from sanql.policy import load
from sanql.san import San
from support.cells import priced
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.usefixtures("in_this_process")

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
def test_values_that_many_share_are_found_with_the_noise_of_one_value_a_unit(silent: San) -> None:
    answer = silent.query(COUNTED, epsilon=0.5)
    assert AIRPORTS - 2 <= answer.table.column("n")[0].as_py() <= AIRPORTS
    assert answer.noise["n"] < TENTH / 2
    ((low, high),) = answer.intervals["n"]
    assert low is not None and high is not None
    assert high - low < 2 * TENTH  # that of the choice, 19 of 20 answers within a tenth
    (planned,) = silent.explain(COUNTED, epsilon=0.5).expected
    assert planned.half_width > 100 * (high - low)  # of the most that might have been chosen
    assert "± 10 if one does; how many is chosen privately" in planned.note


@pytest.mark.slow
def test_groups_do_not_take_values_from_each_other(silent: San) -> None:
    flights = year_of_flights()
    held = set(
        zip(flights.column("month").to_pylist(), flights.column("dest").to_pylist(), strict=True)
    )
    answer = silent.query(BY_MONTH, epsilon=0.5)
    for row in answer.table.to_pylist():
        there = sum(month == row["month"] for month, _ in held)
        assert 0.95 * there <= row["n"] <= there
    assert answer.noise["n"] < TENTH / 2


@pytest.mark.slow
def test_values_that_nobody_shares_are_found_as_well(silent: San) -> None:
    answer = silent.query("SELECT COUNT(DISTINCT number) AS n FROM flights", epsilon=0.5)
    found = answer.table.column("n")[0].as_py()
    assert found > 0.95 * year_of_flights().num_rows
    assert answer.noise["n"] < found / 100
    chosen = answer.certificate.limits["distinct_values_per_unit"]
    assert chosen >= 128
    assert f"at most {chosen} values of a unit were counted" in " ".join(
        answer.certificate.assumptions
    )


@pytest.mark.slow
def test_next_to_a_count_of_rows_it_has_as_much_of_the_price(silent: San) -> None:
    both = "SELECT COUNT(*) AS rows, COUNT(DISTINCT dest) AS n FROM flights"
    rows, values = (e.half_width for e in silent.explain(both, epsilon=0.5).expected)
    assert rows == pytest.approx(values, rel=0.05)  # of as many values as rows
    told = silent.explain(both, epsilon=0.5, max_values_contributed=1)
    rows, values = (e.half_width for e in told.expected)
    assert rows / values == pytest.approx(ROWS_MAX, rel=0.05)


@pytest.mark.slow
def test_a_question_may_say_how_many_values_of_a_unit_count(silent: San) -> None:
    told = "SELECT COUNT(DISTINCT number) AS n FROM flights"
    one = silent.query(told, epsilon=1, max_values_contributed=1)
    many = silent.query(told, epsilon=1, max_values_contributed=ROWS_MAX)
    with pytest.raises(Refused, match=f"the {ROWS_MAX} rows of one unit"):
        silent.query(told, epsilon=1, max_values_contributed=ROWS_MAX + 1)
    assert one.table.column("n")[0].as_py() == PLANES
    assert many.table.column("n")[0].as_py() > 0.9 * year_of_flights().num_rows
    assert "finds at most one value for each unit" in " ".join(one.certificate.rows_left_out)
    assert not many.certificate.rows_left_out
    assert one.certificate.limits["distinct_values_per_unit"] == 1
    assert many.certificate.limits["distinct_values_per_unit"] == ROWS_MAX
    assert "1 distinct value a tailnum" in one.certificate.limits_in_words
    moved = [answer.certificate.measurements[0]["sensitivity"]["l1"] for answer in (one, many)]
    assert moved == [1, ROWS_MAX]


@pytest.mark.slow
def test_what_was_chosen_is_said_and_is_the_same_when_it_is_asked_again(folder: Path) -> None:
    with San(load(folder / "policy.toml")) as noisy:
        first, again = (noisy.query(COUNTED, epsilon=2) for _ in range(2))
    assert again.cached and again.table == first.table and again.noise == first.noise
    assert again.certificate.to_dict() == first.certificate.to_dict()
    chosen = first.certificate.limits["distinct_values_per_unit"]
    assert first.certificate.measurements[0]["sensitivity"]["l1"] == chosen
    left_out = " ".join(first.certificate.rows_left_out)
    assert ("chosen privately: values beyond it are missed" in left_out) == (chosen < ROWS_MAX)


@pytest.mark.slow
def test_each_question_of_a_batch_has_the_noise_of_its_own_choice(silent: San) -> None:
    answers = silent.batch(
        [
            COUNTED,
            "SELECT COUNT(DISTINCT number) AS n FROM flights",
            "SELECT month, COUNT(*) AS n FROM flights GROUP BY month",
            "SELECT COUNT(*) AS n FROM flights",
        ],
        epsilon=2,
    )
    shared, own = answers[:2]
    assert AIRPORTS - 2 <= shared.table.column("n")[0].as_py() <= AIRPORTS
    limits = [answer.certificate.limits["distinct_values_per_unit"] for answer in (shared, own)]
    assert limits[0] == 1 and limits[1] >= 128
    for answer, most in zip((shared, own), limits, strict=True):
        assert answer.noise["n"] == pytest.approx(shared.noise["n"] * most, rel=0.5)
        ((low, high),) = answer.intervals["n"]
        assert low is not None and high is not None
        assert high - low > 2 * answer.noise["n"]


@pytest.mark.slow
def test_each_level_of_a_rollup_chooses_for_itself(silent: San) -> None:
    sql = "SELECT month, COUNT(DISTINCT number) AS n FROM flights GROUP BY ROLLUP (month)"
    answer = silent.query(sql, epsilon=4)
    rows = {row["month"]: row["n"] for row in answer.table.to_pylist()}
    total = rows.pop(None)
    truth = year_of_flights().num_rows
    assert total > 0.9 * truth and sum(rows.values()) > 0.9 * truth
    said = [text for text in answer.certificate.assumptions if "chosen privately:" in text]
    assert len(said) >= 1


@pytest.mark.parametrize(
    ("sql", "choices"),
    [
        ("SELECT COUNT(DISTINCT id) FROM stays", (1, 2, 4)),
        ("SELECT COUNT(DISTINCT age) FROM visits", (1, 2, 4)),
        ("SELECT COUNT(DISTINCT age) FROM rows", ()),  # a row has one
        ("SELECT COUNT(DISTINCT age) FROM people", ()),  # a person has one
    ],
)
def test_how_many_count_is_chosen_where_it_matters(sql: str, choices: tuple[int, ...]) -> None:
    (level,) = priced(sql, TABLES).levels
    assert level.measurements[0].choices == choices
    assert level.measurements[0].sensitivity.l1 == max(choices, default=1)


def test_where_few_count_anyway_nothing_is_spent_on_a_choice() -> None:
    asked = parse("SELECT COUNT(DISTINCT age) FROM visits", TABLES).query
    outlined = outline(asked, TABLES, "add-remove", rows_asked=2)
    (part,) = outlined.levels[0].measuring.measurements
    assert (part.values_per_unit, part.choices) == (2, ())
