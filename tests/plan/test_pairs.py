"""Averages in pairs: taken where noise is less, and half as noisy as with an even split."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from plan.conftest import TABLES
from plan.pricing import laplace_of
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler
from sanql.noise.cells import add_noise
from sanql.plan.level import Level, LevelOutline
from sanql.plan.norms import bounded_by_norm
from sanql.plan.pairs import in_pairs, suited
from sanql.plan.pricing import expected_error
from sanql.plan.reconcilable import shared_measurements
from sanql.policy.model import Neighbours
from sanql.statistics import Measuring
from support.cells import priced
from support.exact_cells import cell_of

Planned = Callable[..., Level]
Outlined = Callable[..., LevelOutline]
ONE = Fraction(1), Fraction(0)

# what is left of the least variance that a sum and a count of their own have, by hand: 4 (a + b) against
# 2 (cbrt(a) + cbrt(b))^3 with a and b what noise of the sum and of the count matters
TAKEN = [
    ("SELECT AVG(income) FROM people", 0.55),
    ("SELECT AVG(score) FROM visits", 0.55),
    ("SELECT sex, AVG(income) FROM visits GROUP BY sex", 0.55),
    ("SELECT AVG(income), COUNT(income) FROM people", 0.51),
    ("SELECT AVG(CASE WHEN age > 40 THEN 1 ELSE 0 END) FROM people", 0.24),
    ("SELECT AVG(member) FROM visits", 0.24),
    ("SELECT sex, AVG(member) FROM visits GROUP BY sex", 0.24),
]


def paired(measuring: Measuring) -> list[int]:
    return [index for index, part in enumerate(measuring.measurements) if part.pair is not None]


@pytest.mark.parametrize(("sql", "left"), TAKEN)
def test_an_average_in_a_pair_has_about_half_the_variance(
    outlined: Outlined, sql: str, left: float
) -> None:
    bounded = bounded_by_norm(outlined(sql).measuring, 1)
    apart = expected_error(bounded, laplace_of(bounded, *ONE))
    together = in_pairs(bounded)
    assert len(paired(together)) == 2
    assert expected_error(together, laplace_of(together, *ONE)) / apart == pytest.approx(
        left, rel=0.05
    )


@pytest.mark.parametrize("at", [0, 25, 50, 100])
def test_averages_vary_by_half_of_what_an_even_split_has(planned: Planned, at: int) -> None:
    """Measured: 2 (1 - q)² + 2 q² squared scales, q where the mean lies between its bounds.

    20,000 averages over 100,000 rows: their variance is 13 % off once in 10^10.
    """
    level = planned("SELECT age, score, AVG(income) AS mean FROM rows GROUP BY age, score", "1")
    rows, cells, width = 100_000, 121 * 41, 1000
    value = 1_000 * at  # in hundredths, from 0 to 1000
    counts = np.full(cells, rows)
    ages, scores = np.divmod(np.arange(cells), 41)
    exact = pa.table(
        {"k0": ages, "k1": scores - 10}
        | {
            f"m{index}": cell_of(part, counts * value, counts)
            for index, part in enumerate(level.computed)
        }
    )
    noisy = [add_noise(level, exact, ExactSampler()) for _ in range(4)]
    means = np.concatenate([averages(level, each.table) for each in noisy])
    q = at / 100
    even = 2 * (2 * width / rows) ** 2 * ((1 / 2) ** 2 + (q - 1 / 2) ** 2)  # epsilon 1/2 for each
    assert np.var(means) == pytest.approx(even / 2, rel=0.13)


def averages(level: Level, table: pa.Table) -> np.ndarray:
    """Return averages less the middle of the bounds, by hand."""
    part, counted = level.measurements
    summed, count = (table.column(name).to_numpy() for name in ("m0", "m1"))
    return np.asarray(summed * float(part.cell_step) / (count * float(counted.cell_step)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*), SUM(age) FROM people",  # no average is asked for
        "SELECT AVG(CASE WHEN TRUE THEN 1 END) FROM people",  # nothing varies
        "SELECT city, AVG(COALESCE(age, 0)) FROM people GROUP BY city",  # its count selects keys
    ],
)
def test_other_questions_are_measured_as_they_were(outlined: Outlined, sql: str) -> None:
    measuring = outlined(sql).measuring
    assert suited(measuring, 1) == bounded_by_norm(measuring, 1)


def test_where_the_number_of_rows_is_public_an_average_is_its_sum(planned: Planned) -> None:
    level = planned("SELECT AVG(COALESCE(age, 0)) FROM rows", "1", "0", "change-one")
    assert not paired(level.outline.measuring)
    assert isinstance(level.noises[0], DiscreteLaplace)


def test_gaussian_noise_takes_no_pairs(outlined: Outlined, planned: Planned) -> None:
    sql = "SELECT sex, AVG(income), AVG(age), AVG(score), COUNT(*) FROM visits GROUP BY sex"
    assert not paired(suited(outlined(sql).measuring, 2))
    level = planned(sql, "0.5", "1e-3")
    assert all(isinstance(noise, DiscreteGaussian) for noise in level.noises)


def test_a_pair_is_not_taken_where_it_has_more_noise(outlined: Outlined) -> None:
    """What else is asked of many averages shares one count, of which two pairs would have two."""
    sql = "SELECT AVG(COALESCE(age, 0)), AVG(COALESCE(score, 0)), AVG(COALESCE(income, 0)) FROM visits"
    measuring = bounded_by_norm(outlined(sql).measuring, 1)
    taken = in_pairs(measuring)
    errors = [expected_error(way, laplace_of(way, *ONE)) for way in (measuring, taken)]
    assert len(paired(taken)) == 2 and errors[1] < errors[0]


def test_an_average_over_units_has_the_sensitivity_of_one_value_of_each(outlined: Outlined) -> None:
    """Rows of a unit become one row of it, whatever the limit on its rows is."""
    sql = "SELECT AVG(n) FROM (SELECT person_id, {} AS n FROM visits GROUP BY person_id) AS x"
    for text, width in (("COUNT(*)", 6), ("LEAST(COUNT(*), 4)", 4), ("MAX(COALESCE(age, 0))", 120)):
        measuring = suited(outlined(sql.format(text)).measuring, 1)
        (part, _) = measuring.measurements
        assert part.pair is not None
        assert part.sensitivity.l1 == width * part.pair.scale, text


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("asked", ["AVG(income)", "AVG(income), COUNT(income), SUM(income)"])
def test_levels_of_one_question_are_measured_alike(asked: str, neighbours: Neighbours) -> None:
    sql = f"SELECT sex, {asked} FROM rows GROUP BY ROLLUP (sex)"
    plan = priced(sql, TABLES, neighbours, delta=0)
    assert [paired(level.outline.measuring) for level in plan.levels] == [[0, 1], [0, 1]]
    assert len(shared_measurements(plan)) == 2
