"""Parameters: a question with values beside it is the question with its constants written in."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.cli.parameters import typed
from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.parse.text.parameters import QuestionText
from sanql.policy.model import Table
from sanql.question.expressions import Literal
from support.counting import at_most

Tables = Mapping[str, Table]
WHERE = "SELECT COUNT(*) FROM people WHERE "
WRITTEN: list[tuple[str, Any, str]] = [
    ("age > ? AND city = ?", [40, "O'Hara"], "age > 40 AND city = 'O''Hara'"),
    ("income > $2 AND age < $1 OR age = $1", [-3, Decimal("1.50")], "income > 1.50 AND age < -3 OR age = -3"),
    ("born > :d AND seen < $t", {"d": date(2020, 1, 1), "t": datetime(2021, 1, 1, 3, 4, 5, 6)},
     "born > DATE '2020-01-01' AND seen < TIMESTAMP '2021-01-01 03:04:05.000006'"),
    ("CASE WHEN age > $a THEN income ELSE $b END > 3", {"a": 1, "b": None}, "CASE WHEN age > 1 THEN income ELSE NULL END > 3"),
    ("city LIKE ? ESCAPE ? AND member = ? AND age IN (?, ?)", ["a!%%", "!", True, 1, 2],
     "city LIKE 'a!%%' ESCAPE '!' AND member = TRUE AND age IN (1, 2)"),
    ("DATE_TRUNC(?, born) = ? AND DATE_PART(?, born) = 1 AND EXTRACT(year FROM born) = ?", ["month", "2020-01-01", "month", 2000],
     "DATE_TRUNC('month', born) = '2020-01-01' AND DATE_PART('month', born) = 1 AND EXTRACT(year FROM born) = 2000"),
    ("STRFTIME(born, ?) = ? AND TO_CHAR(born, ?) = ?", ["%Y-%m", "2020-01", "YYYY", "2020"],
     "STRFTIME(born, '%Y-%m') = '2020-01' AND TO_CHAR(born, 'YYYY') = '2020'"),
    ("born + INTERVAL ? DAY > ? AND born - INTERVAL ? < ?", [3, date(2000, 1, 1), "3 days", "2001-01-01"],
     "born + INTERVAL 3 DAY > DATE '2000-01-01' AND born - INTERVAL '3 days' < '2001-01-01'"),
    ("CAST(? AS DATE) < born AND born < ?::DATE", ["2020-01-01", "2021-01-01"], "CAST('2020-01-01' AS DATE) < born AND born < '2021-01-01'::DATE"),
    ("REGEXP_MATCHES(city, ?) AND SPLIT_PART(city, ?, ?) = ? AND LPAD(city, ?, ?) = 'x'", ["a+", "-", 1, "x", 3, " "],
     "REGEXP_MATCHES(city, 'a+') AND SPLIT_PART(city, '-', 1) = 'x' AND LPAD(city, 3, ' ') = 'x'"),
    ("? AND age > ? - 5 AND age << ? > 3 AND age ** ? > 3", [False, 3, 2, 2], "FALSE AND age > 3 - 5 AND age << 2 > 3 AND age ** 2 > 3"),
    ("city IN (SELECT city FROM cities WHERE city <> ?) AND city <> '?'", ["y"], "city IN (SELECT city FROM cities WHERE city <> 'y') AND city <> '?'"),
    ("age BETWEEN $lo AND $hi /* ? */ OR age = $lo -- ?", {"lo": 0, "hi": Fraction(3, 2)}, "age BETWEEN 0 AND 1.5 OR age = 0"),
    ("weight > ? OR weight < ? OR weight = ? OR weight = ?", [0.1, 1e22, -1e-7, Fraction(-1, 8)],
     "weight > 0.1 OR weight < 1e22 OR weight = -1e-7 OR weight = -0.125"),
]  # fmt: skip
WHOLE: list[tuple[str, Any, str]] = [
    ("SELECT city, COUNT(*) FROM people GROUP BY city HAVING COUNT(*) > ? LIMIT ? OFFSET ?", [5, 10, 3],
     "SELECT city, COUNT(*) FROM people GROUP BY city HAVING COUNT(*) > 5 LIMIT 10 OFFSET 3"),
    ("SELECT COUNT(*) FROM people FETCH FIRST ? ROWS ONLY", [3], "SELECT COUNT(*) FROM people FETCH FIRST 3 ROWS ONLY"),
    ("SELECT QUANTILE_CONT(age, ?), PERCENTILE_CONT(?) WITHIN GROUP (ORDER BY age), APPROX_QUANTILES(age, ?)[OFFSET(?)] FROM people",
     [0.25, Fraction(1, 2), 4, 1],
     "SELECT QUANTILE_CONT(age, 0.25), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age), APPROX_QUANTILES(age, 4)[OFFSET(1)] FROM people"),
    ("SELECT SUM(free, contribution_bounds_per_row => ($a, $b)) FROM people", {"a": -1.5, "b": 10},
     "SELECT SUM(free, contribution_bounds_per_row => (-1.5, 10)) FROM people"),
    ("SELECT ROUND(AVG(income), ?), WIDTH_BUCKET(age, ?, ?, ?) FROM people GROUP BY 2", [2, 0, 100, 10],
     "SELECT ROUND(AVG(income), 2), WIDTH_BUCKET(age, 0, 100, 10) FROM people GROUP BY 2"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM people WHERE age > ?", [1],
     "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) COUNT(*) FROM people WHERE age > 1"),
    ("SELECT city FROM cities WHERE city > $from", {"from": "B"}, "SELECT city FROM cities WHERE city > 'B'"),
]  # fmt: skip
QUESTIONS = [*((WHERE + sql, values, WHERE + written) for sql, values, written in WRITTEN), *WHOLE]


class Colour(IntEnum):
    RED = 1


REFUSED: dict[str, list[tuple[str, Any]]] = {
    "parameter_missing": [
        (WHERE + "age > ?", None),
        (WHERE + "age > ? AND age < ?", [1]),
        (WHERE + "age > $agee", {"age": 1}),
        (WHERE + "age > :age", [1]),
        (WHERE + "age > $0", [1]),
    ],
    "parameter_unused": [
        (WHERE + "age > ?", [1, 2]),
        (WHERE + "age > $a", {"a": 1, "b": 2}),
        ("SELECT COUNT(*) FROM people", {"Robert'); DROP TABLE": 1}),
        (WHERE + "city = '?'", ["x"]),
    ],
    "parameter_mixed": [(WHERE + "age > ? AND age < $1", [1])],
    "parameter_place": [
        ("SELECT COUNT(*) FROM ?", ["people"]),
        ("SELECT COUNT(*) FROM people AS ?", ["p"]),
        ("SELECT COUNT(*) AS ? FROM people", ["n"]),
        ("SELECT city, COUNT(*) FROM people GROUP BY ?", [1]),
        ("SELECT city, COUNT(*) FROM people GROUP BY (?)", [1]),
        ("SELECT city, COUNT(*) FROM people GROUP BY city ORDER BY ?", [1]),
        (WHERE + "age IS ?", [None]),
        (WHERE + "age IS NOT ?", [None]),
        (WHERE + "people.$a = 1", {"a": "age"}),
        (WHERE + "CAST(age AS DECIMAL(?, 2)) > 1", [9]),
        (WHERE + "city ? 'a'", ["a"]),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=?) COUNT(*) FROM people", [1]),
    ],
    "parameter_invalid": [
        (WHERE + "age > ?", 1),
        (WHERE + "city > ?", "a"),
        (WHERE + "city > ?", {1: "a"}),
        (WHERE + "age > ?", [float("nan")]),
        (WHERE + "age > ?", [float("-inf")]),
        (WHERE + "age > ?", [Decimal("sNaN")]),
        (WHERE + "age > ?", [Fraction(1, 3)]),
        (WHERE + "city > ?", [b"x"]),
        (WHERE + "age IN (?)", [[1, 2]]),
        (WHERE + "age > ?", [Colour.RED]),
        (WHERE + "seen > ?", [datetime(2020, 1, 1, tzinfo=UTC)]),
    ],
    "number_invalid": [
        (WHERE + "age > ?", [10**5000]),
        (WHERE + "age > ?", [-(2**100)]),
        (WHERE + "age > ?", [Decimal(10) ** 500]),
        (WHERE + "age > ?", [Fraction(10**60)]),
        (WHERE + "age > ?", [Decimal("1." + "1" * 50)]),
    ],
    "query_too_long": [
        (WHERE + "city > ?", ["x" * 70_000]),
        (WHERE + "city > $1 OR city < $1", ["x" * 40_000]),
    ],
    "not_text": [(WHERE + "city > ?", ["\ud800"])],
    "control_character": [(WHERE + "city > ?", ["a\0b"])],
    "limit_invalid": [
        ("SELECT COUNT(*) FROM people LIMIT ?", [-1]),
        ("SELECT COUNT(*) FROM people LIMIT ?", ["1"]),
        ("SELECT COUNT(*) FROM people LIMIT ?", [True]),
        ("SELECT COUNT(*) FROM people LIMIT ?", [None]),
    ],
    "type_mismatch": [(WHERE + "age > ?", ["x40"]), (WHERE + "?", ["member"])],
    "in_not_a_list": [(WHERE + "age IN ?", [1])],
}  # fmt: skip
CASES = [(code, sql, values) for code, cases in REFUSED.items() for sql, values in cases]


@pytest.mark.parametrize(("sql", "values", "written"), QUESTIONS)
def test_a_question_with_parameters_is_the_one_with_its_constants_written_in(
    tables: Tables, sql: str, values: Any, written: str
) -> None:
    assert parse(QuestionText(sql, values), tables) == parse(written, tables)


@pytest.mark.parametrize(("code", "sql", "values"), CASES)
def test_what_is_no_parameter_is_refused_by_name(
    tables: Tables, code: str, sql: str, values: Any
) -> None:
    with pytest.raises(Refused) as caught:
        parse(QuestionText(sql, values), tables)
    assert caught.value.code == code, caught.value
    assert caught.value.remedy
    assert len(str(caught.value)) < 500


def test_scalars_of_numpy_and_moments_of_pandas_are_values_like_python_s_own(
    tables: Tables,
) -> None:
    values = [np.float64(0.1), np.int64(-3), np.uint8(7), np.bool_(True), np.str_("x")]
    sql = WHERE + "weight > ? AND age > ? AND age < ? AND member = ? AND city = ?"
    written = WHERE + "weight > 0.1 AND age > -3 AND age < 7 AND member = TRUE AND city = 'x'"
    assert parse(QuestionText(sql, values), tables) == parse(written, tables)  # type: ignore[arg-type]
    moment = pd.Timestamp("2021-01-01 03:04:05.000006")
    seen = parse(QuestionText(WHERE + "seen < ?", [moment]), tables)
    assert seen == parse(WHERE + "seen < TIMESTAMP '2021-01-01 03:04:05.000006'", tables)


@pytest.mark.parametrize(
    "value",
    [
        np.float64("nan"), np.float64("inf"), np.complex128(1), np.datetime64("2020-01-01"),
        np.array([1]), np.array(1), np.longdouble(1), pd.NaT, pd.NA, pd.Timedelta(1),
        pd.Timestamp("2021-01-01 00:00:00.000000001"), pd.Timestamp("2021-01-01", tz="UTC"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_of_numpy_and_pandas_is_no_constant_is_refused(tables: Tables, value: Any) -> None:
    with pytest.raises(Refused) as refused:
        parse(QuestionText(WHERE + "age > ?", [value]), tables)
    assert refused.value.code == "parameter_invalid"


def test_a_missing_parameter_is_named_with_its_place_and_a_near_one(tables: Tables) -> None:
    with pytest.raises(Refused) as caught:
        parse(QuestionText(WHERE + "\n  age > $agee", {"age": 1}), tables)
    assert "$agee has no value (line 2, column 9)" in caught.value.message
    assert "did you mean age?" in caught.value.remedy


def masked(node: object) -> object:
    """Return a tree in which every constant is the same."""
    if isinstance(node, Literal):
        return "constant"
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        names = [field.name for field in dataclasses.fields(node) if field.name != "text"]
        fields = [getattr(node, name) for name in names]
        return (type(node).__name__, *(masked(value) for value in fields))
    return tuple(masked(part) for part in node) if isinstance(node, tuple) else node


HOSTILE = [
    "' OR TRUE --", "'; DROP TABLE people; --", '"', "people", "age", "?", "$1", ":x", "NULL", "/*", "*/",
    "1) OR (1=1", "\\", "\\'", "''", "{x: 1}", "SELECT * FROM people", "%", "$$", "e'\\n'", "１",
]  # fmt: skip


@pytest.mark.slow
@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_no_text_changes_the_shape_of_a_question(tables: Tables, text: str) -> None:
    sql = (
        "SELECT city, SUM(CASE WHEN city = ? THEN age ELSE 0 END) AS n FROM people "
        "WHERE city <> ? AND city IN (?, 'a') OR REPLACE(city, ?, 'b') = ? GROUP BY city "
        "HAVING city < ? ORDER BY n"
    )
    plain = parse(QuestionText(sql, ["x"] * 6), tables).query
    try:
        asked = parse(QuestionText(sql, [text] * 6), tables).query
    except Refused as refused:
        assert refused.code in ("not_text", "control_character")
        return
    assert masked(asked) == masked(plain)
    assert text in [value for _, value in _literals(asked)]


def _literals(node: object) -> list[tuple[str, object]]:
    if isinstance(node, Literal):
        return [("literal", node.value)]
    parts: tuple[object, ...] = ()
    if isinstance(node, tuple):
        parts = node
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        parts = tuple(getattr(node, field.name) for field in dataclasses.fields(node))
    return [found for part in parts for found in _literals(part)]


@given(st.one_of(st.integers(), st.floats(), st.decimals(), st.fractions()))
def test_a_number_arrives_exactly_or_is_refused(tables: Tables, number: Any) -> None:
    try:
        query = parse(QuestionText(WHERE + "weight > ?", [number]), tables).query
    except Refused as refused:
        assert refused.code in ("parameter_invalid", "number_invalid")
        return
    exact = Fraction(repr(number)) if isinstance(number, float) else Fraction(number)
    assert [value for _, value in _literals(query)] == [exact]


def test_a_million_values_are_refused_after_few_steps(tables: Tables) -> None:
    many = [0] * 1_000_000
    with at_most(), pytest.raises(Refused) as caught:
        parse(QuestionText(WHERE + "age > ?", many), tables)
    assert caught.value.code == "parameter_unused"


def test_a_command_line_types_values_by_their_looks_or_by_name() -> None:
    given = typed(
        ["a=40", "b=-1.50", "c=Bern", "d=", "e=true", "f=NULL", "g:text=40", "h:date=2026-01-31",
         "i:timestamp=2026-01-31 12:00:00", "j=2026-01-31", "k=x=y", "1=1e3", "l:boolean=false",
         "m=nan", "n=１"]
    )  # fmt: skip
    assert given == {
        "a": 40, "b": Decimal("-1.50"), "c": "Bern", "d": "", "e": True, "f": None, "g": "40",
        "h": date(2026, 1, 31), "i": datetime(2026, 1, 31, 12), "j": "2026-01-31", "k": "x=y",
        "1": Decimal("1e3"), "l": False, "m": "nan", "n": "１",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["age"], "parameter_invalid"),
        (["a-b=1"], "parameter_invalid"),
        (["a:decade=1"], "parameter_invalid"),
        (["a:date=31.1.2026"], "parameter_invalid"),
        (["a:number=many"], "parameter_invalid"),
        (["a:boolean=2"], "parameter_invalid"),
        (["a=1", "a=2"], "parameter_twice"),
    ],
)
def test_what_a_command_line_cannot_type_is_refused(given: list[str], code: str) -> None:
    with pytest.raises(Refused) as caught:
        typed(given)
    assert caught.value.code == code
