"""Published constants that are wrong, refuted by numbers; the corrected ones are what we use."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sanql.mechanisms.noiseless import MapAdversary
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta
from sanql.mechanisms.noiseless.map_estimators import chernoff_delta, printed_delta
from sanql.mechanisms.noiseless.truncation import binomial_deltas


def poisson_masses(mean: float, length: int) -> np.ndarray:
    n = np.arange(length)
    logs = n * math.log(mean) - mean - np.array([math.lgamma(k + 1) for k in n])
    return np.exp(logs)


def outside(masses: np.ndarray, epsilon: float) -> float:
    """Return P(n : P(N=n)/P(N=n−1) not within e^±epsilon), the left side of the paper's (2)."""
    total = float(masses[0])
    for n in range(1, len(masses)):
        if masses[n] > 0 and masses[n - 1] > 0:
            log_ratio = abs(math.log(masses[n] / masses[n - 1]))
            total += float(masses[n]) if log_ratio > epsilon else 0.0
    return total


def test_lemma_2_poisson_is_false_as_printed_and_true_as_corrected() -> None:
    mean, epsilon = 100, 0.5
    true = outside(poisson_masses(mean, 400), epsilon)
    printed = math.exp(-mean * epsilon**2)
    corrected = math.exp(-mean * (1 - (1 + epsilon) * math.exp(-epsilon))) + math.exp(
        -mean * (1 + (epsilon - 1) * math.exp(epsilon))
    )
    assert printed < 2e-11
    assert 1e-5 < true < corrected


def test_lemma_2_binomial_misses_the_share_that_is_not_sampled() -> None:
    trials, rate, epsilon = 1000, 0.99, 0.5
    n = np.arange(trials + 1)
    logs = np.array(
        [math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in n]
    )
    masses = np.exp(logs + n * math.log(rate) + (trials - n) * math.log(1 - rate))
    true = outside(masses, epsilon)
    # any constant in exp(-Omega(n·p·eps²)) down to a hundredth is refuted
    assert math.exp(-trials * rate * epsilon**2 / 100) < 0.1 < true
    assert true < 2 * math.exp(-trials * rate * (1 - rate) * epsilon**2 / 4)


def test_equation_2_is_one_sided() -> None:
    epsilon = 0.3
    masses = np.exp(epsilon * np.arange(201) - epsilon * 200)
    masses /= masses.sum()
    steps = np.log(masses[1:] / masses[:-1])
    assert np.all(np.abs(steps) <= epsilon * (1 + 1e-9))  # N passes equation (2) but for n = 0
    assert masses[0] < 1e-25
    assert masses[200] > 0.25  # yet N + 1 = 201 with this probability, and N = 201 never


def test_theorem_10_has_no_universal_constant() -> None:
    epsilon, delta, constant = 1 / 3, 1e-6, 10
    threshold = math.ceil(constant * math.log(1 / delta) / epsilon**2)
    assert threshold == 1244
    claimed = 3 * delta
    for rate, least in [("0.99", 1e-3), ("0.999", 0.28)]:
        true = max(binomial_deltas(threshold, Fraction(1), Fraction(rate)))
        assert true > least > claimed
    # whatever the constant, a sampling fraction close enough to one breaks it
    for factor in (100, 1000):
        rate = 1 - Fraction(1, 1000 * factor)
        assert max(binomial_deltas(factor * threshold, Fraction(1), rate)) > 0.1


@pytest.mark.parametrize(("known", "least"), [(10, 1.9e-8), (26, 0.19)])
def test_theorem_15_is_false_when_the_known_records_are_the_worst(known: int, least: float) -> None:
    adversary = MapAdversary(60, (("0.9", "0.1"), ("0.1", "0.9")), known=known)
    exact = enumerated_delta(adversary, Fraction(0))
    assert printed_delta(adversary) < least < exact <= chernoff_delta(adversary)


def test_theorem_12_as_printed_is_valid_and_about_twice_too_large() -> None:
    for least, change in [(0.1, 0.01), (0.3, 0.001)]:
        sharp = math.log(least / (least - change))
        printed = math.log((least + change) / (least - change))
        # extreme pairs of laws within `change` of each other, every output at least `least`
        assert math.log(least / (least - change)) <= sharp * (1 + 1e-12)
        assert math.log((least + change) / least) < sharp < printed < 2.01 * sharp
