"""Numbers of the actual mechanisms err to the safe side even where floats have few digits left."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sanql.theory import constants
from sanql.theory.closed_forms import GaussianPair, GuaranteedPair, LaplacePair
from sanql.theory.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from sanql.theory.errors import TheoryError

pytestmark = pytest.mark.slow

Number = mpmath.mpf

REACH = 45


def below_laplace(scale: float) -> Callable[[int], Number]:
    """Return Pr[noise <= k] of two-sided geometric noise, to sixty digits."""
    width = Number(scale)
    both = 1 + mpmath.exp(-1 / width)

    def below(k: int) -> Number:
        if k < 0:
            return mpmath.exp(k / width) / both
        return 1 - mpmath.exp(-(k + 1) / width) / both

    return below


def below_gaussian(sigma: float) -> Callable[[int], Number]:
    """Return Pr[noise <= k] of discrete Gaussian noise, to sixty digits."""
    far = int(REACH * sigma)
    weights = [mpmath.exp(-Number(k * k) / (2 * Number(sigma) ** 2)) for k in range(-far, far + 1)]
    total, sums = mpmath.fsum(weights), []
    for weight in weights:
        sums.append((sums[-1] if sums else 0) + weight / total)
    return lambda k: Number(0) if k < -far else Number(1) if k > far else sums[k + far]


def least_miss(below: Callable[[int], Number], shift: int, rate: float, far: int) -> Number:
    """Return the trade-off curve at a rate, between the half-lines that enclose it."""
    corners = [(1 - below(j), below(j - shift)) for j in range(-far, far + 1)]
    corners = [(Number(1), Number(0)), *corners, (Number(0), Number(1))]
    for (right, low), (left, high) in pairwise(corners):
        if left <= rate <= right and right > left:
            return high + (rate - left) / (right - left) * (low - high)
    raise AssertionError(rate)


@pytest.mark.parametrize("rate", [1e-7, 1e-9, 6e-17, 1e-20, 0.3, 0.999])
@pytest.mark.parametrize(
    "pair",
    [
        DiscreteLaplacePair(1 / 37.35, 1),
        DiscreteLaplacePair(0.26, 5),
        DiscreteLaplacePair(4.0, 2),
        DiscreteGaussianPair(1.0, 2),
        DiscreteGaussianPair(2.0, 5),
        DiscreteGaussianPair(3.3, 10),
    ],
    ids=repr,
)
def test_the_trade_off_of_discrete_noise_keeps_its_digits_at_small_rates(
    pair: DiscreteLaplacePair | DiscreteGaussianPair, rate: float
) -> None:
    with mpmath.workdps(60):
        if isinstance(pair, DiscreteLaplacePair):
            below, width = below_laplace(pair.scale), pair.scale
        else:
            below, width = below_gaussian(pair.sigma), pair.sigma
        far = int(REACH * max(width, 1)) + pair.shift
        true = least_miss(below, pair.shift, rate, far)
        assert true - Number("1e-11") <= pair.tradeoff(rate) <= true


@pytest.mark.parametrize(
    ("scale", "shift", "epsilon"),
    [(1.0, 5, 1.6), (2.0, 20, 0.1), (2.0, 2, 0.7), (2.0, 5, 1.1), (2.0, 5, 0.6)],
)
def test_the_tail_of_discrete_laplace_losses_is_never_too_small(
    scale: float, shift: int, epsilon: float
) -> None:
    with mpmath.workdps(60):
        below = below_laplace(scale)
        mass = {k: below(k) - below(k - 1) for k in range(1, shift)}
        mass |= {0: below(0), shift: 1 - below(shift - 1)}
        true = mpmath.fsum(m for k, m in mass.items() if abs(shift - 2 * k) / scale > epsilon)
        assert true <= DiscreteLaplacePair(scale, shift).loss_tail(epsilon) <= true + 1e-12


def test_an_output_whose_loss_is_just_above_the_float_counts() -> None:
    # the float 1/3 lies below a third, which is the least loss of any output
    assert DiscreteLaplacePair(3.0, 3).loss_tail(1 / 3) == 1


@pytest.mark.parametrize("shift", [44.8, 47.9, 56.6, 44.7, 55.4])
def test_the_excess_of_laplace_noise_is_rounded_up_where_it_is_nearly_one(shift: float) -> None:
    with mpmath.workdps(60):
        true = 1 - mpmath.exp(-Number(shift) / 2)
        assert true <= LaplacePair(1.0, shift).hockey_stick(1.0) <= true + 1e-15


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(27.95, 675.6), (26.83, 662.2), (28.45, 682.0), (29.39, 691.8)]
)
def test_a_gaussian_tail_below_the_normal_floats_is_not_made_large_by_the_level(
    mu: float, epsilon: float
) -> None:
    gamma = math.exp(epsilon)
    with mpmath.workdps(60):
        edge = Number(mu) / 2 - mpmath.log(Number(gamma)) / mu
        true = mpmath.ncdf(edge) - Number(gamma) * mpmath.ncdf(edge - Number(mu))
        assert true <= GaussianPair(mu).hockey_stick(gamma) <= true * 1.01


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(91055.0, 4145943576.5), (87640.0, 3840936932.0), (1e140, 5e279)]
)
def test_gaussian_losses_far_out_do_not_cancel(mu: float, epsilon: float) -> None:
    with mpmath.workdps(400):
        m, e = Number(mu), Number(epsilon)
        true = mpmath.ncdf(m / 2 - e / m) + mpmath.ncdf(-m / 2 - e / m)
        assert true <= GaussianPair(mu).loss_tail(epsilon) <= true * (1 + Number("1e-10"))


@example(0.0, 1e-17, 1 - 2.0**-53)
@example(1e-12, 5e-324, 1 - 1e-12)
@example(800.0, 0.1, 0.0)
@given(st.floats(0, 800), st.floats(0, 1), st.floats(0, 1))
def test_what_a_bare_guarantee_allows_is_rounded_to_the_safe_side(
    epsilon: float, delta: float, rate: float
) -> None:
    pair = GuaranteedPair(epsilon, delta)
    with mpmath.workdps(800):
        top, d, a = mpmath.exp(epsilon), Number(delta), Number(rate)
        miss = max(Number(0), 1 - d - top * a, (1 - d - a) / top)
        assert pair.tradeoff(rate) <= miss
        for gamma in (1.0, 1.5, float(mpmath.exp(min(epsilon, 700.0)))):
            excess = d + (1 - d) * max(Number(0), top - gamma) / (1 + top)
            assert excess <= pair.hockey_stick(gamma) <= excess * (1 + 1e-9) + 1e-13
        above = epsilon + 0.5
        beyond = Number(above) - Number(epsilon)  # not quite a half, once rounded
        tail = min(Number(1), d * (1 + mpmath.exp(-above)) / (1 - mpmath.exp(-beyond)))
        assert tail <= pair.loss_tail(above)


@pytest.mark.parametrize(
    "pair",
    [
        LaplacePair(1.0),
        GaussianPair(1.0),
        GuaranteedPair(1.0),
        DiscreteLaplacePair(2.0),
        DiscreteGaussianPair(2.0),
        DiscreteGaussianPair(1e-150),
    ],
    ids=repr,
)
def test_no_loss_is_above_every_number(pair: GaussianPair | DiscreteGaussianPair) -> None:
    assert pair.loss_tail(math.inf) <= 1e-14
    assert pair.loss_tail(1e308) <= 1e-14
    assert 0 <= pair.loss_tail(5e-324) <= 1


@pytest.mark.parametrize("order", [1.0, 0.5, -1.0, math.inf, math.nan])
def test_a_renyi_order_is_above_one_and_finite(order: float) -> None:
    for ask in (LaplacePair(1.0).renyi_moment, GaussianPair(1.0).renyi_divergence):
        with pytest.raises(TheoryError):
            ask(order)


def test_laplace_divergences_leave_the_floats_at_either_end_without_a_crash() -> None:
    assert LaplacePair(1e-3).renyi_moment(10) == math.inf
    for loss in (1e-12, 1e-6, 9.9e-6, 1.01e-5, 0.1):
        with mpmath.workdps(60):
            true = Number(loss) - 1 + mpmath.exp(-Number(loss))
        assert LaplacePair(1.0, loss).kl_divergence == pytest.approx(float(true), rel=1e-9)


def constant(gamma: Fraction, tau: Fraction) -> Number:
    """Return K_tv by its formula, to sixty digits."""
    g, t = (Number(x.numerator) / x.denominator for x in (gamma, tau))
    k = g * g - 1
    c1 = 2 * g * mpmath.sqrt(t * k) - k * (1 + t) if t <= 1 - 1 / g**2 else t
    c2 = 2 / g * mpmath.sqrt(t * k) - (g - 1 / g) * (1 - t)
    return 1 / c1 + 1 / (c2 if t <= k * (1 - t) ** 2 else t / (g * (1 - t)))


@example(-13.0, -3.0)
@given(st.floats(-17, 1), st.floats(-10, 0))
def test_the_constant_of_the_semantic_theorem_is_never_too_small(size: float, part: float) -> None:
    gamma = 1 + Fraction(10**size)
    least = (gamma - 1) / (gamma + 1)
    for tau in (least + (1 - least) * Fraction(10**part), least * (1 + Fraction(10**part))):
        if tau < 1:
            with mpmath.workdps(60):
                true = constant(gamma, tau)
                assert true <= constants.tv_constant(gamma, tau) <= true * (1 + 1e-9)
