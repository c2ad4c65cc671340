"""Asking by accuracy: the least epsilon that reaches a width, and how wishes are typed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from sanql.errors import Refused
from sanql.options import Accuracy
from sanql.options.values import parse_accuracy, parse_confidence
from sanql.plan import price
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.level import LevelOutline
from support.one_level import outline_of

Outlined = Callable[..., LevelOutline]


def widest(
    outlined: LevelOutline, epsilon: Fraction, delta: Fraction, wanted: Accuracy
) -> Fraction:
    planned = price(outline_of(outlined), epsilon, delta).levels[0]
    widths = [
        half_width(planned, index, wanted.confidence, wanted.rows)
        for index in range(len(planned.estimates))
    ]
    return max(width for width in widths if width is not None)


WISHES = [
    ("SELECT COUNT(*) FROM people", "0", Accuracy(Fraction(50))),
    ("SELECT COUNT(*) FROM people", "0", Accuracy(Fraction(50), Fraction(999, 1000))),
    ("SELECT COUNT(*) FROM people", "0", Accuracy(Fraction(10**9))),
    ("SELECT SUM(income), COUNT(*) FROM visits", "0", Accuracy(Fraction(20_000))),
    ("SELECT sex, AVG(age) FROM visits GROUP BY sex", "1e-6", Accuracy(Fraction(2), rows=5000)),
    ("SELECT city, COUNT(*) FROM visits GROUP BY city", "1e-6", Accuracy(Fraction(100))),
]


@pytest.mark.parametrize(("sql", "delta", "wanted"), WISHES)
def test_the_least_epsilon_meets_the_width_and_a_smaller_one_does_not(
    outlined: Outlined, sql: str, delta: str, wanted: Accuracy
) -> None:
    outline = outlined(sql)
    epsilon = least_epsilon(outline_of(outline), Fraction(delta), wanted)
    assert widest(outline, epsilon, Fraction(delta), wanted) <= wanted.half_width
    smaller = epsilon * Fraction(98, 100)
    assert widest(outline, smaller, Fraction(delta), wanted) > wanted.half_width


def test_a_width_beyond_any_noise_is_still_answered(outlined: Outlined) -> None:
    # the search passes epsilons whose noise would be too large to draw
    outline = outlined("SELECT SUM(weight) FROM visits")
    assert least_epsilon(outline_of(outline), Fraction(0), Accuracy(Fraction(10**15))) > 0


@pytest.mark.parametrize(
    ("sql", "wanted", "code"),
    [
        ("SELECT AVG(age) FROM visits", Accuracy(Fraction(1)), "accuracy_needs_rows"),
        ("SELECT COUNT(*) FROM open", Accuracy(Fraction(1)), "accuracy_not_applicable"),
        ("SELECT SUM(income) FROM visits", Accuracy(Fraction(1, 1000)), "accuracy_impossible"),
    ],
)
def test_an_accuracy_that_cannot_be_is_refused(
    outlined: Outlined, sql: str, wanted: Accuracy, code: str
) -> None:
    with pytest.raises(Refused) as caught:
        least_epsilon(outline_of(outlined(sql)), Fraction(0), wanted)
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.parametrize("typed", ["5", "0.25 at 0.99", "2% of 50"])
def test_what_an_accuracy_that_lacks_rows_is_told_to_be_can_be_asked(
    outlined: Outlined, typed: str
) -> None:
    outline, wanted = (
        outlined("SELECT sex, AVG(age) FROM visits GROUP BY sex"),
        parse_accuracy(typed),
    )
    with pytest.raises(Refused) as caught:
        least_epsilon(outline_of(outline), Fraction(0), wanted)
    shown = parse_accuracy(caught.value.remedy.split("'")[1])
    assert shown == replace(wanted, rows=1000)
    assert least_epsilon(outline_of(outline), Fraction(0), shown) > 0


F = Fraction
FORMS = [
    (50, Accuracy(F(50))),
    (0.5, Accuracy(F(1, 2))),
    ("50", Accuracy(F(50))),
    ("1e3", Accuracy(F(1000))),
    ("50 at 0.99", Accuracy(F(50), F(99, 100))),
    ("2% of 10000", Accuracy(F(200))),
    ("2 % of 1e4 at 0.9 over 500 rows", Accuracy(F(200), F(9, 10), 500)),
    ("3 over 500", Accuracy(F(3), rows=500)),
    ({"half_width": 50}, Accuracy(F(50))),
    ({"half_width": "0.5", "confidence": "0.9", "rows": 10}, Accuracy(F(1, 2), F(9, 10), 10)),
    ({"relative": 0.02, "guess": 10000}, Accuracy(F(200))),
    (Accuracy(F(7)), Accuracy(F(7))),
    (F(7, 2), Accuracy(F(7, 2))),
]


@pytest.mark.parametrize(("typed", "accuracy"), FORMS)
def test_an_accuracy_is_read_exactly(typed: object, accuracy: Accuracy) -> None:
    assert parse_accuracy(typed) == accuracy


@pytest.mark.parametrize(
    "typed",
    ["", "x", "-5", "0", "nan", "inf", "１", "2%", "2% of", "5 at", "5 at 1", "5 at 2", "5 over 0 rows",
     "1e999", 0, -1, float("nan"), float("inf"), True, None, [], {}, {"half_width": 1, "relative": 1},
     {"relative": 0.1}, {"half_width": 1, "colour": 2}, {"half_width": 1, "rows": 0},
     {"half_width": 1, "rows": "x"}, {"half_width": None}, F(0), F(-1)],
)  # fmt: skip
def test_an_accuracy_that_is_none_is_refused(typed: object) -> None:
    with pytest.raises(Refused) as caught:
        parse_accuracy(typed)
    assert caught.value.remedy


@pytest.mark.parametrize("typed", ["0.95", 0.95, F(19, 20), "95e-2"])
def test_a_confidence_is_read_exactly(typed: object) -> None:
    assert parse_confidence(typed) == F(19, 20)


@pytest.mark.parametrize(
    "typed",
    [
        "0",
        "1",
        0,
        1,
        "1.5",
        "-0.5",
        "nan",
        "１",
        "",
        None,
        True,
        "0.9999999999",
        F(3, 2),
        F(-1),
        "95%",
    ],
)
def test_a_confidence_that_is_none_is_refused(typed: object) -> None:
    with pytest.raises(Refused) as caught:
        parse_confidence(typed)
    assert caught.value.code == "confidence_invalid"
