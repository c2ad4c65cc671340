"""Quotients of counts are measured in pairs wherever the rows above the line are among those below."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from sanql.measurements import Measured
from sanql.plan.level import LevelOutline
from sanql.plan.norms import bounded_by_norm
from sanql.plan.pairs import suited

Outlined = Callable[..., LevelOutline]

SHARES = [
    "SELECT sex, 1.0 * COUNT_IF(age > 40) / COUNT(*) FROM visits GROUP BY sex",
    "SELECT sex, COUNT_IF(age > 40) / COUNT(age) FROM visits GROUP BY sex",
    "SELECT sex, COUNT(CASE WHEN age > 40 THEN 1 END) * 100.0 / COUNT(*) FROM visits GROUP BY sex",
    "SELECT sex, SUM(age > 40) / NULLIF(COUNT(*), 0) FROM visits GROUP BY sex",
    "SELECT sex, COUNT(*) FROM visits GROUP BY sex HAVING COUNT_IF(age > 40) / COUNT(*) > 0.5",
]
NO_SHARES = [
    "SELECT sex, COUNT_IF(score > 4) / COUNT(age) FROM visits GROUP BY sex",  # where age is NULL too
    "SELECT sex, COUNT(*) / COUNT_IF(age > 40) FROM visits GROUP BY sex",
    "SELECT sex, COUNT(age) / COUNT(*) FROM visits GROUP BY sex",
    "SELECT sex, COUNT_IF(age > 40), COUNT(*) FROM visits GROUP BY sex",
    "SELECT sex, COUNT_IF(age > 40) / COUNT(age), AVG(age) FROM visits GROUP BY sex",
]


@pytest.mark.parametrize("sql", SHARES)
def test_a_share_is_a_pair(outlined: Outlined, sql: str) -> None:
    measuring = suited(outlined(sql).measuring, 1)
    assert {part.kind for part in measuring.measurements} <= {
        Measured.SUM,
        Measured.ROWS,
        Measured.VALUES,
    }
    assert sum(part.pair is not None for part in measuring.measurements) == 2


@pytest.mark.parametrize("sql", NO_SHARES)
def test_counts_that_are_no_share_are_measured_as_counts(outlined: Outlined, sql: str) -> None:
    measuring = outlined(sql).measuring
    assert not any(part.kind is Measured.SUM and part.size == 1 for part in measuring.measurements)
    assert suited(measuring, 1).measurements[0].pair is None or "AVG" in sql


def test_the_count_of_a_pair_has_half_the_noise_of_one_with_half_of_epsilon(
    outlined: Outlined,
) -> None:
    from plan.pricing import laplace_of

    measuring = bounded_by_norm(outlined(SHARES[0]).measuring, 1)
    alone = laplace_of(measuring, Fraction(1), Fraction(0)).noises[0]
    paired = suited(outlined(SHARES[0]).measuring, 1)
    both = laplace_of(paired, Fraction(1), Fraction(0)).noises
    step = float(paired.measurements[0].cell_step)
    of_one_side = both[0].standard_deviation * step / 2**0.5  # the sum is read off two sides
    assert of_one_side <= 0.52 * alone.standard_deviation * float(
        measuring.measurements[0].cell_step
    )
