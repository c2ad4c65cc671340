"""Asking without noise: San's own pipeline in this process, and plain DuckDB beside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from privacy.samplers import SilentSampler
from questions.cases import FOLDER
from questions.data import fill, remove_rows_of_nobody
from sanql.errors import Refused
from sanql.execute.lockdown import attach
from sanql.execute.messages import Query
from sanql.execute.run import running
from sanql.execute.statement import Statement, public_statement, statement
from sanql.parse import parse
from sanql.parse.shared import PublicQuery
from sanql.plan import Planned, outline_question, plan_question
from sanql.policy import Policy, load
from sanql.release import add_noise_to_levels, show_levels
from sanql.san import San

EPSILON = Fraction(100_000)  # so much that a group of one person is over the threshold of its key
DELTA = Fraction(1, 10**9)
CONFIDENCE = Fraction(95, 100)

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Shape:
    """The data of one shape: behind a policy, and bare."""

    policy: Policy
    san: San
    engine: duckdb.DuckDBPyConnection
    plain: duckdb.DuckDBPyConnection

    def plan(self, sql: str) -> Planned | PublicQuery:
        """Return the plan of a question, or the question itself where it reads nobody's data."""
        tables = self.san.tables
        query = parse(sql, tables).query
        if isinstance(query, PublicQuery):
            return query
        return plan_question(
            outline_question(query, tables, self.policy.neighbours), EPSILON, DELTA
        )

    def answer(self, planned: Planned | PublicQuery) -> Rows:
        """Return the rows of an answer whose noise is zero."""
        exact = [self._run(sent) for sent in self.write(planned)]
        if isinstance(planned, PublicQuery):
            return _rows(exact[0])
        cells = add_noise_to_levels(planned, exact, SilentSampler())
        return _rows(show_levels(planned, cells, CONFIDENCE).table)

    def _run(self, sent: Statement) -> pa.Table:
        with running(self.engine, Query(sent.sql, sent.parameters, sent.public)):
            return self.engine.to_arrow_reader().read_all()

    def write(self, planned: Planned | PublicQuery) -> list[Statement]:
        """Return what the engine is asked."""
        if isinstance(planned, PublicQuery):
            return [public_statement(planned, self.san.source, self.san.tables)]
        return [statement(level, self.san.source, secret=7) for level in planned.levels]

    def refusal(self, sql: str) -> Refused | None:
        """Return the refusal of a question, which says what would be answered; None if it is not."""
        try:
            self.san.explain(sql, epsilon=1)
        except Refused as refused:
            return refused
        return None

    def raw(self, sql: str) -> Rows:
        """Return what plain DuckDB answers."""
        return self.plain.execute(sql).fetchall()

    def close(self) -> None:
        """Close everything."""
        self.engine.close()
        self.plain.close()
        self.san.close()


def _rows(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def open_shape(name: str, folder: Path) -> Shape:
    """Return a shape, its data written to a folder."""
    shutil.copy(FOLDER / name / "policy.toml", folder / "policy.toml")
    with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
        fill(connection, name)
    policy = load(folder / "policy.toml")
    san = San(policy, sampler=SilentSampler())
    engine = _connection()
    engine.execute("SET scalar_subquery_error_on_multiple_rows = false")
    attach(engine, san.source.database, read_only=True)
    plain = _connection()
    fill(plain, name)
    remove_rows_of_nobody(plain, name)
    return Shape(policy, san, engine, plain)


def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET error_on_division_by_zero = false")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
