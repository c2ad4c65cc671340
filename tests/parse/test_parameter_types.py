"""Parameters have types before they have values: of what they are compared or computed with."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanql.demo import make_hospital
from sanql.errors import Refused
from sanql.parse import QuestionText, parameter_types, parse, read_select
from sanql.policy import Table, load


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    policy: Path = make_hospital(tmp_path_factory.mktemp("hospital"))
    return dict(load(policy).tables)


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("SELECT COUNT(*) FROM people WHERE age > $1 AND sex = $2", ["integer", "text"]),
        ("SELECT COUNT(*) FROM people WHERE $1 < age AND age IN ($2,$3)", ["integer"] * 3),
        ("SELECT COUNT(*) FROM people WHERE age BETWEEN $1 AND 40 + $2", ["integer"] * 2),
        ("SELECT SUM(cost * $1) FROM visits WHERE cost < -($2) AND day > $3",
         ["real", "real", "date"]),
        ("SELECT COUNT(*) FROM people p WHERE p.age > ? AND p.sex LIKE ?", ["integer", "text"]),
        ("SELECT COUNT(*) FROM people WHERE CAST($1 AS DATE) > DATE '2020-01-01' AND $2::int > 3",
         ["date", "integer"]),
        ("SELECT sex, AVG(age) + $1 FROM people GROUP BY sex HAVING COUNT(*) > $2 LIMIT $3",
         ["real", "integer", "integer"]),
        ("SELECT COUNT(*) FROM people WHERE age > $1 AND $1 > 2.5", ["real"]),
        ("SELECT COUNT(*) FROM people WHERE $1 = $2", ["text", "text"]),
        ("SELECT COUNT(*) FROM nowhere WHERE age > $1", ["text"]),
        ("SELECT COUNT(*) FROM people WHERE TRUE = $1", ["boolean"]),
    ],
)  # fmt: skip
def test_a_parameter_has_the_type_of_what_stands_beside_it(
    sql: str, types: list[str], tables: dict[str, Table]
) -> None:
    found = parameter_types(QuestionText(sql), tables)
    assert found == {str(number): kind for number, kind in enumerate(types, 1)}


@pytest.mark.parametrize("between", [",", ", ", "+", "*"])
def test_parameters_may_stand_close_together(between: str, tables: dict[str, Table]) -> None:
    """A dollar before a digit begins no text in dollars, as it does before a letter."""
    sql = f"SELECT COUNT(*) FROM people WHERE age IN ($1{between}$2)"
    kept = read_select(QuestionText(sql, [30, 40]), tables).sql(dialect="duckdb")
    assert "30" in kept and "40" in kept
    assert "x $1 y" in read_select("SELECT $a$x $1 y$a$ FROM people", tables).sql(dialect="duckdb")


@pytest.mark.parametrize("named", ["public.people", '"public"."people"', "PUBLIC.people AS people"])
def test_tables_may_be_said_to_be_in_a_schema(named: str, tables: dict[str, Table]) -> None:
    plain = parse("SELECT people.sex, COUNT(*) FROM people GROUP BY people.sex", tables)
    assert parse(f"SELECT people.sex, COUNT(*) FROM {named} GROUP BY people.sex", tables) == plain
    whole = "SELECT public.people.sex, COUNT(*) FROM public.people GROUP BY public.people.sex"
    assert parse(whole, tables) == plain


def test_what_cannot_be_read_has_no_types(tables: dict[str, Table]) -> None:
    with pytest.raises(Refused):
        parameter_types(QuestionText("SELECT COUNT(* FROM people WHERE age > $1"), tables)
