"""How much of one unit may reach an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sanql.errors import Refused
from sanql.measurements.limits import ContributionLimits
from sanql.options.values import whole_number
from sanql.plan.level import LevelOutline

Outlined = Callable[..., LevelOutline]


@pytest.mark.parametrize(
    ("sql", "groups", "limits"),
    [
        # visits: 6 rows, 4 in one group, 3 groups
        ("SELECT COUNT(*) FROM visits", None, ContributionLimits(1, 4, 4)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", None, ContributionLimits(3, 6, 4)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", 2, ContributionLimits(2, 6, 4)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", 1, ContributionLimits(1, 4, 4)),
        (
            "SELECT COUNT(*) FROM visits GROUP BY city",
            99,
            ContributionLimits(3, 6, 4),
        ),  # never more
        ("SELECT COUNT(*) FROM visits GROUP BY member", None, ContributionLimits(2, 6, 4)),
        ("SELECT COUNT(*) FROM visits GROUP BY region", None, ContributionLimits(3, 6, 4)),
        ("SELECT COUNT(*) FROM people GROUP BY city", 5, ContributionLimits(1, 1, 1)),
        ("SELECT COUNT(*) FROM rows GROUP BY city", 5, ContributionLimits(1, 1, 1)),
    ],
)
def test_limits_are_the_policys_or_tighter(
    outlined: Outlined, sql: str, groups: int | None, limits: ContributionLimits
) -> None:
    assert outlined(sql, "add-remove", groups).limits == limits


@pytest.mark.parametrize(
    ("sql", "groups", "rows", "limits"),
    [
        ("SELECT COUNT(*) FROM visits", None, 3, ContributionLimits(1, 3, 3)),
        ("SELECT COUNT(*) FROM visits", None, 5, ContributionLimits(1, 4, 4)),  # 4 in one group
        ("SELECT COUNT(*) FROM visits GROUP BY city", None, 5, ContributionLimits(3, 5, 4)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", None, 2, ContributionLimits(2, 2, 2)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", 1, 2, ContributionLimits(1, 2, 2)),
        ("SELECT COUNT(*) FROM visits GROUP BY city", None, 1, ContributionLimits(1, 1, 1)),
        (
            "SELECT COUNT(*) FROM visits GROUP BY ROLLUP (city)",
            None,
            2,
            ContributionLimits(2, 2, 2),
        ),
        ("SELECT COUNT(*) FROM visits GROUP BY city", None, 99, ContributionLimits(3, 6, 4)),
        ("SELECT COUNT(*) FROM rows GROUP BY city", None, 5, ContributionLimits(1, 1, 1)),
    ],
)
def test_a_question_may_let_fewer_rows_of_a_unit_count(
    outlined: Outlined, sql: str, groups: int | None, rows: int, limits: ContributionLimits
) -> None:
    assert outlined(sql, "add-remove", groups, rows=rows).limits == limits


def test_a_table_without_limits_is_refused(outlined: Outlined) -> None:
    with pytest.raises(Refused) as caught:
        outlined("SELECT COUNT(*) FROM unlimited")
    assert caught.value.code == "limits_missing"


@pytest.mark.parametrize("typed", ["0", "-1", "1.5", "１", "x", "", "1e3", "12345678", True])
def test_a_number_of_groups_that_is_none_is_refused(typed: str) -> None:
    with pytest.raises(Refused) as caught:
        whole_number("max_groups_contributed", 3)(typed)
    assert caught.value.code == "groups_invalid"


def test_a_number_of_groups_may_be_typed_or_passed() -> None:
    assert (
        whole_number("max_groups_contributed", 3)("3"),
        whole_number("max_groups_contributed", 3)(3),
    ) == (3, 3)


@pytest.mark.parametrize(
    "statistic", ["COVAR_POP(age, 1e200)", "CORR(1e200, age)", "VAR_POP(age * 1e80)"]
)
def test_values_whose_products_are_beyond_any_number_are_refused(
    outlined: Outlined, statistic: str
) -> None:
    with pytest.raises(Refused) as caught:
        outlined(f"SELECT {statistic} FROM visits")
    assert caught.value.code == "bounds_too_wide"
