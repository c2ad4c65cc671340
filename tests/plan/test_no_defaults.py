"""What the planner does not know fails by name: it is never taken for something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from sanql.measurements.sensitivity import SensitivitySetting, sensitivity_of_units
from sanql.plan.keys import OneGroup
from sanql.plan.level import LevelOutline
from sanql.plan.limits import limits_of
from sanql.policy.model import Table, ViaUnit
from sanql.policy.units import unit_path
from sanql.question.expressions import ColumnRef, Facts, Type, walk
from sanql.statistics.measuring import plan_measurements

Outlined = Callable[..., LevelOutline]


def setting_of(outlined: LevelOutline, neighbours: str) -> SensitivitySetting:
    return SensitivitySetting(neighbours, outlined.limits, one_group=False, always_present=False)  # type: ignore[arg-type]


def test_a_statistic_that_is_not_known_is_no_covariance(outlined: Outlined) -> None:
    known = outlined("SELECT COVAR_POP(age, score) FROM people")
    strange = replace(known.query.aggregates[0], statistic="skewness")
    with pytest.raises(AssertionError):
        plan_measurements(
            (strange,), known.table, known.tables, setting_of(known, "add-remove"), False, 1
        )


def test_a_unit_behind_a_reference_is_not_limited_as_a_row() -> None:
    table = Table("orders", ViaUnit("person", "people", "id"), {}, 9)
    with pytest.raises(AssertionError):
        limits_of(table, OneGroup(), None)


def test_neighbours_that_are_not_known_move_at_least_as_much_as_any(outlined: Outlined) -> None:
    known = outlined("SELECT city, COUNT(*) FROM visits GROUP BY city")
    strange, largest = (setting_of(known, name) for name in ("swap", "change-one"))
    assert sensitivity_of_units(strange) == sensitivity_of_units(largest)


def test_rows_of_a_public_table_are_not_units() -> None:
    with pytest.raises(AssertionError):
        unit_path(Table("open", None, {}), {})


@dataclass(frozen=True)
class Strange:
    """An expression that nobody has heard of, around a private column."""

    inside: ColumnRef
    facts: Facts


def test_an_expression_that_is_not_known_is_not_passed_over() -> None:
    hidden = Strange(ColumnRef("age", Facts(Type.INTEGER)), Facts(Type.INTEGER))
    with pytest.raises(AssertionError):
        list(walk(hidden))  # type: ignore[arg-type]
