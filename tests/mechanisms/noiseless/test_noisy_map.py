"""A MAP estimate with noise: its epsilon on all neighbours, and how often it is wrong, by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mechanisms.noiseless.test_verdicts import laws_at_random, vectors
from sanql.mechanisms.noiseless import MapAdversary, NoisyMap, records_for
from sanql.mechanisms.noiseless.noisy_map import wrong_at


def instances(seed: int, count: int) -> list[tuple[MapAdversary, Fraction]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        laws = laws_at_random(rng, int(rng.integers(2, 4)), int(rng.integers(2, 4)))
        weights = tuple(Fraction(int(w)) for w in rng.integers(1, 5, size=len(laws)))
        found.append((MapAdversary(5, laws, weights), Fraction(int(rng.integers(1, 30)), 10)))
    return found


@pytest.mark.slow
def test_no_record_moves_a_chance_by_more_than_epsilon_and_the_worst_nearly_does() -> None:
    nearest = 0.0
    for laws, epsilon in instances(1, 120):
        noisy = NoisyMap(laws, epsilon)
        values = len(laws.laws[0])
        for counts in vectors(4, values):
            before = noisy.chances(counts)
            for x in range(values):
                after = noisy.chances(tuple(n + (v == x) for v, n in enumerate(counts)))
                for p, q in zip(before, after, strict=True):
                    moved = abs(math.log(p) - math.log(q))
                    assert moved <= float(epsilon) + 1e-9
                    nearest = max(nearest, moved / float(epsilon))
    assert nearest > 0.9


@pytest.mark.slow
def test_a_wrong_law_is_told_no_more_often_than_is_said() -> None:
    informative = 0
    for laws, epsilon in instances(2, 120):
        noisy = NoisyMap(laws, epsilon)
        values, records = len(laws.laws[0]), 9
        worst = [0.0, 0.0]
        for theta, law in enumerate(laws.rational_laws):
            wrong = [0.0, 0.0]
            for counts in vectors(records, values):
                chance = float(math.factorial(records))
                for n, p in zip(counts, law, strict=True):
                    chance *= float(p) ** n / math.factorial(n)
                fits = [
                    w * math.prod(p**n for p, n in zip(other, counts, strict=True))
                    for w, other in zip(laws.rational_weights, laws.rational_laws, strict=True)
                ]
                wrong[0] += chance * (fits.index(max(fits)) != theta)
                wrong[1] += chance * (1 - noisy.chances(counts)[theta])
            worst = [max(a, b) for a, b in zip(worst, wrong, strict=True)]
        said = wrong_at(laws, records), noisy.wrong_upper(records)
        assert said[0] >= worst[0] - 1e-12
        assert said[1] >= worst[1] - 1e-12
        informative += said[1] < 1
    assert informative > 20


@pytest.mark.parametrize("wrong", ["0.1", "0.001"])
def test_the_least_records_reach_it_and_noise_takes_more(wrong: str) -> None:
    coin = MapAdversary(1, ((0.6, 0.4), (0.4, 0.6)))
    exact = records_for(coin, wrong)
    noisy = records_for(coin, wrong, NoisyMap(coin, Fraction(1, 20)).power_lower)
    assert exact is not None and noisy is not None
    assert wrong_at(coin, exact) <= float(wrong) < wrong_at(coin, exact - 1)
    assert noisy > 2 * exact
    assert records_for(coin, wrong, 1e-9) is None
