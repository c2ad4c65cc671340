"""Every function of the allow-list on neighbouring databases: nothing differs but what noise covers.

Each is counted, summed and grouped by, over hostile rows, with one secret on a database and on a
neighbour of it. An error of the engine, a row of the schema, a group or a measurement that moves
further than the plan declares is a failure.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from privacy.replay import check
from privacy.worlds import (
    UNITS,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.functions.allowed import RULES
from sanql.policy.model import Policy
from sanql.question.expressions import Call, walk
from support.cells import priced
from support.scalar_expressions import EXPRESSIONS, renamed
from support.volume import few_of

pytestmark = pytest.mark.slow

COLUMNS = {
    "a": "age", "b": "big", "r": "share", "f": "rate", "u": "raw", "d": "day", "e": "free_day",
    "s": "moment", "z": "moment", "ok": "flag", "w": "city", "v": "sex",
}  # fmt: skip
QUESTIONS = (
    "SELECT COUNT({e}), COUNT(CASE WHEN ({e}) IS NULL THEN 1 END) FROM {t}",
    "SELECT sex, COUNT(*) FROM {t} WHERE ({e}) IS NOT NULL GROUP BY sex",
    "SELECT SUM(CASE WHEN {e} BETWEEN -1 AND 5 THEN {e} END) FROM {t}",
    "SELECT SUM({e}) FROM {t}",
    "SELECT {e}, COUNT(*) FROM {t} GROUP BY 1",
    "SELECT COUNT(DISTINCT {e}) FROM {t}",
)
GROUPS_MAX = 3000
TEXTS = [renamed(text, COLUMNS) for text in EXPRESSIONS]


def replayed(sql: str, policy: Policy, ours: Database, theirs: Database, secret: int) -> set[str]:
    """Run a question on both databases, assert that they look alike, return its operators."""
    try:
        planned = priced(sql, policy.tables, policy.neighbours).levels[0]
        if (getattr(planned.outline.keys, "count", 0) or 0) > GROUPS_MAX:
            return set()
        sent = compile_plan(planned, source_of(policy), secret)
    except Refused:
        return set()
    check(planned, ours.cells(sent), theirs.cells(sent))
    query = planned.outline.query
    parts = [*query.keys, *(a.argument for a in query.aggregates if a.argument is not None)]
    parts += [query.where] if query.where is not None else []
    return {node.op for part in parts for node in walk(part) if isinstance(node, Call)}


@pytest.mark.parametrize("asked", few_of([1, 4], 1))
def test_no_function_tells_neighbours_apart(asked: int, tmp_path: Path) -> None:
    """Each is in so many questions that are answered, of those drawn for it."""
    rng = random.Random(0)
    limits = {table: draw_bounding(rng) for table, unit in UNITS.items() if unit is not None}
    policy = write_policy(tmp_path, "add-remove", limits)
    ours, theirs = Database(), Database()
    for table in UNITS:
        units = draw_units(rng, table)
        other = neighbour_of(rng, table, units, "add-remove")
        ours.load(table, [row for unit in units for row in unit])
        theirs.load(table, [row for unit in other for row in unit])
    answered: set[str] = set()
    for text in TEXTS:
        table = rng.choice(list(UNITS))
        left = asked
        for question in rng.sample(QUESTIONS, len(QUESTIONS)):
            sql = question.format(e=text, t=table)
            found = replayed(sql, policy, ours, theirs, rng.getrandbits(63))
            answered |= found
            left -= bool(found)
            if left == 0:
                break
    assert set(RULES) - answered == set()
