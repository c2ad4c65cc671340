"""Questions that are understood, and what they are understood as."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

import pytest

from sanql.parse.question import Question
from sanql.question.expressions import (
    AggregateRef,
    Call,
    ColumnRef,
    Expr,
    KeyRef,
    Literal,
    Type,
)

Ask = Callable[[str], Question]


def shown(expression: Expr | None) -> object:
    """Return an expression as nested tuples: (operator, operands…), names and constants."""
    match expression:
        case Call(op, args):
            return (op, *(shown(arg) for arg in args))
        case ColumnRef(name):
            return name
        case Literal(value):
            return value if not isinstance(value, str) else f"'{value}'"
        case KeyRef(index):
            return f"key {index}"
        case AggregateRef(index):
            return f"aggregate {index}"
        case None:
            return None


WHERE = [
    # condition, what it is understood as
    ("age > 40", ("greater", "age", 40)),
    ("AGE > 40", ("greater", "age", 40)),
    ('"age" > 40', ("greater", "age", 40)),
    ("people.age > 40", ("greater", "age", 40)),
    ('"Größe" = 180', ("equal", "Größe", 180)),
    (
        "age <> 1 AND age != 2 AND age >= 3",
        ("and", ("not_equal", "age", 1), ("not_equal", "age", 2), ("greater_equal", "age", 3)),
    ),
    (
        "age = 1 OR (age = 2 OR age = 3)",
        ("or", ("equal", "age", 1), ("or", ("equal", "age", 2), ("equal", "age", 3))),
    ),
    ("NOT member", ("not", "member")),
    ("member IS TRUE", ("is_true", "member")),
    ("member IS NOT FALSE", ("not", ("is_false", "member"))),
    ("age IS NULL", ("is_null", "age")),
    ("age IS NOT NULL", ("not", ("is_null", "age"))),
    ("age IS DISTINCT FROM 3", ("distinct_from", "age", 3)),
    ("age IS NOT DISTINCT FROM 3", ("not_distinct_from", "age", 3)),
    ("city IN ('a', 'b')", ("in", "city", "'a'", "'b'")),
    ("city NOT IN ('a', 'b')", ("not", ("in", "city", "'a'", "'b'"))),
    ("age BETWEEN 1 AND 2", ("between", "age", 1, 2)),
    ("age NOT BETWEEN 1 AND 2", ("not", ("between", "age", 1, 2))),
    ("city LIKE 'San %'", ("like", "city", "'San %'")),
    ("city NOT LIKE 'San %'", ("not", ("like", "city", "'San %'"))),
    ("city ILIKE 'san%'", ("ilike", "city", "'san%'")),
    ("city NOT ILIKE 'san%'", ("not", ("ilike", "city", "'san%'"))),
    ("city LIKE '5!%' ESCAPE '!'", ("like", "city", "'5!%'", "'!'")),
    ("city NOT LIKE '5!%' ESCAPE '!'", ("not", ("like", "city", "'5!%'", "'!'"))),
    ("born = '2026-01-31'", ("equal", "born", date(2026, 1, 31))),
    ("born = DATE '2026-01-31'", ("equal", "born", date(2026, 1, 31))),
    ("born IN ('2026-01-31')", ("in", "born", date(2026, 1, 31))),
    (
        "born BETWEEN '2026-01-01' AND '2026-01-31'",
        ("between", "born", date(2026, 1, 1), date(2026, 1, 31)),
    ),
    ("seen < '2026-01-31 12:30:00'", ("less", "seen", datetime(2026, 1, 31, 12, 30))),
    ("seen < TIMESTAMP '2026-01-31 12:30:00'", ("less", "seen", datetime(2026, 1, 31, 12, 30))),
    (
        "CASE WHEN member THEN age > 1 ELSE FALSE END",
        ("case", "member", ("greater", "age", 1), False),
    ),
    ("CASE city WHEN 'a' THEN TRUE END", ("case", ("equal", "city", "'a'"), True, None)),
    ("IF(member, TRUE, FALSE)", ("case", "member", True, False)),
    ("COALESCE(member, FALSE)", ("coalesce", "member", False)),
    ("LOWER(TRIM(city)) = 'x'", ("equal", ("lower", ("trim", "city")), "'x'")),
    (
        "UPPER(city) = 'X' AND LENGTH(city) > 3",
        ("and", ("equal", ("upper", "city"), "'X'"), ("greater", ("length", "city"), 3)),
    ),
    ("-age < -(1)", ("less", ("negate", "age"), -1)),
    ("age::VARCHAR = '7'", ("equal", ("cast_text", "age"), "'7'")),
    ("TRY_CAST(city AS INT) = 7", ("equal", ("cast_integer", "city"), 7)),
    ("CAST(city AS BIGINT) = 7", ("equal", ("cast_bigint", "city"), 7)),
    ("CAST(income AS DECIMAL(10, 1)) = 7", ("equal", ("round", ("cast_real", "income"), 1), 7)),
    ("EXTRACT(YEAR FROM born) = 2020", ("equal", ("part_year", "born"), 2020)),
    ("YEAR(born) = 2020", ("equal", ("part_year", "born"), 2020)),
    ("DATE_PART('month', born) = 2", ("equal", ("part_month", "born"), 2)),
    (
        "DATE_TRUNC('month', born) = '2020-02-01'",
        ("equal", ("trunc_month", "born"), date(2020, 2, 1)),
    ),
    (
        "age // 10 = 2 AND age % 10 = 1",
        ("and", ("equal", ("integer_divide", "age", 10), 2), ("equal", ("modulo", "age", 10), 1)),
    ),
    ("city = 'it''s ; -- DROP' /* a comment */", ("equal", "city", "'it's ; -- DROP'")),
    ("city = 'ＦＵＬＬ'", ("equal", "city", "'ＦＵＬＬ'")),
    ("income > 1.50", ("greater", "income", Fraction(3, 2))),
    ("income > 1e2", ("greater", "income", Fraction(100))),
    ("NULL", None),
]


@pytest.mark.parametrize(("condition", "expected"), WHERE)
def test_a_condition_is_understood(ask: Ask, condition: str, expected: object) -> None:
    query = ask(f"SELECT COUNT(*) FROM people WHERE {condition}").query
    assert shown(query.where) == expected
    assert query.where is not None
    assert query.where.facts.type in (Type.BOOLEAN, Type.NULL)


AGGREGATES = [
    ("COUNT(*)", "count", None),
    ("count( * )", "count", None),
    ("COUNT()", "count", None),
    ("COUNT(1)", "count", None),  # never NULL: all rows
    ("COUNT(person_id)", "count", None),  # rows without a unit never count
    ("COUNT(age)", "count", "age"),
    ("COUNT(DISTINCT person_id)", "count units", None),
    ("COUNT(DISTINCT (people.PERSON_ID))", "count units", None),
    ("COUNT(DISTINCT city)", "count distinct", "city"),
    ("SUM(age)", "sum", "age"),
    ("SUM(age + 1)", "sum", ("add", "age", 1)),
    ("AVG(income)", "average", "income"),
]


@pytest.mark.parametrize(("text", "kind", "argument"), AGGREGATES)
def test_an_aggregate_is_understood(ask: Ask, text: str, kind: str, argument: object) -> None:
    (aggregate,) = ask(f"SELECT {text} FROM people").query.aggregates
    assert (aggregate.statistic, shown(aggregate.argument)) == (kind, argument)


def test_an_aggregate_written_twice_is_one(ask: Ask) -> None:
    query = ask(
        "SELECT COUNT(*), count(*) + 1, SUM(age) FROM people HAVING COUNT(*) > 5 ORDER BY sum(AGE)"
    ).query
    assert [a.statistic for a in query.aggregates] == ["count", "sum"]


GROUPING = [
    # question, keys, outputs
    ("SELECT city, COUNT(*) FROM people GROUP BY city", ["city"], ["key 0", "aggregate 0"]),
    ("SELECT city, COUNT(*) FROM people GROUP BY 1", ["city"], ["key 0", "aggregate 0"]),
    ("SELECT city AS c, COUNT(*) FROM people GROUP BY c", ["city"], ["key 0", "aggregate 0"]),
    ("SELECT city, COUNT(*) FROM people GROUP BY ALL", ["city"], ["key 0", "aggregate 0"]),
    ("SELECT COUNT(*) FROM people GROUP BY CITY, people.city", ["city"], ["aggregate 0"]),
    (
        "SELECT age // 10 * 10 AS band, COUNT(*) FROM people GROUP BY band",
        [("multiply", ("integer_divide", "age", 10), 10)],
        ["key 0", "aggregate 0"],
    ),
    (
        "SELECT age // 10 + 1, COUNT(*) FROM people GROUP BY age // 10",
        [("integer_divide", "age", 10)],
        [("add", "key 0", 1), "aggregate 0"],
    ),
    ("SELECT p.city FROM people AS p GROUP BY p.city", ["city"], ["key 0"]),
    (
        "SELECT 2 * SUM(age) / COUNT(*) FROM people",
        [],
        [("divide", ("multiply", 2, "aggregate 0"), "aggregate 1")],
    ),
    ("(SELECT COUNT(*) FROM people)", [], ["aggregate 0"]),
    ("SELECT COUNT(*) FROM people;", [], ["aggregate 0"]),
    ("FROM people SELECT COUNT(*)", [], ["aggregate 0"]),
]


@pytest.mark.parametrize(("sql", "keys", "outputs"), GROUPING)
def test_keys_and_columns_of_the_answer_are_understood(
    ask: Ask, sql: str, keys: list[object], outputs: list[object]
) -> None:
    query = ask(sql).query
    assert [shown(key) for key in query.keys] == keys
    assert [shown(output.expression) for output in query.outputs] == outputs


def test_the_shadow_of_a_column_is_the_column(ask: Ask) -> None:
    # an alias must not change which column GROUP BY means
    query = ask("SELECT age AS city, COUNT(*) FROM people GROUP BY age, city").query
    assert [shown(key) for key in query.keys] == ["age", "city"]


def test_names_of_columns_are_kept_and_made_distinct(ask: Ask) -> None:
    sql = "SELECT City, COUNT(*), COUNT(*), AVG(age) AS Mean, 1 + COUNT(*), 2 FROM people GROUP BY city"
    names = [output.name for output in ask(sql).query.outputs]
    assert names == ["City", "count", "count_2", "Mean", "1 + COUNT(*)", "2"]


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("DP_INTERVAL_LOW(n)", "dp_interval_low"),
        ("VAR_SAMP(age)", "var_samp"),
        ("mean(age)", "mean"),
        ("(Quantile_Cont(age, 0.5))", "quantile_cont"),
        ("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age)", "percentile_disc"),
        ("COUNT(*) FILTER (WHERE age > 3)", "count"),
        ("APPROX_QUANTILES(age, 4)[OFFSET(1)]", "approx_quantiles"),
        ("CASE WHEN COUNT(*) > 3 THEN 1 END", "case"),
        ("City::VARCHAR", "City"),
        ("SUM(age) /  count( * )", "SUM(age) / COUNT(*)"),
        ("'x'", "'x'"),
        (" + ".join(["COUNT(*)"] * 9), f"{' + '.join(['COUNT(*)'] * 9)[:59]}…"),
    ],
)
def test_a_column_without_an_alias_is_called_by_its_function_or_its_text(
    ask: Ask, expression: str, name: str
) -> None:
    sql = f"SELECT COUNT(*) AS n, {expression} FROM people GROUP BY city"
    assert ask(sql).query.outputs[1].name == name


def test_what_runs_on_noisy_values_is_kept(ask: Ask) -> None:
    query = ask(
        "SELECT DISTINCT city, COUNT(*) AS n FROM people GROUP BY city HAVING n > 10 AND city <> 'x' "
        "ORDER BY 2 DESC, city NULLS FIRST, n + 1 LIMIT 7 OFFSET 3"
    ).query
    assert shown(query.having) == (
        "and",
        ("greater", "aggregate 0", 10),
        ("not_equal", "key 0", "'x'"),
    )
    assert [(shown(o.expression), o.descending, o.nulls_first) for o in query.order] == [
        ("aggregate 0", True, False),
        ("key 0", False, True),
        (("add", "aggregate 0", 1), False, False),
    ]
    assert (query.limit, query.offset, query.distinct) == (7, 3, True)


@pytest.mark.parametrize("name", ["people", "PEOPLE", '"people"', '"People"'])
def test_the_table_is_found_in_any_case(ask: Ask, name: str) -> None:
    assert ask(f"SELECT COUNT(*) FROM {name}").query.table == "people"


def test_comments_say_nothing(ask: Ask) -> None:
    plain = ask("SELECT COUNT(*) FROM people WHERE age > 4")
    noted = ask("SELECT /* sum */ COUNT(*) -- ; DROP TABLE people\nFROM people WHERE age /**/ > 4")
    assert noted == plain
