"""Certificates against independent oracles: brute force, rationals, enumeration, thousands of
random parameters; never an underestimate."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from flint import fmpz_poly

from sanql.mechanisms.noiseless import (
    CountAdversary,
    MapAdversary,
    Part,
    SumAdversary,
    continuous_sum,
    heterogeneous_sum,
)
from sanql.mechanisms.noiseless.coins import coins_deltas
from sanql.mechanisms.noiseless.fourier import many_delta
from sanql.mechanisms.noiseless.irwin_hall import few_delta
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta
from sanql.mechanisms.noiseless.map_estimators import chernoff_delta
from sanql.mechanisms.noiseless.mixture import binomial_weights
from sanql.mechanisms.noiseless.rising import rising_deltas
from sanql.mechanisms.noiseless.saddle import rough_delta
from sanql.mechanisms.noiseless.sampled_cells import cell_deltas
from sanql.mechanisms.noiseless.sampled_sizes import DiscardPrior, SizePrior, sampled_deltas
from sanql.mechanisms.noiseless.summands import Coin, Interval, Lattice
from sanql.mechanisms.noiseless.truncation import binomial_deltas, poisson_deltas
from support.volume import few_of

pytestmark = pytest.mark.slow

NONE_BELOW = 1 - 1e-12


def hockey_stick(p: np.ndarray, q: np.ndarray, g: float) -> float:
    return float(np.maximum(p - g * q, 0).sum())


def shifted_delta(law: np.ndarray, shift: int, g: float) -> float:
    """Return the worse direction of law moved by `shift` against law, summed point by point."""
    moved = np.concatenate([np.zeros(shift), law])
    still = np.concatenate([law, np.zeros(shift)])
    return max(hockey_stick(moved, still, g), hockey_stick(still, moved, g))


def irwin_hall(count: int, y: Fraction) -> Fraction:
    """Return P(sum of `count` uniforms on [0, 1] ≤ y), by piecewise polynomials in rationals."""
    total = Fraction(0)
    for j in range(count + 1):
        if y > j:
            total += (-1) ** j * math.comb(count, j) * (y - j) ** count
    return total / math.factorial(count)


@pytest.mark.parametrize("count", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("shift", [Fraction(1, 2), Fraction(1, 3), Fraction(1), Fraction(5, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_no_event_of_exact_irwin_hall_exceeds_delta_of_few(
    count: int, shift: Fraction, epsilon: Fraction
) -> None:
    found = few_delta(Interval(), count, shift, epsilon)
    g = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    best = mpmath.mpf(0)
    for k in range(0, 40 * count):
        y = Fraction(k, 40)
        above, below = irwin_hall(count, min(y + shift, Fraction(count))), irwin_hall(count, y)
        value = mpmath.mpf(above.numerator) / above.denominator
        best = max(best, value - g * (mpmath.mpf(below.numerator) / below.denominator))
    assert found >= best * NONE_BELOW
    assert found <= best * (1 + 0.02)


def test_delta_of_few_is_one_at_zero_records_and_the_shift_at_one() -> None:
    for shift in (Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(3)):
        assert few_delta(Interval(), 0, shift, Fraction(1)) == 1
        one = few_delta(Interval(), 1, shift, Fraction(9))
        assert float(min(shift, Fraction(1))) <= one <= float(shift) * (1 + 1e-12)
    assert few_delta(Lattice(5), 1, Fraction(7), Fraction(1)) == 1


def test_delta_of_few_tends_to_the_corner_of_the_cube_as_epsilon_grows() -> None:
    for count in (2, 3, 5, 7):
        corner = Fraction(1, 2) ** count / math.factorial(count)
        found = few_delta(Interval(), count, Fraction(1, 2), Fraction(100))
        assert float(corner) * NONE_BELOW <= found <= float(corner) * (1 + 1e-4)


def test_lattice_deltas_equal_brute_force_convolution() -> None:
    random.seed(20)
    for _ in range(120):
        points, count = random.randint(2, 30), random.randint(1, 90)
        shift, epsilon = random.randint(1, 2 * points), Fraction(random.randint(0, 300), 100)
        law = np.ones(1)
        for _ in range(count):
            law = np.convolve(law, np.full(points, 1 / points))
        true = shifted_delta(law, shift, math.exp(epsilon))
        found = few_delta(Lattice(points), count, Fraction(shift), epsilon)
        assert found >= true * (1 - 1e-9) - 1e-15
        assert found <= true * (1 + 1e-9) + 1e-15
        many = many_delta([Lattice(points)], [count], Fraction(shift), epsilon)
        assert many >= true * (1 - 1e-9) - 1e-15


def test_coins_of_two_kinds_equal_brute_force_convolution() -> None:
    random.seed(21)
    for _ in range(80):
        a, b = random.randint(0, 150), random.randint(30, 150)
        p, epsilon = Fraction(random.randint(5, 49), 100), Fraction(random.randint(5, 100), 100)
        law = np.ones(1)
        for q in [float(p)] * a + [1 - float(p)] * b:
            law = np.convolve(law, [1 - q, q])
        above = np.cumsum(law[::-1])[::-1]
        tail = np.concatenate([above, [0.0]])
        true = max(1 - math.exp(epsilon) * tail[0], *(tail[:-1] - math.exp(epsilon) * tail[1:]))
        found = many_delta((Coin(p), Coin(1 - p)), (a, b), Fraction(1), epsilon)
        assert found >= true * (1 - 1e-9) - 1e-15
        assert found <= true * (1 + 1e-6) + 1e-15


def coins_by_hand(pair: tuple[int, int], beta: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """Return delta of coins of two kinds from their whole law, with ninety digits."""
    laws = []
    for number, heads in zip(pair, (beta, 1 - beta), strict=True):
        p = mpmath.mpf(heads.numerator) / heads.denominator
        laws.append(
            [mpmath.binomial(number, k) * p**k * (1 - p) ** (number - k) for k in range(number + 1)]
        )
    law = [mpmath.mpf(0)] * (sum(pair) + 2)  # the first is the mass of −1
    for i, x in enumerate(laws[0]):
        for j, y in enumerate(laws[1]):
            law[i + j + 1] += x * y
    g = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    best, above = mpmath.mpf(0), mpmath.mpf(0)
    for mass in reversed(law):
        best, above = max(best, above + mass - g * above), above + mass
    return best


def test_coins_of_two_kinds_are_tight_at_hostile_corners() -> None:
    """Nearly certain coins, nearly all of one kind, large epsilon: every way of computing them."""
    random.seed(33)
    with mpmath.workprec(300):
        for _ in range(100):
            beta = Fraction(random.choice([1, 2, 5, 20, 100, 300, 450]), 1000)
            total = random.choice([1, 3, 20, 64, 65, 100, 140])
            rare = random.choice([0, 1, total, total - 1, total // 2, random.randint(0, total)])
            epsilon = Fraction(random.choice([0, 1, 30, 100, 300, 500, 2000]), 100)
            true = coins_by_hand((rare, total - rare), beta, epsilon)
            (found,) = coins_deltas(beta, [(rare, total - rare)], epsilon)
            assert found >= min(true, 1 - 1e-15) * (1 - 1e-15)
            assert found <= max(float(true) * (1 + 1e-8), 1e-290)


def coins_in_whole_numbers(pair: tuple[int, int], beta: Fraction, epsilon: Fraction) -> Fraction:
    """Return delta of coins of two kinds from their whole law, in integers; only e^epsilon is
    rounded, up, so that it is not more."""
    p, q = beta.numerator, beta.denominator - beta.numerator
    law = (fmpz_poly([q, p]) ** pair[0] * fmpz_poly([p, q]) ** pair[1]).coeffs()
    digits = 10**60
    g = 1 + int(
        mpmath.ceil(digits * mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))
    )
    best = above = 0
    for mass in [*map(int, reversed(law)), 0]:
        best, above = max(best, digits * (above + mass) - g * above), above + mass
    return Fraction(best, digits * above)


def test_hundreds_of_rare_coins_are_tight_and_never_underestimated() -> None:
    random.seed(36)
    with mpmath.workdps(90):
        for _ in range(150):
            total = random.choice([150, 300, 500])
            beta = Fraction(random.choice([1, 4, 8, 60]), random.choice([total, 600, 10**9]))
            first = random.choice([total, total - 1, total - 40, total // 2, 30])
            epsilon = Fraction(random.choice([0, 1, 50, 200, 300, 400, 700, 2000]), 100)
            true = coins_in_whole_numbers((first, total - first), beta, epsilon)
            (found,) = coins_deltas(beta, [(first, total - first)], epsilon)
            assert Fraction(found) >= min(true, 1)
            assert found <= max(float(true) * (1 + 1e-8), 1e-290)


def test_alternating_and_fourier_sums_enclose_the_same_number() -> None:
    random.seed(22)
    for _ in range(60):
        count = random.randint(49, 110)
        shift, epsilon = Fraction(random.randint(1, 40), 20), Fraction(random.randint(1, 600), 200)
        exact = few_delta(Interval(), count, shift, epsilon)
        fourier = many_delta([Interval()], [count], shift, epsilon)
        assert fourier == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("seed", few_of(range(23, 33), 1))
def test_the_float_path_agrees_with_balls_at_hostile_corners(seed: int) -> None:
    random.seed(seed)
    for _ in range(200):
        count = int(10 ** random.uniform(math.log10(49), 7))
        part = random.choice([Interval(), Lattice(2), Lattice(7), Lattice(101), Lattice(60000)])
        width = part.points if isinstance(part, Lattice) else 1
        shift = Fraction(max(1, round(width * random.uniform(0.2, 2) * 20)), 20)
        shift = Fraction(math.ceil(shift)) if part.lattice else shift
        spread = float(shift) / (width * math.sqrt(count / 12))
        epsilon = Fraction(f"{min(20.0, spread * 10 ** random.uniform(-2, 1.2)):.6g}")
        sure = many_delta([part], [count], shift, epsilon)
        rough = rough_delta([(part, count)], float(shift), float(epsilon))
        assert rough <= sure * (1 + 1e-6) + 1e-290
        if 1e-200 < sure < 1:
            assert rough == pytest.approx(sure, rel=1e-6)


def test_runs_of_records_agree_with_each_by_itself() -> None:
    random.seed(34)
    for _ in range(25):
        part = random.choice([Interval(), Lattice(2), Lattice(9), Lattice(500), Lattice(10**7)])
        width = part.points if isinstance(part, Lattice) else 20
        shift = Fraction(max(1, round(width * random.uniform(0.2, 1.5))))
        shift = shift if part.lattice else shift / 20
        start = int(10 ** random.uniform(1.8, 6))
        counts = sorted({start + random.randint(0, start // 3) for _ in range(12)})
        size = float(shift) / (width if part.lattice else 1) / math.sqrt(start / 12)
        epsilon = Fraction(f"{size * 10 ** random.uniform(-1, 1):.6g}")
        for count, found in zip(counts, rising_deltas(part, counts, shift, epsilon), strict=True):
            alone = many_delta([part], [count], shift, epsilon)
            assert found == pytest.approx(alone, rel=2e-8, abs=1e-290)


def members(m: int, alpha: float, points: int, kind: int) -> np.ndarray:
    """Return the law of the sum of m records of some member of a lattice class, on 0..m·(N−1)."""
    record = np.full(points, alpha / points)
    place = {0: points // 2, 1: 0, 2: points - 1}.get(kind)
    if place is None:
        record += (1 - alpha) / points
    else:
        record[place] += 1 - alpha
    law = np.ones(1)
    for _ in range(m):
        law = np.convolve(law, record)
    return law


def test_no_member_of_a_lattice_class_exceeds_the_certificate() -> None:
    random.seed(24)
    for _ in range(60):
        m, points = random.randint(2, 60), random.randint(2, 12)
        alpha = Fraction(random.randint(5, 100), 100)
        reach, epsilon = random.randint(1, points), Fraction(random.randint(5, 250), 100)
        adversary = SumAdversary(m, alpha, Fraction(reach), Lattice(points))
        found = adversary.bound(epsilon).delta_upper
        for kind in range(4):
            law = members(m, float(alpha), points, kind)
            for shift in {1, reach}:
                assert found >= shifted_delta(law, shift, math.exp(epsilon)) - 1e-12


def mixture_by_hand(
    m: int, points: int, reach: int, alpha: Fraction, epsilon: Fraction
) -> mpmath.mpf:
    """Return E[delta_K] from whole numbers, both directions summed point by point."""
    g = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    a, b = mpmath.mpf(alpha.numerator) / alpha.denominator, mpmath.mpf((1 - alpha).numerator)
    b /= alpha.denominator
    ways, total = [1], mpmath.mpf(0)
    for k in range(m + 1):
        moved, still = [0] * reach + ways, ways + [0] * reach
        up = sum(max(0, x - g * y) for x, y in zip(moved, still, strict=True))
        down = sum(max(0, y - g * x) for x, y in zip(moved, still, strict=True))
        delta = mpmath.mpf(max(up, down)) / mpmath.mpf(points) ** k
        total += mpmath.binomial(m, k) * a**k * b ** (m - k) * delta
        ways = [sum(ways[max(0, i - points + 1) : i + 1]) for i in range(len(ways) + points - 1)]
    return total


def test_sums_equal_their_mixture_at_hostile_corners() -> None:
    """alpha next to 0 and 1, one unknown record, epsilon 0 and 100, reaches beyond the lattice."""
    random.seed(35)
    with mpmath.workprec(200):
        for _ in range(400):
            m, points = random.choice([1, 1, 2, 3, 7, 15]), random.choice([2, 2, 3, 5, 8])
            reach, known = random.randint(1, 2 * points), random.choice([0, 5, 1000])
            alpha = random.choice([Fraction(1), Fraction(1, 10**12), 1 - Fraction(1, 10**6),
                                   Fraction(random.randint(1, 99), 100)])  # fmt: skip
            epsilon = random.choice([Fraction(0), Fraction(1, 10**6), Fraction(1, 3), Fraction(2),
                                     Fraction(20), Fraction(100)])  # fmt: skip
            true = mixture_by_hand(m, points, reach, alpha, epsilon)
            adversary = SumAdversary(m + known, alpha, Fraction(reach), Lattice(points), known)
            found = adversary.bound(epsilon).delta_upper
            assert found >= true * (1 - mpmath.mpf(10) ** -30)
            assert found <= max(float(true) * (1 + 1e-10), 1e-290)


def test_every_binary_population_of_every_size_is_below_the_count_certificate() -> None:
    for m, beta, epsilon in [(4, "0.1", 0.5), (6, "0.3", 0.2), (7, "0.05", 1.0), (5, "0.5", 0.7)]:
        found = CountAdversary(m, beta).bound(epsilon).delta_upper
        worst = 0.0
        grid = [float(beta), 0.5, 0.37, 1 - float(beta)]
        grid = [p for p in grid if float(beta) <= p <= 1 - float(beta)]
        for chances in product(grid, repeat=m):
            law = np.ones(1)
            for p in chances:
                law = np.convolve(law, [1 - p, p])
            worst = max(worst, shifted_delta(law, 1, math.exp(epsilon)))
        assert found >= worst * NONE_BELOW
        assert found <= worst * (1 + 1e-9)


def test_binomial_weights_bound_the_binomial_law() -> None:
    for trials, chance in [(10, "0.5"), (1000, "0.2"), (100000, "0.001"), (10_000_000, "0.02")]:
        weights = binomial_weights(trials, Fraction(chance))
        p = mpmath.mpf(chance)
        for k in random.Random(5).choices(range(weights.first, weights.last + 1), k=12):
            true = mpmath.binomial(trials, k) * p**k * (1 - p) ** (trials - k)
            place = weights.masses[k - weights.first]
            assert true * NONE_BELOW <= place <= true * (1 + 1e-8)
        assert weights.masses.sum() + weights.below + weights.above >= 1


def test_blocks_never_certify_less_than_the_full_mixture() -> None:
    random.seed(25)
    for _ in range(6):
        m, eta = random.randint(20, 300), Fraction(random.randint(3, 50), 100)
        epsilon = Fraction(random.randint(10, 150), 100)
        adversary = continuous_sum(others=m, eta=eta)
        full = replace(adversary, fineness=None).bound(epsilon).delta_upper
        for fineness in (1, 2, 4, 12):
            coarse = replace(adversary, fineness=fineness).bound(epsilon).delta_upper
            assert coarse >= full * (1 - 1e-9)


def test_delta_falls_with_epsilon_and_with_records_and_rises_with_known_ones() -> None:
    base = continuous_sum(others=400, eta="0.2", known=100)
    deltas = [base.bound(Fraction(k, 10)).delta_upper for k in range(0, 20, 2)]
    assert deltas == sorted(deltas, reverse=True)
    assert base.with_others(450).bound(1).delta_upper < base.bound(1).delta_upper
    assert base.with_known(150).bound(1).delta_upper > base.bound(1).delta_upper
    moved = base.with_others(450).with_known(150)
    assert moved.bound(1).delta_upper == base.bound(1).delta_upper


def test_a_heterogeneous_class_is_covered_by_its_best_part() -> None:
    parts = [Part(200, 0.6, 1), Part(300, 0.2, 1), Part(100, 0.9, "2.5")]
    classes = heterogeneous_sum(parts, lower=0, upper=4)
    found = {(a.others, a.alpha, a.reach) for a in classes}
    assert (600, Fraction(1, 5), Fraction(2)) in found
    assert (300, Fraction(3, 5), Fraction(2)) in found  # 0.9·2·1/2.5 = 0.72 is above 0.6
    assert (100, Fraction(9, 10), Fraction(4, 5)) in found


def test_closed_forms_exceed_every_poisson_mean_and_every_population() -> None:
    random.seed(26)
    for _ in range(40):
        k, epsilon = random.randint(2, 60), random.randint(5, 250) / 100
        g = math.exp(epsilon)
        one, two = poisson_deltas(k, Fraction(str(epsilon)))
        for scale in (0.3, 0.7, 1.0, 1 / g, g, 1.05 / g, 1.05 * g):
            assert cell_brute(poisson_law((k - 1) * scale, 16 * k + 400), k, g)[0] <= one * (
                1 + 1e-9
            )
            assert cell_brute(poisson_law((k - 1) * scale, 16 * k + 400), k, g)[1] <= two * (
                1 + 1e-9
            )


def test_closed_forms_are_the_worst_of_all_cell_populations() -> None:
    random.seed(29)
    for _ in range(12):
        k, epsilon = random.randint(2, 16), random.randint(5, 120) / 100
        rate, g = Fraction(random.randint(20, 95), 100), math.exp(epsilon)
        one, two = binomial_deltas(k, Fraction(str(epsilon)), rate)
        law, worst = np.ones(1), np.zeros(2)
        for _ in range(int(3 * g * k / rate)):
            worst = np.maximum(worst, cell_brute(law, k, g))
            law = np.convolve(law, [float(1 - rate), float(rate)])
        assert one == pytest.approx(worst[0], rel=1e-9)
        assert two == pytest.approx(worst[1], rel=1e-9)
        assert one >= worst[0] * (1 - 1e-12)
        assert two >= worst[1] * (1 - 1e-12)


def poisson_law(mean: float, length: int) -> np.ndarray:
    logs = -mean + np.arange(length) * math.log(mean)
    return np.exp(logs - np.array([math.lgamma(c + 1) for c in range(length)]))


def cell_brute(law: np.ndarray, k: int, g: float) -> tuple[float, float]:
    """Return both divergences of one truncated cell with and without a person."""
    size = len(law) + 1
    real, ideal = np.zeros(size + k), np.zeros(size + k)
    for c, mass in enumerate(law):
        real[c + 1 if c + 1 >= k else 0] += mass
        ideal[c if c >= k else 0] += mass
    return hockey_stick(real, ideal, g), hockey_stick(ideal, real, g)


def test_a_random_sample_size_is_enumerated_person_by_person() -> None:
    """Every subset of a population of nine, by hand, against the enumeration of a known cell."""
    population, members_, masses = 9, 4, (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))
    prior = SizePrior(population, 3, masses)
    law: dict[tuple[int, int], float] = {}
    for chosen in product((0, 1), repeat=population - 1):
        t = sum(chosen)
        if 3 <= t + 1 <= 5:
            size = float(masses[t + 1 - 3]) / math.comb(population, t + 1)
            c = sum(chosen[:members_])
            law[c, t - c] = law.get((c, t - c), 0.0) + size
    whole = sum(law.values())
    for k, epsilon in product((1, 2, 3), (0.1, 0.7)):
        seen: list[dict[tuple[int, int], float]] = [{}, {}]
        for (c, rest), mass in law.items():
            for side, shown in enumerate((c + 1, c)):
                at = (shown if shown >= k else 0, rest)
                seen[side][at] = seen[side].get(at, 0.0) + mass / whole
        g = math.exp(epsilon)
        keys = set(seen[0]) | set(seen[1])
        one = sum(max(0, seen[0].get(a, 0) - g * seen[1].get(a, 0)) for a in keys)
        two = sum(max(0, seen[1].get(a, 0) - g * seen[0].get(a, 0)) for a in keys)
        found = cell_deltas(k, Fraction(str(epsilon)), prior, members_)
        assert found[0] == pytest.approx(one, rel=1e-9, abs=1e-12)
        assert found[1] == pytest.approx(two, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", few_of(range(27, 31), 1))
@pytest.mark.parametrize("step", few_of([20, 5], 1))
def test_the_bound_over_all_cells_exceeds_every_cell(seed: int, step: int) -> None:
    random.seed(seed)
    population = random.randint(150, 500)
    sample = random.randint(population // 3, int(population * 0.8))
    prior = DiscardPrior(
        population, sample, Fraction(random.randint(5, 40), 100), random.randint(5, 30)
    )
    k, epsilon = random.randint(4, 40), Fraction(random.randint(50, 200), 100)
    one, two = sampled_deltas(k, epsilon, prior)
    for m in range(0, population, step):
        cell = cell_deltas(k, epsilon, prior, m)
        assert one >= cell[0] * NONE_BELOW
        assert two >= cell[1] * NONE_BELOW


def test_map_enumeration_equals_every_database_by_hand() -> None:
    laws = ((Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)),
            (Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)))  # fmt: skip
    weights = (Fraction(2, 3), Fraction(1, 3))
    for n, known, epsilon in [(3, 0, 0.0), (4, 0, 0.5), (4, 1, 0.2), (5, 2, 0.0)]:
        adversary = MapAdversary(n, laws, weights, known)

        def estimate(data: tuple[int, ...]) -> int:
            scores = [w * math.prod(f[x] for x in data) for w, f in zip(weights, laws, strict=True)]
            return scores.index(max(scores))

        g, worst = math.exp(epsilon), 0.0
        for z in product(range(3), repeat=known):
            for x, law in product(range(3), laws):
                real, ideal = np.zeros(2), np.zeros(2)
                for rest in product(range(3), repeat=n - known):
                    chance = float(math.prod(law[y] for y in rest))
                    real[estimate((*rest, *z, x))] += chance
                    ideal[estimate((*rest, *z))] += chance
                worst = max(worst, hockey_stick(real, ideal, g), hockey_stick(ideal, real, g))
        found = enumerated_delta(adversary, Fraction(str(epsilon)))
        assert worst * NONE_BELOW <= found <= worst * (1 + 1e-8) + 1e-12
        assert chernoff_delta(adversary) >= worst


@pytest.mark.parametrize("seed", few_of(range(28, 48), 1))
def test_thousands_of_random_sums_are_never_underestimated(seed: int) -> None:
    """A member of each class — the spike at the centre — by fast Fourier transform."""
    random.seed(seed)
    for _ in range(100):
        m, points = random.randint(5, 120), random.choice([2, 3, 5, 11, 21])
        alpha = Fraction(random.randint(2, 100), 100)
        reach, epsilon = random.randint(1, points), Fraction(random.randint(2, 300), 100)
        record = np.full(points, float(alpha) / points)
        record[points // 2] += 1 - float(alpha)
        size = 1 << (m * (points - 1) + reach + 2).bit_length()
        law = np.fft.irfft(np.fft.rfft(record, size) ** m, size)[: m * (points - 1) + 1]
        true = shifted_delta(np.maximum(law, 0), reach, math.exp(epsilon))
        adversary = SumAdversary(m, alpha, Fraction(reach), Lattice(points), fineness=2)
        assert adversary.bound(epsilon).delta_upper >= true - 1e-12
