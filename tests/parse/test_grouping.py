"""ROLLUP, CUBE and GROUPING SETS: which sets are meant is what DuckDB takes them for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import duckdb
import pytest

from sanql.errors import Refused
from sanql.parse.question import Question
from sanql.question.expressions import Call, Grouping, KeyRef, Literal

Ask = Callable[[str], Question]
Refusal = Callable[[str], Refused]

CLAUSES = [
    "ROLLUP (city, age)",
    "CUBE (city, age)",
    "CUBE (city, age, member)",
    "GROUPING SETS ((city, age), (city), ())",
    "GROUPING SETS (city, age)",
    "GROUPING SETS ((city, age), (age, city), age)",
    "GROUPING SETS (ROLLUP (city, age), CUBE (member), ())",
    "GROUPING SETS (GROUPING SETS (city, age), member)",
    "member, ROLLUP (city, age)",
    "CUBE (city), member, CUBE (age)",
    "ROLLUP (city), ROLLUP (age)",
    "ROLLUP ((city, age), member)",
    "CUBE ((city, age), member)",
    "ROLLUP (city, city)",
    "ROLLUP (city), ROLLUP (city)",
    "GROUPING SETS ((city), (city))",
    "GROUPING SETS ((city, age, member))",
    "GROUPING SETS (())",
    "ROLLUP (age + 1, LOWER(city))",
    "(city, age)",
    "()",
]


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    """Return one row in plain DuckDB, so that every grouping set has one row."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE people AS SELECT 'x' AS city, 1 AS age, TRUE AS member")
    return connection


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_sets_are_those_of_duckdb(
    ask: Ask, plain: duckdb.DuckDBPyConnection, clause: str
) -> None:
    keys = ["age + 1", "LOWER(city)"] if "LOWER" in clause else ["city", "age", "member"]
    keys = [key for key in keys if key in clause]
    bits = f"GROUPING({', '.join(keys)})" if keys else "0"
    sql = f"SELECT COUNT(*), {bits} FROM people GROUP BY {clause}"
    query = ask(sql).query
    sets = query.sets or (tuple(range(len(query.keys))),)
    shown = query.outputs[1].expression
    ours = Counter(_bits(shown, chosen) for chosen in sets)
    assert ours == Counter(row[1] for row in plain.execute(sql).fetchall())


def _bits(shown: object, chosen: tuple[int, ...]) -> int:
    """Return what GROUPING says in rows of a set, counted by hand."""
    if isinstance(shown, Literal):
        assert isinstance(shown.value, int)
        return shown.value
    assert isinstance(shown, Grouping)
    return int("".join("0" if key in chosen else "1" for key in shown.keys), 2)


@pytest.mark.parametrize(
    ("clause", "same"),
    [
        ("city, age WITH ROLLUP", "ROLLUP (city, age)"),
        ("city, age WITH CUBE", "CUBE (city, age)"),
        ("GROUPING SETS ((1, age), 1)", "GROUPING SETS ((city, age), city)"),
        ("ROLLUP (c, age)", "ROLLUP (city, age)"),
        ("DISTINCT ROLLUP (city, city)", "ROLLUP (city)"),
        ("GROUPING SETS ((city))", "city"),
        ("(city, age)", "city, age"),
    ],
)
def test_other_words_for_the_same_sets(ask: Ask, clause: str, same: str) -> None:
    select = "SELECT city AS c, COUNT(*) FROM people GROUP BY "
    assert ask(select + clause) == ask(select + same)


def test_a_question_without_sets_has_none(ask: Ask) -> None:
    for clause in ("", "GROUP BY city", "GROUP BY ALL", "GROUP BY ()"):
        assert ask(f"SELECT COUNT(*) FROM people {clause}").query.sets == ()


def test_a_key_may_be_null_exactly_where_some_set_lacks_it(ask: Ask) -> None:
    sql = (
        "SELECT city IS NULL, age IS NULL FROM people GROUP BY city IS NULL, ROLLUP ((age IS NULL))"
    )
    plain, rolled = (output.expression for output in ask(sql).query.outputs)
    assert isinstance(plain, KeyRef) and not plain.facts.nullable
    assert isinstance(rolled, KeyRef) and rolled.facts.nullable


def test_grouping_stands_wherever_aggregates_do(ask: Ask) -> None:
    query = ask(
        "SELECT city, GROUPING(city) + 1 AS level, GROUPING_ID(people.city, age) FROM people "
        "GROUP BY CUBE (city, age) HAVING GROUPING(age) = 0 ORDER BY GROUPING(city, age) DESC, level"
    ).query
    level, both = query.outputs[1].expression, query.outputs[2].expression
    assert isinstance(level, Call) and isinstance(level.args[0], Grouping)
    assert isinstance(both, Grouping) and both.keys == (0, 1) and both.facts.high == 3
    assert isinstance(query.having, Call) and isinstance(query.having.args[0], Grouping)
    assert isinstance(query.order[0].expression, Grouping)
    assert query.outputs[2].name == "grouping_id"


REFUSED = {
    "grouping_sets_too_many": [
        "SELECT COUNT(*) FROM people GROUP BY CUBE (age, age + 1, age + 2, age + 3, age + 4, age + 5)",
        f"SELECT COUNT(*) FROM people GROUP BY {', '.join(['CUBE (age, city)'] * 300)}",
        f"SELECT COUNT(*) FROM people GROUP BY ROLLUP ({', '.join(['age'] * 40)})",
        f"SELECT COUNT(*) FROM people GROUP BY CUBE ({', '.join(['age'] * 900)})",
    ],
    "grouping_sets_empty": ["SELECT COUNT(*) FROM people GROUP BY ROLLUP ()"],
    "grouping_unknown": [
        "SELECT GROUPING(city), COUNT(*) FROM people GROUP BY ROLLUP (age)",
        "SELECT GROUPING(1), city FROM people GROUP BY ROLLUP (city)",
        "SELECT GROUPING(city) FROM people",
        f"SELECT GROUPING({', '.join(['city'] * 63)}), COUNT(*) FROM people GROUP BY ROLLUP (city)",
    ],
    "clause_unsupported": [
        "SELECT COUNT(*) FROM people GROUP BY city WITH TOTALS",
        "SELECT COUNT(*) FROM (SELECT person_id FROM people GROUP BY person_id, ROLLUP (city)) AS t",
        "SELECT AVG(n) FROM (SELECT city, COUNT(*) AS n FROM cities GROUP BY ROLLUP (city)) AS t",
    ],
    "returns_individuals": [
        "SELECT COUNT(*) FROM people GROUP BY ROLLUP (person_id)",
        "SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((city, person_id), ())",
        "SELECT person_id, COUNT(*) FROM people GROUP BY CUBE (1)",
        "SELECT person_id, COUNT(*) FROM people GROUP BY 1",
    ],
    "aggregate_inside": [
        "SELECT COUNT(*) FROM people GROUP BY ROLLUP (COUNT(*))",
        "SELECT COUNT(*) FROM people WHERE GROUPING(city) = 0 GROUP BY ROLLUP (city)",
        "SELECT SUM(GROUPING(city)) FROM people GROUP BY ROLLUP (city)",
    ],
    "position_invalid": ["SELECT city, COUNT(*) FROM people GROUP BY ROLLUP (3)"],
    "column_not_grouped": ["SELECT age, COUNT(*) FROM people GROUP BY ROLLUP (city)"],
}


@pytest.mark.parametrize(
    ("code", "sql"),
    [(code, sql) for code, texts in REFUSED.items() for sql in texts],
    ids=lambda text: text[:70],
)
def test_what_makes_no_sense_is_refused_by_name(refusal: Refusal, code: str, sql: str) -> None:
    found = refusal(sql)
    assert found.code == code
    assert found.remedy


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT city, COUNT(*) FROM people\nGROUP BY age, ROLLUP (age, 9)", (2, 28)),
        ("SELECT COUNT(*) FROM people\nGROUP BY CUBE (age, city, big, age, city, big)", (2, 16)),
        ("SELECT COUNT(*) FROM people\nGROUP BY ROLLUP (city, person_id)", (2, 24)),
        ("SELECT COUNT(*),\n GROUPING(age) FROM people GROUP BY ROLLUP (city)", (2, 2)),
    ],
)
def test_a_refusal_says_which_set_it_is_about(
    refusal: Refusal, sql: str, place: tuple[int, int]
) -> None:
    assert refusal(sql).place == place
