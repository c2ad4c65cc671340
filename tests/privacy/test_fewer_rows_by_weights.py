"""max_rows_contributed beside keys selected by weights: every unit there can be, on a tiny domain.

A unit has up to two rows in each of three cities, so that there are 27 units; the policy lets four rows
count, and a question fewer. Each of them alone, and against each other, moves what is measured by no more
than is declared, and the cells of all of them are the sums of the cells of each.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from privacy.additivity import check_sum, without_units
from privacy.replay import check
from privacy.test_replay import ORDERS
from privacy.worlds import ENGINE, Bounding, Database, Row, source_of, write_policy
from sanql.compile import compile_plan
from sanql.measurements import Measured, key_weight
from sanql.parse import parse
from sanql.plan import outline
from sanql.plan.level import Level
from sanql.plan.pricing import price_levels
from sanql.policy.model import Neighbours, Policy
from support.volume import few_rows_of

CITIES = ("Rome", "Oslo", "Bern")
SQL = "SELECT city, COUNT(*), SUM(age), COUNT(DISTINCT person) FROM visits GROUP BY city"
COUNTS = list(itertools.product(range(3), repeat=len(CITIES)))  # rows of a unit in each city
SECRETS = range(3)


def rows_of(number: int) -> list[Row]:
    """Return the rows of a unit; its ages are as high as they may be."""
    nothing = {name: None for name in ENGINE if name not in ("person", "patient")}
    return [
        {**nothing, "person": number, "city": city, "age": 40}
        for city, count in zip(CITIES, COUNTS[number], strict=True)
        for _ in range(count)
    ]


def level_of(policy: Policy, rows: int) -> Level:
    """Return the level of the question by weights, whichever way would have the least error."""
    own = outline(
        parse(SQL, policy.tables).private, policy.tables, policy.neighbours, None, False, rows
    )
    (outlined,) = own.levels
    assert outlined.by_weights is not None
    (priced,), _ = price_levels([outlined.by_weights], Fraction(1), Fraction(1, 10**6))
    return Level(replace(outlined, measuring=outlined.by_weights, by_weights=None), priced)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "rows"),
    few_rows_of([(ORDERS[0], 2), (ORDERS[1], 3), *itertools.product(ORDERS, (2, 3, 4))], 2),
)
def test_no_unit_moves_anything_by_more_than_is_declared(
    neighbours: Neighbours, rows: int, tmp_path: Path
) -> None:
    limits = {"visits": Bounding(4, 3, None), "stays": Bounding(1, 1, None)}
    policy = write_policy(tmp_path, neighbours, limits)
    level, database = level_of(policy, rows), Database()
    for secret in SECRETS:
        sent = compile_plan(level, source_of(policy), secret)

        def cells(*units: int, sent: object = sent) -> pa.Table:
            database.load("visits", [row for unit in units for row in rows_of(unit)])
            return database.cells(sent)  # type: ignore[arg-type]

        alone = [cells(unit) for unit in range(len(COUNTS))]
        attained = [False] * len(level.measurements)
        others = alone if neighbours == "change-one" else [without_units(level, alone[0])]
        for one, other in itertools.product(alone, others):
            reached = check(level, one, other)
            attained = [before or now for before, now in zip(attained, reached, strict=True)]
        # what is declared is no more than what some unit does; of two apart there is no room here
        assert all(attained) or neighbours == "change-one", attained
        check_sum(level, cells(*range(len(COUNTS))), alone)
        _check_weights(level, alone)


def _check_weights(level: Level, alone: list[pa.Table]) -> None:
    """Assert that each unit weighs 1/√g in each of its g cities, however many rows of it count."""
    (place,) = [i for i, m in enumerate(level.measurements) if m.kind is Measured.KEY_WEIGHTS]
    assert place == level.outline.measuring.selection
    for counts, cells in zip(COUNTS, alone, strict=True):
        groups = sum(count > 0 for count in counts)
        weights = cells.column(f"m{place}").to_pylist()
        assert weights == [key_weight(max(1, groups))] * groups
