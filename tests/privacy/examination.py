"""One world behind every engine that a question is put to, and both oracles over it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa

from privacy.additivity import Violation, check_same, check_sum, check_units
from privacy.kernel import (
    ROW_GROUP_SMALLEST,
    Kernel,
    Schema,
    Settings,
    draw_settings,
    optimizer_rules,
    write_database,
    write_files,
)
from privacy.known import draw_known, outlined_with
from privacy.over_grammar import drawn_answers
from privacy.partition import partition
from privacy.stages import Split
from sanql.catalog.description import PreparedSource
from sanql.compile import ReleasedAnswer
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.kernel.messages import Statement
from sanql.parse.question import parse
from sanql.plan.keys import PublicKeys
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy import Budget
from sanql.policy.model import Policy, RowUnit, Table
from sanql.question import OverStatistics, PublicQuery, Query

Others = Sequence[tuple[Path, Settings]]
EPSILON, DELTA = Fraction(1), Fraction(1, 1000)
PRICE = Budget(EPSILON, DELTA)
WITH_PROFILE = 0.5  # of all questions
WITH_NULL_GROUPS = 0.4
GROUPS_MAX = 60  # more public keys than these, and longer statements, only cost time
LENGTH_MAX = 20_000
ALTERED = 4  # engines with settings drawn at random
UNIT_PARTS = 3  # that units are taken in, one after the other
COMPARED = 1  # other engines that one question is put to


@dataclass(frozen=True)
class Asked:
    """A question as it is sent: each level with its statement.

    `in_parts` are the same levels with units taken in parts, which gives the same cells.
    """

    sql: str
    levels: tuple[tuple[Level, Statement], ...]
    in_parts: tuple[Statement, ...]

    @property
    def has_null_groups(self) -> bool:
        """Return whether rows whose public key is NULL are in a group."""
        return any(
            column.null
            for plan, _ in self.levels
            if isinstance(plan.outline.keys, PublicKeys)
            for column in plan.outline.keys.columns
        )

    @property
    def large(self) -> str | None:
        """Return why it takes longer than it teaches, if it does."""
        counts = [getattr(plan.outline.keys, "count", 0) or 0 for plan, _ in self.levels]
        if max(counts) > GROUPS_MAX:
            return "left out: many public keys"
        long = max(len(sent.sql) for _, sent in self.levels) > LENGTH_MAX
        return "left out: a long statement" if long else None


def ask(
    sql: str, policy: Policy, source: PreparedSource, groups: int | None, secret: int
) -> Asked | str:
    """Return a question as it is sent, or in a word why it is not."""
    tables = {
        name: table if table.columns else replace(table, columns=source.columns[name])
        for name, table in policy.tables.items()
    }
    try:
        query = parse(sql, tables).query
        levels, released = _levels(query, tables, policy, groups, random.Random(secret))
        sent, in_parts = (
            [compile_plan(level, layout, secret, released) for level in levels]
            for layout in (source, replace(source, parts=UNIT_PARTS))
        )
    except Refused as refused:
        return refused.code
    return Asked(sql, tuple(zip(levels, sent, strict=True)), tuple(in_parts))


def _levels(
    query: Query | PublicQuery | OverStatistics,
    tables: Mapping[str, Table],
    policy: Policy,
    groups: int | None,
    rng: random.Random,
) -> tuple[list[Level], list[ReleasedAnswer]]:
    """Return what is measured for a question, and drawn answers that its later stages read."""
    statistics, released = [query], []
    if isinstance(query, OverStatistics):
        statistics = [each.query for each in query.statistics]
        released, tables = drawn_answers(query, rng), {**tables, **query.tables}
    levels = []
    for written in statistics:
        each = written
        if isinstance(written, Query):
            each = replace(written, null_groups=rng.random() < WITH_NULL_GROUPS)
        # by norms and limits of a profile as well as by rule: what is known is no part of the bound
        known = draw_known(rng, tables) if rng.random() < WITH_PROFILE else {}
        outlined = outlined_with(each, tables, policy.neighbours, groups, known, PRICE)  # type: ignore[arg-type]
        levels += price(outlined, EPSILON, DELTA).levels
    return levels, released


class Examination:
    """Engines over a world, over its parts, and over the same world stored and run otherwise."""

    def __init__(
        self, whole: Path, parts: Sequence[Path], singles: int, others: Others, rng: random.Random
    ) -> None:
        self._rng, self._singles = rng, singles
        self._whole = Kernel(whole)
        self._parts = [Kernel(part) for part in parts]
        self._others = [
            (f"{settings}, {path.stem}", Kernel(path, settings)) for path, settings in others
        ]

    def close(self) -> None:
        """Close every engine."""
        for kernel in (self._whole, *self._parts, *(kernel for _, kernel in self._others)):
            kernel.close()

    def examine(self, asked: Asked) -> int:
        """Put a question to both oracles; return how many comparisons were made, or raise a Violation."""
        compared = 0
        for (plan, sent), in_parts in zip(asked.levels, asked.in_parts, strict=True):
            compared += self._examine(plan, sent, in_parts)
        return compared

    def cells(self, sent: Statement) -> tuple[pa.Table, list[pa.Table]]:
        """Return the exact cells of the whole and of each part."""
        return _cells(self._whole, sent), [_cells(engine, sent) for engine in self._parts]

    def _examine(self, plan: Level, sent: Statement, in_parts: Statement) -> int:
        whole, parts = self.cells(sent)
        if in_parts.parts > 1:
            try:
                check_same(plan, whole, _cells(self._whole, in_parts))
            except Violation as violation:
                raise Violation(f"in parts: {violation}") from None
        compared = check_sum(plan, whole, parts)
        rows = isinstance(plan.outline.table.unit, RowUnit)
        compared += check_units(plan, parts[: self._singles], rows=rows)
        for name, engine in self._rng.sample(self._others, COMPARED):
            try:
                check_same(plan, whole, _cells(engine, sent))
            except Violation as violation:
                raise Violation(f"{name}: {violation}") from None
            compared += 1
        return compared


def examine_split(
    folder: Path, policy: Policy, schema: Schema, split: Split, rng: random.Random
) -> Examination:
    """Return engines over a world that was drawn, written to a folder."""
    shuffled = {
        table: rows if policy.tables[table].public else rng.sample(rows, len(rows))
        for table, rows in split.whole.items()
    }
    whole = write_database(folder / "whole.duckdb", schema, split.whole)
    again = write_database(
        folder / "shuffled.duckdb", schema, shuffled, row_group=ROW_GROUP_SMALLEST
    )
    parts = [
        write_database(folder / f"part{index}.duckdb", schema, part)
        for index, part in enumerate(split.parts)
    ]
    files = write_files(folder / "files", schema, split.whole)
    others = [(rng.choice([whole, again, files]), settings) for settings in _otherwise(rng)]
    return Examination(whole, parts, split.singles, [*others, (files, Settings(2))], rng)


def examine_database(
    folder: Path, policy: Policy, database: Path, rng: random.Random
) -> Examination:
    """Return engines over a database there is, cut into one unit and the others."""
    others = [(database, settings) for settings in _otherwise(rng)]
    return Examination(database, partition(policy, database, folder), 1, others, rng)


def _otherwise(rng: random.Random) -> list[Settings]:
    """Return settings that no answer may depend on."""
    rules = optimizer_rules()
    known = [Settings(1), Settings(8), Settings(8, keeps_order=False)]
    return known + [draw_settings(rng, rules) for _ in range(ALTERED)]


def _cells(engine: Kernel, sent: Statement) -> pa.Table:
    try:
        return engine.cells(sent)
    except duckdb.Error as error:
        raise Violation(
            f"accepted, and the engine cannot: {type(error).__name__} {error}"
        ) from None
