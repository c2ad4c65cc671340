"""Grouping sets are one question: one charge on disk before a row is read, one record, one repeat."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from sanql.ask.measure import noisy_cells
from sanql.compile.statement import compile_plan
from sanql.errors import Refused, Unavailable
from sanql.mechanisms import ExactSampler, Noise
from sanql.policy.model import Policy
from sanql.san import San
from support.plans import plan_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

CUBE = (
    "SELECT member, age // 30 AS band, COUNT(*) AS n, AVG(income) FROM people "
    "GROUP BY CUBE (member, band)"
)
MIXED = "SELECT city, member, COUNT(*) AS n FROM people GROUP BY CUBE (city, member)"


class Place(Protocol):
    """The folder of the shared fixture."""

    def policy(self, source: str, name: str) -> Policy: ...

    def database(self, name: str) -> Path: ...


class FailsLate:
    """A sampler that fails once the first level has its noise."""

    def __init__(self) -> None:
        self.calls = 0

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        self.calls += 1
        if self.calls > 3:
            raise OSError("Alice-7f3a")
        return ExactSampler().sample(noise, count)

    def secret(self) -> int:
        return 1


@pytest.fixture(scope="module")
def asked(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    """Return San with data and a ledger of its own, also where a process comes back to this file."""
    name = tmp_path_factory.mktemp("levels").name
    with San(place.policy(place.database(f"{name}.duckdb").name, name), "ana") as opened:
        yield opened


def test_all_levels_are_one_charge_and_one_record_and_repeats_are_free(asked: San) -> None:
    first = asked.query(CUBE, epsilon=1)
    records = [record.kind for record in asked.ledger.records()]
    assert records[-2:] == ["reserve", "spend"]
    assert records.count("reserve") == 1
    assert first.charge.epsilon == 1
    assert len(first.charge.events) == 4 * 2  # a pair and a count in each of four levels
    again = asked.query(CUBE, epsilon=1)
    assert again.cached
    assert (again.rows, again.intervals) == (first.rows, first.intervals)
    assert asked.explain(CUBE, epsilon=1).cached
    listed = "GROUPING SETS ((), (band), (member), (member, band), ())"
    same_keys = CUBE.replace("CUBE (member, band)", listed)
    reordered = asked.query(f"{same_keys} HAVING COUNT(*) > 3 ORDER BY n LIMIT 5", epsilon=1)
    assert reordered.cached and len(reordered.rows) <= 5
    assert not asked.query(CUBE.replace("CUBE", "ROLLUP"), epsilon=1).cached
    assert [balance.spent_upper.epsilon for balance in asked.budget()] == [2, 2, 0]


def test_totals_of_a_real_answer_add_up(asked: San) -> None:
    rows = asked.query(CUBE, epsilon=1).rows
    fine = [row for row in rows if None not in row[:2]]
    (total,) = (row for row in rows if row[0] is None and row[1] is None)
    assert sum(row[2] for row in fine) == total[2]
    for value in (False, True):
        (part,) = (row[2] for row in rows if row[0] is value and row[1] is None)
        assert part == sum(row[2] for row in fine if row[0] is value)


def test_a_failure_between_levels_keeps_the_whole_charge(
    asked: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [balance.spent_upper.epsilon for balance in asked.balances()]
    monkeypatch.setattr(asked.session, "sampler", FailsLate())
    with pytest.raises(Unavailable) as caught:
        asked.query(CUBE, epsilon="0.5")
    assert "Alice" not in str(caught.value)
    after = [balance.spent_upper.epsilon for balance in asked.balances()]
    assert after == [spent + Fraction(1, 2) for spent in before]
    assert [record.kind for record in asked.ledger.records()][-2:] == ["reserve", "void"]


def test_all_levels_together_have_the_deadline_of_one_answer(asked: San) -> None:
    passed = time.monotonic() - 1

    def cells(sql: str, deadline: float) -> int:
        planned = plan_of(asked, sql, epsilon=1, delta="1e-6")
        opened = asked.session.data.open()
        sent = [compile_plan(level, opened.source, secret=1) for level in planned.levels]
        with opened.workers.lease() as lease:
            given = planned, sent, asked.session.sampler, lambda: None, deadline
            return len(noisy_cells(lease, *given).levels)

    assert cells("SELECT COUNT(*) FROM people", passed) == 1  # its own clock is ahead
    assert cells(MIXED, passed + 60) == 4
    with pytest.raises(Unavailable):
        cells(MIXED, passed)


def test_explain_tells_price_exactness_and_sql_of_every_level(asked: San) -> None:
    explained = asked.explain(MIXED, epsilon=1, delta="1e-6")
    assert explained.charge.epsilon == 1
    names = [level.name for level in explained.levels]
    assert names == ["(city, member)", "(city)", "(member)", "()"]
    assert [part.note for part in explained.expected] == [f" in {name}" for name in names]
    hides = [bool(level.hidden) for level in explained.levels]
    assert hides == [True, True, False, False]
    assert all(0 < level.epsilon_upper < 1 for level in explained.levels)
    assert all("GROUP BY" in level.statement.sql for level in explained.levels)
    shape = explained.to_dict()
    assert [level["level"] for level in shape["levels"]] == names
    for name in names:
        assert f"level {name}: epsilon" in str(explained)


def test_the_answer_in_every_form_has_null_where_a_key_is_missing(asked: San) -> None:
    answer = asked.query(MIXED, epsilon=1, delta="1e-6")
    shape = answer.to_dict()
    assert shape["rows"][-1][:2] == [None, None]
    assert len(shape["intervals"]["n"]) == len(shape["rows"])
    assert answer.to_csv().splitlines()[-1].startswith(",,")
    assert "NULL" in str(answer)
    levels = [part["level"] for part in shape["certificate"]["measurements"]]
    assert set(levels) == {"(city, member)", "(city)", "(member)", "()"}


def test_an_exact_answer_and_a_row_of_others_are_refused_by_name(asked: San) -> None:
    with pytest.raises(Refused) as exactly:
        asked.query(CUBE, exact=True)
    assert exactly.value.code == "exact_grouping_sets"
    with pytest.raises(Refused) as others:
        asked.query(MIXED, epsilon=1, delta="1e-6", other="(other)")
    assert others.value.code == "other_levels"
    with pytest.raises(Refused) as strategy:
        asked.query(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=PUBLIC_GROUPS) "
            "city, COUNT(*) FROM people GROUP BY ROLLUP (city)",
            epsilon=1,
        )
    assert strategy.value.code == "groups_private"
