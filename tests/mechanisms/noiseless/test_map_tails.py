"""Tails of log-likelihood ratios enclose the truth, and MAP certificates rest on them."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from sanql.mechanisms.noiseless import MapAdversary, others_min
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta, feasible
from sanql.mechanisms.noiseless.map_estimators import chernoff_delta
from sanql.mechanisms.noiseless.map_tails import tail_delta
from sanql.mechanisms.noiseless.ratio_tails import Ratios, tails

FEW = 4_000
UNIFORM = (Fraction(1, 3),) * 3


def random_law(values: int) -> tuple[Fraction, ...]:
    kinds = (
        lambda: Fraction(random.randint(1, 9)),
        lambda: Fraction(1, 10 ** random.choice([0, 1, 4, 12])),
        lambda: Fraction(2) ** random.randint(-3, 3),
    )
    draw = random.choice(kinds)
    masses = [draw() for _ in range(values)]
    return tuple(mass / sum(masses) for mass in masses)


def exact_tail(ratios: Ratios, count: int, weight: Fraction, ties: bool) -> Fraction:
    """The probability in fractions, every sequence of records by itself."""
    total = Fraction(0)
    for drawn in product(range(len(ratios.chances)), repeat=count):
        score = weight * math.prod(ratios.ratios[x] for x in drawn)
        if score > 1 or (ties and score == 1):
            total += math.prod(ratios.chances[x] for x in drawn)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_tails_enclose_what_fractions_add_up_to(seed: int) -> None:
    random.seed(seed)
    values, count = random.choice([(2, 7), (3, 5), (4, 4)])
    f, h = random_law(values), random_law(values)
    ratios = Ratios(f, tuple(b / a for a, b in zip(f, h, strict=True)))
    weights = [Fraction(1), Fraction(2, 3), ratios.ratios[0] ** -3, Fraction(1, 10**9)]
    levels = [(weight, ties) for weight in weights for ties in (False, True)]
    for (weight, ties), (low, high) in zip(levels, tails(ratios, count, levels, FEW), strict=True):
        truth = exact_tail(ratios, count, weight, ties)
        assert Fraction(low) <= truth <= Fraction(high)


def test_atoms_of_a_lattice_are_counted_exactly() -> None:
    """Ratios 3/2 and 2/3: more than ten of twenty, or at least ten."""
    coin = Ratios((Fraction(3, 5), Fraction(2, 5)), (Fraction(2, 3), Fraction(3, 2)))
    chances = [math.comb(20, j) * 0.4**j * 0.6 ** (20 - j) for j in range(21)]
    over, least = tails(coin, 20, [(Fraction(1), False), (Fraction(1), True)])
    for (low, high), truth in ((over, sum(chances[11:])), (least, sum(chances[10:]))):
        assert low <= truth * (1 + 1e-12)
        assert high >= truth * (1 - 1e-12)
        assert high - low < 1e-5 * truth


@pytest.mark.parametrize(
    ("ratios", "base"),
    [
        (("5/2", "1", "2/5"), ("5/2", (0, -1, -2))),
        (("4", "8", "1/2"), ("2", (0, 1, -3))),
        (("2", "3", "5"), None),
        (("7", "7", "7"), None),
    ],
)
def test_a_base_is_found_where_all_ratios_are_its_powers(
    ratios: tuple[str, ...], base: tuple[str, tuple[int, ...]] | None
) -> None:
    found = Ratios(UNIFORM, tuple(map(Fraction, ratios))).base()
    assert found == (None if base is None else (Fraction(base[0]), base[1]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_delta_is_below_the_enumerated_one(seed: int) -> None:
    random.seed(1000 + seed)
    values, count = random.choice([2, 3]), random.choice([2, 2, 3])
    laws = tuple(random_law(values) for _ in range(count))
    others = random.choice([1, 2, 5, 12, 30])
    weights = random.choice([(), tuple(Fraction(random.choice([1, 3, 10**6])) for _ in laws)])
    if len(set(laws)) < count:
        return
    adversary = MapAdversary(others, laws, weights, random.choice([0, 1]) if others > 2 else 0)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(3)):
        truth = enumerated_delta(adversary, epsilon)  # with a slack of its own for rounding
        slack = truth * 4e-9 + 1e-14 * (others + 10) * math.exp(float(epsilon))
        assert tail_delta(adversary, epsilon, FEW) >= truth - slack


@pytest.mark.slow
@pytest.mark.parametrize(
    "laws",
    [
        (("0.5", "0.3", "0.2"), ("0.31", "0.29", "0.4")),
        (("0.5", "0.3", "0.2"), ("0.2", "0.3", "0.5")),
        (("0.5", "0.3", "0.2"), ("0.31", "0.29", "0.4"), ("0.1", "0.2", "0.7")),
    ],
)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 5)])
def test_bounds_are_within_some_hundredths_of_the_truth(
    laws: tuple[tuple[str, ...], ...], epsilon: Fraction
) -> None:
    adversary = MapAdversary(150, laws)
    truth = enumerated_delta(adversary, epsilon)
    assert (
        truth <= tail_delta(adversary, epsilon, 40_000) < (1.01 if len(laws) == 2 else 1.04) * truth
    )
    assert chernoff_delta(adversary) > 15 * truth


def test_beyond_enumeration_the_certificate_rests_on_tails() -> None:
    laws = (("0.4", "0.3", "0.2", "0.1"), ("0.32", "0.28", "0.2", "0.2"))
    adversary = MapAdversary(400, laws)
    assert not feasible(adversary)
    bound = adversary.bound(0)
    assert "contour" in bound.tiers[0]
    assert bound.delta_upper < chernoff_delta(adversary) / 10


@pytest.mark.slow
def test_fewer_records_are_enough_than_chernoff_asks_for() -> None:
    adversary = MapAdversary(10, (("0.4", "0.3", "0.2", "0.1"), ("0.1", "0.2", "0.3", "0.4")))
    least = others_min(adversary, 0, "1e-9")
    assert chernoff_delta(adversary.with_others(least)) > 10 * 1e-9
    assert adversary.with_others(least).bound(0).delta_upper <= 1e-9


def test_too_many_laws_leave_chernoffs_bound() -> None:
    laws = tuple((Fraction(i, 20), 1 - Fraction(i, 20)) for i in range(1, 9))
    assert tail_delta(MapAdversary(100, laws), Fraction(0)) == 1.0
