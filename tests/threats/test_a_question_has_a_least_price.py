"""Questions for next to nothing: whether one fails could be asked a million times for epsilon 1e-3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import sanql
from sanql.errors import PolicyError, Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

COUNT = "SELECT COUNT(*) FROM people"
POLICY = (
    dataset("people.csv", name="town", epsilon=4, delta="1e-6")
    + """\
auto_bounds = { epsilon = 0.05 }
LEAST
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
pay = { type = "integer", bounds = "auto" }
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"{i},{i % 90},{100 + i % 28}" for i in range(1000)]
    (tmp_path / "people.csv").write_text("\n".join(["person_id,age,pay", *lines]) + "\n")
    return tmp_path


@contextmanager
def town(folder: Path, least: str = "") -> Iterator[San]:
    (folder / "policy.toml").write_text(POLICY.replace("LEAST", least))
    with sanql.open(folder / "policy.toml") as san:
        yield san


def refused(san: San, sql: str, **wishes: object) -> Refused:
    """The refusal, by explain and query alike; nothing is charged for it."""
    before = san.budget()
    with pytest.raises(Refused) as explained:
        san.explain(sql, **wishes)  # type: ignore[arg-type]
    with pytest.raises(Refused) as asked:
        san.query(sql, **wishes)  # type: ignore[arg-type]
    assert san.budget() == before
    assert str(explained.value) == str(asked.value)
    return asked.value


def test_a_question_below_the_least_price_is_refused_by_name_and_one_at_it_is_answered(
    folder: Path,
) -> None:
    with town(folder) as san:
        for epsilon in ("0.000000001", "0.000999999"):
            found = refused(san, COUNT, epsilon=epsilon)
            assert found.code == "epsilon_below_least"
            assert "at least 0.001" in found.message and "0.001 or more" in found.remedy
        assert san.query(COUNT, epsilon="0.001").charge.epsilon == Fraction(1, 1000)
        groups = "SELECT age > 40, COUNT(*), AVG(age) FROM people GROUP BY 1"
        for sql in (groups, "SELECT SUM(age) FROM people"):
            assert san.query(sql, epsilon="0.001", delta="1e-8").charge.epsilon == Fraction(1, 1000)


def test_the_owner_sets_the_least_price(folder: Path) -> None:
    with town(folder, "epsilon_per_query_min = 0.25") as san:
        assert refused(san, COUNT, epsilon="0.2").code == "epsilon_below_least"
        san.query(COUNT, epsilon="0.25")
    with town(folder, "epsilon_per_query_min = 0.00001") as san:
        assert san.query(COUNT, epsilon="0.0001").charge.epsilon == Fraction(1, 10000)


def test_a_repeat_is_free_however_little_it_cost_and_asked_afresh_it_is_a_question(
    folder: Path,
) -> None:
    with town(folder, "epsilon_per_query_min = 0.00001") as san:
        first = san.query(COUNT, epsilon="0.0001")
    with town(folder) as san:
        again = san.query(COUNT, epsilon="0.0001")
        assert again.cached and again.rows == first.rows
        assert san.explain(COUNT, epsilon="0.0001").cached
        with pytest.raises(Refused, match="at least"):
            san.query(COUNT, epsilon="0.0001", fresh=True)


def test_the_price_of_bounds_counts_when_it_is_paid_and_not_when_it_was_paid_before(
    folder: Path,
) -> None:
    sql = "SELECT SUM(pay) FROM people"
    with town(folder) as san:
        answered = san.query(sql, epsilon="0.0505")  # 0.05 of it finds bounds
        assert answered.charge.epsilon == Fraction(505, 10000)
        other = "SELECT SUM(pay) FROM people WHERE age > 40"
        found = refused(san, other, epsilon="0.050000001")
        assert found.code == "epsilon_below_least" and "0.051 or more" in found.remedy
        san.query(other, epsilon="0.051")


def test_an_accuracy_that_needs_less_is_had_for_the_least_price_and_says_so(folder: Path) -> None:
    with town(folder) as san:
        explained = san.explain(COUNT, accuracy=10**6)
        assert explained.charge.epsilon == Fraction(1, 1000)
        assert "the accuracy is had for the least that a question may cost" in str(explained)
        answered = san.query(COUNT, accuracy=10**6)
        assert answered.charge.epsilon == Fraction(1, 1000)
        assert "(the least that a question may cost)" in answered.summary()
        assert "least" not in san.query(COUNT, accuracy=100).summary()


def test_what_nobody_can_change_has_no_least_price(folder: Path) -> None:
    text = POLICY.replace("LEAST", "").replace("add-remove", "change-one")
    text = text.replace('"person_id"\nunique = true', '"row"')
    (folder / "policy.toml").write_text(text)
    with sanql.open(folder / "policy.toml") as san:
        for wishes in ({"epsilon": "0.0001"}, {}):
            answered = san.query(COUNT, **wishes)  # type: ignore[arg-type]
            assert answered.free and answered.rows == [(1000,)]


def test_suggestions_cost_at_least_that_in_all(folder: Path) -> None:
    with town(folder) as san:
        with pytest.raises(Refused) as found:
            san.suggest_limits("people", epsilon="0.0005")
        assert found.value.code == "epsilon_below_least"


def test_a_least_price_that_no_budget_could_pay_is_a_fault_of_the_policy(folder: Path) -> None:
    path = folder / "policy.toml"
    path.write_text(POLICY.replace("LEAST", "epsilon_per_query_min = 5"))
    with pytest.raises(PolicyError, match="nothing could be asked"):
        load(path)
