"""What an analyst writes around aggregates never fails, whatever the noise was."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from privacy.grammar import NOISY, Grammar
from privacy.worlds import UNITS, Bounding, Database, draw_units, source_of, write_policy
from sanql.answer.post_process import show
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from support.cells import priced
from support.samplers import ExtremeSampler, SilentSampler
from support.volume import few_of

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
            planned = priced(sql, policy.tables, policy.neighbours, delta=0).levels[0]
        except Refused:
            continue
        accepted += 1
        exact = database.cells(compile_plan(planned, source_of(policy), 5))
        schemas: list[pa.Schema] = []
        for sampler in (SilentSampler(), ExactSampler(), ExtremeSampler()):
            cells = add_noise(planned, exact, sampler)
            try:
                schemas.append(show(planned, cells, Fraction(19, 20)).table.schema)
            except Exception as error:
                raise AssertionError(sql) from error
        assert schemas[0] == schemas[1] == schemas[2], sql


@pytest.mark.parametrize("seed", few_of(range(1, 12), 2))
def test_arithmetic_around_aggregates_never_fails(seed: int, tmp_path: Path) -> None:
    show_stream(seed, 30, tmp_path)
