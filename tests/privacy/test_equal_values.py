"""Values that compare equal are alike in everything, whatever is computed from them.

The engine computes a subquery once for all askers whose values are equal, and a group is shown by one
of its values: which one is its choice. So nothing that may be asked tells equal values apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execute.test_functions_attacked import HOSTILE, ORDINARY, TABLE, bound
from privacy.native_storage import HEAD, Asked, Native
from sanql.execute import lockdown
from sanql.execute.emit import Emitter, one_zero, row_leaf
from sanql.parse.tree import Type
from scalar_expressions import EXPRESSIONS

POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 1
[table.t.column]
k = { type = "integer", bounds = [0, 9] }
x = { type = "float" }
y = { type = "decimal", bounds = [-5, 5], precision = 0.01 }
w = { type = "float" }
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 9] }
"""
SCHEMA = [
    "CREATE TABLE t (id BIGINT, k BIGINT, x DOUBLE, y FLOAT, w VARCHAR)",
    "CREATE TABLE p (k BIGINT)",
]
ZEROS = "INSERT INTO t SELECT i, 1, 0e0::DOUBLE, 0e0::FLOAT, '0' FROM range(1000) AS r(i)"
ONE = "INSERT INTO t VALUES (5000, 1, -(0e0::DOUBLE), -(0e0::FLOAT), '-0.0')"
PUBLIC = "INSERT INTO p VALUES (1)"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("equal"), POLICY, SCHEMA)


ZERO = [
    "t.x",
    "t.y",
    "t.w",
    "CEIL(t.x - 0.3)",
    "ROUND(-0.2 + t.x, 0)",
    "-t.x",
    "t.x * -3",
    "TRUNC(t.y, 1)",
]
APART = [
    "CAST({0} AS VARCHAR) = '-0.0'",
    "ATAN2({0}, -1) < 0",
    "CONCAT('is ', {0}) LIKE '%-%'",
    "ATAN2({0} * 1, {0} - 1) < 0",
]


@pytest.mark.parametrize("zero", ZERO)
def test_no_expression_tells_the_zeros_apart(native: Native, zero: str) -> None:
    questions = [
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND "
        + condition.format(zero)
        + ")"
        for condition in APART
    ]
    for rows in ([PUBLIC, ZEROS], [PUBLIC, ONE], [PUBLIC, ZEROS, ONE], [PUBLIC, ONE, ZEROS]):
        assert native.several(questions, rows) == [[{"m0": 0}]] * len(APART)


def test_nor_the_signs_of_what_is_no_number(native: Native) -> None:
    """An infinity less itself is NaN; engines print its sign."""
    questions = [
        f"SELECT COUNT(*) FROM t WHERE CAST({value} AS VARCHAR) LIKE '-%'"
        for value in (
            "((t.x + 1e300) * 1e300 - (t.x + 1e300) * 1e300)",
            "-((t.x + 1e300) * 1e300 - (t.x + 1e300) * 1e300)",
            "(t.x + 1e300) * 1e300 * t.x",
            "-((t.x + 1e300) * 1e300 * t.x)",
        )
    ]
    assert native.several(questions, [ZEROS, ONE]) == [[{"m0": 0}]] * 4


@pytest.fixture(scope="module")
def mixed() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return rows in which awkward and ordinary values meet."""
    with lockdown.connect() as connection:
        picks = []
        for name, (kind, choices) in ORDINARY.items():
            values = [*choices, *HOSTILE[name][1]]
            if kind == "DOUBLE":
                values += ["-(0e0)", "-('nan'::DOUBLE)"]
            listed = ", ".join(f"({value})::{kind}" for value in values)
            place = f"1 + (hash('{name}', range) % {len(values)})::BIGINT"
            picks.append(f"[{listed}][{place}] AS {name}")
        connection.execute(f"CREATE TABLE t AS SELECT {', '.join(picks)} FROM range(2000)")
        lockdown.lock(connection, files_confined=False)
        yield connection


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_no_operator_yields_a_negative_zero(mixed: duckdb.DuckDBPyConnection, text: str) -> None:
    expression = bound(text)
    if expression.facts.type is not Type.REAL:
        return
    scans = {
        name: one_zero(f'"{name}"') if column.type in ("decimal", "float") else f'"{name}"'
        for name, column in TABLE.columns.items()
    }
    emitter = Emitter(row_leaf(scans))
    found = mixed.execute(f"SELECT {emitter.sql(expression)} FROM t", emitter.parameters)
    values = [value for (value,) in found.fetchall() if value == 0]
    assert not [value for value in values if math.copysign(1, value) < 0]


def test_files_are_read_with_one_zero(tmp_path: Path) -> None:
    """What a file stores as the other zero is the same number to every question."""
    data = tmp_path / "data"
    data.mkdir()
    zeros = [0.0, -0.0] * 50
    table = pa.table(
        {
            "id": pa.array(range(100)),
            "k": pa.array([1] * 100),
            "x": pa.array(zeros),
            "y": pa.array(zeros, pa.float32()),
            "w": pa.array(["-0.0", "0"] * 50),
        }
    )
    pq.write_table(table, data / "t.parquet")
    (data / "p.csv").write_text("k\n1\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(HEAD.replace("data.duckdb", "data") + POLICY)
    asked = Asked(policy)
    questions = [f"SELECT COUNT(*) FROM t WHERE {APART[0].format(zero)}" for zero in ZERO[:3]]
    assert asked.cells_of(questions, asked.source.database) == [[{"m0": 0}]] * 3
