"""Ways in which a row once showed through; each was found by attack and stays closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from privacy.worlds import REGIONS
from sanql.errors import Refused

pytestmark = pytest.mark.slow

Exact = Callable[..., tuple[Any, list[dict[str, Any]]]]

# In floating point these factors and divisors carry 100 * 45035996273704.96 = 2^52 to 2^52 + 3.
FACTORS = [0.3, 0.9, 1.3, 0.6, 1.7, 0.7, 1.9, 1.1]
DRIFTING = (
    "income * 45035996273704.96"
    + "".join(f" * {factor}" for factor in FACTORS)
    + "".join(f" / {factor}" for factor in reversed(FACTORS))
)


@pytest.mark.parametrize("whole", [f"FLOOR({DRIFTING})", f"CAST({DRIFTING} AS BIGINT)"])
def test_a_real_number_that_drifts_beyond_its_bounds_cannot_overflow_whole_ones(
    whole: str, exact: Exact
) -> None:
    edge = 2**63 - 1 - 2**52
    sql = f"SELECT COUNT(*) FROM readings WHERE ({whole} + {edge}) % 7 >= 0"
    _, cells = exact(sql, [{"income": 100.0}, {"income": 1.0}])
    assert cells == [{"m0": 2}]


@pytest.mark.parametrize("rows", [[], [{"person": 1}], [{"person": 1}, {"person": 2}]])
def test_a_question_that_measures_nothing_has_one_row_whatever_the_data(
    rows: list[dict[str, Any]], exact: Exact
) -> None:
    _, cells = exact("SELECT 1 FROM visits HAVING TRUE", rows)
    assert cells == [{"present": 1}]


def test_public_keys_from_a_table_of_decimals_are_the_keys_rows_have(exact: Exact) -> None:
    rows = [{"rate": 1.5}, {"rate": 1.5}, {"rate": 9.75}, {"rate": 4.0}]
    _, cells = exact("SELECT rate, COUNT(*) FROM readings GROUP BY rate", rows)
    expected = {rate: 0 for _, rate in REGIONS if rate is not None} | {1.5: 2, 9.75: 1}
    assert {cell["k0"]: cell["m0"] for cell in cells} == expected


@pytest.mark.parametrize(
    "never_null",
    [
        # 1e-20 is lost beside 1, so the logarithm is that of 0: infinite, and not NULL
        "COALESCE(-LN(CASE WHEN flag THEN 1e-20 ELSE 1e-20 + 1 - 1 END), 46.0)",
        "COALESCE(SQRT(CASE WHEN flag THEN 9.0 ELSE 1e-20 + 1 - 1 - 1e-20 END), 3.0)",
        "GREATEST(5.0, LEAST(6.0, LN(CASE WHEN flag THEN 0.0 ELSE 1.0 END)))",
        "GREATEST(5.0, LEAST(6.0, 1e300 * 1e300 - 1e300 * 1e300 * temp))",
    ],
)
def test_a_value_proved_to_be_there_is_there_whatever_floating_point_makes_of_it(
    never_null: str, exact: Exact
) -> None:
    sql = f"SELECT SUM({never_null}) FROM readings"
    planned, ours = exact(sql, [{"flag": True, "temp": 1.0}], neighbours="change-one")
    _, theirs = exact(sql, [{"flag": False, "temp": None}], neighbours="change-one")
    moved = abs(ours[0]["m0"] - theirs[0]["m0"])
    assert moved <= planned.measurements[0].sensitivity.l1


def test_a_logarithm_of_a_constant_below_the_least_double_is_no_error(exact: Exact) -> None:
    _, cells = exact("SELECT COUNT(LN(1e-400)) FROM readings", [{}, {}])
    assert cells == [{"m0": 0}]


@pytest.mark.parametrize("sql", ["SUM(level)", "SUM(level + 1)", "SUM(CASE WHEN flag THEN 9 END)"])
def test_a_value_that_goes_missing_moves_a_sum_by_all_of_it(sql: str, exact: Exact) -> None:
    question = f"SELECT {sql} FROM readings"
    planned, ours = exact(question, [{"level": 9, "flag": True}], neighbours="change-one")
    _, theirs = exact(question, [{}], neighbours="change-one")
    assert abs(ours[0]["m0"] - theirs[0]["m0"]) == planned.measurements[0].sensitivity.l1


@pytest.mark.parametrize(
    "condition",
    [
        "city ILIKE 'aX' ESCAPE 'x'",
        "city LIKE 'x' ESCAPE 'é'",
        "city ILIKE 'aİ' ESCAPE 'İ'",
        "city LIKE 'a7' ESCAPE '7'",
    ],
)
def test_an_escape_that_fails_only_when_a_row_gets_there_is_refused(
    condition: str, exact: Exact
) -> None:
    with pytest.raises(Refused) as refusal:
        exact(f"SELECT COUNT(*) FROM visits WHERE {condition}", [])
    assert refusal.value.code == "escape_invalid"


def test_a_pattern_too_long_to_match_quickly_is_refused(exact: Exact) -> None:
    with pytest.raises(Refused) as refusal:
        exact(f"SELECT COUNT(*) FROM visits WHERE city LIKE '{'a_' * 200}'", [])
    assert refusal.value.code == "pattern_too_long"
