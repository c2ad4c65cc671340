"""Histograms of samples of random size against sums of fractions, over every cell population."""

from __future__ import annotations

import math
import random
import warnings
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from sanql.errors import Refused
from sanql.mechanisms.noiseless import HistogramAdversary, discard_prior, threshold_min
from sanql.mechanisms.noiseless.hypergeometric import hypergeometric
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.sampled_cells import cell_deltas
from sanql.mechanisms.noiseless.sampled_sizes import (
    DiscardPrior,
    SizePrior,
    sampled_deltas,
    sampled_within,
)

pytestmark = pytest.mark.slow


def true_delta(k: int, g: Fraction, prior: SizePrior, m: int) -> tuple[Fraction, Fraction]:
    """Return delta in both directions for a cell with m others, from every sample there is."""
    everybody = prior.population - 1
    sizes = [prior.first + i for i in range(len(prior.masses))]
    total = sum(Fraction(mass) * n for mass, n in zip(prior.masses, sizes, strict=True))
    with_person: dict[tuple[int, int], Fraction] = {}
    without: dict[tuple[int, int], Fraction] = {}
    for mass, n in zip(prior.masses, sizes, strict=True):
        t, q = n - 1, Fraction(mass) * n / total
        for c in range(max(0, t - (everybody - m)), min(m, t) + 1):
            chance = Fraction(math.comb(m, c) * math.comb(everybody - m, t - c))
            chance *= q / math.comb(everybody, t)
            for shown, table in ((c + 1, with_person), (c, without)):
                seen = (shown if shown >= k else 0, t - c)
                table[seen] = table.get(seen, Fraction(0)) + chance
    none = Fraction(0)
    one = sum((max(p - g * without.get(s, none), none) for s, p in with_person.items()), none)
    two = sum((max(p - g * with_person.get(s, none), none) for s, p in without.items()), none)
    return one, two


def hostile_prior(rng: random.Random) -> SizePrior:
    """Return a law of sizes with any shape: flat, steep, spiky, of one size, up to all but one."""
    population = rng.randint(4, 26)
    count = rng.randint(1, min(population - 1, 9))
    first = rng.choice([1, population - count, rng.randint(1, population - count)])
    shape = rng.choice([1, 2, 40, 10**6])
    weights = [rng.randint(1, shape) for _ in range(count)]
    whole = sum(weights)
    return SizePrior(population, first, tuple(Fraction(w, whole) for w in weights))


def assert_within(seed: int) -> None:
    rng = random.Random(seed)
    prior = hostile_prior(rng)
    k = rng.randint(2, max(2, prior.population // 2 + 1))
    epsilon = Fraction(rng.choice(["0", "1e-9", "0.01", "0.1", "0.5", "1", "2.5", "6"]))
    g = Fraction(math.exp(float(epsilon))) * (1 - Fraction(1, 10**15)) if epsilon else Fraction(1)
    truth = [true_delta(k, g, prior, m) for m in range(prior.population)]
    one, two = (max(column) for column in zip(*truth, strict=True))
    found = sampled_deltas(k, epsilon, prior)
    # in fractions at a level just below e^epsilon: not one unit in the last place is given away
    assert Fraction(found[0]) >= one
    assert Fraction(found[1]) >= two
    assert max(found) <= float(max(one, two)) * 1.011 + 1e-7
    target = Fraction(max(found))
    assert not 1e-200 < target < 0.97 or sampled_within(
        k, epsilon, prior, target * Fraction(103, 100)
    )
    least = max(one, two) * Fraction(999, 1000)
    assert least == 0 or not sampled_within(k, epsilon, prior, least)


@pytest.mark.parametrize("seed", range(150))
def test_no_cell_of_a_hostile_sample_exceeds_the_bound(seed: int) -> None:
    assert_within(seed)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(40))
def test_no_cell_of_thousands_of_hostile_samples_exceeds_the_bound(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        assert_within(seed)


def test_the_bound_is_what_the_worst_cell_attains() -> None:
    """4000 people, 2000 drawn: k = 150 holds at 9.2e-7, which cells of 276 others attain."""
    prior = discard_prior(population=4000, sample=2000, epsilon_size="0.05", delta="1e-6")
    found = max(sampled_deltas(150, Fraction(1, 2), prior))
    attained = cell_deltas(150, Fraction(1, 2), prior, 276)[0]
    assert attained <= found <= 1.01 * attained
    assert 9.18e-7 < found < 9.2e-7


def test_the_search_finds_the_least_threshold_without_a_warning() -> None:
    prior = discard_prior(population=4000, sample=2000, epsilon_size="0.05", delta="1e-6")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert threshold_min(prior, "0.5", "1e-6") == 149
    adversary = HistogramAdversary(149, prior)
    assert "a bound, within 1 %" in adversary.theorem
    assert adversary.bound("0.5").delta_upper <= 1e-6


@pytest.mark.parametrize(
    ("population", "sample", "level", "epsilon", "k"),
    [
        (10**9, 10**5, "0.1", "1", 28),
        (2500, 2000, "0.1", "1", 128),
        (10**12, 10**6, "0.1", "1", 28),
    ],
)
def test_large_populations_and_samples_that_are_most_of_them(
    population: int, sample: int, level: str, epsilon: str, k: int
) -> None:
    """Nothing is refused or overflows; a sample of next to nobody is as good as independent draws."""
    prior = DiscardPrior(population, sample, level, 153)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert max(sampled_deltas(k, Fraction(epsilon), prior)) < 1e-6
        assert max(sampled_deltas(k - 1, Fraction(epsilon), prior)) > 1e-6


def exact_hypergeometric(c: int, t: int, m: int, everybody: int) -> arb:
    """Return C(m, c)·C(everybody − m, t − c)/C(everybody, t) as a ball."""

    def ways(n: int, x: int) -> arb:
        return arb(n + 1).lgamma() - arb(x + 1).lgamma() - arb(n - x + 1).lgamma()

    with precision(400):
        return (ways(m, c) + ways(everybody - m, t - c) - ways(everybody, t)).exp()


def hostile_draws(rng: random.Random) -> tuple[int, int, int, int]:
    """Return count, draws, members and everybody, near every edge and some deviations out."""
    everybody = rng.choice([3, 50, 4000, 10**6, 10**9, 10**12 - 1])

    def edge() -> int:
        near = rng.choice([rng.randint(0, 5), rng.randint(0, everybody), int(everybody**0.5)])
        return max(0, min(everybody, rng.choice([near, everybody - near])))

    t, m = edge(), edge()
    least, most = max(0, t + m - everybody), min(t, m)
    mean = t * m // everybody
    away = int(rng.uniform(-30, 30) * (1 + mean * (everybody - m) / everybody) ** 0.5)
    return max(least, min(most, mean + away)), t, m, everybody


def test_a_probability_is_within_a_ten_millionth_of_itself_at_every_edge() -> None:
    """Also where nearly everybody is drawn, or is a member, of 10¹² people."""
    rng = random.Random(20)
    for _ in range(3000):
        c, t, m, everybody = hostile_draws(rng)
        true = float(exact_hypergeometric(c, t, m, everybody).mid())
        arrays = (np.array([float(n)]) for n in (c, t, m))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = float(hypergeometric(*arrays, everybody + 1)[0])
        assert true < 1e-300 or abs(found / true - 1) < 1e-7, (c, t, m, everybody)


def test_a_size_too_rare_for_a_float_is_refused() -> None:
    masses = (Fraction(1, 10**400), 1 - Fraction(1, 10**400))
    with pytest.raises(Refused, match="at least 1e-100"):
        SizePrior(10, 3, masses)
