"""A batch: one charge for several questions, what they share drawn once, and numbers that agree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, Refused, Unavailable
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=10, delta="1e-5")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 100] }
sex = { type = "text", domain = ["F", "M"] }
city = { type = "text" }
wealth = { type = "integer" }

[table.bought]
privacy_unit = "id"
rows_per_unit_max = 5
[table.bought.column]
price = { type = "integer", bounds = [0, 50] }
kind = { type = "text", domain = ["a", "b"] }

[table.kinds]
public = true
"""
)
BAND = "CASE WHEN age < 20 THEN 'young' WHEN age < 60 THEN 'grown' ELSE 'old' END"
COUNT = "SELECT COUNT(*) AS n FROM people"
BY_BAND = f"SELECT {BAND} AS band, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY 1"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
BY_KIND = "SELECT kind, COUNT(*) AS n, AVG(price) AS mean FROM bought GROUP BY kind"
QUESTIONS = [COUNT, BY_BAND, BY_SEX, f"{BY_SEX} ORDER BY n DESC", BY_KIND]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


def opened(folder: Path, sampler: SilentSampler | None = None) -> San:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i AS id, i % 90 AS age, "
            "CASE WHEN i % 3 = 0 THEN 'M' ELSE 'F' END AS sex, 'c' || (i % 4) AS city, "
            "i AS wealth FROM range(3000) AS t(i)"
        )
        connection.execute(
            "CREATE TABLE bought AS SELECT i % 1000 AS id, i % 51 AS price, "
            "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS kind FROM range(4000) AS t(i)"
        )
        connection.execute("CREATE TABLE kinds AS SELECT unnest(['a', 'b']) AS kind")
    (folder / "policy.toml").write_text(POLICY)
    return San(load(folder / "policy.toml"), sampler=sampler)


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path) as found:
        yield found


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path, SilentSampler()) as found:
        yield found


def spent(san: San) -> Fraction:
    """Return what the account of the dataset has been charged."""
    return san.budget()[0].spent_upper.epsilon


def charges(san: San) -> int:
    return sum(record.kind == "reserve" for record in san.ledger.records())


def test_without_noise_every_answer_is_that_of_its_question_alone(silent: San) -> None:
    together = silent.batch(QUESTIONS, epsilon=1)
    for sql, answer in zip(QUESTIONS, together, strict=True):
        assert answer.rows == silent.query(sql, epsilon="0.01").rows


def test_the_charge_is_the_epsilon_once_and_on_record_as_one(san: San) -> None:
    answers = san.batch(QUESTIONS, epsilon="0.7")
    assert spent(san) == Fraction(7, 10)
    assert charges(san) == 1
    assert {answer.charge.epsilon for answer in answers} == {Fraction(7, 10)}
    assert len({answer.remaining for answer in answers}) == 1
    assert "for the batch of 5 questions" in answers[0].summary()
    san.close()
    assert verify(san.policy.ledger).sound


def test_what_is_shared_is_drawn_once_and_shown_alike(san: San) -> None:
    _, _, first, second, _ = san.batch(QUESTIONS, epsilon=1)
    assert sorted(first.rows) == sorted(second.rows)
    assert first.rows != [("F", 2000), ("M", 1000)]  # by a chance of about 1 in 100


def test_totals_are_the_sums_of_their_parts(san: San) -> None:
    years = "SELECT SUM(age) AS years, COUNT(*) AS n FROM people"
    whole, parts, both = san.batch([COUNT, BY_BAND, years], epsilon=1)
    assert whole.value == sum(n for _, n, _ in parts.rows)
    assert both.rows == [(sum(y for _, _, y in parts.rows), whole.value)]
    low, high = whole.intervals["n"][0]
    assert low is not None and high is not None and low <= whole.value <= high
    assert any("added up" in words for words in whole.certificate.assumptions)


def test_the_same_batch_again_is_free_and_the_same(san: San) -> None:
    first = san.batch(QUESTIONS, epsilon=1)
    again = san.batch(QUESTIONS, epsilon=1)
    assert [answer.rows for answer in again] == [answer.rows for answer in first]
    assert all(answer.cached for answer in again)
    assert spent(san) == 1
    assert not san.batch(QUESTIONS, epsilon=1, fresh=True)[0].cached
    assert spent(san) == 2


def test_a_certificate_claims_the_epsilon_of_all(san: San) -> None:
    for answer in san.batch(QUESTIONS, epsilon=1):
        assert answer.certificate.epsilon == 1
        assert any("5 questions of a batch" in words for words in answer.certificate.assumptions)


def test_a_refused_question_refuses_all_before_anything_is_charged(san: San) -> None:
    for wrong, code in [
        ("SELECT COUNT(*) FROM nowhere", "table_unknown"),
        ("SELECT AVG(wealth) FROM people", "bounds_missing"),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM people",
            "batch_option",
        ),
        ("SELECT id FROM people", "unit_column"),
    ]:
        with pytest.raises(Refused) as caught:
            san.batch([COUNT, wrong], epsilon=1)
        assert caught.value.message.startswith("question 2: "), caught.value.message
        assert caught.value.code == code
    assert charges(san) == 0


def test_a_batch_says_its_price_and_is_a_list(san: San) -> None:
    with pytest.raises(Refused) as caught:
        san.batch(QUESTIONS)
    assert caught.value.code == "epsilon_needed"
    for wrong in ([], COUNT, [COUNT] * 201):
        with pytest.raises(Refused) as caught:
            san.batch(wrong, epsilon=1)
        assert caught.value.code == "batch_size"
    with pytest.raises(Refused) as caught:
        san.batch(QUESTIONS, accuracy=5)
    assert caught.value.code == "batch_option"


def test_a_batch_beyond_the_budget_is_not_charged(san: San) -> None:
    with pytest.raises(BudgetExceeded):
        san.batch(QUESTIONS, epsilon=11)
    assert charges(san) == 0


def test_an_engine_that_fails_keeps_the_charge(san: San, monkeypatch: pytest.MonkeyPatch) -> None:
    san.query(COUNT, epsilon="0.1")
    monkeypatch.setattr("sanql.ask.measure.noisy_cells", _failing)
    with pytest.raises(Unavailable):
        san.batch(QUESTIONS, epsilon=1)
    assert spent(san) == Fraction(11, 10)


def _failing(*_: object) -> None:
    raise RuntimeError("a worker is gone")


def test_public_rows_selected_keys_and_parameters_go_along(san: San) -> None:
    kinds, cities, some = san.batch(
        [
            "SELECT kind FROM kinds",
            "SELECT city, COUNT(*) AS n FROM people GROUP BY city",
            ("SELECT COUNT(*) FROM people WHERE age > $least", {"least": 50}),
        ],
        epsilon=4,
        confidence="0.9",
    )
    assert sorted(kinds.rows) == [("a",), ("b",)]
    assert [city for city, _ in cities.rows] == ["c0", "c1", "c2", "c3"]
    assert some.confidence == Fraction(9, 10)
    assert 0 < san.budget()[0].spent_upper.delta < Fraction(1, 10**5)


def test_a_batch_is_in_the_history_and_told_apart(san: San) -> None:
    san.batch([COUNT, BY_SEX], epsilon=1)
    (entry,) = san.history()
    assert entry.purpose == "batch of 2 questions"
    assert entry.sql == f"{COUNT};\n{BY_SEX}"
    with pytest.raises(Refused) as caught:
        san.read_again(1)
    assert "ask the same batch again" in caught.value.remedy


def test_explaining_a_batch_spends_nothing_and_tells_what_it_is_worth(san: San) -> None:
    explained = san.explain_batch(QUESTIONS, epsilon=1)
    assert (explained.fits, explained.cached, explained.charge.epsilon) == (True, False, 1)
    assert explained.gain > 1.1
    first, second, third, fourth, last = explained.questions
    assert first.measured == "added up from what is measured with question 2"
    assert (second.measured, last.measured) == ("measured with question 1", "measured by itself")
    assert third.expected == fourth.expected
    widths = third.expected[0].half_width, third.expected_apart[0].half_width
    assert widths[0] is not None and widths[1] is not None and widths[0] < widths[1]
    assert charges(san) == 0
    low, high = san.batch(QUESTIONS, epsilon=1)[2].intervals["n"][0]
    assert low is not None and high is not None and (high - low) / 2 == widths[0]
    assert san.explain_batch(QUESTIONS, epsilon=1).cached
    assert "times smaller than one by one" in str(explained)
    assert explained.to_dict()["questions"][2]["one_by_one"][0]["half_width"] == widths[1]
