"""A subquery reaches the engine as often as it was written, however often its value is needed.

Variances and correlations measure squares and products, and clamps and guards name what they hold
several times; a subquery written out each time would be planned and computed as often, for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.compile.statement import compile_plan
from sanql.kernel.lockdown import connect
from sanql.kernel.messages import Statement
from sanql.kernel.run import running
from sanql.san import San, open_policy
from support.plans import plan_of
from support.policies import dataset

pytestmark = pytest.mark.slow

POLICY = (
    dataset("d.duckdb", name="d", epsilon=100, delta=0)
    + """\
[table.t]
privacy_unit = "id"
rows_per_unit_max = 3
[table.t.column]
k = { type = "integer", bounds = [0, 10] }
v = { type = "float", bounds = [-10, 10] }
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 10] }
w = { type = "integer", bounds = [0, 10] }
"""
)
MARK = "data.main.p"
HAS = "CASE WHEN EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND p.w > t.v) THEN 1 ELSE t.v END"
LARGEST = "(SELECT MAX(p.w) FROM p WHERE p.k = t.k AND p.w < t.v)"
OWN = "(SELECT SUM(s.v) FROM t s WHERE s.id = t.id)"
QUESTIONS = {
    "a correlation": (f"SELECT CORR({HAS}, {LARGEST}) FROM t", 2),
    "a covariance": (f"SELECT COVAR_POP({HAS}, {LARGEST}) FROM t", 2),
    "a variance": (f"SELECT VAR_POP({LARGEST} + {HAS}) FROM t", 2),
    "a deviation and a mean": (
        f"SELECT STDDEV({LARGEST}), AVG({LARGEST}), SUM({LARGEST}) FROM t",
        3,
    ),
    "a guard": (f"SELECT AVG(LN(1 + ABS({LARGEST}))), COUNT(*) FROM t WHERE {LARGEST} > 1", 2),
    "a value of a subquery": (
        f"SELECT AVG(q.b * q.b) FROM (SELECT id, SQRT(ABS({LARGEST})) AS b FROM t) q",
        1,
    ),
    "what is summed for a person": (
        f"SELECT AVG(q.b) FROM (SELECT id, SUM(GREATEST(0, LEAST(5, {LARGEST}))) AS b FROM t "
        "GROUP BY id) q",
        1,
    ),
    "what is looked for": (
        f"SELECT VAR_POP(CASE WHEN ROUND(SQRT(ABS({LARGEST}))) IN (SELECT w FROM p WHERE p.k < t.k) "
        "THEN 1 ELSE 0 END) FROM t",
        2,
    ),
    "sums in sums": (
        "SELECT COUNT(*) FROM t WHERE "
        + "".join(f"(SELECT SUM(p{i}.w + " for i in range(12))
        + "1"
        + "".join(f") FROM p p{i} WHERE p{i}.k < t.k)" for i in reversed(range(12)))
        + " > 1",
        12,
    ),
    "a person's own rows": (f"SELECT CORR({OWN}, {LARGEST}) FROM t", 1),
}


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    """Return San over a dozen people and a public table."""
    folder = tmp_path_factory.mktemp("copies")
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 12 AS id, i % 5 AS k, (i % 9)::DOUBLE AS v FROM range(30) r(i)"
        )
        connection.execute("CREATE TABLE p AS SELECT i % 5 AS k, i % 7 AS w FROM range(20) r(i)")
    (folder / "policy.toml").write_text(POLICY)
    with open_policy(folder / "policy.toml") as opened:
        yield opened


def _sent(san: San, sql: str) -> Statement:
    (level,) = plan_of(san, sql, epsilon=1).levels
    return compile_plan(level, san.session.data.open().source, 7)


@pytest.mark.parametrize("shape", QUESTIONS)
def test_the_engine_is_told_a_subquery_as_often_as_it_was_written(san: San, shape: str) -> None:
    sql, subqueries = QUESTIONS[shape]
    sent = _sent(san, sql)
    assert sent.in_full().replace('"', "").count(f"FROM {MARK}") == subqueries


@pytest.fixture(scope="module")
def engines(san: San) -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """Return the rows of all, and those of each person alone, behind an engine each."""
    database = san.session.data.open().source.database
    made = [_engine(database, person) for person in (None, *range(12))]
    yield made
    for each in made:
        each.close()


def _engine(database: Path, person: int | None) -> duckdb.DuckDBPyConnection:
    connection = connect()
    connection.execute("ATTACH ':memory:' AS data")
    connection.execute(f"ATTACH '{database}' AS kept (READ_ONLY)")
    whose = "" if person is None else f"WHERE id = {person}"
    connection.execute(f"CREATE TABLE data.main.t AS SELECT * FROM kept.main.t {whose}")
    connection.execute("CREATE TABLE data.main.p AS SELECT * FROM kept.main.p")
    return connection


@pytest.mark.parametrize("shape", QUESTIONS)
def test_cells_are_the_sum_of_the_cells_of_each_person(
    san: San, engines: list[duckdb.DuckDBPyConnection], shape: str
) -> None:
    sent = _sent(san, QUESTIONS[shape][0])
    together, *alone = (_cells(engine, sent) for engine in engines)
    assert together == [sum(numbers) for numbers in zip(*alone, strict=True)]


def _cells(engine: duckdb.DuckDBPyConnection, sent: Statement) -> list[int]:
    with running(engine, sent):
        ((*cells,),) = engine.fetchall()
    return cells
