"""Every function of the allow-list against hostile rows: no error, and what is proved holds.

The oracle is plain DuckDB, row by row, on ordinary values, and brute force over awkward ones: NULL,
NaN, infinities, extremes, empty and huge strings, dates out of range. The connection is locked down
as in a worker, so a function the lock takes away is found too.
"""

# ruff: noqa: E501  (an expression stands on one line)
from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest

from sanql.compile.expressions.emitter import Emitter, row_column
from sanql.errors import Refused
from sanql.functions.allowed import RULES
from sanql.functions.patterns import TEXT_BYTES_MAX
from sanql.kernel import lockdown
from sanql.parse.question import parse
from sanql.policy.model import Column, RowUnit, Table
from sanql.question.expressions import Call, Expr, Facts, Query, Type, walk
from support.scalar_expressions import EXPRESSIONS, SAME, renamed

pytestmark = pytest.mark.slow

TABLE = Table(
    "t",
    RowUnit(),
    {
        column.name: column
        for column in (
            Column("a", "integer", (-3, 40)),
            Column("b", "integer"),
            Column("r", "decimal", (Fraction(-2), Fraction(3, 2)), Fraction(1, 4)),
            Column("f", "float", (Fraction(1, 2), Fraction(3))),
            Column("u", "float"),
            Column("d", "date", (date(1950, 1, 1), date(2024, 3, 1))),
            Column("e", "date"),
            Column("s", "timestamp", (datetime(1999, 12, 31, 23, 30), datetime(2024, 2, 29, 1))),
            Column("z", "timestamp"),
            Column("ok", "boolean"),
            Column("w", "text"),
            Column("v", "text"),
        )
    },
    1,
    None,
    1,
)
HUGE = "repeat('ab√', 250000)"  # over a megabyte
HOSTILE = {
    "a": ("BIGINT", ["-9223372036854775808", "-3", "-1", "0", "2", "40", "9223372036854775807", "NULL"]),
    "b": ("BIGINT", ["-9223372036854775808", "-9223372036854775807", "-1", "0", "7", "55296", "1114112", "9223372036854775807", "NULL"]),
    "r": ("DOUBLE", ["-7", "-2", "-0.25", "-0.0", "0.75", "1.5", "'nan'", "NULL"]),
    "f": ("DOUBLE", ["0", "0.5", "1", "1.7", "3", "'inf'", "NULL"]),
    "u": ("DOUBLE", ["-1e308", "-1", "-0.0", "5e-324", "0.3", "1", "253402300800", "1e308", "'nan'", "'-inf'", "'inf'", "NULL"]),
    "d": ("DATE", ["'0001-01-01'", "'1950-01-01'", "'1999-12-31'", "'2024-02-29'", "'2030-01-01'", "'infinity'", "'-infinity'", "NULL"]),
    "e": ("DATE", ["'0044-03-15 (BC)'", "'0001-01-01'", "'1582-10-10'", "'2000-02-29'", "'9999-12-31'", "'infinity'", "'5000000-01-01'", "NULL"]),
    "s": ("TIMESTAMP", ["'1999-12-31 23:30:00'", "'2024-02-29 00:59:59.999999'", "'2400-01-01'", "'infinity'", "'290000-01-01'", "NULL"]),
    "z": ("TIMESTAMP", ["'0001-01-01'", "'9999-12-31 23:59:59.999999'", "'290000-12-31 10:00:00'", "'0300-01-01 (BC)'", "'infinity'", "'-infinity'", "'1969-12-31 23:59:59.5'", "NULL"]),
    "ok": ("BOOLEAN", ["true", "false", "NULL"]),
    "w": ("VARCHAR", ["''", "'7'", "'nan'", "'1e999'", "' x '", "'2024-02-30'", "'12.31.2023'", "'99999-01-01'", "'a%_\\b('", "chr(0) || 'a'", "'e' || chr(769) || '👩‍👩‍👧'", "NULL"]),
    "v": ("VARCHAR", ["''", "'a'", "'ab√'", "'𝔘𝔫𝔦'", "NULL"]),
}  # fmt: skip
ORDINARY = {
    "a": ("BIGINT", ["0", "1", "7", "12", "39", "NULL"]),
    "b": ("BIGINT", ["-120", "0", "5", "65", "8364", "123456789", "NULL"]),
    "r": ("DOUBLE", ["-1.75", "-0.5", "0", "0.25", "1.5", "NULL"]),
    "f": ("DOUBLE", ["0.5", "1", "1.7", "2.25", "3", "NULL"]),
    "u": ("DOUBLE", ["-12.5", "-1", "-0.5", "0", "0.25", "0.9", "3", "1e6", "1700000000.25", "NULL"]),
    "d": ("DATE", ["'1950-01-01'", "'1969-07-20'", "'1999-12-31'", "'2000-02-29'", "'2024-02-29'", "NULL"]),
    "e": ("DATE", ["'1812-06-24'", "'1970-01-01'", "'2000-03-31'", "'2024-12-30'", "'2099-01-31'", "NULL"]),
    "s": ("TIMESTAMP", ["'2000-01-31 00:00:00'", "'2011-11-11 11:11:11.111111'", "'2023-12-31 23:59:59'", "NULL"]),
    "z": ("TIMESTAMP", ["'1969-12-31 23:59:59'", "'1999-12-31 12:30:45.678'", "'2031-05-17 06:07:08'", "NULL"]),
    "ok": ("BOOLEAN", ["true", "false", "NULL"]),
    "w": ("VARCHAR", ["''", "'7'", "'-12.5'", "'Rome'", "'San José, CA'", "'the quick-brown fox'", "'2024-02-29'", "'29.02.2024'", "'a,b,c'", "'  pad '", "NULL"]),
    "v": ("VARCHAR", ["''", "'R'", "'a'", "'fox'", "'é'", "NULL"]),
}  # fmt: skip
ROWS = 300
BUILDERS = {"concat", "join", "concat_ws", "lpad", "rpad", "repeat", "initcap", "regexp_replace"}


def filled(values: dict[str, tuple[str, list[str]]], huge: bool) -> duckdb.DuckDBPyConnection:
    """Return a locked connection with rows that mix the values at random, the same on every run."""
    connection = lockdown.connect()
    picks = ["range AS place"]
    for name, (kind, choices) in values.items():
        listed = ", ".join(f"({choice})::{kind}" for choice in choices)
        picks.append(f"[{listed}][1 + (hash('{name}', range) % {len(choices)})::BIGINT] AS {name}")
    connection.execute(f"CREATE TABLE t AS SELECT {', '.join(picks)} FROM range({ROWS})")
    if huge:
        connection.execute(f"UPDATE t SET w = {HUGE} WHERE place % 60 IN (3, 5)")
        connection.execute(f"UPDATE t SET v = {HUGE} || 'x' WHERE place % 60 IN (4, 5)")
    lockdown.lock(connection, files_confined=False)
    return connection


@pytest.fixture(scope="module")
def hostile() -> Iterator[duckdb.DuckDBPyConnection]:
    with filled(HOSTILE, huge=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def ordinary() -> Iterator[duckdb.DuckDBPyConnection]:
    with filled(ORDINARY, huge=False) as connection:
        yield connection


def bound(text: str) -> Expr:
    """Return the expression as the parser understands it."""
    query = parse(f"SELECT COUNT(*) FROM t WHERE ({text}) IS NULL", {"t": TABLE}).query
    assert isinstance(query.where, Call)
    return query.where.args[0]


def computed(connection: duckdb.DuckDBPyConnection, expression: Expr) -> list[object]:
    """Return the expression's value in every row, as a worker would compute it."""
    emitter = Emitter(row_column({name: f'"{name}"' for name in TABLE.columns}))
    sql = emitter.sql(expression)
    return [
        row[0] for row in connection.execute(f"SELECT {sql} FROM t", emitter.parameters).fetchall()
    ]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_no_row_makes_an_error_or_leaves_what_is_proved(
    hostile: duckdb.DuckDBPyConnection, text: str
) -> None:
    expression = bound(text)
    values = computed(hostile, expression)
    assert len(values) == ROWS
    for value in values:
        assert_holds(expression.facts, value)
        if isinstance(expression, Call) and expression.op in BUILDERS and value is not None:
            assert len(str(value).encode()) <= TEXT_BYTES_MAX


CONSTANTS = {
    "a": ["0", "-3", "9223372036854775807", "NULL"],
    "b": ["-9223372036854775808 + 1", "55296", "-1", "NULL"],
    "r": ["-1.5", "1e200"],
    "f": ["0.5", "1e-300"],
    "u": ["-1e300", "0.0", "253402300800.5"],
    "d": ["DATE '0001-01-01'", "DATE '9999-12-31'"],
    "e": ["DATE '9999-12-31'", "DATE '0001-01-01'"],
    "s": ["TIMESTAMP '9999-12-31 23:59:59'", "TIMESTAMP '0001-01-01 00:00:00'"],
    "z": ["TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59'"],
    "ok": ["NULL", "TRUE"],
    "w": ["''", "'x'", "'2024-02-29'", f"'{'ab' * 5000}'"],
    "v": ["''", "NULL"],
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_constants_make_no_error_when_the_engine_computes_them_in_advance(
    hostile: duckdb.DuckDBPyConnection, text: str
) -> None:
    tried = 0
    for turn in range(4):
        constants = {name: listed[turn % len(listed)] for name, listed in CONSTANTS.items()}
        try:
            expression = bound(renamed(text, constants))
        except Refused:
            continue
        tried += 1
        for value in computed(hostile, expression)[:1]:
            assert_holds(expression.facts, value)
    assert tried


TYPES = {
    Type.INTEGER: ("BIGINT", "HUGEINT", "INTEGER"),
    Type.REAL: ("DOUBLE",),
    Type.TEXT: ("VARCHAR",),
    Type.BOOLEAN: ("BOOLEAN",),
    Type.DATE: ("DATE",),
    Type.TIMESTAMP: ("TIMESTAMP",),
    Type.NULL: ('"NULL"', "INTEGER"),
}
NOTHING = {
    "a constant": "NULL",
    "a choice": "CASE WHEN ok THEN NULL END",
    "a subquery's column": "nothing",
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_operand_that_is_always_null_is_understood_by_the_engine(
    hostile: duckdb.DuckDBPyConnection, text: str
) -> None:
    for name in sorted(CONSTANTS):
        for nothing in NOTHING.values():
            written = renamed(text, {name: f"({nothing})"})
            if written == text:
                continue
            asked = f"SELECT COUNT({written}) FROM (SELECT *, NULL AS nothing FROM t) t"
            try:
                query = parse(asked, {"t": TABLE}).query
            except Refused:
                continue
            assert isinstance(query, Query)
            argument = query.aggregates[0].argument
            if argument is None:
                continue  # it is never NULL, so rows are counted
            emitter = Emitter(lambda column: f'"{getattr(column, "name", "")}"')
            columns = ", ".join(f'"{c}" AS c{i}' for i, c in enumerate(TABLE.columns))
            read = f"(SELECT {columns}, 1 AS c{len(TABLE.columns)} FROM t LIMIT 3)"
            sql = f"SELECT system.main.typeof({emitter.sql(argument)}) FROM {read}"
            types = hostile.execute(sql, emitter.parameters).fetchall()
            assert len(types) == 3 and types[0][0] in TYPES[argument.facts.type], written


@pytest.mark.parametrize("text", [text for text, plain in EXPRESSIONS.items() if plain])
def test_ordinary_rows_give_what_plain_duckdb_gives(
    ordinary: duckdb.DuckDBPyConnection, text: str
) -> None:
    plain = EXPRESSIONS[text] if EXPRESSIONS[text] != SAME else text
    # the bounds of a column are held on reading, in the same way on both sides
    read = ", ".join(f"{name} AS {name}" for name in TABLE.columns)
    theirs = ordinary.execute(f"SELECT {plain} FROM (SELECT {read} FROM t)").fetchall()
    ours = computed(ordinary, bound(text))
    wrong = [(a, b) for a, (b,) in zip(ours, theirs, strict=True) if not same(a, b)]
    assert wrong == []
    assert any(value is not None for value in ours)


def test_every_operator_of_the_allow_list_is_attacked() -> None:
    used = {node.op for text in EXPRESSIONS for node in walk(bound(text)) if isinstance(node, Call)}
    assert set(RULES) - used == set()


def assert_holds(facts: Facts, value: object) -> None:
    """Assert that a value keeps what the facts claim."""
    if value is None:
        assert facts.nullable
        return
    match facts.type:
        case Type.DATE | Type.TIMESTAMP:
            assert facts.low is None or facts.low <= value <= facts.high  # type: ignore[operator]
        case Type.INTEGER:
            assert isinstance(value, int) and facts.low <= value <= facts.high  # type: ignore[operator]
            assert facts.grid is None or value % facts.grid == 0
        case Type.REAL:
            assert_real(facts, value)
        case Type.TEXT:
            assert isinstance(value, str)
        case _:
            assert isinstance(value, bool)


def assert_real(facts: Facts, value: object) -> None:
    """Assert a real number's bounds, up to the last bits of a double."""
    assert isinstance(value, float)
    if not math.isfinite(value):
        assert not facts.bounded
        return
    exact = Fraction(value)
    slack = abs(exact) / 10**9 + Fraction(1, 10**9)
    assert facts.low is None or facts.low - slack <= exact  # type: ignore[operator]
    assert facts.high is None or exact <= facts.high + slack  # type: ignore[operator]
    if facts.grid is not None and abs(exact) < 2**40 * facts.grid:
        steps = exact / facts.grid
        assert abs(steps - round(steps)) <= slack / facts.grid


def same(ours: object, theirs: object) -> bool:
    """Return whether two values are one, whatever types the engines chose for them."""
    if isinstance(ours, float | int) and not isinstance(ours, bool):
        if theirs is None or isinstance(theirs, bool | str):
            return False
        return math.isclose(float(ours), float(theirs), rel_tol=1e-12, abs_tol=1e-12)  # type: ignore[arg-type]
    if type(ours) is date and isinstance(theirs, datetime):
        return datetime(ours.year, ours.month, ours.day) == theirs
    return ours == theirs
