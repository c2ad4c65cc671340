"""Rule 20: epsilon, delta, confidence and limits are read against a grammar, or refused."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from decimal import Decimal

import pytest

from sanql.errors import Refused
from sanql.san import San

pytestmark = pytest.mark.slow

ASKED = "SELECT COUNT(*) FROM people WHERE age = 11"
EPSILONS = [
    "nan", "NaN", "inf", "-inf", "infinity", "-1", "-0", "0", "0.0", "１", "٣", "1e-400", "5e-324", "1e400", "",
    " ", "1 ", "1,5", "1_000", "0x1", "1e", "½", "one", "1;2", "1\n", "+1", "1e5", "10001", "1" * 100,
    float("nan"), float("inf"), float("-inf"), -1, -0.5, 0, 0.0, -0.0, 5e-324, 1e308, True, False, [], {}, b"1",
    Decimal("NaN"), Decimal("Infinity"), Decimal("-1"), complex(1), b"1",
]  # fmt: skip
DELTAS = [*(value for value in EPSILONS if value not in ("-0", "0", "0.0", 0, 0.0, False)), "1", 1, "2", "1e-31"]  # fmt: skip


def untouched(san: San, sql: str, **wishes: object) -> Refused:
    """Return the refusal of a question; assert that the ledger did not see it."""
    before = len(list(san.ledger.records()))
    with pytest.raises(Refused) as caught:
        san.query(sql, **wishes)  # type: ignore[arg-type]
    assert len(list(san.ledger.records())) == before
    return caught.value


@pytest.mark.parametrize("epsilon", EPSILONS, ids=ascii)
def test_an_epsilon_that_is_none_is_refused(san: San, epsilon: object) -> None:
    assert untouched(san, ASKED, epsilon=epsilon).code == "epsilon_invalid"


@pytest.mark.parametrize("delta", DELTAS, ids=ascii)
def test_a_delta_that_is_none_is_refused(san: San, delta: object) -> None:
    assert untouched(san, ASKED, epsilon=1, delta=delta).code == "delta_invalid"


@pytest.mark.parametrize(
    "typed", ["nan", "-1", "0", "'1'x", "1e-400", "1 2", "1e+3", "0x1", "abs(1)"]
)
def test_an_epsilon_in_the_text_is_read_by_the_same_grammar(san: San, typed: str) -> None:
    sql = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon={typed}) COUNT(*) FROM people"
    assert untouched(san, sql).code in ("epsilon_invalid", "not_sql", "construct_unsupported")


def test_full_width_digits_in_the_text_are_refused(san: San) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=１) COUNT(*) FROM people"
    assert untouched(san, sql).code == "not_ascii"


def test_two_different_epsilons_are_refused_and_two_equal_ones_are_one(san: San) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    assert untouched(san, sql, epsilon=1).code == "option_twice"
    assert san.query(sql, epsilon=0.5).charge.epsilon * 2 == 1
    assert san.query(sql).cached


def test_a_question_without_a_price_is_refused(san: San) -> None:
    assert untouched(san, ASKED).code == "epsilon_needed"
    assert untouched(san, ASKED, epsilon=1, accuracy=5).code == "epsilon_and_accuracy"


@pytest.mark.parametrize("confidence", ["nan", "1", 1.0, 2, -1, "１", 0])
def test_a_confidence_that_is_none_is_refused(san: San, confidence: object) -> None:
    assert untouched(san, ASKED, epsilon=1, confidence=confidence).code == "confidence_invalid"


def test_what_to_write_instead_suits_what_was_meant(san: San) -> None:
    percent = untouched(san, ASKED, epsilon=1, confidence="95%")
    assert "0.95" in percent.remedy and "50" not in percent.remedy
    for epsilon in (-1, 0):
        assert "above 0" in untouched(san, ASKED, epsilon=epsilon).remedy


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("max_groups_contributed", "groups_invalid"),
        ("max_rows_contributed", "rows_invalid"),
        ("max_values_contributed", "values_invalid"),
        ("min_privacy_units_per_group", "units_invalid"),
        ("units_guessed", "units_invalid"),
        ("rows_guessed", "rows_invalid"),
    ],
)
@pytest.mark.parametrize("typed", [0, -1, "x", 1.5, True, "１"])
def test_a_limit_that_is_none_is_refused(san: San, limit: str, code: str, typed: object) -> None:
    refused = untouched(san, ASKED, epsilon=1, **{limit: typed})
    assert refused.code == code and limit in refused.message


def test_another_unit_than_the_policys_is_refused(san: San) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column=age) COUNT(*) FROM people"  # fmt: skip
    assert untouched(san, sql).code == "unit_differs"
