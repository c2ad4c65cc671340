"""The lecture's statements on differential privacy, each on a mechanism one can write down."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from sanql.theory.channels import exact_statistic, from_function
from sanql.theory.closed_forms import LaplacePair
from sanql.theory.definitions.dp import perfect_privacy, pure_dp
from sanql.theory.distributions import Distribution
from sanql.theory.neighbours import add_remove, change_one, sensitivity

ROWS = list(product(range(3), repeat=3))


def test_perfect_privacy_spreads_from_neighbours_to_all_databases() -> None:
    constant = from_function(ROWS, lambda _: Distribution.over(["1/3", "2/3"]))
    assert perfect_privacy(constant, change_one(ROWS)).note == "holds"
    assert len(set(constant.rows)) == 1


def test_a_deterministic_function_is_private_only_when_constant() -> None:
    assert pure_dp(exact_statistic(ROWS, sum), change_one(ROWS))["gamma"] == math.inf
    assert pure_dp(exact_statistic(ROWS, lambda _: 7), change_one(ROWS))["gamma"] == 1


def test_a_sum_with_uniform_noise_is_not_perfectly_private() -> None:
    def noisy(x: tuple[int, ...]) -> Distribution:
        return Distribution.uniform(range(sum(x) - 5, sum(x) + 6))

    channel = from_function(ROWS, noisy)
    assert perfect_privacy(channel, change_one(ROWS)).note == "does not hold"
    assert pure_dp(channel, change_one(ROWS))["gamma"] == math.inf


def test_a_count_has_sensitivity_one_and_a_bounded_sum_its_bound() -> None:
    assert sensitivity(lambda x: sum(v == 2 for v in x), change_one(ROWS)) == 1
    for bound in (1, 2, 9):
        rows = list(product((0, bound), repeat=3))
        assert sensitivity(sum, change_one(rows)) == bound


def test_the_laplace_mechanism_has_exactly_its_epsilon() -> None:
    for epsilon, reach in ((0.1, 1.0), (1.0, 7.0), (math.log(2), 1.0)):
        pair = LaplacePair(scale=reach / epsilon, shift=reach)
        assert pair.epsilon_max == pytest.approx(epsilon)
        assert pair.hockey_stick(math.exp(epsilon) * (1 + 1e-12)) == 0
        assert pair.hockey_stick(math.exp(epsilon) * 0.999) > 0


def test_smaller_epsilon_flattens_the_two_densities() -> None:
    gaps = [LaplacePair(scale=1 / math.log(odds)).statistical_difference for odds in (1.1, 2, 5)]
    assert gaps == sorted(gaps)
    assert gaps[0] < 0.05
    assert gaps[2] > 0.5


def test_the_two_readings_of_neighbours_differ_by_at_most_twice() -> None:
    rows = [row for size in range(3) for row in product((0, 1), repeat=size)]
    channel = from_function(
        rows,
        lambda x: Distribution.from_weights(
            {t: Fraction(1, 2) ** abs(t - len(x)) for t in range(3)}
        ),
    )
    apart = pure_dp(channel, add_remove(rows))["gamma"]
    same = pure_dp(channel, change_one(rows))["gamma"]
    assert same <= Fraction(apart) ** 2
