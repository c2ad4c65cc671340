"""What an analyst writes around aggregates never fails, whatever the noise was."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from privacy.grammar import NOISY, Grammar
from privacy.samplers import ExtremeSampler, SilentSampler
from privacy.worlds import UNITS, Bounding, Database, draw_units, source_of, write_policy
from sanql.errors import Refused
from sanql.execute.statement import statement
from sanql.mechanisms import ExactSampler
from sanql.parse import parse
from sanql.plan import outline, plan
from sanql.release import add_noise, show

pytestmark = pytest.mark.slow


def show_stream(seed: int, count: int, folder: Path) -> None:
    """Show generated questions with no noise, real noise and the most there can be."""
    rng = random.Random(seed)
    grammar = Grammar(rng, NOISY)
    limits = {table: Bounding(4, 2, 3) for table, unit in UNITS.items() if unit is not None}
    policy = write_policy(folder, "add-remove", limits)
    database = Database()
    database.load("visits", [row for unit in draw_units(rng, "visits") for row in unit])
    accepted = 0
    while accepted < count:
        sql = grammar.arithmetic_outside("visits")
        try:
            query = parse(sql, policy.tables).query
            outlined = outline(query, policy.tables, policy.neighbours)
            planned = plan(outlined, Fraction(1), Fraction(0))
        except Refused:
            continue
        accepted += 1
        exact = database.cells(statement(planned, source_of(policy), 5))
        schemas: list[pa.Schema] = []
        for sampler in (SilentSampler(), ExactSampler(), ExtremeSampler()):
            cells = add_noise(planned, exact, sampler)
            try:
                schemas.append(show(planned, cells, Fraction(19, 20)).table.schema)
            except Exception as error:
                raise AssertionError(sql) from error
        assert schemas[0] == schemas[1] == schemas[2], sql


def test_arithmetic_around_aggregates_never_fails(tmp_path: Path) -> None:
    show_stream(1, 30, tmp_path)


@pytest.mark.slow
def test_arithmetic_around_aggregates_never_fails_over_many_questions(tmp_path: Path) -> None:
    show_stream(2, 300, tmp_path)
