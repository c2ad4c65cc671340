"""Certified deltas fall as true ones do: with epsilon, with every record more, with every known less.

One more independent record is post-processing of the sum without it, so the true delta never rises
with the number of unknown records; and P(S) − e^epsilon·Q(S) never rises with epsilon. A bound that
rose where methods change would hide the edge from every search for the least that passes. What is
allowed is the width of the enclosures, a billionth.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest

from sanql.mechanisms.noiseless import (
    CountAdversary,
    SumAdversary,
    continuous_sum,
    delta_at,
    known_max,
    others_min,
)
from sanql.mechanisms.noiseless.answers import Countable
from sanql.mechanisms.noiseless.copies import copies_deltas
from sanql.mechanisms.noiseless.counts import SINGLES_MAX
from sanql.mechanisms.noiseless.irwin_hall import EXACT_MAX
from sanql.mechanisms.noiseless.mixture import rungs
from sanql.mechanisms.noiseless.summands import Interval, Lattice
from sanql.mechanisms.noiseless.truncation import binomial_deltas, poisson_deltas
from support.volume import few_of

ENCLOSED = 1 + 1e-8
SWITCHES = (EXACT_MAX, 64, 200, SINGLES_MAX, SINGLES_MAX + 5, 2000)


def deltas(adversary: Countable, sizes: list[int], epsilon: object) -> list[float]:
    return [delta_at(adversary.with_others(n), Fraction(str(epsilon))).delta_upper for n in sizes]


def assert_falls(found: list[float]) -> None:
    for before, after in pairwise(found):
        assert after <= before * ENCLOSED


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", few_of(["0.6", "40", "0.05", "3"], 2))
@pytest.mark.parametrize("around", SWITCHES)
def test_delta_falls_with_records_where_methods_change(around: int, epsilon: str) -> None:
    sizes = [around - 1, around, around + 1, around + 2]
    for adversary in (
        continuous_sum(others=9, eta="0.5"),
        continuous_sum(others=9, eta="0.49"),
        SumAdversary(9, Fraction(1), Fraction(2), Lattice(5)),
        SumAdversary(9, Fraction(9, 10), Fraction(1), Lattice(2)),
        CountAdversary(9, "0.1"),
        CountAdversary(9, "0.4"),
    ):
        assert_falls(deltas(adversary, sizes, epsilon))


@pytest.mark.slow
def test_delta_falls_with_epsilon_up_to_the_largest() -> None:
    levels = [
        "0",
        "0.001",
        "0.1",
        "1",
        "2",
        "2.5",
        "3",
        "6",
        "12",
        "20",
        "24",
        "25",
        "50",
        "99",
        "100",
    ]
    for adversary in (
        continuous_sum(others=49, eta="0.5"),
        continuous_sum(others=300, eta="0.2"),
        SumAdversary(70, Fraction(1), Fraction(1), Lattice(2)),
        SumAdversary(500, Fraction(1, 2), Fraction(2), Lattice(5)),
        CountAdversary(70, "0.1"),
        CountAdversary(2001, "0.01"),
    ):
        assert_falls([delta_at(adversary, level).delta_upper for level in levels])


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(40, 46), 1))
def test_delta_falls_with_random_classes_records_and_epsilons(seed: int) -> None:
    random.seed(seed)
    for _ in range(10):
        width = random.choice([0, 2, 3, random.randint(4, 200), 10**6])
        adversary: Countable
        others = int(10 ** random.uniform(0.5, 4.5))
        if random.random() < 0.3:
            adversary = CountAdversary(others, Fraction(random.randint(1, 49), 100))
        else:
            reach = Fraction(max(1, round(max(width, 20) * random.uniform(0.3, 1.2))))
            adversary = SumAdversary(
                others,
                Fraction(random.randint(1, 100), 100),
                reach if width else reach / 20,
                Lattice(width) if width else Interval(),
            )
        epsilon = Fraction(f"{10 ** random.uniform(-3, 1.9):.6g}")
        here = delta_at(adversary, epsilon).delta_upper
        more = adversary.with_others(others + random.choice([1, 2, 7, others]))
        assert delta_at(more, epsilon).delta_upper <= here * ENCLOSED
        assert delta_at(adversary, epsilon * Fraction("1.0001")).delta_upper <= here * ENCLOSED


def test_delta_of_a_histogram_falls_with_the_threshold() -> None:
    """So L known members of the sample are covered by the threshold k − L alone."""
    random.seed(41)
    for _ in range(300):
        rate, epsilon = (
            Fraction(random.randint(1, 999), 1000),
            Fraction(random.randint(1, 3000), 1000),
        )
        k = int(10 ** random.uniform(0.4, 4))
        here = *binomial_deltas(k, epsilon, rate), *poisson_deltas(k, epsilon)
        higher = *binomial_deltas(k + 1, epsilon, rate), *poisson_deltas(k + 1, epsilon)
        for before, after in zip(here, higher, strict=True):
            assert after <= before * ENCLOSED


def test_blocks_begin_at_the_same_numbers_whatever_the_window() -> None:
    for chance in (Fraction(1, 5), Fraction(99, 100)):
        whole = rungs(0, 200_000, chance, 12)
        assert whole == sorted(set(whole))
        for first in (0, 7, 999, 12_345, 150_001):
            some = rungs(first, first + 3000, chance, 12)
            assert some[0] <= first
            assert some == [k for k in whole if some[0] <= k <= first + 3000]
            assert all(b - a <= 1 + math.isqrt(b) // 12 for a, b in pairwise(some))


def test_delta_of_k_copies_is_the_same_by_every_method_and_never_rises() -> None:
    for part, reach, epsilon in (
        (Interval(), Fraction(1, 2), Fraction(25)),
        (Interval(), Fraction(1, 2), Fraction(1)),
        (Lattice(2), Fraction(1), Fraction(3)),
        (Lattice(60), Fraction(30), Fraction(2)),
    ):
        found, _ = copies_deltas(part, range(30, 80), reach, epsilon)
        assert_falls(found.tolist())
        falls = [math.log(a / b) for a, b in pairwise(found)]
        # no step where the methods change: the logarithm falls about evenly
        assert max(falls) < 1.5 * min(falls) or part == Lattice(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "adversary",
    [
        CountAdversary(2100, "0.02"),
        CountAdversary(500, "0.2"),
        continuous_sum(others=400, eta="0.5"),
        SumAdversary(120, Fraction(1), Fraction(1), Lattice(2)),
    ],
)
def test_fewer_than_the_least_number_of_records_never_pass(adversary: Countable) -> None:
    epsilon, delta = Fraction(6, 5), Fraction(1, 10**4)
    least = others_min(adversary, epsilon, delta)
    assert deltas(adversary, [least], epsilon)[0] <= delta
    below = [max(1, least - step) for step in (1, 2, 3, 5, 10, 20, 50)]
    assert min(deltas(adversary, below, epsilon)) > delta
    most = known_max(adversary, epsilon, delta)
    assert most == adversary.others - least
