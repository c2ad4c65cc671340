from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.errors import Refused
from sanql.numbers import parse_delta, parse_epsilon, show_lower, show_upper


@pytest.mark.parametrize(
    ("typed", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        ("1", Fraction(1)),
        ("1.", Fraction(1)),
        (".5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("2.5E2", Fraction(250)),
        (0.1, Fraction(1, 10)),
        (1, Fraction(1)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.7), Fraction(7, 10)),
        ("1e-9", Fraction(1, 10**9)),
        ("10000", Fraction(10**4)),
    ],
)
def test_an_epsilon_is_read_exactly_as_typed(typed: object, exact: Fraction) -> None:
    assert parse_epsilon(typed) == exact


NOT_NUMBERS = [
    "nan", "NaN", "inf", "-inf", "Infinity", float("nan"), float("inf"), Decimal("NaN"),
    Decimal("sNaN"), Decimal("Infinity"), "-1", -1, -0.5, Fraction(-1, 2), "+1", "1e+2", "１",
    "٣", "1_000", "0x1", " 1", "1 ", "1\n", "", ".", "e5", "1e", "1,5", "1/2", "--1", True, False,
    None, b"1", [1], 1j, "0." + "1" * 60, "1" * 50, 10**50, Fraction(1, 10**41), "1e9999", "²",
    object(),
]  # fmt: skip


@pytest.mark.parametrize("typed", [*NOT_NUMBERS, "0", 0, "0.0", 5e-324, "1e-10", "10001", 1e308])
def test_what_is_no_plain_epsilon_is_refused_by_name(typed: object) -> None:
    with pytest.raises(Refused) as refusal:
        parse_epsilon(typed)
    assert refusal.value.code == "epsilon_invalid"
    assert len(refusal.value.message) < 200


@pytest.mark.parametrize("typed", [*NOT_NUMBERS, "1", 1, 1.0, "1e-31", 5e-324])
def test_what_is_no_plain_delta_is_refused_by_name(typed: object) -> None:
    with pytest.raises(Refused) as refusal:
        parse_delta(typed)
    assert refusal.value.code == "delta_invalid"


@pytest.mark.parametrize(
    ("typed", "exact"),
    [
        ("0", Fraction(0)),
        (0, Fraction(0)),
        (1e-6, Fraction(1, 10**6)),
        ("1e-30", Fraction(1, 10**30)),
    ],
)
def test_a_delta_is_read_exactly_as_typed(typed: object, exact: Fraction) -> None:
    assert parse_delta(typed) == exact


def test_a_refusal_quotes_what_was_typed() -> None:
    with pytest.raises(Refused, match="'1_0'"):
        parse_epsilon("1_0")


@given(st.text(max_size=50))
def test_any_text_is_read_as_python_reads_fractions_or_refused(text: str) -> None:
    try:
        parsed = parse_epsilon(text)
    except Refused:
        return
    assert text.isascii()
    assert parsed == Fraction(text)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_shown_numbers_bracket_the_exact_one_closely(value: Fraction) -> None:
    low, high = Fraction(show_lower(value)), Fraction(show_upper(value))
    assert low <= value <= high
    assert high - low <= value / 10**4


@pytest.mark.parametrize("value", [Fraction(1139667, 500000), Fraction(2279334, 10**6)])
def test_a_number_has_as_many_digits_however_it_is_reduced(value: Fraction) -> None:
    assert (show_lower(value, 4), show_upper(value, 4)) == ("2.279", "2.28")
    assert show_lower(Fraction(99996, 10**5), 4) == "0.9999"


@pytest.mark.slow
@given(st.fractions(min_value=0, max_value=10), st.fractions(min_value=0, max_value=10))
def test_spent_and_left_as_shown_exceed_their_sum_by_at_most_a_last_digit(
    spent: Fraction, left: Fraction
) -> None:
    shown = Fraction(show_upper(spent)) + Fraction(show_lower(left))
    assert shown - (spent + left) <= max(spent, Fraction(1, 10**9)) / 10**5


def test_an_integer_too_long_to_print_is_refused_without_printing_it() -> None:
    with pytest.raises(Refused, match="of type int"):
        parse_epsilon(10**5000)
