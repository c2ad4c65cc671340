"""Questions asked alone after a batch that had them, and batches of what is on record: free and alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ask.test_batch import BAND, BY_BAND, BY_KIND, BY_SEX, COUNT, QUESTIONS, charges, opened, spent
from sanql.account import AskedQuestion
from sanql.ask import ask, read_request
from sanql.ask.earlier_batches import EarlierBatches
from sanql.parse import QuestionText
from sanql.policy import load
from sanql.results import Answer
from sanql.san import San

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
CITIES = "SELECT city, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY city"
LITTLE = Fraction(1, 20)
"""An epsilon within which no question alone is as exact as in a batch at 1."""
AGES = "SELECT COUNT(*) AS n FROM people WHERE age > $least -- of some"


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path) as found:
        yield found


def shown(answer: Answer) -> tuple[object, ...]:
    """Return the numbers of an answer, and how exact they are said to be."""
    return answer.rows, answer.intervals, answer.noise


def is_free(san: San, sql: str, **options: Any) -> bool:
    """Return whether a question is answered without a charge, as its explanation says as well."""
    before, charged = spent(san), charges(san)
    explained = san.explain(sql, **options)
    answer = san.query(sql, **options)
    assert answer.cached == (spent(san) == before) == (charges(san) == charged)
    assert explained.cached == answer.cached
    if answer.cached:
        assert explained.charge == answer.charge
    return answer.cached


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_a_question_of_a_batch_asked_alone_is_what_it_was_there(san: San, place: int) -> None:
    inner = san.batch(QUESTIONS, epsilon=1)[place]
    assert is_free(san, QUESTIONS[place], epsilon=LITTLE)
    for _ in range(3):  # also once it is at hand
        alone = san.query(QUESTIONS[place], epsilon=LITTLE)
        assert shown(alone) == shown(inner)
        assert (alone.batch, alone.charge) == (5, inner.charge)
        assert "price: free, as part of batch number 1 of the analyst's history" in str(alone)
        assert Answer.from_dict(alone.to_dict()).summary() == alone.summary()
        assert alone.certificate.epsilon == 1
    assert any(
        "a batch of 5 questions has measured, number 1 of the analyst's history" in words
        for words in alone.certificate.assumptions
    )
    assert spent(san) == 1


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum(AGE) / count(*) AS mean, {BAND} AS band FROM people GROUP BY 2",
        f"SELECT {BAND} AS band FROM people GROUP BY 1 HAVING COUNT(*) > 900 ORDER BY SUM(age)",
        "SELECT 2 * COUNT(*) AS twice FROM people",
        "SELECT kind, AVG(price) AS mean FROM bought GROUP BY kind ORDER BY mean LIMIT 1",
    ],
)
def test_what_is_computed_from_a_batch_is_free(san: San, sql: str) -> None:
    san.batch(QUESTIONS, epsilon=1)
    assert is_free(san, sql, epsilon=LITTLE)


def test_numbers_computed_from_a_batch_are_the_batch_s(san: San) -> None:
    parts = san.batch(QUESTIONS, epsilon=1)[1]
    by_band = f"SELECT {BAND} AS band, SUM(age) AS years FROM people GROUP BY 1"
    years = san.query(by_band, epsilon=LITTLE)
    assert sorted(years.rows) == sorted((band, total) for band, _, total in parts.rows)


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        ("SELECT COUNT(*) AS n FROM people WHERE age > 3", {"epsilon": LITTLE}),
        ("SELECT COUNT(*) AS n FROM bought", {"epsilon": LITTLE}),
        ("SELECT sex, AVG(age) AS mean FROM people GROUP BY sex", {"epsilon": LITTLE}),
        (BY_KIND, {"epsilon": LITTLE, "max_rows_contributed": 2}),
        (COUNT, {"epsilon": LITTLE, "fresh": True}),
        (COUNT, {"epsilon": 1}),
        (COUNT, {"epsilon": 3}),
        (COUNT, {"accuracy": 2}),
    ],
)
def test_what_a_batch_has_not_measured_so_is_charged(
    san: San, sql: str, options: dict[str, Any]
) -> None:
    san.batch(QUESTIONS, epsilon=1)
    assert not is_free(san, sql, **options)


@pytest.mark.parametrize("options", [{"epsilon": "0.01"}, {"accuracy": 500}])
def test_a_batch_that_is_more_exact_than_what_is_asked_for_is_free(
    san: San, options: dict[str, Any]
) -> None:
    inner = san.batch(QUESTIONS, epsilon=1)[0]
    assert is_free(san, COUNT, **options)
    assert shown(san.query(COUNT, **options)) == shown(inner)


def test_keys_that_were_selected_are_those_of_the_batch(san: San) -> None:
    inner, _ = san.batch([CITIES, COUNT], epsilon=4)
    assert is_free(san, f"{CITIES} ORDER BY n DESC", epsilon=LITTLE)
    assert sorted(san.query(CITIES, epsilon=LITTLE).rows) == sorted(inner.rows)
    assert not is_free(san, CITIES, epsilon=LITTLE, min_privacy_units_per_group=40)


def test_a_batch_that_hides_more_keys_is_not_taken_for_more_exact(san: San) -> None:
    by_city = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
    san.batch([by_city, COUNT], epsilon=4, delta="1e-12")
    assert is_free(san, by_city, epsilon="1.2", delta="1e-12")
    assert not is_free(san, by_city, epsilon="1.2", delta="1e-6")


def test_keys_may_be_in_another_order(san: San) -> None:
    inner = san.batch(
        [f"SELECT {BAND} AS band, sex, COUNT(*) AS n FROM people GROUP BY 1, 2", COUNT], epsilon=1
    )[0]
    turned = san.query(
        f"SELECT COUNT(*) AS n, sex, {BAND} FROM people GROUP BY 2, 3", epsilon=LITTLE
    )
    assert sorted((n, sex, band) for band, sex, n in inner.rows) == sorted(turned.rows)


def test_totals_are_fitted_as_they_were_in_the_batch(san: San) -> None:
    rolled = f"SELECT {BAND} AS band, COUNT(*) AS n FROM people GROUP BY ROLLUP (1)"
    inner = san.batch([rolled, BY_SEX], epsilon=1)[0]
    assert shown(san.query(rolled, epsilon=LITTLE)) == shown(inner)
    assert spent(san) == 1


def test_texts_with_comments_and_parameters_are_found_again(san: San) -> None:
    inner = san.batch([(AGES, {"least": 50}), f"{COUNT};", (AGES, {"least": 20})], epsilon=1)
    for place, least in ((0, 50), (2, 20)):
        again = san.query(AGES, parameters={"least": least}, epsilon=LITTLE)
        assert again.cached and shown(again) == shown(inner[place])
    assert not is_free(san, AGES, parameters={"least": 30}, epsilon=LITTLE)


def test_another_session_finds_it_and_another_analyst_does_not(tmp_path: Path) -> None:
    with opened(tmp_path) as san:
        inner = san.batch(QUESTIONS, epsilon=1)[1]
    with San(load(tmp_path / "policy.toml")) as later:
        assert shown(later.query(BY_BAND, epsilon=LITTLE)) == shown(inner)
        assert is_free(later, BY_BAND, epsilon=LITTLE)
    with San(load(tmp_path / "policy.toml"), "somebody") as other:
        assert not is_free(other, BY_BAND, epsilon=LITTLE)


def test_the_latest_batch_that_has_it_is_taken(san: San) -> None:
    san.batch(QUESTIONS, epsilon=1)
    inner = san.batch(QUESTIONS, epsilon=1, fresh=True)[1]
    assert shown(san.query(BY_BAND, epsilon=LITTLE)) == shown(inner)


def test_a_batch_is_believed_only_where_its_digest_says_that_it_measured_this(
    san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies beside the ledger is not sealed: no other text must pass for the one that was asked."""
    san.batch([COUNT, BY_SEX], epsilon=1)
    found = EarlierBatches.of

    def forged(self: EarlierBatches, analyst: str) -> list[AskedQuestion]:
        return [_with_text(each) for each in found(self, analyst)]

    monkeypatch.setattr(EarlierBatches, "of", forged)
    assert not is_free(san, "SELECT COUNT(*) AS n FROM people WHERE age > 40", epsilon=LITTLE)


def _with_text(asked: AskedQuestion) -> AskedQuestion:
    assert asked.note is not None and asked.note.asked is not None
    said = asked.note.asked
    text = said.text.replace("AS n FROM people;", "AS n FROM people WHERE age > 40;")
    assert text != said.text
    return replace(asked, note=replace(asked.note, asked=replace(said, text=text)))


def test_a_batch_of_questions_that_are_all_on_record_is_free(san: San) -> None:
    first = san.batch(QUESTIONS, epsilon=1)
    alone = san.query(CITIES, epsilon=LITTLE)
    explained = san.explain_batch([BY_SEX, CITIES, COUNT], epsilon=LITTLE)
    assert explained.cached and explained.fits
    assert [question.measured for question in explained.questions] == [
        "on record, as part of the batch that is number 1 of your history",
        "on record, as it was asked by itself",
        "on record, as part of the batch that is number 1 of your history",
    ]
    before = spent(san)
    sexes, cities, whole = san.batch([BY_SEX, CITIES, COUNT], epsilon=LITTLE)
    assert [shown(each) for each in (sexes, cities, whole)] == [
        shown(each) for each in (first[2], alone, first[0])
    ]
    assert all(answer.cached for answer in (sexes, cities, whole))
    assert spent(san) == before
    assert not san.batch([BY_SEX, COUNT], epsilon=LITTLE, fresh=True)[0].cached


def test_a_batch_with_one_question_that_is_not_on_record_is_charged_as_a_whole(san: San) -> None:
    san.batch(QUESTIONS, epsilon=1)
    more = [BY_SEX, COUNT, "SELECT AVG(age) AS mean FROM people"]
    assert not san.explain_batch(more, epsilon=LITTLE).cached
    assert not any(answer.cached for answer in san.batch(more, epsilon=LITTLE))
    assert spent(san) == 1 + LITTLE


def test_a_key_of_idempotency_is_not_bound_to_what_is_free(san: San) -> None:
    inner = san.batch(QUESTIONS, epsilon=1)
    for place in (0, 1):
        asked, passed = QuestionText(QUESTIONS[place]), {"epsilon": LITTLE}
        request = read_request(asked, san.analyst, passed, idempotency_key="k")
        assert shown(ask(san.session, request)) == shown(inner[place])
    assert spent(san) == 1


@pytest.mark.parametrize("sql", [COUNT, BY_BAND, BY_KIND, "SELECT AVG(price) AS mean FROM bought"])
def test_a_question_is_free_within_a_batch_s_epsilon_only_where_that_is_as_exact(
    san: San, sql: str
) -> None:
    """Of a batch's epsilon each question had a part: alone it has all of it."""
    questions = [*QUESTIONS, "SELECT AVG(price) AS mean FROM bought"]
    inner = san.batch(questions, epsilon=1)[questions.index(sql)]
    alone = san.query(sql, epsilon=1)
    assert not alone.cached
    for column in inner.intervals:
        assert _widest(alone, column) < _widest(inner, column)


def test_widths_that_bounds_cut_off_are_not_taken_for_alike(san: San) -> None:
    """Over 1,000 rows both say no more than the bounds; over as many as there are one says far more."""
    mean = "SELECT AVG(price) AS mean FROM bought"
    san.batch([mean, *QUESTIONS], epsilon="0.01")
    for epsilon in ("0.008", "0.005"):
        alone = san.explain(mean, epsilon=epsilon)
        assert [each.half_width for each in alone.expected] == [
            each.half_width for each in san.explain(mean, epsilon="0.001", fresh=True).expected
        ]
        assert not alone.cached


def test_a_number_that_says_nothing_is_told_under_the_answer(san: San) -> None:
    """More than half of draws are as wide as bounds: none of forty is with a chance below 1e-12."""
    mean, told = "SELECT AVG(price) AS mean, COUNT(*) AS n FROM bought", 0
    for _ in range(40):
        wide = san.query(mean, epsilon="0.001", fresh=True)
        lines = [line for line in wide.footer() if "says nothing" in line or "is NULL" in line]
        nothing = wide.rows[0][0] is None or tuple(wide.intervals["mean"][0] or ()) == (0, 50)
        assert len(lines) == nothing
        starts = "mean is NULL" if wide.rows[0][0] is None else "the interval of mean"
        assert all(line.startswith(starts) for line in lines)
        assert Answer.from_dict(wide.to_dict()).footer() == wide.footer()
        told += nothing
    assert told
    sure = san.query("SELECT AVG(price) AS mean, COUNT(*) AS n FROM bought", epsilon=4)
    assert not sure.nothing_told


def _widest(answer: Answer, column: str) -> float:
    """Return how wide the widest interval of a column is."""
    found = [each for each in answer.intervals[column] if each is not None]
    return max(float(high) - float(low) for low, high in found)
