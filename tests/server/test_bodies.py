"""Bodies of requests: every number exact and of one grammar, nothing deep, long or twice."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from sanql.errors import Refused, ServerError
from sanql.server.http.bodies import read_body, read_question_request, take_text

COUNT = "SELECT COUNT(*) FROM people"


def read(text: str) -> dict[str, object]:
    return read_body(text.encode(), "application/json")


@pytest.mark.parametrize(
    "number",
    ["1e9999999999999999999999", "1e-9999999999999999999999", "1E1000", "0." + "1" * 400,
     "9" * 401, "-" + "9" * 400, "1e+0001000"],
)  # fmt: skip
def test_a_number_that_is_too_long_is_refused(number: str) -> None:
    with pytest.raises(ServerError, match="too long") as refused:
        read(f'{{"epsilon": {number}}}')
    assert refused.value.code == "body_invalid"


def test_numbers_are_exact() -> None:
    shape = read('{"a": 0.1, "b": 1e-7, "c": 12345678901234567890, "d": 1e0000000999}')
    assert shape == {
        "a": Decimal("0.1"),
        "b": Decimal("1e-7"),
        "c": 12345678901234567890,
        "d": Decimal("1e999"),
    }


def test_a_small_price_is_a_price_however_json_writes_it() -> None:
    for text in ("0.0000001", "1e-7", "1E-07", "10e-8", '"0.0000001"'):
        request = read_question_request(
            read(f'{{"sql": "{COUNT}", "epsilon": {text}}}'), "ana", None
        )
        assert request.options.epsilon == Fraction(1, 10**7), text


@pytest.mark.parametrize("text", ["{}", "[]", "7", '"a"', "null", "true", "{", "", "\ufeff{}"])
def test_a_body_is_an_object(text: str) -> None:
    if text == "{}":
        assert read(text) == {}
        return
    with pytest.raises(ServerError):
        read(text)


@pytest.mark.parametrize("depth", [10, 900, 5_000, 100_000])
@pytest.mark.parametrize("name", ["accuracy", "epsilon", "parameters", "sql", "dataset", "other"])
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_depth_is_refused_wherever_it_is(depth: int, name: str, brackets: tuple[str, str]) -> None:
    opening, closing = brackets
    text = f'{{"sql": "{COUNT}", "{name}": {opening * depth}1{closing * depth}}}'
    if name == "sql":
        text = text.replace(f'"sql": "{COUNT}", ', "")
    with pytest.raises((ServerError, Refused)):
        body = read(text)
        take_text(body, "dataset")
        read_question_request(body, "ana", None)


VALUES = [
    (None, None),
    (True, True),
    (7, 7),
    ("a", "a"),
    ({"date": "2024-01-31"}, date(2024, 1, 31)),
    ({"timestamp": "2024-01-31T10:20:30"}, datetime(2024, 1, 31, 10, 20, 30)),
    ({"decimal": "-0.10"}, Decimal("-0.10")),
    ({"decimal": "1e3"}, Decimal("1e3")),
]


@pytest.mark.parametrize(("written", "value"), VALUES, ids=str)
def test_parameters_have_types(written: object, value: object) -> None:
    body = {"sql": COUNT, "epsilon": "1", "parameters": [written]}
    parameters = read_question_request(body, "ana", None).asked.parameters
    assert parameters == [value]


@pytest.mark.parametrize(
    "written",
    [[], {}, {"date": "2024-01-31", "more": 1}, {"day": "2024-01-31"}, {"date": 7},
     {"date": "31.1.2024"}, {"date": ""}, {"date": "2024-01-31T00:00"}, {"date": "99999-01-01"},
     {"timestamp": "now"}, {"timestamp": None}, {"decimal": 7}, {"decimal": "NaN"},
     {"decimal": "sNaN"}, {"decimal": "Infinity"}, {"decimal": "１２"}, {"decimal": "1_000"},
     {"decimal": " 1 "}, {"decimal": "+1"}, {"decimal": ".5"}, {"decimal": "5."}, {"decimal": ""},
     {"decimal": "1e9999999999"}, {"decimal": "9" * 500}, {"decimal": "0x10"}, {"decimal": "1\n"}],
    ids=str,
)  # fmt: skip
def test_a_parameter_that_is_of_no_type_is_refused(written: object) -> None:
    with pytest.raises(ServerError) as refused:
        read_question_request({"sql": COUNT, "epsilon": "1", "parameters": [written]}, "ana", None)
    assert refused.value.code == "body_invalid"


def test_what_is_not_understood_is_named_and_cut() -> None:
    with pytest.raises(Refused) as refused:
        read_question_request({"sql": COUNT, "epsilon": "1", "x" * 100_000: 1}, "ana", None)
    assert refused.value.code == "option_unknown" and len(str(refused.value)) < 1_000


def test_the_analyst_is_never_in_the_body() -> None:
    for name in ("analyst", "person", "user", "role", "Analyst"):
        with pytest.raises(Refused, match=name):
            read_question_request({"sql": COUNT, "epsilon": "1", name: "bo"}, "ana", None)
    assert read_question_request({"sql": COUNT, "epsilon": "1"}, "ana", None).analyst == "ana"


@pytest.mark.parametrize(
    "media",
    ["application/json", "application/JSON; charset=utf-8", " application/json "],
)
def test_json_is_json_however_its_name_is_written(media: str) -> None:
    assert read_body(json.dumps({"a": 1}).encode(), media) == {"a": 1}
