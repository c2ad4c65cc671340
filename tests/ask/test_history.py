"""What an analyst has asked can be listed and read again: free, without a row, and nobody else's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.account import NOTHING_SAID
from sanql.ask import Session, history, read_again, recorded_certificate
from sanql.ask.typed_values import NotReadable, from_plain, to_plain
from sanql.errors import Refused
from sanql.policy import Budget
from sanql.san import San
from support.policies import dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset("data.duckdb", name="town", epsilon="{budget}", delta="1e-6")
    + """\
auto_bounds = {{ epsilon = 0.5 }}
[analyst.ana]
[analyst.bo]
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = {age} }}
wage = {{ type = "integer", bounds = "auto" }}
born = {{ type = "date" }}
town = {{ type = "text" }}
"""
)
GROUPED = "SELECT town, COUNT(*) AS n FROM people GROUP BY town ORDER BY n"


@pytest.fixture
def town(tmp_path: Path) -> Callable[..., Path]:
    """A policy over 900 people, written anew with other numbers as often as needed."""
    with duckdb.connect(tmp_path / "data.duckdb") as data:
        data.execute(
            "CREATE TABLE people AS SELECT i AS id, i % 90 AS age, i % 50 AS wage, "
            "DATE '1950-01-01' + (i % 900)::INT AS born, 'abc'[1 + i % 3] AS town FROM range(900) t(i)"
        )

    def write(*, budget: int = 10, age: str = "[0, 100]") -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(budget=budget, age=age))
        return path

    return write


@pytest.fixture
def session(town: Callable[..., Path]) -> Iterator[Session]:
    with Session(town()) as opened:
        yield opened


def spent(session: Session) -> list[Any]:
    return [balance.spent_upper for balance in session.ledger.balances()]


@pytest.mark.slow
def test_answers_are_read_again_as_they_were_and_nothing_is_charged_or_read(
    session: Session,
) -> None:
    ana = San(session, "ana")
    first = ana.query(GROUPED, epsilon=0.25, delta=1e-8)
    again = ana.query(GROUPED, epsilon=0.25, delta=1e-8, fresh=True)
    born = {"born": date(1951, 1, 1), "most": Decimal("60")}
    dated = ana.query(
        "SELECT AVG(age) FROM people WHERE born > $born AND age < $most",
        parameters=born,
        accuracy={"half_width": 3, "rows": 500},
        confidence="0.9",
    )
    before, version = spent(session), session.ledger.versions.newest()
    session.data.close()
    (session.policy.path.parent / "data.duckdb").unlink()  # no row can be read any more
    for number, answer in enumerate((first, again, dated), 1):
        read = read_again(session, "ana", number)
        assert (read.rows, read.intervals, read.noise) == (
            answer.rows,
            answer.intervals,
            answer.noise,
        )
        assert read.cached and read.version == answer.version == version.number
        assert recorded_certificate(session, "ana", number) == answer.certificate.to_dict()
    assert first.rows != again.rows
    assert spent(session) == before


@pytest.mark.slow
def test_history_says_what_when_through_which_door_at_what_price_and_what_became_of_it(
    session: Session,
) -> None:
    San(session, "ana", door="command").query("SELECT COUNT(*) FROM people", epsilon=0.25)
    San(session, "bo").query("SELECT COUNT(*) FROM people", epsilon=0.5)
    San(session, "ana").query("SELECT  SUM(wage) FROM people", epsilon=1)
    count, search, total = history(session, "ana")
    assert [entry.number for entry in (count, search, total)] == [1, 2, 3]
    assert (count.sql, count.door) == ("SELECT COUNT(*) FROM people", "command")
    assert count.price == Budget(Fraction(1, 4), Fraction(0))
    assert (count.outcome, count.version, count.purpose) == ("answered", 1, "")
    assert search.sql == total.sql == "SELECT  SUM(wage) FROM people"
    assert (search.purpose, total.purpose) == ("bounds of people.wage", "")
    assert search.price.epsilon + total.price.epsilon == 1
    assert history(session, "ana", 1, 1) == (search,)
    assert [entry.price.epsilon for entry in history(session, "bo")] == [Fraction(1, 2)]
    with pytest.raises(Refused) as refused:
        read_again(session, "ana", 2)
    assert refused.value.code == "question_inner"
    assert read_again(session, "ana", 3).certificate.bounds


@pytest.mark.slow
def test_somebody_elses_number_is_refused_as_one_that_does_not_exist(session: Session) -> None:
    for _ in range(3):
        San(session, "bo").query("SELECT COUNT(*) FROM people", epsilon=0.1, fresh=True)
    San(session, "ana").query("SELECT COUNT(*) FROM people", epsilon=0.1)
    said = set()
    for number in (2, 3, 4, 10**30, 0, -1):
        for ask in (read_again, recorded_certificate):
            with pytest.raises(Refused) as refused:
                ask(session, "ana", number)
            said.add((refused.value.code, refused.value.message.replace(str(number)[:20], "N")))
    assert said == {("question_unknown", "there is no question number N of yours")}
    with pytest.raises(Refused, match="not declared"):
        history(session, "eve")


@pytest.mark.slow
def test_an_answer_about_an_earlier_version_is_read_again_as_of_that_version(
    session: Session,
) -> None:
    ana = San(session, "ana")
    first = ana.query("SELECT SUM(wage) FROM people", epsilon=1)
    ana.refresh()
    second = ana.query("SELECT SUM(wage) FROM people", epsilon=1)
    assert not second.cached
    assert read_again(session, "ana", 2).rows == first.rows
    assert read_again(session, "ana", 4).rows == second.rows
    assert [read_again(session, "ana", number).version for number in (2, 4)] == [1, 2]


@pytest.mark.slow
def test_another_budget_changes_no_answer_that_was_given_and_other_bounds_are_named(
    town: Callable[..., Path],
) -> None:
    with Session(town()) as session:
        ana = San(session, "ana")
        grouped = ana.query(GROUPED, epsilon=0.25)  # its delta follows the budget
        total = ana.query("SELECT SUM(age) FROM people", epsilon=0.25)
    with Session(town(budget=20)) as session:
        assert read_again(session, "ana", 1).rows == grouped.rows
    with Session(town(age="[0, 50]")) as session:
        assert read_again(session, "ana", 1).rows == grouped.rows
        with pytest.raises(Refused) as refused:
            read_again(session, "ana", 2)
        assert refused.value.code == "answer_not_rebuilt"
        assert recorded_certificate(session, "ana", 2) == total.certificate.to_dict()


@pytest.mark.slow
def test_questions_without_an_answer_are_refused_alike_whoever_ended_them(session: Session) -> None:
    San(session, "ana").query("SELECT COUNT(*) FROM people", epsilon=0.1)
    charge = session.ledger.questions.of("ana")[0]
    assert charge.note is not None
    said = set()
    for who in ("engine", "cancelled", "stopped", "storage"):
        digest = f"{len(said):064x}"
        plan = San(session, "ana").explain("SELECT COUNT(*) FROM people", epsilon=0.1)
        made = session.ledger.reserve("ana", digest, plan.charge, replace(NOTHING_SAID, text="x"))
        session.ledger.void(made, reason=who)
        number = len(history(session, "ana"))
        with pytest.raises(Refused) as refused:
            read_again(session, "ana", number)
        said.add((refused.value.code, refused.value.message.replace(str(number), "N")))
    assert len(said) == 1 and next(iter(said))[0] == "question_unanswered"


@pytest.mark.slow
def test_a_suggestion_is_in_the_history_with_what_it_was_for(session: Session) -> None:
    San(session, "ana").suggest_limits("people", epsilon=1)
    (entry,) = history(session, "ana")
    assert entry.sql == "suggest_limits('people', epsilon=1)"
    assert entry.purpose == "rows_per_unit_max of people"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.fractions()
    | st.dates()
    | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(VALUES)
def test_whatever_can_be_typed_reads_back_as_it_was(value: object) -> None:
    assert from_plain(to_plain(value)) == value


def test_scalars_of_numpy_read_back_as_pythons_and_other_types_do_not() -> None:
    assert from_plain(to_plain([np.int64(3), np.float32(0.5), np.bool_(True)])) == [3, 0.5, True]
    for odd in (object(), float("nan"), b"bytes", np.zeros(2)):
        with pytest.raises(NotReadable):
            from_plain(to_plain(odd))
