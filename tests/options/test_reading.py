"""Options are read once, and mean the same whichever door they came through."""

from __future__ import annotations

import inspect
from dataclasses import fields
from fractions import Fraction

import pytest

from sanql.cli.ask import explain, query
from sanql.errors import Refused
from sanql.options import OPTIONS, AnswerOptions, Options, read_options

TYPED = {
    "epsilon": ("0.5", Fraction(1, 2)),
    "delta": ("1e-6", Fraction(1, 10**6)),
    "max_groups_contributed": ("3", 3),
    "max_rows_contributed": ("5", 5),
    "max_values_contributed": ("3", 3),
    "min_privacy_units_per_group": ("20", 20),
    "other": ("(rest)", "(rest)"),
    "nonnegative": ("TRUE", True),
    "rounded": ("10", Fraction(10)),
}


@pytest.mark.parametrize("name", TYPED)
def test_an_option_means_the_same_in_the_text_and_beside_it(name: str) -> None:
    typed, value = TYPED[name]
    in_text, beside = read_options({name: typed}), read_options({}, {name: typed})
    assert in_text == beside == read_options({name: typed}, {name: typed})
    assert getattr(in_text, name) == value


def test_a_flag_may_be_passed_as_python_or_as_text_has_it() -> None:
    assert read_options({"nonnegative": "true"}, {"nonnegative": True}).nonnegative
    assert not read_options({}, {"nonnegative": False}).nonnegative


@pytest.mark.parametrize("name", ["epsilon", "delta", "other"])
def test_two_different_values_of_an_option_are_refused(name: str) -> None:
    other = {"epsilon": "0.6", "delta": "1e-7", "other": "(others)"}[name]
    with pytest.raises(Refused) as caught:
        read_options({name: TYPED[name][0]}, {name: other})
    assert caught.value.code == "option_twice"


def test_an_option_that_is_not_known_is_refused_by_name_with_those_that_are() -> None:
    with pytest.raises(Refused) as caught:
        read_options({}, {"epsilom": 1})
    assert caught.value.code == "option_unknown"
    assert "epsilom" in caught.value.message and "epsilon" in caught.value.remedy


def test_what_only_a_text_may_say_cannot_be_passed_beside_it() -> None:
    with pytest.raises(Refused):
        read_options({}, {"privacy_unit_column": "person_id"})


@pytest.mark.parametrize(
    ("passed", "code"),
    [
        ({"epsilon": 1, "accuracy": 50}, "epsilon_and_accuracy"),
        ({"rounded": 10, "accuracy": 50}, "rounded_and_accuracy"),
        ({"exact": True, "epsilon": 1}, "exact_price"),
        ({"exact": True, "fresh": True}, "exact_price"),
        ({"exact": True, "rounded": 10}, "exact_form"),
    ],
)
def test_options_that_cannot_both_be_met_are_refused(passed: dict[str, object], code: str) -> None:
    with pytest.raises(Refused) as caught:
        read_options({}, passed)
    assert caught.value.code == code


def test_the_confidence_is_the_asked_one_or_the_accuracys_or_95_percent() -> None:
    assert read_options({}).confidence == Fraction(95, 100)
    assert read_options({}, {"accuracy": "50 at 0.9"}).confidence == Fraction(9, 10)
    both = read_options({}, {"accuracy": "50", "confidence": "0.8"})
    assert both.confidence == Fraction(8, 10)
    assert both.accuracy is not None and both.accuracy.confidence == Fraction(8, 10)


def test_every_option_of_the_table_is_typed_read_and_offered_by_the_commands() -> None:
    beside = {option.name for option in OPTIONS if option.flags}
    assert Options.__annotations__.keys() == beside
    read = {field.name for field in fields(AnswerOptions)}
    assert {option.name for option in OPTIONS} - {"release"} == read
    for command in (query, explain):
        assert beside <= {parameter.name for parameter in command.params}


def test_reading_options_needs_nothing_heavy() -> None:
    import sanql.options

    source = inspect.getsource(sanql.options.table) + inspect.getsource(sanql.options.read)
    imported = [line for line in source.splitlines() if line.startswith("from sanql.")]
    assert {line.split()[1].split(".")[1] for line in imported} <= {"errors", "numbers", "options"}
