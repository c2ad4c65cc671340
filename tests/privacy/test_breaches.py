"""Ways in which a row once showed through; each was found by attack and stays closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from privacy.worlds import REGIONS

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
