"""What is proved about an expression holds for every row: the engine computes it, the proof is checked.

The oracle is brute force: an expression is written as engine SQL, computed over every combination of
awkward column values, and each result is held against the facts the parser claims. Doubles round, so
a real number may miss an exact bound by a part in 10^9 (the aggregate's input is clamped again).
"""

# ruff: noqa: E501  (lists of templates stand on few lines)
from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.compile.expressions.emitter import Emitter, row_column
from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.policy.model import Column, RowUnit, Table
from sanql.question.expressions import Call, Expr, Facts, Query, Type

TABLE = Table(
    "t",
    RowUnit(),
    {
        column.name: column
        for column in (
            Column("a", "integer", (-3, 4)),
            Column("b", "integer"),
            Column("r", "decimal", (Fraction(-2), Fraction(3, 2)), Fraction(1, 4)),
            Column("f", "float", (Fraction(1, 2), Fraction(3))),
            Column("u", "float"),
            Column("d", "date", (date(1, 1, 3), date(2024, 3, 1))),
            Column("s", "timestamp", (datetime(1999, 12, 31, 23, 30), datetime(2024, 2, 29, 1))),
            Column("ok", "boolean"),
            Column("w", "text"),
        )
    },
    1,
    None,
    1,
)
VALUES = {
    "a": ("INTEGER", "-9 -3 -1 0 2 4 9"),
    "b": ("BIGINT", "-9223372036854775808 -1 0 7 9223372036854775807"),
    "r": ("DOUBLE", "-7 -2 -0.25 -0.0 0.75 1.5 nan"),
    "f": ("DOUBLE", "0 0.5 1.7 3 inf"),
    "u": ("DOUBLE", "-1e308 -0.0 0.3 1e308 nan -inf"),
    "d": ("DATE", "0001-01-01 0001-01-03 1999-12-31 2024-03-01 2030-01-01 infinity"),
    "s": ("TIMESTAMP", "1999-12-31T23:30:00 2024-02-29T00:59:59.9 2400-01-01 infinity"),
    "ok": ("BOOLEAN", "true false"),
    "w": ("VARCHAR", "7 nan 1e300 -40 2024-02-30 2024-02-29 true ü"),
}
ROWS = 400


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    """Return an engine with rows that mix the values above at random, the same on every run."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET error_on_division_by_zero = false")
    picks = []
    for name, (kind, listed) in VALUES.items():
        choices = listed.split()
        # one more than there are: the last pick is NULL
        picked = f"1 + (hash('{name}', range) % {len(choices) + 1})::BIGINT"
        picks.append(f"({choices}::VARCHAR[])[{picked}]::{kind} AS {name}")
    connection.execute(f"CREATE TABLE t AS SELECT {', '.join(picks)} FROM range({ROWS})")
    return connection


def bound(text: str) -> Expr:
    """Return the expression as the parser understands it."""
    query = parse(f"SELECT COUNT(*) FROM t WHERE ({text}) IS NULL", {"t": TABLE}).query
    assert isinstance(query, Query) and isinstance(query.where, Call)
    return query.where.args[0]


def computed(engine: duckdb.DuckDBPyConnection, expression: Expr) -> list[object]:
    """Return the expression's value in every row, as the engine will compute it."""
    emitter = Emitter(row_column({name: f'"{name}"' for name in TABLE.columns}))
    sql = emitter.sql(expression)
    return [row[0] for row in engine.execute(f"SELECT {sql} FROM t", emitter.parameters).fetchall()]


def assert_proved(facts: Facts, values: list[object]) -> None:
    """Assert that every value keeps what the facts claim."""
    if not facts.nullable:
        assert None not in values
    for value in values:
        if value is not None:
            assert_within(facts, value)


def assert_within(facts: Facts, value: object) -> None:
    if facts.type in (Type.DATE, Type.TIMESTAMP):
        assert facts.low is None or facts.low <= value <= facts.high  # type: ignore[operator]
        return
    if facts.type not in (Type.INTEGER, Type.REAL):
        return
    if isinstance(value, float) and value - value != 0:  # not finite
        assert facts.type is Type.REAL and (facts.low is None or facts.high is None)
        return
    exact = Fraction(value)  # type: ignore[arg-type]
    slack = Fraction(0) if facts.type is Type.INTEGER else abs(exact) / 10**9 + Fraction(1, 10**9)
    assert facts.low is None or facts.low - slack <= exact
    assert facts.high is None or exact <= facts.high + slack
    if facts.grid is not None and abs(exact) < 2**40 * facts.grid:
        steps = exact / facts.grid
        assert abs(steps - round(steps)) <= slack / facts.grid


WHOLE = st.sampled_from(["a", "a", "b", "0", "1", "-2", "7", "NULL", "ok::INTEGER", "w::TINYINT"])
REAL = st.sampled_from(["r", "f", "u", "0.5", "-1.25", "1e-13", "3e10", "w::DOUBLE"])
MOMENT = st.sampled_from(
    ["d", "s", "DATE '2000-02-29'", "TIMESTAMP '2010-01-01 10:11:12'", "w::DATE"]
)
CONDITION = st.sampled_from(["ok", "a > 1", "r IS NULL", "u < 0.5", "w LIKE '%7'", "b % 2 = 0"])


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return larger number expressions from smaller ones."""
    one = st.sampled_from(
        ["(-{})", "ABS({})", "SIGN({})", "ROUND({})", "ROUND({}, 1)", "ROUND({}, -1)", "FLOOR({})",
         "CEIL({})", "TRUNC({})", "SQRT({})", "LN({})", "EXP({})", "POWER({}, 2)", "POWER({}, -1)",
         "CAST({} AS INTEGER)", "CAST({} AS TINYINT)", "CAST({} AS BIGINT)", "CAST({} AS DOUBLE)",
         "CAST({} AS DECIMAL(9, 1))", "COALESCE({}, 3)", "NULLIF({}, 1)", "CBRT({})", "SIN({})",
         "COS({})", "TAN({})", "ASIN({})", "ACOS({})", "ATAN({})", "SINH({})", "COSH({})", "TANH({})", "ASINH({})",
         "ACOSH({})", "ATANH({})", "DEGREES({})", "RADIANS({})", "LOG2({})", "LOG(0.5, {})",
         "TRUNC({}, 1)", "WIDTH_BUCKET({}, -1, 2, 7)", "BIT_COUNT({})", "({} >> 3)", "({} << 2)",
         "(~{})", "LENGTH(CHR({}))",
         "CASE WHEN ISFINITE({0}) THEN {0} END", "CASE WHEN {0} BETWEEN -1 AND 2 THEN {0} ELSE 1 END",
         "DATE_DIFF('day', d, TO_TIMESTAMP({}))", "DATE_DIFF('month', s, d + CAST({} AS SMALLINT))",
         "YEAR(MAKE_DATE({}, 2, 3))", "LENGTH(SUBSTRING(w, {}))"]
    )  # fmt: skip
    two = st.sampled_from(
        ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})", "LEAST({}, {})",
         "GREATEST({}, {})", "COALESCE({}, {})", "NULLIF({}, {})", "LEAST({}, {}, 2)",
         "GREATEST(-1, {}, {})", "ATAN2({}, {})", "LOG({}, {})", "GCD({}, {})", "LCM({}, {})",
         "({} & {})", "({} | {})", "XOR({}, {})", "CASE WHEN {0} < {1} THEN {0} ELSE {1} END"]
    )  # fmt: skip
    return st.one_of(
        st.tuples(one, inner).map(lambda part: part[0].format(part[1])),
        st.tuples(two, inner, inner).map(lambda part: part[0].format(*part[1:])),
        st.tuples(CONDITION, inner, inner).map(
            lambda p: "CASE WHEN {} THEN {} ELSE {} END".format(*p)
        ),
        st.tuples(CONDITION, inner).map(lambda p: "CASE WHEN {} THEN {} END".format(*p)),
    )


NUMBERS = st.recursive(st.one_of(WHOLE, REAL), combined, max_leaves=6)
PARTS = ["year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear", "hour",
         "minute", "second", "isoyear", "yearweek", "decade", "century", "millennium", "millisecond",
         "microsecond", "epoch"]  # fmt: skip
MOMENTS = st.recursive(
    MOMENT,
    lambda inner: st.one_of(
        st.tuples(
            st.sampled_from(["year", "quarter", "month", "week", "day", "hour", "minute"]), inner
        ).map(lambda part: "DATE_TRUNC('{}', {})".format(*part)),
        inner.map("CAST({} AS DATE)".format),
        inner.map("LAST_DAY({})".format),
        inner.map("({} - INTERVAL '14 months')".format),
        inner.map("({} + INTERVAL 4000 DAY)".format),
        inner.map("({} + INTERVAL 90 MINUTE)".format),
        inner.map("DATEADD(month, a * 12000, {})".format),
        inner.map("TO_TIMESTAMP(EPOCH({}))".format),
        inner.map("STRPTIME(STRFTIME({}, '%Y %m'), '%Y %m')".format),
        st.tuples(inner, inner).map(lambda part: "GREATEST({}, {})".format(*part)),
        inner.map("CAST({} AS TIMESTAMP)".format),
        st.tuples(inner, inner).map(lambda part: "COALESCE({}, {})".format(*part)),
        st.tuples(CONDITION, inner, inner).map(
            lambda p: "CASE WHEN {} THEN {} ELSE {} END".format(*p)
        ),
    ),
    max_leaves=4,
)
SPANS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"]
PARTS_OF_MOMENTS = st.one_of(
    st.tuples(st.sampled_from(PARTS), MOMENTS).map(
        lambda part: "EXTRACT({} FROM {})".format(*part)
    ),
    st.tuples(
        st.sampled_from(["DATE_DIFF", "DATE_SUB"]), st.sampled_from(SPANS), MOMENTS, MOMENTS
    ).map(lambda part: "{}('{}', {}, {})".format(*part)),
)
FIXTURES = HealthCheck.function_scoped_fixture


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[FIXTURES])
@given(text=st.one_of(NUMBERS, NUMBERS, MOMENTS, PARTS_OF_MOMENTS))
def test_no_value_leaves_its_proved_bounds_or_grid(
    engine: duckdb.DuckDBPyConnection, text: str
) -> None:
    try:
        expression = bound(text)
    except Refused:
        return
    assert_proved(expression.facts, computed(engine, expression))


@pytest.mark.soak
@settings(max_examples=250, deadline=None, suppress_health_check=[FIXTURES])
@given(text=st.one_of(NUMBERS, NUMBERS, MOMENTS, PARTS_OF_MOMENTS))
def test_no_value_leaves_its_proved_bounds_or_grid_at_length(
    engine: duckdb.DuckDBPyConnection, text: str
) -> None:
    try:
        expression = bound(text)
    except Refused:
        return
    assert_proved(expression.facts, computed(engine, expression))


F = Fraction
TIGHT: Mapping[str, tuple[Fraction, Fraction, bool]] = {
    # expression: lowest, highest, may be NULL
    "a": (F(-3), F(4), True),
    "a + 1": (F(-2), F(5), True),
    "-a": (F(-4), F(3), True),
    "a * a": (F(-12), F(16), True),
    "a - a": (F(-7), F(7), True),
    "ABS(a)": (F(0), F(4), True),
    "a % 3": (F(-2), F(2), True),
    "a // 2": (F(-2), F(2), True),
    "a / 2": (F(-3, 2), F(2), True),
    "1 / a": (F(-1), F(1), True),
    "COALESCE(a, 9)": (F(-3), F(9), False),
    "GREATEST(0, LEAST(2, b))": (F(0), F(2), False),
    "GREATEST(0, LEAST(2, u))": (F(0), F(2), False),
    "LEAST(a, 1)": (F(-3), F(1), False),
    "CASE WHEN ok THEN a ELSE 10 END": (F(-3), F(10), True),
    "CASE WHEN ok THEN 1 ELSE 0 END": (F(0), F(1), False),
    "CASE WHEN b BETWEEN 0 AND 9 THEN b END": (F(0), F(9), True),
    "CASE WHEN u >= -1 AND ok AND u < 2.5 THEN u ELSE 0 END": (F(-1), F(5, 2), False),
    "CASE WHEN 9 > b AND 2 <= b THEN b ELSE 3 END": (F(2), F(9), False),
    "CASE WHEN b BETWEEN 9 AND 0 THEN b ELSE 3 END": (F(3), F(9), False),
    "CASE WHEN b BETWEEN 0 AND 9 THEN b + 1 END": (F(-(2**63) + 1), F(2**63), True),
    "CASE WHEN b > 3 OR b < 9 THEN b END": (F(-(2**63)), F(2**63 - 1), True),
    "WIDTH_BUCKET(u, 0, 10, 5)": (F(0), F(6), True),
    "a & 6": (F(-8), F(7), True),
    "GCD(a, 6)": (F(0), F(6), True),
    "b >> 60": (F(-8), F(7), True),
    "LCM(a, 6)": (F(0), F(24), True),
    "DATE_DIFF('year', d, s)": (F(1999 - 2024), F(2024 - 1), True),
    "DATE_DIFF('day', DATE '2024-02-01', s)": (F(-8798), F(28), True),
    "DATE '2024-02-01' - DATE '2024-01-01'": (F(31), F(31), False),
    "CENTURY(d)": (F(1), F(21), True),
    "EPOCH(DATE '1970-01-02')": (F(86400), F(86400), False),
    "LENGTH(w)": (F(0), F(2**32), True),
    "ROUND(r)": (F(-2), F(2), True),
    "FLOOR(f)": (F(0), F(3), True),
    "POWER(a, 2)": (F(0), F(16), True),
    "CAST(f AS INTEGER)": (F(0), F(3), True),
    "EXTRACT(year FROM d)": (F(1), F(2024), True),
    "FLOOR(f * 1e17)": (F(5 * 10**16), F(3 * 10**17), True),
    "FLOOR(f + LEAST(0.25, GREATEST(0, u)) * 1e17)": (F(0), F(25 * 10**15 + 3), True),
    "SIGN(b)": (F(-1), F(1), True),
    "NULLIF(a, 0)": (F(-3), F(4), True),
}


@pytest.mark.parametrize(("text", "expected"), TIGHT.items())
def test_bounds_are_as_tight_as_the_arithmetic_allows(
    text: str, expected: tuple[Fraction, Fraction, bool]
) -> None:
    facts = bound(text).facts
    assert (facts.low, facts.high, facts.nullable) == expected


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("a", F(1)),
        ("a * 3", F(3)),
        ("r", F(1, 4)),
        ("r + 0.5", F(1, 4)),
        ("r * 0.5", F(1, 8)),
        ("r + 0.1", F(1, 20)),
        ("ROUND(u, 2)", F(1, 100)),
        ("ROUND(a, -1)", F(10)),
        ("f", None),
        ("r / 3", None),
        ("r + 0.0000000000001", None),
    ],
)
def test_a_grid_is_claimed_only_where_every_value_is_a_multiple_of_it(
    text: str, grid: Fraction | None
) -> None:
    assert bound(text).facts.grid == grid


FOUND = [
    "SQRT(a)",  # NaN below zero is no value between bounds
    "COALESCE(SQRT(a) + 100, 101)",
    "NULLIF(b, r)",  # compared as real numbers, but still the whole number it was
    "DATE_TRUNC('week', d)",
    "LOG(1e-999, f)",  # a base that is zero as a double
    "LOG(1.0000000000000000001, f)",  # and one that is one
    "LOG(1.000000001, f)",
    "WIDTH_BUCKET(u, 0, 1e-999, 5)",
    "LN(f * 1e-300 * 1e-300)",
]


@pytest.mark.parametrize("text", FOUND)
def test_what_once_left_its_bounds_stays_within_them(
    engine: duckdb.DuckDBPyConnection, text: str
) -> None:
    expression = bound(text)
    assert_proved(expression.facts, computed(engine, expression))


@pytest.mark.parametrize("text", ["u * 2", "f * u", "1 / r", "POWER(f, -1)", "EXP(b)", "u"])
def test_a_sum_without_proved_bounds_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(f"SELECT SUM({text}) FROM t", {"t": TABLE})
    assert caught.value.code == "bounds_missing"


@pytest.mark.parametrize("text", ["b * b + 1", "b * b * 2", "b * b * b"])
def test_whole_numbers_that_could_overflow_are_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        bound(text)
    assert caught.value.code == "integer_overflow"
