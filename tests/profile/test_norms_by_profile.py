"""A profile chooses the norm of units: less noise for few rows lost; what is on record stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.ask import ask_batch, read_batch
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.usefixtures("in_this_process")

# 960 people have 4 visits, each on another day, and 40 have 16: 4,480 in all, and 256 may count
SIZES = {4: 960, 16: 40}
POLICY = (
    dataset("data.duckdb", epsilon="1000", delta="1e-3")
    + """\
[table.visits]
privacy_unit = "person"
rows_per_unit_max = 256
[table.visits.column]
day = { type = "integer", bounds = [0, 99] }
kind = { type = "text", domain = ["a", "b"] }
"""
)
BY_DAY = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
BY_KIND = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind"
AVERAGE = "SELECT kind, AVG(day) AS mean FROM visits GROUP BY kind"
ASKED = {"epsilon": "0.5", "delta": "1e-6"}
PRICE = {"epsilon": "40", "columns": ["day"]}


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    people = [(size,) for size, count in SIZES.items() for _ in range(count)]
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE sizes (size INTEGER)")
        connection.executemany("INSERT INTO sizes VALUES (?)", people)
        connection.execute(
            "CREATE TABLE visits AS SELECT person, (person + 3 * n) % 100 AS day, "
            "CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END AS kind FROM "
            "(SELECT row_number() OVER () AS person, size FROM sizes), "
            "LATERAL (SELECT unnest(range(size)) AS n)"
        )
        connection.execute("DROP TABLE sizes")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def norm(san: San, sql: str) -> float:
    """Return the norm that one unit's rows may have, whichever it is."""
    limits = san.explain(sql, **ASKED).certificate.limits  # type: ignore[arg-type]
    return (
        limits["rows_norm_l1"]
        if "rows_norm_l1" in limits
        else math.sqrt(limits["rows_norm_l2_squared"])
    )


@pytest.fixture
def half_width(san: San) -> Callable[[str], float]:
    return lambda sql: san.explain(sql, **ASKED).expected[0].half_width  # type: ignore[arg-type, return-value]


@pytest.mark.slow
def test_noise_is_that_of_units_as_they_are_and_few_rows_are_lost(
    san: San, half_width: Callable[[str], float]
) -> None:
    widths = {sql: half_width(sql) for sql in (BY_DAY, BY_KIND)}
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    for sql, without in widths.items():
        assert half_width(sql) < without / 8
        assert 2 <= norm(san, sql) <= 16  # 4 rows in 4 groups are 2 long in L2, 16 in two are 12
        found = sum(row[1] for row in san.query(sql, **ASKED).rows)  # type: ignore[arg-type]
        # by day noise is more than any group has, so that more than a tenth may be lost
        least = {BY_DAY: 0.8, BY_KIND: 0.9}[sql]
        assert least * 4480 < found <= 4480 + 100  # in whole rows of a hundred groups
    words = san.explain(BY_KIND, **ASKED).certificate.limits_in_words  # type: ignore[arg-type]
    assert "keep" in words and "(profile of" in words


@pytest.mark.slow
def test_what_was_measured_before_there_was_a_profile_is_found(san: San) -> None:
    before = san.query(BY_KIND, **ASKED)  # type: ignore[arg-type]
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    again = san.query(BY_KIND, **ASKED)  # type: ignore[arg-type]
    assert again.cached and again.rows == before.rows
    assert san.explain(BY_KIND, **ASKED).cached  # type: ignore[arg-type]
    (entry,) = san.history()
    assert san.read_again(entry.number).rows == before.rows
    fresh = san.query(BY_KIND, **ASKED, fresh=True)  # type: ignore[arg-type]
    assert not fresh.cached


@pytest.mark.slow
def test_what_was_measured_under_an_earlier_profile_is_found(san: San) -> None:
    san.query(BY_DAY, **ASKED)  # type: ignore[arg-type]
    san.profile("visits", epsilon="1")
    before = san.query(AVERAGE, **ASKED)  # type: ignore[arg-type]
    asked = {"epsilon": Fraction(2), "fresh": True}
    request = read_batch([BY_DAY, AVERAGE], san.analyst, asked, idempotency_key="dashboard")
    keyed = ask_batch(san.session, request)
    batch = san.batch([BY_DAY, AVERAGE], epsilon=2, fresh=True)
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    spent = san.budget()
    again = san.query(AVERAGE, **ASKED)  # type: ignore[arg-type]
    assert again.cached and again.rows == before.rows
    assert san.explain(AVERAGE, **ASKED).cached  # type: ignore[arg-type]
    assert san.query(BY_DAY, **ASKED).cached  # type: ignore[arg-type]
    assert [each.rows for each in san.batch([BY_DAY, AVERAGE], epsilon=2)] == [
        each.rows for each in batch
    ]
    same = ask_batch(san.session, request)
    assert [each.rows for each in same] == [each.rows for each in keyed]
    assert san.explain_batch([BY_DAY, AVERAGE], epsilon=2).cached
    within = san.query(AVERAGE, epsilon="0.01")
    assert within.read_from is not None and within.rows == batch[1].rows
    assert san.budget() == spent
    for entry in san.history()[:2]:
        assert san.read_again(entry.number).cached
    fresh = san.query(AVERAGE, **ASKED, fresh=True)  # type: ignore[arg-type]
    assert not fresh.cached
    assert san.query(AVERAGE, **ASKED).rows == fresh.rows  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_norm_is_within_limits_whatever_a_profile_says(san: San) -> None:
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    assert norm(san, BY_KIND) > 3
    fewer = san.explain(BY_KIND, epsilon="0.5", max_rows_contributed=3)
    assert fewer.certificate.limits["rows_norm_l1"] == 3


@pytest.mark.slow
def test_a_batch_has_the_norms_of_a_profile(san: San) -> None:
    questions = [BY_DAY, BY_KIND]
    without = san.explain_batch(questions, epsilon=1)
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    with_it = san.explain_batch(questions, epsilon=1)
    for one, other in zip(with_it.questions, without.questions, strict=True):
        assert one.expected[0].half_width < other.expected[0].half_width / 8  # type: ignore[operator]
