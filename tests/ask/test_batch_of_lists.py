"""A batch that lists keys of many-row units: they are selected by weights, and come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("flights.duckdb", name="flights", epsilon=100, delta="1e-4", accounting="renyi")
    + """\
[analyst.ana]
budget = { epsilon = 50, delta = 1e-5 }
[table.flights]
privacy_unit = "plane"
rows_per_unit_max = 64
[table.flights.column]
dest = { type = "text" }
origin = { type = "text", domain = ["EWR", "JFK", "LGA"] }
delay = { type = "integer", bounds = [0, 60] }
"""
)
LIST = "SELECT dest, COUNT(*) AS n, AVG(delay) AS delay FROM flights GROUP BY dest"
LATE = "SELECT dest, COUNT(*) AS n FROM flights WHERE delay > 20 GROUP BY dest"
BY_ORIGIN = "SELECT origin, COUNT(*) AS n FROM flights GROUP BY origin"
QUESTIONS = [LIST, LATE, BY_ORIGIN, f"{LIST} ORDER BY n DESC LIMIT 3"]
PLANES, DESTS = 3000, 40
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


def opened(folder: Path, sampler: SilentSampler | None = None) -> San:
    """Return San on flights: each plane flies 24 times, to 8 places, some far more often than others."""
    with duckdb.connect(str(folder / "flights.duckdb")) as connection:
        connection.execute(
            f"""CREATE TABLE flights AS SELECT p AS plane,
            'd' || least(hash(p, i % 8, 1) % {DESTS}, hash(p, i % 8, 2) % {DESTS}) AS dest,
            ['EWR', 'JFK', 'LGA'][(1 + hash(p, i) % 3)::BIGINT] AS origin,
            (hash(i, p, 3) % 61)::INTEGER AS delay
            FROM range({PLANES}) AS planes(p), range(24) AS t(i)"""
        )
    (folder / "policy.toml").write_text(POLICY)
    return San(load(folder / "policy.toml"), "ana", sampler=sampler)


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path) as found:
        yield found


def test_keys_come_back_selected_by_weights_for_one_charge(san: San) -> None:
    listed, late, origins, top = san.batch(QUESTIONS, epsilon=2, delta="1e-6")
    for answer in (listed, late, top):
        assert "weights of its units" in str(answer.certificate.to_dict())
    # a place that 150 planes or more fly to, each to at most 8, weighs 53; noise hides about 25
    assert len(listed.rows) > DESTS // 2 and len(late.rows) > DESTS // 4
    assert len(origins.rows) == 3 and len(top.rows) == 3
    shown = {dest: n for dest, n, _ in listed.rows}
    assert all(shown[dest] == n for dest, n, _ in top.rows)
    (account,) = [each for each in san.budget() if each.kind == "analyst"]
    assert account.spent_upper.epsilon <= 2
    assert san.batch(QUESTIONS, epsilon=2, delta="1e-6")[0].cached


def test_without_noise_every_number_is_that_of_its_question_alone(tmp_path: Path) -> None:
    with opened(tmp_path, SilentSampler()) as silent:
        together = silent.batch(QUESTIONS, epsilon=8, delta="1e-6")
        for sql, answer in zip(QUESTIONS, together, strict=True):
            alone = {row[0]: row for row in silent.query(sql, epsilon=8, delta="1e-6").rows}
            assert answer.rows and all(alone.get(row[0]) == row for row in answer.rows)


def test_a_list_that_a_profile_says_is_empty_is_refused_and_may_be_insisted_on(san: San) -> None:
    san.profile("flights", epsilon=1)
    with pytest.raises(Refused) as caught:
        san.batch([BY_ORIGIN, LIST], epsilon="0.01", delta="1e-9")
    assert caught.value.code == "list_empty"
    assert caught.value.message.startswith("question 2: ")
    (account,) = [each for each in san.budget() if each.kind == "analyst"]
    assert account.spent_upper.epsilon == 0
    origins, listed = san.batch([BY_ORIGIN, LIST], epsilon="0.01", delta="1e-9", even_if_empty=True)
    assert len(origins.rows) == 3 and not listed.rows
