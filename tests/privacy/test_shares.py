"""What is measured together shares one price, and moves no further than declared (see `mutants`)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privacy.chains import Database, complete, source_of
from privacy.replay import check, keyed, scores_distance
from privacy.test_relations import limited, planned
from sanql.account.events import SelectionEvent
from sanql.ask.limit_suggestions import _plans
from sanql.compile.expressions.emitter import Emitter
from sanql.compile.measured_values import measured_value
from sanql.compile.statement import compile_plan
from sanql.measurements.measurement import Measured, Measurement
from sanql.measurements.quantile_picks import ROW
from sanql.measurements.sensitivity import Sensitivity
from sanql.parse.question import parse
from sanql.plan.plan import outline, price
from sanql.question.expressions import ColumnRef, Facts, Type

EPSILON, DELTA = Fraction(8), Fraction(1, 10**9)


def measured(value: str, kind: Type, nullable: bool) -> Any:
    """Return what is summed of a value that was proved to lie between 0 and 10, and does not."""
    facts = Facts(kind, Fraction(0), Fraction(10), nullable, Fraction(1))
    column = ColumnRef("x", facts, stored=False)
    part = Measurement(Measured.SUM, column, Sensitivity(10, 10, 100), low=0, high=10)
    emitter = Emitter(lambda expression: value)
    value = measured_value(part, emitter, None)  # type: ignore[arg-type]
    sql = f"SELECT {value.text} AS x"
    for layer in value.above:
        sql = f"SELECT {layer('x')} AS x FROM ({sql})"
    return duckdb.sql(sql).fetchall()[0][0]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("11::BIGINT", Type.INTEGER, 10),
        ("(-4)::BIGINT", Type.INTEGER, 0),
        ("1e300", Type.REAL, 10),
        ("-1e-9", Type.REAL, 0),
        ("'inf'::DOUBLE", Type.REAL, None),
        ("NULL::DOUBLE", Type.REAL, None),
    ],
)
def test_what_is_summed_is_held_whatever_was_proved(value: str, kind: Type, expected: Any) -> None:
    assert measured(value, kind, nullable=True) == expected
    assert measured(value, kind, nullable=False) == (expected or 0)


def test_levels_that_select_keys_share_one_delta(tmp_path: Path) -> None:
    policy = limited(tmp_path, 1)
    sql = "SELECT city, UPPER(city) AS loud, COUNT(*) FROM people GROUP BY CUBE (city, loud)"
    query = parse(sql, policy.tables).query
    made = price(outline(query, policy.tables, "add-remove"), EPSILON, DELTA)
    events = [event for event in made.charge.events if isinstance(event, SelectionEvent)]
    assert len(events) == 3 == sum(level.outline.selects_keys for level in made.levels)
    assert sum(event.delta * event.cells for event in events) == made.charge.delta == DELTA


def test_suggested_limits_of_rows_and_groups_share_one_epsilon(tmp_path: Path) -> None:
    policy = limited(tmp_path, 3)
    for by in (None, "city"):
        plans, _ = _plans("people", by, policy.tables, "add-remove", EPSILON)
        assert sum(each.charge.epsilon for each in plans.values()) == EPSILON


def test_a_row_moves_from_one_side_of_a_pick_to_the_other(tmp_path: Path) -> None:
    policy = limited(tmp_path, 1, "change-one")
    tenths = ", ".join(f"QUANTILE_DISC(age, {tenth})" for tenth in ("0.1", "0.5", "0.6"))
    made = planned(f"SELECT {tenths} FROM people", policy)
    sent = compile_plan(made, source_of(policy), 7)
    others = [{"person": person, "age": person} for person in range(1, 40)]
    found = []
    for age in (0, 22):  # the middle is between
        database = Database()
        database.load(complete({"people": [*others, {"person": 99, "age": age}]}))
        found.append(database.cells(sent))
    check(made, *found)
    ours, theirs = (keyed(made, cells) for cells in found)
    # one row's whole move at the first level, and four fifths of it on either side of that pick
    assert scores_distance(made.measurements[0], ours, theirs, 0).l1 > 2.59 * ROW
