"""Every spelling of every function is understood, as the operator it means."""

# ruff: noqa: E501  (a list of calls stands on few lines)
from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import pytest

from sanql.errors import Refused
from sanql.functions.allowed import NAMES
from sanql.parse.expressions.operators import CALLS
from sanql.parse.question import Question
from sanql.question.expressions import Call, Expr, Literal, Type

Ask = Callable[[str], Question]
Refusal = Callable[[str], Refused]

# operands for the names that take them in the usual order
OPERANDS = {
    **dict.fromkeys(["divide", "modulo", "power", "atan2", "log", "least", "greatest", "nullif"], "age, weight"),
    **dict.fromkeys(["gcd", "lcm", "bit_xor", "integer_divide"], "age, big"),
    **dict.fromkeys(["bit_count", "chr"], "big"),
    **dict.fromkeys(["round", "truncate"], "weight, 1"),
    **dict.fromkeys(["lower", "upper", "initcap", "reverse", "strip_accents", "trim", "ltrim", "rtrim"], "city"),
    **dict.fromkeys(["length", "strlen", "bit_length", "ascii", "unicode"], "city"),
    **dict.fromkeys(["left", "right", "repeat"], "city, 2"),
    **dict.fromkeys(["concat", "starts_with", "ends_with"], "city, city"),
    **dict.fromkeys(["contains", "strpos", "regexp_matches", "regexp_full_match", "regexp_extract"], "city, 'a'"),
    **dict.fromkeys(["lpad", "rpad"], "city, 5, 'x'"),
    "coalesce": "age, 0", "case": "member, age, 0", "width_bucket": "age, 0, 100, 10", "pi": "",
    "substring": "city, 2, 3", "split_part": "city, ',', 1", "replace": "city, 'a', 'b'",
    "translate": "city, 'a', 'b'", "concat_ws": "'-', city, city", "regexp_replace": "city, 'a', 'b'",
    "cast_date": "seen", "cast_timestamp": "born", "make_date": "age, 1, 1", "last_day": "born",
    "dayname": "born", "monthname": "seen", "epoch": "seen", "epoch_ms": "seen", "to_timestamp": "big",
}  # fmt: skip
REVERSED = {
    "CHARINDEX": "CHARINDEX('a', city)",
    "LOCATE": "LOCATE('a', city)",
    "POSITION": "POSITION('a' IN city)",
}
# names whose operands are arranged, and the operator each becomes
ARRANGED = {
    "ZEROIFNULL(age)": "coalesce",
    "NULLIFZERO(age)": "nullif",
    "DIV0(age, income)": "coalesce",
    "ISNULL(age, 3)": "coalesce",
    "EQUAL_NULL(age, 3)": "not_distinct_from",
    "EXTRACT(DATE FROM seen)": "cast_date",
    "EXTRACT(hour FROM seen::TIME)": "part_hour",
    "NVL2(age, city, 'x')": "case",
    "DECODE(age, 1, city, NULL, 'x', 'y')": "case",
    "SQUARE(age)": "power",
    "DATE_PART('year', born)": "part_year",
    "DATEPART(quarter, born)": "part_quarter",
    "DATEADD(week, 2, born)": "add_days",
    "TIMESTAMPADD(hour, 2, seen)": "add_seconds",
    "DATE_SUB(born, INTERVAL 1 MONTH)": "add_months",
    "DATESUB('month', born, seen)": "full_month",
    "FORMAT_DATE('%Y', born)": "strftime",
    "FORMAT_TIMESTAMP('%Y', seen)": "strftime",
    "FORMAT_DATETIME('%Y', seen)": "strftime",
    "DATE_FORMAT(born, '%Y')": "strftime",
    "TO_VARCHAR(born, 'YYYY')": "strftime",
    "TO_CHAR(born, 'YYYY')": "strftime",
    "PARSE_DATE('%Y', city)": "cast_date",
    "PARSE_TIMESTAMP('%Y', city)": "strptime",
    "PARSE_DATETIME('%Y', city)": "strptime",
    "TO_DATE(city, 'YYYY')": "cast_date",
    "TRY_TO_DATE(city)": "cast_date",
    "TRY_STRPTIME(city, '%Y')": "strptime",
    "STR_TO_DATE(city, '%Y')": "cast_date",
    "TO_TIMESTAMP(city, 'YYYY')": "strptime",
    "EPOCH_MS(big)": "to_timestamp",
    "TIMESTAMP_ADD(seen, INTERVAL 3 HOUR)": "add_seconds",
    "TIMESTAMP_SUB(seen, INTERVAL 3 DAY)": "add_days",
    "DATE_ADD(born, INTERVAL 1 QUARTER)": "add_months",
    "ADD_MONTHS(born, 2)": "add_months",
    "TIMESTAMP_TRUNC(seen, MONTH)": "trunc_month",
    "DATETRUNC('month', seen)": "trunc_month",
    "DATE_DIFF(seen, born, DAY)": "diff_day",
    "DATE_DIFF(people.seen, people.born, DAY)": "diff_day",
    "DATEDIFF(day, born, seen)": "diff_day",
    "TIMESTAMPDIFF(MONTH, born, seen)": "full_month",
    "TIMESTAMP_DIFF(seen, born, MONTH)": "full_month",
    "EXTRACT(YEAR FROM AGE(seen, born))": "full_year",
    "SAFE_ADD(age, 1)": "add",
    "SAFE_SUBTRACT(age, 1)": "subtract",
    "SAFE_MULTIPLY(age, 2)": "multiply",
    "SAFE_NEGATE(age)": "negate",
    "age << 2": "multiply",
    "city ~* 'a'": "regexp_matches",
    "city SIMILAR TO 'a'": "regexp_full_match",
    "born - DATE '2020-01-01'": "diff_day",
    "born + 7": "add_days",
    "INTERVAL 1 MONTH + born": "add_months",
    "LOG(age)": "log",
    "CAST(age AS FLOAT64)": "cast_real",
    "CAST(age AS STRING)": "cast_text",
}


def bound(ask: Ask, text: str) -> Expr:
    """Return an expression as it is understood."""
    where = ask(f"SELECT COUNT(*) FROM people WHERE ({text}) IS NULL").query.where
    assert isinstance(where, Call)
    return where.args[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_allow_list_is_understood(ask: Ask, name: str) -> None:
    op = NAMES[name].op
    default = "born" if op.startswith("part_") else "weight"
    if op.startswith("part_") and op.endswith(("hour", "minute", "second")):
        default = "seen"
    text = REVERSED.get(name, f"{name}({OPERANDS.get(op, default)})")
    expression = bound(ask, text)
    assert isinstance(expression, Call)
    assert expression.op == op


@pytest.mark.parametrize(("text", "op"), ARRANGED.items())
def test_a_spelling_is_understood_as_its_operator(ask: Ask, text: str, op: str) -> None:
    expression = bound(ask, text)
    assert isinstance(expression, Call)
    assert expression.op == op


def test_every_name_with_arranged_operands_is_tried() -> None:
    tried = {text.split("(")[0].strip() for text in ARRANGED}
    assert set(CALLS) - tried - set(NAMES) == set()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DATE '1998-12-01' - INTERVAL '90' DAY", date(1998, 9, 2)),
        ("DATE '1994-01-01' + INTERVAL '1' YEAR", date(1995, 1, 1)),
        ("DATE '2024-01-31' + INTERVAL 1 MONTH", date(2024, 2, 29)),
        ("DATE '2024-03-31' - INTERVAL '1 year 1 month'", date(2023, 2, 28)),
        ("DATE '2024-01-01' + INTERVAL 36 HOUR", datetime(2024, 1, 2, 12)),
        ("TIMESTAMP '2024-01-01 00:00:00' - INTERVAL 1 SECOND", datetime(2023, 12, 31, 23, 59, 59)),
        ("DATE '2024-01-01' + 59", date(2024, 2, 29)),
    ],
)  # fmt: skip
def test_a_constant_date_and_a_constant_interval_are_a_constant(
    ask: Ask, text: str, value: date
) -> None:
    expression = bound(ask, text)
    assert isinstance(expression, Literal)
    assert expression.value == value
    assert expression.facts.type is (Type.TIMESTAMP if isinstance(value, datetime) else Type.DATE)


def test_two_timestamps_are_not_subtracted_but_counted(refusal: Refusal, ask: Ask) -> None:
    found = refusal("SELECT COUNT(*) FROM people WHERE seen - seen > 3")
    assert "DATE_DIFF('day', earlier, later)" in found.remedy
    bound(ask, "DATE_DIFF('day', born, seen)")


def test_the_bounds_that_a_refusal_offers_are_enough(refusal: Refusal, ask: Ask) -> None:
    remedy = refusal("SELECT SUM(big) FROM people").remedy
    for offered in ("CASE WHEN x BETWEEN 0 AND 100 THEN x END", "GREATEST(0, LEAST(100, x))"):
        assert f"SUM({offered})" in remedy
        ask(f"SELECT SUM({offered.replace('x', 'big')}) FROM people")


@pytest.mark.parametrize("name", NAMES)
def test_a_function_in_itself_is_understood_or_refused(ask: Ask, name: str) -> None:
    """Statistics are written out for people to read, however their arguments nest."""
    first, *others = OPERANDS.get(NAMES[name].op, "weight").split(", ")
    inner = f"{name}({', '.join([first, *others])})"
    nested = f"{name}({', '.join([inner, *others])})"
    try:
        (aggregate,) = ask(f"SELECT COUNT({nested}) FROM people").query.aggregates
    except Refused:
        return
    assert name != "INITCAP" or aggregate.text == "COUNT(INITCAP(INITCAP(city)))"
