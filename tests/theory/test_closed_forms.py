"""Closed forms agree with sums and integrals done by other means."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.theory import divergences, testing
from sanql.theory.check import Levels
from sanql.theory.closed_forms import GaussianPair, GuaranteedPair, LaplacePair, geometric_pair
from sanql.theory.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError

pytestmark = pytest.mark.slow

GAMMAS = [1.0, 1.1, 1.5, 2.0, 3.0, 7.5]
RATES = [0.0, 1e-3, 0.05, 0.3, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("shift", [1, 2, 3, 7])
def test_discrete_laplace_matches_the_exact_clamped_pair(shift: int) -> None:
    p, q = geometric_pair("2/3", shift)
    pair = DiscreteLaplacePair(scale=1 / math.log(1.5), shift=shift)
    for gamma in GAMMAS:
        exact = float(divergences.hockey_stick(p, q, gamma))
        assert exact <= pair.hockey_stick(gamma) <= exact + 1e-12
    for rate in RATES:
        exact = float(testing.tradeoff(p, q, rate))
        assert exact - 1e-12 <= pair.tradeoff(rate) <= exact
    for epsilon in (0.0, 0.3, 0.5, 1.0):
        tail = sum(
            float(a)
            for a, b in divergences.align(p, q)
            if abs(math.log(a / b)) > epsilon * (1 + 1e-12)
        )
        assert tail <= pair.loss_tail(epsilon) <= tail + 1e-12


def test_clamping_a_geometric_pair_changes_no_divergence() -> None:
    wide = range(-60, 64)
    p = {k: Fraction(1, 3) * Fraction(1, 2) ** abs(k) for k in wide}
    q = {k: Fraction(1, 3) * Fraction(1, 2) ** abs(k - 3) for k in wide}
    clamped_p, clamped_q = geometric_pair("1/2", 3)
    for gamma in (1, 2, 3, 5):
        wide_excess = sum(max(p[k] - gamma * q[k], Fraction(0)) for k in wide)
        clamped = divergences.hockey_stick(clamped_p, clamped_q, gamma)
        assert abs(wide_excess - clamped) < Fraction(1, 10**17)


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0])
def test_gaussian_matches_a_high_precision_integral(mu: float) -> None:
    pair = GaussianPair(mu)
    with mpmath.workdps(40):
        for gamma in (1.0, 1.5, math.e, 20.0):
            edge = mpmath.mpf(mu) / 2 - mpmath.log(gamma) / mu
            exact = mpmath.ncdf(edge) - gamma * mpmath.ncdf(edge - mu)
            assert pair.hockey_stick(gamma) >= exact
            assert pair.hockey_stick(gamma) <= exact + mpmath.mpf(10) ** -11
        for rate in (1e-6, 0.01, 0.5, 0.99):
            cut = -mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(rate) - 1)
            exact = mpmath.ncdf(cut - mu)
            assert exact * (1 - 1e-9) <= pair.tradeoff(rate) <= exact


def test_laplace_matches_a_numeric_integral() -> None:
    pair = LaplacePair(scale=1.3, shift=2.0)
    for gamma in GAMMAS:
        value = mpmath.quad(
            lambda x, g=gamma: max(
                mpmath.e ** (-abs(x) / 1.3) / 2.6 - g * mpmath.e ** (-abs(x - 2) / 1.3) / 2.6, 0
            ),
            [-60, 0, 1 - 0.65 * math.log(gamma), 2, 60],
        )
        assert abs(value - pair.hockey_stick(gamma)) < 1e-8


@pytest.mark.parametrize(("sigma", "shift"), [(0.7, 1), (2.0, 3), (11.5, 4)])
def test_discrete_gaussian_matches_the_sum_over_outcomes(sigma: float, shift: int) -> None:
    reach = int(45 * sigma) + shift
    weight = {k: math.exp(-(k**2) / (2 * sigma**2)) for k in range(-2 * reach, 2 * reach)}
    total = math.fsum(weight.values())
    pair = DiscreteGaussianPair(sigma, shift)
    for gamma in GAMMAS:
        exact = math.fsum(
            max(weight[k] - gamma * weight[k - shift], 0) / total for k in range(-reach, reach)
        )
        assert exact - 1e-14 <= pair.hockey_stick(gamma) <= exact + 1e-12
    tail = math.fsum(
        weight[k] / total
        for k in range(-reach, reach)
        if abs(shift * (shift - 2 * k)) > 2 * sigma**2 * 0.8
    )
    assert tail - 1e-14 <= pair.loss_tail(0.8) <= tail + 1e-12
    curve = [(k, 1 - sum(weight[j] for j in weight if j <= k) / total) for k in range(-3, 4)]
    for k, rate in curve:
        miss = sum(weight[j] for j in weight if j <= k - shift) / total
        assert miss - 1e-11 <= pair.tradeoff(rate) <= miss + 1e-13


def test_the_guaranteed_pair_is_the_explicit_worst_case() -> None:
    gamma, delta = Fraction(3), Fraction(1, 10)
    honest = (1 - delta) / (1 + gamma)
    p = Distribution.over([delta, 0, gamma * honest, honest])
    q = Distribution.over([0, delta, honest, gamma * honest])
    pair = GuaranteedPair(math.log(3), 0.1)
    for level in GAMMAS:
        exact = float(divergences.indistinguishability_delta(p, q, level))
        assert exact - 1e-15 <= pair.hockey_stick(level) <= exact + 1e-12
    for rate in RATES:
        exact = float(testing.tradeoff(p, q, rate))
        assert exact - 1e-12 <= pair.tradeoff(rate) <= exact + 1e-15


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaplacePair(scale=0.0),
        lambda: GaussianPair(mu=-1.0),
        lambda: DiscreteLaplacePair(scale=1.0, shift=0),
        lambda: DiscreteGaussianPair(sigma=math.nan),
        lambda: GuaranteedPair(epsilon=-0.1),
        lambda: GuaranteedPair(epsilon=1.0, delta=1.5),
        lambda: geometric_pair(1),
    ],
)
def test_impossible_parameters_are_refused(make: object) -> None:
    with pytest.raises(TheoryError):
        make()  # type: ignore[operator]


@given(st.floats(0.02, 5), st.floats(0.02, 10), st.floats(0.9999999, 1.0000001))
def test_laplace_numbers_are_rounded_to_the_safe_side(
    scale: float, shift: float, near: float
) -> None:
    pair = LaplacePair(scale, shift)
    with localcontext(prec=60):
        loss = Decimal(shift) / Decimal(scale)
        gamma = max(1.0, math.exp(shift / scale) * near)
        true = 1 - ((Decimal(gamma).ln() - loss) / 2).exp()
        assert true <= Decimal(pair.hockey_stick(gamma))
        epsilon = Decimal(shift / scale * near)
        tail = 1 - (((epsilon - loss) / 2).exp() - (-(epsilon + loss) / 2).exp()) / 2
        assert epsilon >= loss or tail <= Decimal(pair.loss_tail(float(epsilon)))


def test_a_shift_just_above_the_loss_is_not_within_it() -> None:
    pair = LaplacePair(0.048703075113135416, 4.9001170889899095)
    assert pair.hockey_stick(4.957535144977237e43) >= 3.3e-15
    assert DiscreteLaplacePair(3.0, 1).loss_tail(1 / 3) == 1, "1/3 is above the float"
    assert DiscreteLaplacePair(2.0, 1).loss_tail(0.5) == 0
    assert LaplacePair(3.0).loss_tail(1 / 3) > 0.85
    assert LaplacePair(1e-3).tradeoff(0.0) == 1


def test_the_discrete_gaussian_excess_falls_with_epsilon_and_stays_above_the_truth() -> None:
    pair = DiscreteGaussianPair(1.0)
    levels = [math.exp(epsilon) for epsilon in (0, 1, 5, 10, 20, 30, 36, 100, 700)] + [math.inf]
    found = [pair.hockey_stick(gamma) for gamma in levels]
    assert found == sorted(found, reverse=True)
    with localcontext(prec=400):
        mass = {k: (-Decimal(k * k) / 2).exp() for k in range(-45, 46)}
        total = sum(mass.values())
        for gamma, bound in zip(levels[:6], found[:6], strict=True):
            gains = (mass[k] - Decimal(gamma) * mass[k - 1] for k in range(-44, 46))
            true = sum(gain for gain in gains if gain > 0) / total
            assert true <= Decimal(bound) <= true * (1 + Decimal("1e-12")) + Decimal("1e-299")


def test_the_level_of_a_written_epsilon_is_rounded_down() -> None:
    for epsilon in ("8.090509", "1e-400", "0.1", "3"):
        gamma = Levels(epsilon=epsilon).gamma
        with localcontext(prec=100):
            assert Decimal(gamma.numerator) / gamma.denominator <= Decimal(epsilon).exp()
            assert gamma >= 1
