"""Intervals of keys selected privately hold given that the key is shown, at every true count.

The oracle is exact: all noisy counts are enumerated, with the noise's law by its own formula.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.estimates import band_of
from sanql.certificate.rows_left_out import rows_left_out_in_words
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, Noise, TruncatedGeometric
from sanql.mechanisms.appearing import least_counts
from sanql.plan.level import Level
from support.one_level import plan_of

Planned = Callable[..., Level]
ROUNDING = 1e-12  # of sums of a few hundred doubles, each right to the last digit


def masses(noise: Noise, reach: int) -> np.ndarray:
    """Return P(Z = k) for k from 0 to the reach, by the definition of each law."""
    match noise:
        case TruncatedGeometric(epsilon, limit):
            rate = mpmath.mpf(epsilon.numerator) / epsilon.denominator
            weights = [mpmath.exp(-rate * k) if k <= limit else mpmath.mpf(0) for k in range(reach)]
        case DiscreteGaussian(sigma2):
            variance = mpmath.mpf(sigma2.numerator) / sigma2.denominator
            weights = [mpmath.exp(-k * k / (2 * variance)) for k in range(reach)]
        case DiscreteLaplace(scale):
            rate = mpmath.mpf(scale.denominator) / scale.numerator
            weights = [mpmath.exp(-rate * k) for k in range(reach)]
        case _:
            raise AssertionError(noise)
    whole = 2 * mpmath.fsum(weights) - weights[0]
    return np.array([float(weight / whole) for weight in weights])


def worst(plan: Level, confidence: Fraction) -> float:
    """Return the least coverage, given that the key is shown, over all true counts."""
    index = plan.outline.measuring.selection
    assert index is not None and plan.priced.threshold is not None
    noise, threshold = plan.noises[index], plan.priced.threshold
    reach = 12 * int(noise.standard_deviation + 1) + 12
    shown = np.arange(threshold, 2 * threshold + 2 * reach)
    cells = {"k0": [f"c{y}" for y in shown], f"m{index}": shown}
    band = band_of(plan, NoisyCells(pa.table(cells)), 0, confidence, 1)
    law = masses(noise, 2 * threshold + 4 * reach)
    found = []
    for count in range(1, threshold + reach):  # further up selection no longer matters
        mass = law[np.abs(shown - count)]
        inside = (band.low <= count) & (count <= band.high)
        found.append(mass[inside].sum() / mass.sum())
    return float(min(found))


@pytest.mark.parametrize(
    ("sql", "epsilon", "delta", "law"),
    [
        ("SELECT city, COUNT(*) FROM rows GROUP BY city", "1", "1e-6", TruncatedGeometric),
        ("SELECT city, COUNT(*) FROM rows GROUP BY city", "0.3", "1e-4", TruncatedGeometric),
        ("SELECT city, COUNT(*) FROM rows GROUP BY city", "4", "1e-9", TruncatedGeometric),
        ("SELECT city, COUNT(DISTINCT person_id) FROM many GROUP BY city", "1", "1e-5", DiscreteGaussian),
        ("SELECT city, COUNT(DISTINCT person_id) FROM many GROUP BY city", "4", "1e-7", DiscreteGaussian),
    ],
)  # fmt: skip
@pytest.mark.parametrize("confidence", [Fraction(95, 100), Fraction(1, 2), Fraction(999, 1000)])
def test_given_that_it_is_shown_every_count_is_covered(
    planned: Planned, sql: str, epsilon: str, delta: str, law: type, confidence: Fraction
) -> None:
    plan = planned(sql, epsilon, delta, groups=40)  # stated, so that units are counted in full
    assert isinstance(plan.noises[plan.outline.measuring.selection or 0], law)
    assert worst(plan, confidence) >= float(confidence) - ROUNDING


@pytest.mark.parametrize(
    ("noise", "threshold"),
    [
        (DiscreteLaplace(Fraction(3)), 40),
        (DiscreteLaplace(Fraction(1, 3)), 4),
        (TruncatedGeometric(Fraction(1, 2), 20), 21),
        (TruncatedGeometric(Fraction(5), 3), 4),
        (DiscreteGaussian(Fraction(9)), 15),
        (DiscreteGaussian(Fraction(1, 9)), 2),
    ],
)
def test_lower_ends_are_those_that_the_definition_gives(noise: Noise, threshold: int) -> None:
    """The least n whose chance to show as much, among what is shown, is above alpha/2."""
    law = masses(noise, 900)

    def tail(t: int) -> float:
        beyond = float(law[max(t, 1 - t) :].sum())
        return beyond if t >= 1 else 1 - beyond

    shown = np.arange(threshold, threshold + 40)
    found = least_counts(noise, threshold, shown, Fraction(9, 10))  # type: ignore[arg-type]
    for y, low in zip(shown.tolist(), found.tolist(), strict=True):
        expected = next(n for n in range(1, y + 1) if tail(y - n) / tail(threshold - n) > 0.05)
        assert low == expected


@pytest.mark.parametrize(
    ("noise", "threshold"),
    [
        (TruncatedGeometric(Fraction(1, 2), 20), 221),
        (TruncatedGeometric(Fraction(40), 2), 202),
        (DiscreteGaussian(Fraction(4)), 400),
        (DiscreteGaussian(Fraction(400)), 2000),
        (DiscreteLaplace(Fraction(1, 3)), 900),
    ],
)
def test_a_raised_threshold_leaves_the_interval_as_narrow_as_the_noise(
    noise: Noise, threshold: int
) -> None:
    """The definition again, of logarithms with many digits: tails as far out are no doubles."""
    mpmath.mp.dps = 30

    def mass(z: int) -> mpmath.mpf:
        match noise:
            case TruncatedGeometric(epsilon, limit):
                return (
                    mpmath.exp(-mpmath.mpf(epsilon) * abs(z)) if abs(z) <= limit else mpmath.mpf(0)
                )
            case DiscreteGaussian(sigma2):
                return mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * mpmath.mpf(sigma2)))
            case DiscreteLaplace(scale):
                return mpmath.exp(-abs(z) / mpmath.mpf(scale))
            case _:
                raise AssertionError(noise)

    reach = threshold + 400
    tails = [mpmath.mpf(0)]
    for z in range(reach, -400, -1):
        tails.append(tails[-1] + mass(z))
    tail = {reach + 1 - i: value for i, value in enumerate(tails)}
    shown = np.array([threshold, threshold + 1, threshold + 9, threshold + 150])
    found = least_counts(noise, threshold, shown, Fraction(9, 10))  # type: ignore[arg-type]
    for y, low in zip(shown.tolist(), found.tolist(), strict=True):
        likely = (
            n for n in range(1, y + 1)
            if tail[threshold - n] > 0 and tail[y - n] / tail[threshold - n] > 0.05
        )  # fmt: skip
        assert low == next(likely)


def test_far_above_the_threshold_the_interval_is_that_of_the_noise(planned: Planned) -> None:
    for sql, delta in (("SELECT city, COUNT(*) FROM rows GROUP BY city", "1e-6"),
                       ("SELECT city, COUNT(DISTINCT person_id) FROM many GROUP BY city", "1e-5")):  # fmt: skip
        plan = planned(sql, "1", delta, groups=40)
        index = plan.outline.measuring.selection or 0
        values = np.array([10**6, 10**9, 2**40])
        cells = NoisyCells(pa.table({"k0": ["a", "b", "c"], f"m{index}": values}))
        band = band_of(plan, cells, 0, Fraction(95, 100), 1)
        width = plan.noises[index].half_width(Fraction(95, 100))
        assert (band.low == values - width).all() and (band.high == values + width).all()


def test_averages_over_the_count_that_selects_use_its_interval(planned: Planned) -> None:
    plan = planned("SELECT city, AVG(COALESCE(age, 0)) FROM first GROUP BY city", "1", "1e-6")
    selection = plan.outline.measuring.selection
    shown = plan.priced.threshold
    columns = {f"m{i}": [shown] for i in range(len(plan.measurements))}
    cells = NoisyCells(pa.table({"k0": ["a"], **columns}))
    used = plan.estimates[0].count  # type: ignore[union-attr]
    band = band_of(plan, cells, 0, Fraction(95, 100), 2)
    assert used == selection
    assert (band.high - band.low)[0] > 20  # of a few people anything is the average


def test_a_wide_gaussian_is_tailed_without_summing_it_up() -> None:
    noise = DiscreteGaussian(Fraction(10**12))
    shown = np.array([5_000_000, 9_000_000, 20_000_000])
    low = least_counts(noise, 5_000_000, shown, Fraction(95, 100))
    width = noise.half_width(Fraction(95, 100))
    assert low[0] == 1 and low[0] < low[1] < low[2]
    assert abs(low[2] - (shown[2] - width)) <= 2


CHOSEN = [
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex HAVING COUNT(*) > 10", "HAVING"),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY n DESC LIMIT 1", "LIMIT"),
    ("SELECT sex FROM rows GROUP BY sex HAVING AVG(age) > 3 ORDER BY SUM(age) LIMIT 1", "HAVING and LIMIT"),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY -n OFFSET 1", "OFFSET"),
]  # fmt: skip
AS_THEY_ARE = [
    "SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex HAVING sex <> 'F'",
    "SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY n DESC",
    "SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY sex LIMIT 1",
    "SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex LIMIT 1",
    "SELECT sex, COUNT(*) AS n FROM open GROUP BY sex HAVING COUNT(*) > 10",
]


@pytest.mark.parametrize(("sql", "clauses"), CHOSEN)
def test_a_selection_by_noisy_values_is_said_under_the_answer(
    planned: Planned, sql: str, clauses: str
) -> None:
    assert (
        f"not valid after selection by {clauses}:"
        in rows_left_out_in_words(plan_of(planned(sql)))[-1]
    )


@pytest.mark.parametrize("sql", AS_THEY_ARE)
def test_a_selection_by_keys_is_not(planned: Planned, sql: str) -> None:
    assert not any("not valid" in line for line in rows_left_out_in_words(plan_of(planned(sql))))
