"""A question answered by the real engine with no noise at all, and rows as a dictionary each."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privacy.worlds import Database, source_of
from sanql.answer.post_process import show
from sanql.compile.statement import compile_plan
from sanql.noise.cells import add_noise
from sanql.parse.question import parse
from sanql.plan.plan import outline, price
from sanql.policy.model import Policy
from support.samplers import SilentSampler


def answer_without_noise(sql: str, policy: Policy, database: Database) -> list[dict[str, Any]]:
    """Return the rows of an answer; keys are such that none is selected."""
    query = parse(sql, policy.tables).private
    whole = price(outline(query, policy.tables, policy.neighbours), Fraction(1), Fraction(0))
    (level,) = whole.levels
    exact = database.cells(compile_plan(level, source_of(policy), 7))
    shown = show(level, add_noise(level, exact, SilentSampler()), Fraction(1, 2))
    return shown.table.to_pylist()  # type: ignore[no-any-return]
