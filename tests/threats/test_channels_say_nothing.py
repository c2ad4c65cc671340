"""Rules 16 and 17: once execution has begun there is an answer or one constant, and no log line."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from sanql.errors import Refused, SanqlError, Unavailable
from sanql.mechanisms import ExactSampler, Sampler
from sanql.policy.model import EngineLimits, Policy
from sanql.san import San

pytestmark = pytest.mark.slow


class Place(Protocol):
    """The folder of the shared fixture."""

    def policy(self, source: str, name: str) -> Policy: ...

    def database(self, name: str) -> Path: ...


@pytest.fixture(scope="module")
def failing(place: Place) -> Iterator[San]:
    """Return San over an engine that is always killed: its deadline is shorter than any query."""
    import pyarrow  # noqa: F401  (imported now, not while the worker answers)

    place.database("failing.duckdb")  # its own: data have one account
    loaded = place.policy("failing.duckdb", "failing")
    hurried = replace(loaded, engine=EngineLimits(512 << 20, 1e-6, 1))
    with San(hurried, "ana") as opened:
        yield opened


def test_a_failure_is_one_constant_keeps_its_charge_and_counts(failing: San) -> None:
    said = set()
    for number in range(3):
        sql = f"SELECT COUNT(*) FROM people WHERE note = 'Alice-7f3a' AND age > {number}"
        with pytest.raises(Unavailable) as caught:
            failing.query(sql, epsilon=1)
        said.add((caught.value.code, caught.value.message, caught.value.remedy))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        spent = [b.spent_upper.epsilon for b in failing.balances()]
        assert spent == [number + 1] * len(spent)
    assert len(said) == 1
    with pytest.raises(Unavailable) as caught:
        failing.query("SELECT COUNT(*) FROM people", epsilon=1)
    assert caught.value.code == "failure_quota"  # and this one is not charged
    assert [b.spent_upper.epsilon for b in failing.budget()] == [3, 3, 0]


def test_a_failure_is_not_recorded_as_an_answer(failing: San) -> None:
    kinds = [record.kind for record in failing.ledger.records()]
    assert kinds.count("reserve") == kinds.count("void") == 3
    assert "spend" not in kinds


class FailingEntropy:
    """An operating system that runs out of random bytes after the secret is drawn."""

    def __init__(self) -> None:
        self.calls = 0

    def bytes(self, count: int) -> bytes:
        self.calls += 1
        if self.calls > 1:
            raise OSError("Alice-7f3a")
        return bytes(count)


def test_a_failure_while_noise_is_added_says_the_same_and_keeps_its_charge(
    san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(san.session, "sampler", ExactSampler(FailingEntropy()))
    before = [balance.spent_upper.epsilon for balance in san.balances()]
    with pytest.raises(Unavailable) as caught:
        san.query("SELECT COUNT(*) FROM people WHERE age = 77", epsilon=1)
    assert caught.value.code == "unavailable"
    assert "Alice" not in str(caught.value)
    assert caught.value.__suppress_context__
    after = [balance.spent_upper.epsilon for balance in san.balances()]
    assert after == [spent + 1 for spent in before]


QUOTING = [
    "SELECT CAST(note AS INTEGER) AS n, COUNT(*) FROM people GROUP BY 1",
    "SELECT SUM(GREATEST(0, LEAST(9, CAST(note AS DOUBLE)))) FROM people WHERE CAST(city AS DATE) IS NULL",
    "SELECT city, COUNT(*) FROM people WHERE note LIKE 'Ali%' GROUP BY city",
    "SELECT SUM(note) FROM people",
    "SELECT COUNT(*) FROM people WHERE city < 7",
    "SELECT note FROM people",
    "SELECT MAX(note) FROM people",
    "SELECT note, COUNT(*) FROM people GROUP BY note",
]


def test_nothing_quotes_a_row(
    san: San, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The rows hold a secret; it must not be in errors, logs, warnings, output or explanations."""
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for sql in QUOTING:
            try:
                said += [str(san.explain(sql, epsilon=1, delta="1e-9"))]
                said += [str(san.query(sql, epsilon=1, delta="1e-9"))]
            except SanqlError as error:
                said += [str(error), repr(error), str(error.to_dict()), str(error.__context__)]
    streams = capfd.readouterr()
    everything = [*said, *(str(w.message) for w in warned), caplog.text, streams.out, streams.err]
    assert all("Alice-7f3a" not in text for text in everything)
    assert "Could not convert" not in "".join(everything)
    assert (caplog.text, streams.out, streams.err) == ("", "", "")  # answering says nothing at all


def test_a_refusal_is_the_same_whatever_the_rows_are(san: San, failing: San) -> None:
    # refusals are decided before the engine is asked: an engine that cannot answer refuses alike
    for sql in QUOTING[3:7]:
        refusals = []
        for each in (san, failing):
            with pytest.raises(Refused) as caught:
                each.query(sql, epsilon=1, delta="1e-9")
            refusals.append((caught.value.code, str(caught.value)))
        assert refusals[0] == refusals[1]


def test_the_certificate_and_the_statement_hold_no_noise(san: San, silent: Sampler) -> None:
    explained = san.explain("SELECT COUNT(*) FROM people WHERE age > 1", epsilon=1)
    assert str(silent.secret()) not in explained.statement.sql
