"""The benchmark of useful answers: its data, its questions, and how it scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from bench.utility import kept as kept_answers
from bench.utility.ask import PROFILED
from bench.utility.flights import make_flights
from bench.utility.peers import JOBS, Job
from bench.utility.questions import Question, questions
from bench.utility.score import Score, Truth, Truths, score, surely_ahead
from bench.utility.shapes import SHAPES, make_shape

import sanql
from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San

OPTIONS = {"epsilon": "0.5", "delta": "1e-8"}
AGGREGATES = {
    "count": "COUNT(*)",
    "units": "COUNT(DISTINCT tailnum)",
    "sum": "SUM({})",
    "mean": "AVG({})",
}


def question_id(question: Question) -> str:
    return f"{question.shape}: {question.title}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("utility")
    for shape in SHAPES:
        make_shape(shape, made / shape)
    return made


@pytest.fixture(scope="module")
def truths(folder: Path) -> Truths:
    return Truths(folder)


@pytest.fixture(scope="module")
def sans(folder: Path) -> Iterator[dict[str, San]]:
    opened = {shape: sanql.open(folder / shape / "policy.toml") for shape in SHAPES}
    yield opened
    for san in opened.values():
        san.close()


@pytest.fixture(scope="module")
def flights(folder: Path) -> Callable[[str], list[tuple[object, ...]]]:
    connection = duckdb.connect()
    path = folder / "flights" / "data" / "flights.parquet"
    connection.execute(f"CREATE TABLE flights AS FROM '{path}'")
    return lambda sql: connection.sql(sql).fetchall()


# ---- data


@pytest.mark.slow
def test_the_look_alike_has_as_many_of_everything_as_the_real_flights(
    flights: Callable[[str], list[tuple[object, ...]]],
) -> None:
    (found,) = flights(
        "SELECT COUNT(*), COUNT(tailnum), COUNT(DISTINCT tailnum), COUNT(DISTINCT dest),"
        " COUNT(DISTINCT carrier), COUNT(DISTINCT origin), COUNT(*) - COUNT(dep_delay) FROM flights"
    )
    assert found == (336_776, 334_264, 4_043, 105, 16, 3, 8_255)


def test_planes_have_very_different_numbers_of_rows(
    flights: Callable[[str], list[tuple[object, ...]]],
) -> None:
    ((median, most, mean, tenth),) = flights(
        "SELECT MEDIAN(n), MAX(n), AVG(n), QUANTILE_CONT(n, 0.1) FROM (SELECT COUNT(*) AS n"
        " FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum)"
    )
    assert isinstance(median, float) and isinstance(tenth, float)
    assert isinstance(most, int) and isinstance(mean, float)
    assert 50 <= median <= 60
    assert 500 <= most <= 650
    assert round(mean) == 83
    assert tenth <= 10


def test_destinations_are_from_hubs_to_a_handful(
    flights: Callable[[str], list[tuple[object, ...]]],
) -> None:
    counts = flights("SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest ORDER BY n DESC")
    assert counts[0] == ("ORD", 17_283) and counts[1] == ("ATL", 17_215)
    assert sorted(n for _, n in counts)[:5] == [1, 1, 8, 10, 15]


def test_a_plane_flies_for_one_airline_and_on_some_of_its_routes(
    flights: Callable[[str], list[tuple[object, ...]]],
) -> None:
    ((airlines, routes, months),) = flights(
        "SELECT MAX(c), MEDIAN(d), AVG(m) FROM (SELECT COUNT(DISTINCT carrier) AS c,"
        " COUNT(DISTINCT dest) AS d, COUNT(DISTINCT month) AS m FROM flights"
        " WHERE tailnum IS NOT NULL GROUP BY tailnum)"
    )
    assert airlines == 1
    assert isinstance(routes, float) and isinstance(months, float)
    assert 6 <= routes <= 14
    assert months < 11


def test_delays_are_as_skewed_as_the_real_ones(
    flights: Callable[[str], list[tuple[object, ...]]],
) -> None:
    ((mean, median, late),) = flights(
        "SELECT AVG(dep_delay), MEDIAN(dep_delay), AVG(CAST(dep_delay > 15 AS INTEGER)) FROM flights"
    )
    assert isinstance(mean, float) and isinstance(late, float)
    assert 11 <= mean <= 15
    assert median == -2
    assert 0.2 <= late <= 0.26


@pytest.mark.slow
def test_the_look_alike_is_the_same_every_time(folder: Path) -> None:
    written = duckdb.sql(f"FROM '{folder / 'flights' / 'data' / 'flights.parquet'}'")
    once = written.to_arrow_table()
    again = make_flights().select(once.column_names)
    assert once.equals(again.cast(once.schema)), "it depends on more than its seed"
    assert isinstance(again, pa.Table)


# ---- questions


def test_fifty_questions_are_about_flights_and_ten_about_the_others() -> None:
    shapes = [question.shape for question in questions()]
    assert shapes.count("flights") == 50
    assert len(shapes) == 60 and set(shapes) == set(SHAPES)
    assert len({(each.shape, each.title) for each in questions()}) == 60


@pytest.mark.slow
@pytest.mark.parametrize("question", questions(), ids=question_id)
def test_a_question_is_explained_or_refused_as_recorded(
    sans: dict[str, San], question: Question
) -> None:
    if question.refusal is None:
        assert sans[question.shape].explain(question.sql, **OPTIONS).fits  # type: ignore[arg-type]
        return
    with pytest.raises(Refused) as refusal:
        sans[question.shape].explain(question.sql, **OPTIONS)  # type: ignore[arg-type]
    assert refusal.value.code == question.refusal


@pytest.mark.slow
@pytest.mark.parametrize("question", questions(), ids=question_id)
def test_plain_sql_knows_the_truth_by_keys(truths: Truths, question: Question) -> None:
    truth = truths.of(question)
    assert truth.asked, "an answer without rows has no error"
    assert set(truth.asked) <= set(truth.every)
    assert any(question.keys) == (() not in truth.asked)
    assert not all(question.keys)


# ---- other libraries


@pytest.mark.slow
@pytest.mark.parametrize("title", JOBS)
def test_opendp_is_asked_the_same_question(truths: Truths, folder: Path, title: str) -> None:
    job: Job = JOBS[title]
    (question,) = [each for each in questions() if each.title == title]
    statistic = AGGREGATES[job.kind].format(job.value)
    grouped = f"GROUP BY {', '.join(job.keys)}" if job.keys else ""
    rows = duckdb.sql(
        f"SELECT {', '.join([*job.keys, statistic])} FROM"
        f" '{folder / 'flights' / 'data' / 'flights.parquet'}'"
        f" WHERE tailnum IS NOT NULL AND {job.where} {grouped}"
    ).fetchall()
    found = {row[:-1]: float(row[-1]) for row in rows}
    truth = truths.of(question).every
    assert question.key_columns == list(job.keys)
    assert found == pytest.approx({key: float(row[-1]) for key, row in truth.items()})
    assert job.limit == 0 or f"LIMIT {job.limit}" in question.sql


# ---- scores

BY_CITY = {("Rome",): ("Rome", 100), ("Oslo",): ("Oslo", 10), ("Bergen",): ("Bergen", 0)}
TRUTH = Truth([True, False], BY_CITY, BY_CITY)


def answer(rows: list[list[object]], half_width: float = 5) -> dict[str, object]:
    ends = [[row[1] - half_width, row[1] + half_width] for row in rows]  # type: ignore[operator]
    return {"rows": rows, "intervals": [None, ends]}


def test_the_error_is_the_median_over_cells_and_runs() -> None:
    runs = [
        answer([["Rome", 90], ["Oslo", 13], ["Bergen", 7]]),
        answer([["Rome", 104], ["Oslo", 10]]),
    ]
    found = score(TRUTH, runs)
    assert found.error == pytest.approx(
        (0.04 + 0.1) / 2
    )  # of 0, 0.04, 0.1 and 0.3: what is truly 0 has none


def test_a_key_that_is_missing_counts_as_a_whole_error() -> None:
    found = score(TRUTH, [answer([["Rome", 100]]), answer([])])
    assert found.error == 1
    assert found.keys == 0.5
    assert not found.is_useful


def test_an_interval_is_held_to_the_truth_of_all_rows() -> None:
    found = score(TRUTH, [answer([["Rome", 90], ["Oslo", 13], ["Bergen", 7], ["Paris", 4]])])
    assert found.coverage == pytest.approx(1 / 3)  # Oslo's holds; there is no Paris


def test_a_refused_question_is_not_useful() -> None:
    found = score(TRUTH, [{"refused": "no_bounds"}])
    assert found == Score(None, refused="no_bounds")
    assert not found.is_useful


def test_a_peer_is_ahead_where_its_runs_are_smaller_and_not_where_they_are_mixed() -> None:
    ours = Score(0.3, by_run=(0.3, 0.31, 0.29, 0.32, 0.28, 0.3))
    assert surely_ahead(ours, Score(0.2, by_run=(0.2, 0.21, 0.19, 0.22, 0.2)))
    assert not surely_ahead(ours, Score(0.29, by_run=(0.1, 0.4, 0.29, 0.5, 0.2)))
    assert not surely_ahead(ours, Score(0.4, by_run=(0.4,) * 5))
    assert not surely_ahead(ours, Score(None, refused="ValueError"))


def test_what_others_answered_is_kept_until_something_that_they_were_asked_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_answers, "ENVIRONMENTS", tmp_path)
    asked: list[int] = []

    def ask() -> list[dict[str, object]]:
        asked.append(1)
        return [{"question": 1, "answers": len(asked)}]

    first = kept_answers.kept("Other", 5, "ask_opendp.py", ask)
    assert kept_answers.kept("Other", 5, "ask_opendp.py", ask) == first
    assert kept_answers.kept("Other", 6, "ask_opendp.py", ask) != first
    assert kept_answers.kept("Other", 5, "ask.py", ask) != first
    assert kept_answers.kept("None", 5, "ask.py", lambda: None) is None


@pytest.mark.parametrize("shape", PROFILED)
def test_profiles_are_of_tables_and_columns_that_there_are(folder: Path, shape: str) -> None:
    table, *columns = PROFILED[shape]
    declared = load(folder / shape / "policy.toml").tables[table]
    assert set(columns) <= set(declared.columns)
