"""Options of a session hold for its questions; refusals and budgets are shown as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from ask.test_over_statistics import opened
from sanql.errors import Refused
from sanql.results import Accounts
from sanql.san import San

pytestmark = pytest.mark.usefixtures("in_this_process")
COUNT = "SELECT COUNT(*) AS n FROM people"
WITH_CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) AS n FROM people"


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path) as san:
        yield san


def test_a_question_without_a_price_has_the_sessions(san: San) -> None:
    with pytest.raises(Refused) as refusal:
        san.query(COUNT)
    assert refusal.value.code == "epsilon_needed"
    assert san.defaults(epsilon="0.1", confidence="0.9") == {"epsilon": "0.1", "confidence": "0.9"}
    answer = san.query(COUNT)
    assert answer.charge.epsilon == Fraction(1, 10)
    assert answer.confidence == Fraction(9, 10)
    assert san.explain(COUNT).charge.epsilon == Fraction(1, 10)
    assert san.batch([COUNT])[0].charge.epsilon == Fraction(1, 10)


def test_what_a_question_says_itself_comes_first(san: San) -> None:
    san.defaults(epsilon="0.1")
    assert san.query(COUNT, epsilon="0.3").charge.epsilon == Fraction(3, 10)
    assert san.query(WITH_CLAUSE).charge.epsilon == Fraction(1, 2)
    assert san.explain(COUNT, accuracy=20).charge.epsilon != Fraction(1, 10)


def test_the_price_is_one_and_is_taken_back_with_none(san: San) -> None:
    san.defaults(epsilon="0.1")
    assert san.defaults(accuracy=20) == {"accuracy": 20}
    assert san.defaults(accuracy=None) == {} == san.defaults()
    with pytest.raises(Refused):
        san.query(COUNT)


@pytest.mark.parametrize(
    "given",
    [
        {"fresh": True},
        {"exact": True},
        {"epsilom": 1},
        {"epsilon": -1},
        {"epsilon": 1, "accuracy": 2},
    ],
)
def test_what_cannot_hold_for_all_questions_is_refused_and_changes_nothing(
    san: San, given: dict[str, object]
) -> None:
    san.defaults(epsilon="0.1")
    with pytest.raises(Refused):
        san.defaults(**given)  # type: ignore[arg-type]
    assert san.defaults() == {"epsilon": "0.1"}


def test_accounts_are_a_table_in_a_notebook_with_nothing_that_runs(san: San) -> None:
    accounts = san.budget()
    assert isinstance(accounts, Accounts)
    assert "<td>dataset shop</td><td>epsilon 1000, delta 0.001</td>" in accounts._repr_html_()
    named = Accounts(
        type(each)("<b>x\x1b", each.kind, each.budget, each.spent_upper, each.remaining_lower, 0)
        for each in accounts
    )
    assert "&lt;b&gt;x\\x1b" in named._repr_html_()
    assert "<b>" not in named._repr_html_()
    assert "\x1b" not in f"{named}{named[0]}"


def test_accounts_are_printed_in_short_numbers_rounded_to_the_safe_side(san: San) -> None:
    san.query("SELECT COUNT(*) FROM people", epsilon="0.00123456789")
    accounts = san.budget()
    said = (
        "dataset shop: budget epsilon 1000, delta 0.001; spent epsilon 0.00123457, delta 0; left "
    )
    assert str(accounts[0]).startswith(said)
    assert "epsilon 0.00123457, delta 0" in str(accounts) and "Fraction" not in str(accounts)


def test_a_refusal_is_shown_in_a_notebook_with_its_nearest_question_apart(san: San) -> None:
    with pytest.raises(Refused) as refusal:
        san.query('SELECT AVG(aeg) AS "<i>" FROM people', epsilon=1)
    shown = refusal.value._repr_html_()
    assert "<b>column_unknown</b>" in shown
    assert "did you mean age" in shown
    assert "<i>" not in shown
    (said,) = refusal.value._render_traceback_()
    assert said == f"Refused [column_unknown]: {refusal.value}"
    nearest = Refused("x", "a < b", "do", (1, 2), "SELECT '<script>'", "a & b")._repr_html_()
    assert "<pre>SELECT &#x27;&lt;script&gt;&#x27;</pre>" in nearest
    assert "with a &amp; b, ask:" in nearest
