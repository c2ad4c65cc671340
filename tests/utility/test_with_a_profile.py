"""Questions about flights that are useful with a profile, and are not without: noise and what is lost.

Nothing is drawn at random: without noise answers show what scaling takes away, and plans tell the noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from bench.utility.questions import questions
from bench.utility.score import OF_UNITS, USEFUL
from bench.utility.shapes import make_shape

from sanql.policy import load
from sanql.san import San
from support.samplers import SilentSampler

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

ASKED = {"epsilon": "0.5", "delta": "1e-8", "fresh": True}
COLUMNS = ["carrier", "dest", "month", "dep_delay", "distance"]
MIDDLE = 0.67  # of a deviation: half of all draws are within
TITLES = [
    "flights to Los Angeles by carrier",  # a condition on a column shortens rows
    "planes by carrier",  # each is in one group
    "total distance by carrier",  # values are a fifth of their bound
    "total minutes of delay by month",
]
MEANS = [
    "average departure delay by month",
    "average departure delay by origin",
]
"""Of values that are small beside their bounds."""
SHARE, LATE = "share more than 15 minutes late by carrier", "COUNT_IF(dep_delay > 15)"
KEPT = 0.5  # of all rows, at least, where means are shown


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shape("flights", tmp_path_factory.mktemp("profiled") / "flights")


@pytest.fixture
def san(policy: Path) -> Iterator[San]:
    with San(load(policy), sampler=SilentSampler()) as opened:
        yield opened


def truth(policy: Path, sql: str) -> dict[object, float]:
    with duckdb.connect() as connection:
        path = policy.parent / "data" / "flights.parquet"
        connection.execute(f"CREATE TABLE flights AS FROM '{path}' WHERE {OF_UNITS['flights']}")
        return {key: float(number) for key, number in connection.execute(sql).fetchall()}


def error(san: San, sql: str, true: dict[object, float]) -> float:
    """Return the median relative error of a cell, with half of all draws of noise below it."""
    answer = san.query(sql, **ASKED)  # type: ignore[arg-type]
    deviation = answer.certificate.measurements[0]["noise_standard_deviation"]
    assert isinstance(deviation, float)
    shown = {key: float(number) for key, number in answer.rows}
    return statistics.median(
        (abs(shown[key] - number) + MIDDLE * deviation) / number for key, number in true.items()
    )


def test_what_a_profile_knows_makes_answers_useful(san: San, policy: Path) -> None:
    """Red where norms and limits do not follow from a profile."""
    asked = [question for question in questions() if question.title in TITLES]
    assert len(asked) == len(TITLES)
    exact = {question: truth(policy, question.sql) for question in asked}
    before = {question.title: error(san, question.sql, exact[question]) for question in asked}
    san.profile("flights", epsilon="2", columns=COLUMNS)
    after = {question.title: error(san, question.sql, exact[question]) for question in asked}
    assert min(before.values()) > USEFUL > max(after.values()), (before, after)


def mean_error(san: San, sql: str, true: dict[object, float], rows: dict[object, float]) -> float:
    """Return the median relative error of an average, with half of all draws of its sum's noise below."""
    answer = san.query(sql, **ASKED)  # type: ignore[arg-type]
    (deviation,) = (
        float(str(part["noise_standard_deviation"]))
        for part in answer.certificate.measurements
        if part["measures"] == "sum"
    )
    shown = {key: float(number) for key, number in answer.rows}
    return statistics.median(
        (abs(shown[key] - number) + MIDDLE * deviation / rows[key]) / number
        for key, number in true.items()
    )


def test_averages_of_small_values_are_useful_where_their_size_is_known(tmp_path: Path) -> None:
    """Red where sums of averages have noise for the bounds of their values."""
    policy = make_shape("flights", tmp_path / "flights")
    asked = [question for question in questions() if question.title in MEANS]
    assert len(asked) == len(MEANS)
    exact = {each: truth(policy, each.sql) for each in asked}
    rows = {each: truth(policy, each.sql.replace("AVG(dep_delay)", "COUNT(*)")) for each in asked}

    def errors(san: San) -> list[float]:
        return [mean_error(san, each.sql, exact[each], rows[each]) for each in asked]

    with San(load(policy), sampler=SilentSampler()) as san:
        before = errors(san)
        san.profile("flights", epsilon="2", columns=["month", "origin", "dep_delay"])
        after = errors(san)
    assert min(before) > USEFUL > max(after), (before, after)


def test_shares_are_useful_where_both_of_their_counts_are_one_pair(tmp_path: Path) -> None:
    """Red where the counts of a quotient, or sums and counts of averages, share epsilon instead."""
    policy = make_shape("flights", tmp_path / "flights")
    (asked,) = (each for each in questions() if each.title == SHARE)
    exact = truth(policy, asked.sql)
    late = truth(
        policy, asked.sql.replace("1.0 * COUNT_IF(dep_delay > 15) / COUNT(dep_delay)", LATE)
    )
    with San(load(policy), sampler=SilentSampler()) as san:
        san.profile("flights", epsilon="2", columns=["carrier", "dep_delay"])
        answer = san.query(asked.sql, **ASKED)  # type: ignore[arg-type]
    above = float(str(answer.certificate.measurements[0]["noise_standard_deviation"]))
    errors = [
        abs(float(share) - exact[key]) / exact[key] + MIDDLE * above / (KEPT * late[key])
        for key, share in answer.rows
    ]
    assert statistics.median(errors) < USEFUL
