"""Private selection against exact tables and against the optimal selection's recursion."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest

from sanql.errors import Refused
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    NoNoise,
    TruncatedGeometric,
    appearance_probability,
    gaussian_threshold,
    truncated_geometric,
)

pytestmark = pytest.mark.slow

BUDGETS = [
    (Fraction(1), Fraction(1, 10**5)),
    (Fraction(1, 10), Fraction(1, 10**6)),
    (Fraction(3), Fraction(1, 10**9)),
    (Fraction(20), Fraction(1, 10**3)),
    (Fraction(1, 2), Fraction(1, 5)),
    (Fraction(1, 1000), Fraction(1, 20)),
    (Fraction(1, 7), Fraction(999, 1000)),
]
HIDDEN = None


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def telling_counts(noise: TruncatedGeometric) -> list[int]:
    """Return the small counts and those around the places where the behaviour changes."""
    turns = [turn + step for turn in (noise.limit, 2 * noise.limit) for step in range(-2, 4)]
    return sorted({*range(12), *(turn for turn in turns if turn >= 0)})


@cache
def masses(noise: TruncatedGeometric) -> dict[int, mpmath.mpf]:
    weights = {
        k: mpmath.exp(-abs(k) * real(noise.epsilon)) for k in range(-noise.limit, noise.limit + 1)
    }
    whole = mpmath.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def outcomes(noise: TruncatedGeometric, count: int) -> dict[int | None, mpmath.mpf]:
    """Return the exact table of what a key of `count` units shows: its noisy count, or nothing."""
    if count == 0:
        return {HIDDEN: mpmath.mpf(1)}
    table: dict[int | None, mpmath.mpf] = {HIDDEN: mpmath.mpf(0)}
    for drawn, mass in masses(noise).items():
        shown = count + drawn if count + drawn > noise.limit else HIDDEN
        table[shown] = table.get(shown, mpmath.mpf(0)) + mass
    return table


def excess(left: dict, right: dict, epsilon: Fraction) -> mpmath.mpf:
    """Return the least delta with which left ≤ exp(epsilon)·right + delta on every event."""
    factor = mpmath.exp(real(epsilon))
    return mpmath.fsum(
        max(mpmath.mpf(0), mass - factor * right.get(shown, mpmath.mpf(0)))
        for shown, mass in left.items()
    )


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_count_that_moves_by_one_stays_within_epsilon_and_delta(
    epsilon: Fraction, delta: Fraction
) -> None:
    noise = truncated_geometric(epsilon, delta)
    slack = mpmath.ldexp(1, -900)  # the oracle's own rounding
    for count in telling_counts(noise):
        here, there = outcomes(noise, count), outcomes(noise, count + 1)
        assert excess(here, there, epsilon) <= real(delta) + slack
        assert excess(there, here, epsilon) <= real(delta) + slack


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_limit_is_the_least_that_delta_allows(epsilon: Fraction, delta: Fraction) -> None:
    noise = truncated_geometric(epsilon, delta)
    assert masses(noise)[noise.limit] <= real(delta)
    if noise.limit > 1:
        shorter = TruncatedGeometric(epsilon, noise.limit - 1)
        assert masses(shorter)[shorter.limit] > real(delta)
        assert excess(outcomes(shorter, 1), outcomes(shorter, 0), epsilon) > real(delta)


def optimal(epsilon: mpmath.mpf, delta: mpmath.mpf, counts: int) -> list[mpmath.mpf]:
    """Return the largest chance of appearing that each count may have, count by count."""
    chances = [mpmath.mpf(0)]
    for _ in range(counts):
        last = chances[-1]
        chances.append(
            min(
                mpmath.exp(epsilon) * last + delta,
                1 - mpmath.exp(-epsilon) * (1 - last - delta),
                mpmath.mpf(1),
            )
        )
    return chances


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_chance_of_appearing_is_the_optimal_one(epsilon: Fraction, delta: Fraction) -> None:
    noise = truncated_geometric(epsilon, delta)
    counts = max(12, 2 * noise.limit + 4)
    spent = masses(noise)[noise.limit]
    best = optimal(real(epsilon), spent, counts)
    allowed = optimal(real(epsilon), real(delta), counts)
    for count in telling_counts(noise):
        chance = 1 - outcomes(noise, count)[HIDDEN]
        assert mpmath.almosteq(chance, best[count], 1e-200, 1e-200)
        assert chance <= allowed[count] + mpmath.ldexp(1, -900)
        explained = appearance_probability(noise, noise.limit + 1, count)
        assert explained == pytest.approx(float(chance), rel=1e-12)


def test_a_limit_of_astronomical_size_is_found_quickly_and_is_the_least() -> None:
    epsilon, delta = Fraction(1, 2**50), Fraction(1, 10**30)
    limit = truncated_geometric(epsilon, delta).limit
    ratio = mpmath.exp(-real(epsilon))

    def end(n: int) -> mpmath.mpf:
        return ratio**n * (1 - ratio) / (1 + ratio - 2 * ratio ** (n + 1))

    assert end(limit) <= real(delta) < end(limit - 1)


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 10), Fraction(7, 3), Fraction(400), Fraction(4097), Fraction(20_001)]
)
@pytest.mark.parametrize("delta", [Fraction(1, 4), Fraction(1, 10**5), Fraction(1, 10**12)])
def test_a_gaussian_threshold_is_the_least_that_hides_a_single_unit(
    sigma2: Fraction, delta: Fraction
) -> None:
    tau = gaussian_threshold(sigma2, delta)
    reach = int(40 * math.sqrt(sigma2)) + 40
    mass = [mpmath.exp(-k * k / (2 * real(sigma2))) for k in range(reach)]
    whole = 2 * mpmath.fsum(mass) - 1
    assert mpmath.fsum(mass[tau - 1 :]) / whole <= real(delta)
    assert tau == 2 or mpmath.fsum(mass[tau - 2 :]) / whole > real(delta)


def test_a_key_appears_more_often_the_more_units_have_it() -> None:
    noise = DiscreteGaussian(Fraction(100))
    tau = gaussian_threshold(Fraction(100), Fraction(1, 10**6))
    chances = [appearance_probability(noise, tau, count) for count in range(2 * tau + 40)]
    assert chances == sorted(chances)
    assert chances[0] == 0.0
    assert 0 < chances[1] <= 1e-6
    assert 0.5 < chances[tau] < 0.55
    assert chances[-1] > 1 - 1e-12


def test_without_noise_a_key_appears_from_its_threshold_on() -> None:
    shown = [appearance_probability(NoNoise(), 3, count) for count in range(6)]
    assert shown == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert appearance_probability(DiscreteLaplace(Fraction(1)), 1, 1) > 0.5


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 9), 1e-6, math.nan, 0])
def test_a_delta_that_is_no_probability_is_refused_by_name(delta: object) -> None:
    for make in (
        lambda: truncated_geometric(Fraction(1), delta),
        lambda: gaussian_threshold(Fraction(1), delta),
    ):
        with pytest.raises(Refused) as refusal:
            make()
        assert refusal.value.code == "delta_invalid"


@pytest.mark.parametrize(
    ("epsilon", "code"),
    [
        (Fraction(0), "noise_invalid"),
        (Fraction(-1), "noise_invalid"),
        (0.5, "noise_invalid"),
        (Fraction(1, 2**53), "noise_too_large"),
    ],
)
def test_an_epsilon_that_cannot_be_served_is_refused_by_name(epsilon: object, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        truncated_geometric(epsilon, Fraction(1, 10**6))
    assert refusal.value.code == code


def test_a_limit_beyond_the_integers_is_refused_by_name() -> None:
    with pytest.raises(Refused) as refusal:
        truncated_geometric(Fraction(1, 2**52), Fraction(1, 10**300))
    assert refusal.value.code == "noise_too_large"
