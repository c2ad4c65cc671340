"""One session serves many analysts and threads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.ask import Session
from sanql.errors import BudgetExceeded, Refused
from sanql.policy import load
from sanql.san import San
from support.hospitals import hospital_in
from support.volume import few_of

SUMS = "SELECT sex, SUM(age) AS a FROM people WHERE age > {} GROUP BY sex"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    hospital_in(tmp_path / "demo")
    opened = Session(load(tmp_path / "demo" / "policy.toml"))
    yield opened
    opened.close()


@pytest.mark.slow
def test_eight_threads_of_two_analysts_are_charged_for_what_they_got_and_no_more(
    session: Session,
) -> None:
    def ask(number: int) -> bool:
        san = San(session, ("ana", "bo")[number % 2])
        try:
            san.query(SUMS.format(number // 2), epsilon="0.15")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(ask, range(32)))
    for place, name in enumerate(("ana", "bo")):
        own = next(b for b in session.ledger.balances() if b.account == name)
        paid = Fraction(15, 100) * sum(answered[place::2])
        assert 0 < paid <= own.budget.epsilon
        assert own.spent_upper.epsilon <= paid


@pytest.mark.slow
def test_what_one_analyst_paid_for_is_not_on_record_for_another(session: Session) -> None:
    ana, bo = San(session, "ana"), San(session, "bo")
    first = ana.query("SELECT COUNT(*) AS n FROM people", epsilon="0.1")
    again = ana.query("SELECT COUNT(*) AS n FROM people", epsilon="0.1")
    other = bo.query("SELECT COUNT(*) AS n FROM people", epsilon="0.1")
    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert again.rows == first.rows


@pytest.mark.slow
def test_whoever_leaves_a_shared_session_does_not_end_it(session: Session) -> None:
    with San(session, "ana"):
        pass
    assert San(session, "bo").explain("SELECT COUNT(*) FROM people", epsilon=1).fits
    session.close()
    with pytest.raises(Refused) as caught:
        San(session, "bo").query("SELECT COUNT(*) FROM people", epsilon=1)
    assert caught.value.code == "closed"


@pytest.mark.slow
def test_a_session_is_opened_from_a_path_and_closes_itself(tmp_path: Path) -> None:
    hospital_in(tmp_path / "demo")
    with Session(tmp_path / "demo" / "policy.toml") as session:
        first, second = San(session, "ana"), San(session, "bo")
        first.close()
        with pytest.raises(Refused) as refused:
            first.query("SELECT COUNT(*) FROM people", epsilon="0.1")
        assert refused.value.code == "closed"
        assert second.query("SELECT COUNT(*) FROM people", epsilon="0.1").charge.epsilon
    with pytest.raises(Refused):
        second.query("SELECT COUNT(*) FROM people", epsilon="0.1")


@pytest.mark.slow
@pytest.mark.parametrize("_", few_of(range(3), 1))
def test_threads_that_ask_first_of_all_claim_the_data_once(tmp_path: Path, _: int) -> None:
    at_once = threading.Barrier(8)
    with Session(hospital_in(tmp_path / "demo")) as session:

        def ask(who: int) -> None:
            at_once.wait(60)
            sql = f"SELECT COUNT(*) FROM people WHERE age > {who}"
            San(session, "ana").query(sql, epsilon="0.01")

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(ask, who) for who in range(8)]:
                done.result()
        kinds = Counter(record.kind for record in session.ledger.records())
        assert (kinds["claim"], kinds["spend"]) == (1, 8)
