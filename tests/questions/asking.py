"""Asking without noise: San's own pipeline in this process, and plain DuckDB beside it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from questions.cases import FOLDER
from questions.data import fill, remove_rows_of_nobody
from sanql.answer.levels import add_noise_to_levels, show_levels
from sanql.compile.statement import compile_plan, compile_public_query
from sanql.engines import Pool, open_engine
from sanql.errors import Refused
from sanql.kernel.messages import Statement
from sanql.parse.question import parse
from sanql.plan.plan import Plan, outline, price
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.question.public_query import PublicQuery
from sanql.san import San
from support.samplers import SilentSampler

EPSILON = Fraction(100_000)  # so much that a group of one person is over the threshold of its key
DELTA = Fraction(1, 10**9)
CONFIDENCE = Fraction(95, 100)

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Shape:
    """The data of one shape, which do not change: behind a policy, and bare.

    Several tests ask the same questions: what was planned and run for one of them is there for the next.
    """

    policy: Policy
    san: San
    engine: Pool
    plain: duckdb.DuckDBPyConnection
    _planned: dict[str, Plan | PublicQuery] = field(default_factory=dict)
    _ran: dict[str, pa.Table] = field(default_factory=dict)

    def plan(self, sql: str) -> Plan | PublicQuery:
        """Return the plan of a question, or the question itself where it reads nobody's data."""
        if sql not in self._planned:
            tables = self.san.session.tables
            query = parse(sql, tables).query
            self._planned[sql] = (
                query
                if isinstance(query, PublicQuery)
                else price(outline(query, tables, self.policy.neighbours), EPSILON, DELTA)
            )
        return self._planned[sql]

    def answer(self, planned: Plan | PublicQuery) -> Rows:
        """Return the rows of an answer whose noise is zero."""
        exact = self.cells(planned)
        if isinstance(planned, PublicQuery):
            return _rows(exact[0])
        cells = add_noise_to_levels(planned, exact, SilentSampler())
        return _rows(show_levels(planned, cells, CONFIDENCE).table)

    def cells(self, planned: Plan | PublicQuery) -> list[pa.Table]:
        """Return exact cells, one table a statement."""
        return [self._run(sent) for sent in self.write(planned)]

    def _run(self, sent: Statement) -> pa.Table:
        written = repr(sent)
        if written not in self._ran:
            self._ran[written] = self.engine.run(sent)
        return self._ran[written]

    def write(self, planned: Plan | PublicQuery) -> list[Statement]:
        """Return what the engine is asked."""
        if isinstance(planned, PublicQuery):
            return [
                compile_public_query(
                    planned, self.san.session.data.open().source, self.san.session.tables
                )
            ]
        return [
            compile_plan(level, self.san.session.data.open().source, secret=7)
            for level in planned.levels
        ]

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
    engine = Pool(san.session.data.open().source, policy.engine, open_engine("in_process"))
    plain = duckdb.connect(":memory:", config={"threads": 1})
    plain.execute("SET error_on_division_by_zero = false")
    plain.execute("SET TimeZone = 'UTC'")
    fill(plain, name)
    remove_rows_of_nobody(plain, name)
    return Shape(policy, san, engine, plain)
