"""The engine decides no condition from what it notes of a block of rows, but plain comparisons.

Every block here holds one value of a column, or two, so that what the engine notes of it is as exact
as can be: the worst case for whatever it concludes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from compile.test_functions_attacked import HOSTILE, ORDINARY, TABLE, bound
from sanql.compile.expressions.emitter import Emitter, row_column
from sanql.functions.allowed import call
from sanql.kernel import lockdown
from sanql.question.constants import integer_literal, moment_literal, text_literal
from sanql.question.expressions import Expr, Facts, Literal, Type
from support.scalar_expressions import EXPRESSIONS
from support.volume import share_of

BLOCK = 2048
SCANS = {name: f't."{name}"' for name in TABLE.columns}
# what the engine may know: it is in the question, or it is about the column itself
KNOWN = {"PI()", "w IS NULL", "DECODE(w, v, 1, 'x', 2, 0)"}


def emitter() -> Emitter:
    """Return a writer of expressions as a question's statement has it."""
    return Emitter(row_column(SCANS), raw=lambda column: SCANS[column.name])


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return native storage whose blocks have one or two different values of each column."""
    file: Path = tmp_path_factory.mktemp("blocks") / "blocks.duckdb"
    values = {
        name: (kind, [*ORDINARY[name][1], *HOSTILE[name][1]])
        for name, (kind, _) in ORDINARY.items()
    }
    many = max(len(choices) for _, choices in values.values())
    picks = []
    for name, (kind, choices) in values.items():
        listed = ", ".join(f"({choice})::{kind}" for choice in choices)
        # the last rows of a block have the next block's value in every second block
        place = f"range // {BLOCK} + (range % {2 * BLOCK} > {2 * BLOCK - 9})::BIGINT"
        picks.append(f"[{listed}][1 + ({place}) % {len(choices)}] AS {name}")
    with duckdb.connect(":memory:") as writing:
        writing.execute(f"ATTACH '{file}' AS data (ROW_GROUP_SIZE {BLOCK})")
        writing.execute(
            f"CREATE TABLE data.main.t AS SELECT {', '.join(picks)} FROM range({many * BLOCK})"
        )
    with lockdown.connect() as connection:
        lockdown.attach(connection, file, read_only=True)
        lockdown.lock(connection, files_confined=False)
        yield connection


def count(connection: duckdb.DuckDBPyConnection, condition: Expr) -> tuple[int, int]:
    """Return how many rows a filter keeps, and of how many the condition is true."""
    writer = emitter()
    text = writer.condition(condition)
    with lockdown.question_cursor(connection) as cursor:
        kept = cursor.execute(
            f"SELECT count(*) FROM data.main.t AS t WHERE {text}", writer.parameters
        ).fetchall()
        said = cursor.execute(
            f"SELECT count(*) FILTER (c) FROM (SELECT {text} AS c FROM data.main.t AS t)",
            writer.parameters,
        ).fetchall()
    return kept[0][0], said[0][0]


def conditions(connection: duckdb.DuckDBPyConnection, expression: Expr) -> Iterator[Expr]:
    """Yield what can be asked about an expression: comparisons with what it is in some row."""
    if expression.facts.type is Type.BOOLEAN:
        yield from (expression, call("not", expression), call("is_null", expression))
        return
    writer = emitter()
    text = writer.sql(expression)
    with lockdown.question_cursor(connection) as cursor:
        found = cursor.execute(
            "SELECT mode(v ORDER BY v), max(v) FROM "
            f"(SELECT {text} AS v FROM data.main.t AS t) WHERE v IS NOT NULL",
            writer.parameters,
        ).fetchall()[0]
    for threshold in filter(None, map(literal, dict.fromkeys(found))):
        yield call("less", expression, threshold)
        yield call("greater_equal", call("nullif", expression, threshold), threshold)


def literal(value: object) -> Literal | None:
    """Return a value of a row as a constant of a question."""
    match value:
        case int():
            return integer_literal(value)
        case float() if math.isfinite(value):
            return Literal(Fraction(value), Facts(Type.REAL, Fraction(value), Fraction(value)))
        case str() if len(value) < 100 and chr(0) not in value:
            return text_literal(value)
        case date():
            return moment_literal(value)
        case _:
            return None


@pytest.mark.slow
@pytest.mark.parametrize("text", share_of(EXPRESSIONS, 3))
def test_a_filter_keeps_the_rows_of_which_its_condition_is_true(
    blocks: duckdb.DuckDBPyConnection, text: str
) -> None:
    for condition in conditions(blocks, bound(text)):
        kept, said = count(blocks, condition)
        assert kept == said, emitter().condition(condition)


@pytest.mark.parametrize("text", ["a", "b", "d", "s", "ok", "w", "v", "r", "u"])
def test_a_column_by_itself_is_compared_rightly(
    blocks: duckdb.DuckDBPyConnection, text: str
) -> None:
    for condition in conditions(blocks, bound(text)):
        kept, said = count(blocks, condition)
        assert kept == said, emitter().condition(condition)


@pytest.mark.slow
def test_the_engine_knows_no_end_of_what_is_computed_from_a_column(
    blocks: duckdb.DuckDBPyConnection,
) -> None:
    """`stats` tells what the engine concludes about an expression from the ends of its columns."""
    told = {}
    with duckdb.connect(":memory:") as knowing, lockdown.question_cursor(blocks) as cursor:
        rows = cursor.execute("FROM data.main.t").to_arrow_table()
        knowing.register("rows", rows)
        knowing.execute("CREATE TABLE t AS FROM rows WHERE a IS NOT NULL")
        for text in EXPRESSIONS:
            writer = emitter()
            sql = f"SELECT stats({writer.sql(bound(text))}) FROM t LIMIT 1"
            ((noted,),) = knowing.execute(sql, writer.parameters).fetchall()
            if {"min", "max"} & set(noted):
                told[text] = noted
    assert set(told) <= KNOWN
    assert "PI()" in told  # it does tell
