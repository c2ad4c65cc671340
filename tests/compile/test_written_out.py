"""Nothing that is sent to the engine is a macro: those write their operands again where no limit sees it.

The engine replaces a macro (`nullif`, `split_part`, `array_to_string` …) by its text, in which an operand
may stand twice; sixteen of them one in another are 65,536 copies, and never planned. What San writes out
itself is as long as what is planned, and `SQL_LENGTH_MAX` holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import sanql
from compile.test_functions_attacked import TABLE, bound
from sanql.compile.expressions.emitter import Emitter, row_column
from sanql.errors import Refused
from sanql.question.expressions import Expr
from support.scalar_expressions import EXPRESSIONS

CALLED = re.compile(r"\b([a-z][a-z0-9_]*)\(", re.IGNORECASE)
NESTED = {
    "NULLIF({}, 3)": "a",
    "NULLIF({}, f)": "u",
    "1 / ({})": "u",
    "a / ({})": "f",
    "7 % ({})": "a",
    "b // ({})": "b",
    "SAFE_DIVIDE(1, {})": "u",
    "SPLIT_PART({}, ',', 1)": "w",
    "SPLIT_PART({}, '-', a)": "v",
    "INITCAP({})": "w",
}


@pytest.fixture(scope="module")
def macros() -> frozenset[str]:
    """Return the names that the engine replaces by a text."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT function_name FROM duckdb_functions() WHERE function_type LIKE '%macro%'"
        ).fetchall()
    names = frozenset(name for (name,) in found)
    assert {"nullif", "split_part", "array_to_string", "list_sum"} <= names
    return names


def written(expression: Expr) -> str:
    """Return an expression as the engine is told it."""
    return Emitter(row_column({name: f'"{name}"' for name in TABLE.columns})).sql(expression)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_no_function_of_the_allow_list_is_written_as_a_macro(
    macros: frozenset[str], text: str
) -> None:
    assert macros.isdisjoint(CALLED.findall(written(bound(text)).lower()))


WRITE_SQL = ("catalog", "compile", "engines", "kernel", "sources")


def test_no_module_that_writes_sql_names_a_macro(macros: frozenset[str]) -> None:
    spoken = {
        (path.name, name)
        for path in Path(sanql.__path__[0]).rglob("*.py")
        if path.relative_to(sanql.__path__[0]).parts[0] in WRITE_SQL
        and not path.name.startswith("postgres_")  # another engine's words
        for name in _named(path.read_text())
        if name in macros
    }
    assert spoken == set()


def _named(source: str) -> Iterator[str]:
    yield from re.findall(r"system\.main\.([a-z_0-9]+)", source)
    for quoted in re.findall(r"f?\"(?:[^\"\\]|\\.)*\"", source):
        yield from re.findall(r"\b([a-z][a-z0-9_]*)\(", quoted)


@pytest.mark.parametrize("form", NESTED)
def test_what_names_its_operand_twice_is_refused_where_it_nests_too_deep(form: str) -> None:
    text = NESTED[form]
    for _ in range(28):
        text = form.format(text)
    with pytest.raises(Refused) as refusal:
        written(bound(text))
    assert refusal.value.code == "query_too_complex"
