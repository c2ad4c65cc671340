"""Limits on texts: each is named with what was found before the grammar reads; analysts stay within."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sanql.errors import Refused
from sanql.parse.question import Question, parse
from sanql.parse.relations.reader import EXPRESSIONS_MAX, ITEMS_MAX
from sanql.parse.text.grammar import AGAIN_MAX, Dialect
from sanql.parse.text.proportions import (
    JOINS_MAX,
    NAME_LETTERS_MAX,
    NESTING_MAX,
    OPERATORS_MAX,
    SELECTS_MAX,
    WORDS_MAX,
)
from sanql.policy.model import Table
from support.counting import at_most

Ask = Callable[[str], Question]
Refusal = Callable[[str], Refused]
FROM = "SELECT COUNT(*) FROM people WHERE "
SELF = "JOIN people p{0} ON p{0}.person_id = people.person_id"

# what goes beyond a limit: the text, its code, and what the refusal says of limit and number
BEYOND = {
    "words": (
        f"{FROM}age IN ({', '.join(['1'] * 2_000)})",
        "query_too_long",
        ["2,200 words", "of its 6,041 letters"],
    ),
    "brackets": (f"{FROM}age = {'(' * 31}1{')' * 31}", "query_too_deep", ["31 levels", "30"]),
    "cases": (
        f"{FROM}{'CASE WHEN member THEN ' * 50}TRUE{' END' * 50}",
        "query_too_deep",
        ["50 levels", "30"],
    ),
    "negations": (f"{FROM}{'NOT ' * 45}member", "query_too_deep", ["45 levels", "30"]),
    "selects": (
        "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT age FROM people"] * 150) + ") AS t",
        "query_too_complex",
        ["151 SELECTs", "100"],
    ),
    "joins": (
        "SELECT COUNT(*) FROM people " + " ".join(SELF.format(i) for i in range(120)),
        "query_too_complex",
        ["120 JOINs", "100"],
    ),
    "names": (f"{FROM}{'x' * 300} = 1", "query_too_long", ["300 letters", "255"]),
    "quoted names": (f'{FROM}"{"x" * 300}" = 1', "query_too_long", ["300 letters", "255"]),
    "statements": ("SELECT COUNT(*) FROM people;" * 90, "one_statement", ["90 statements"]),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_limit_is_named_before_the_grammar_reads(
    name: str, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the grammar was asked")

    monkeypatch.setattr(Dialect.Parser, "parse", read)
    text, code, said = BEYOND[name]
    refused = refusal(text)
    assert refused.code == code
    assert [part for part in said if part not in refused.message] == []
    assert refused.remedy
    assert refused.place is not None


def test_words_are_cut_only_up_to_the_limit(refusal: Refusal) -> None:
    refused = refusal("\n".join(["(" * 1_000] * 60))
    assert refused.place == (3, WORDS_MAX - 1_999)
    assert f"{WORDS_MAX:,} words" in refused.message
    assert f"after {WORDS_MAX + 2:,} of its 60,059 letters" in refused.message


@pytest.mark.parametrize(
    "text",
    [
        f"{FROM}age = " + " + ".join(["age"] * (OPERATORS_MAX + 2)),
        "SELECT " + " + ".join(["COUNT(*)"] * (OPERATORS_MAX + 2)) + " FROM people",
    ],
)
def test_operators_one_in_another_are_limited(text: str, refusal: Refusal) -> None:
    refused = refusal(text)
    assert refused.code == "query_too_deep"
    assert f"more than {OPERATORS_MAX} operators" in refused.message


def test_expressions_of_a_with_count_as_often_as_it_is_read(ask: Ask, refusal: Refusal) -> None:
    conditions = " OR ".join(f"age = {i}" for i in range(200))
    named = f"WITH a AS (SELECT person_id FROM people WHERE {conditions}) SELECT COUNT(*) FROM a "
    ask(named)
    joined = " ".join(f"JOIN a a{i} ON a.person_id = a{i}.person_id" for i in range(20))
    refused = refusal(named + joined)
    assert refused.code == "query_too_complex"
    assert f"{EXPRESSIONS_MAX:,} expressions" in refused.message


def test_tables_of_a_with_count_as_often_as_it_is_read(refusal: Refusal) -> None:
    lines = ["c0 AS (SELECT person_id FROM people)"]
    lines += [f"c{i} AS (SELECT x.person_id FROM c{i - 1} x, c{i - 1} y)" for i in range(1, 30)]
    refused = refusal(f"WITH {', '.join(lines)} SELECT COUNT(*) FROM c29")
    assert refused.code in ("query_too_complex", "join_across_units")
    lines[1:] = [
        f"c{i} AS (SELECT x.person_id FROM c{i - 1} x JOIN c{i - 1} y ON x.person_id = y.person_id)"
        for i in range(1, 30)
    ]
    refused = refusal(f"WITH {', '.join(lines)} SELECT COUNT(*) FROM c29")
    assert refused.code == "query_too_complex"
    assert f"more than {ITEMS_MAX} tables" in refused.message


@pytest.mark.parametrize("word", ["INT", "DEC", "STRUCT", "ROW", "TIMESTAMP", "BIT"])
def test_a_grammar_that_reads_again_and_again_is_stopped(word: str, refusal: Refusal) -> None:
    """Each level is read as a type, then as a function: twice as often as the level around it."""
    with at_most(300_000):
        refused = refusal(f"SELECT {f'{word}(' * 26}1{')' * 26} FROM people")
    assert refused.code == "query_too_complex"
    assert f"{AGAIN_MAX:,} words read again" in refused.message
    assert refused.place is not None


WITHIN = {
    "300 columns": f"SELECT {', '.join(f'SUM(age) AS s{i}' for i in range(300))} FROM people",
    "800 values": f"{FROM}age IN ({', '.join(map(str, range(800)))})",
    "100 branches": f"SELECT SUM(CASE {' '.join(f'WHEN age = {i} THEN {i}' for i in range(100))} "
    "ELSE 0 END) FROM people",
    "50 joins": "SELECT COUNT(*) FROM people " + " ".join(SELF.format(i) for i in range(50)),
    "40 subqueries by name": "WITH c0 AS (SELECT person_id, age FROM people), "
    + ", ".join(f"c{i} AS (SELECT * FROM c{i - 1} WHERE age > {i})" for i in range(1, 40))
    + " SELECT COUNT(*) FROM c39",
    "20 levels": f"{FROM}age = {'ABS(' * 20}age{')' * 20}",
    "a name of 255 letters": f"SELECT COUNT(*) AS {'x' * NAME_LETTERS_MAX} FROM people",
    "a text of 10,000 letters": f"{FROM}city = '{'x' * 10_000}'",
    "a comment of 50,000 letters": f"{FROM}age > 3 -- {'x' * 50_000}",
    "a semicolon and a comment": f"{FROM}age > 3; -- that is all",
    "several semicolons": f";{FROM}age > 3;;",
    "100 terms": f"{FROM}age = " + " + ".join(["age"] * 100),
    "500 conditions": FROM + " OR ".join(f"age = {i}" for i in range(500)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_analysts_write_is_within(name: str, ask: Ask) -> None:
    ask(WITHIN[name])


def test_limits_leave_room_for_python(tables: Mapping[str, Table]) -> None:
    """No text within the limits runs into Python's own, which depends on who calls."""
    shapes = {
        "brackets": "({})", "functions": "ABS({})", "choices": "COALESCE(age, {})",
        "cases": "CASE WHEN member THEN {} END", "otherwise": "CASE WHEN member THEN 1 ELSE {} END",
        "casts": "CAST({} AS INTEGER)", "minimum": "LEAST(1, {})",
    }  # fmt: skip
    for shape in shapes.values():
        inner = "age"
        for _ in range(NESTING_MAX):
            inner = shape.format(inner)
        parse(f"{FROM}age = {inner}", tables)


def test_equal_names_are_numbered_once_for_many(ask: Ask) -> None:
    query = ask(f"SELECT {', '.join(['COUNT(*)'] * 300)}, 1 AS count_7 FROM people").private
    names = [output.name for output in query.outputs]
    assert len(set(names)) == 301
    assert names[:3] == ["count", "count_2", "count_3"]
    assert len(query.aggregates) == 1


def test_selects_and_joins_at_the_limit_are_counted(refusal: Refusal) -> None:
    text = "SELECT COUNT(*) FROM people " + " ".join(SELF.format(i) for i in range(JOINS_MAX))
    assert "tables and subqueries" in refusal(text).message
    parts = " UNION ALL ".join(["SELECT age FROM people"] * (SELECTS_MAX - 1))
    assert (
        "SELECTs" not in refusal(f"SELECT COUNT(*) FROM ({parts}) AS t WHERE nothing = 1").message
    )
