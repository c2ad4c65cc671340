"""Intervals and tails against sums of the mass function in 1,000-bit arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

import mpmath
import pytest

from sanql.errors import Refused
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExactSampler,
    Noise,
    NoNoise,
    TruncatedGeometric,
)
from sanql.mechanisms.enclosure import Enclosure, rational
from sanql.mechanisms.tails import (
    _gaussian_tail_integrated,
    _gaussian_tail_summed,
    least_reaching,
)

EVERY: list[Noise] = [
    DiscreteLaplace(Fraction(1, 50)),
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(7, 3)),
    DiscreteLaplace(Fraction(100)),
    DiscreteGaussian(Fraction(1, 50)),
    DiscreteGaussian(Fraction(1, 3)),
    DiscreteGaussian(Fraction(7, 3)),
    DiscreteGaussian(Fraction(4096)),
    DiscreteGaussian(Fraction(4097)),
    DiscreteGaussian(Fraction(10**4) + Fraction(1, 7)),
    TruncatedGeometric(Fraction(1), 11),
    TruncatedGeometric(Fraction(1, 1000), 5),
    TruncatedGeometric(Fraction(1, 100), 1313),
]
CONFIDENCES = [
    Fraction(1, 1000),
    Fraction(1, 2),
    Fraction(95, 100),
    Fraction(999, 1000),
    1 - Fraction(1, 10**12),
]


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@cache
def beyond(noise: Noise) -> list[mpmath.mpf]:
    """Return P(Z ≥ t) for t = 0, 1, …, by adding up the mass function."""
    with mpmath.workprec(1000):
        match noise:
            case DiscreteLaplace(scale):
                reach = int(60 * scale) + 60
                mass = [mpmath.exp(-k / real(scale)) for k in range(reach)]
                rest = mass[-1] / mpmath.expm1(1 / real(scale))
            case DiscreteGaussian(sigma2):
                reach = int(40 * math.sqrt(sigma2)) + 40
                mass = [mpmath.exp(-k * k / (2 * real(sigma2))) for k in range(reach)]
                rest = mpmath.mpf(0)  # below exp(-800)
            case TruncatedGeometric(epsilon, limit):
                mass = [mpmath.exp(-k * real(epsilon)) for k in range(limit + 1)]
                rest = mpmath.mpf(0)
            case _:
                raise AssertionError(noise)
        tails = [rest]
        for value in reversed(mass):
            tails.append(tails[-1] + value)
        whole = 2 * tails[-2] + mass[0]
        return [tail / whole for tail in reversed(tails)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", EVERY, ids=str)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_a_half_width_is_the_least_that_reaches_its_confidence(
    noise: Noise, confidence: Fraction
) -> None:
    tails, width = beyond(noise), noise.half_width(confidence)
    missed = 1 - real(confidence)
    assert 2 * tails[width + 1] <= missed
    assert width == 0 or 2 * tails[width] > missed


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_a_quantile_is_the_least_that_reaches_its_probability(noise: Noise) -> None:
    tails = beyond(noise)
    for probability in (Fraction(1, 10), Fraction(6, 10), Fraction(99, 100)):
        value = noise.quantile(probability)
        assert tails[value + 1] <= 1 - real(probability)
        assert value == 0 or tails[value] > 1 - real(probability)


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_a_tail_bound_is_above_the_tail_and_close(noise: Noise) -> None:
    tails = beyond(noise)
    # A wide Gaussian's enclosure has a width of its own, from Euler and Maclaurin's remainder.
    close = mpmath.mpf("1e-6") if noise in EVERY[8:10] else mpmath.ldexp(1, -190)
    for t in [*range(-3, 4), 10, len(tails) - 1]:
        if abs(t) + 1 >= len(tails):
            continue
        true = tails[t] if t >= 0 else 1 - tails[1 - t]
        assert true <= real(noise.tail_upper(t)) <= true + close


def test_a_tail_far_out_is_still_an_upper_bound() -> None:
    for noise in EVERY:
        assert 0 <= noise.tail_upper(10**30) < Fraction(1, 2**180)
        assert 1 - Fraction(1, 2**180) < noise.tail_upper(-(10**30)) <= 1


@pytest.mark.parametrize("t", [1, 2, 40, 64, 200, 500])
def test_both_ways_to_a_gaussian_tail_agree(t: int) -> None:
    sigma2 = Fraction(4096)
    summed = _gaussian_tail_summed(sigma2, t, 128)
    integrated = _gaussian_tail_integrated(sigma2, t, 128)
    assert integrated.lower <= summed.upper
    assert summed.lower <= integrated.upper
    assert integrated.upper - integrated.lower < summed.upper >> 14


@pytest.mark.parametrize("guess", [-4, 0, 1, 2, 5, 6, 7, 400])
def test_a_tie_that_no_precision_breaks_goes_to_the_safe_side(guess: int) -> None:
    """The tail halves each time but is known to a tenth only: at t = 5 the target is within it."""

    def tail(t: int, bits: int) -> Enclosure:
        exact = Fraction(1, 2**t)
        lower, upper = rational(exact * 9 / 10, bits), rational(exact * 11 / 10, bits)
        return Enclosure(lower.lower, upper.upper, bits)

    assert least_reaching(tail, Fraction(1, 2**5), guess) == 6
    assert least_reaching(tail, Fraction(12, 10 * 2**5), guess) == 5
    assert least_reaching(tail, Fraction(6, 10), guess) == 1


@pytest.mark.parametrize("sigma2", [Fraction(10**6), Fraction(10**24) + Fraction(1, 3)])
@pytest.mark.parametrize("confidence", CONFIDENCES[1:])
def test_a_wide_gaussian_half_width_matches_the_normal_distribution(
    sigma2: Fraction, confidence: Fraction
) -> None:
    sigma = mpmath.sqrt(real(sigma2))
    # Hermite and Hadamard put the sum within a shift of one half of the integral, to 1/sigma.
    true = sigma * mpmath.sqrt(2) * mpmath.erfinv(real(confidence)) - mpmath.mpf(1) / 2
    assert abs(DiscreteGaussian(sigma2).half_width(confidence) - true) <= 1 + 1 / sigma
    assert DiscreteGaussian(sigma2).half_width(confidence) >= true - 1 / sigma


def test_a_confidence_finer_than_a_double_is_served() -> None:
    confidence = 1 - Fraction(1, 10**400)
    assert DiscreteLaplace(Fraction(1)).half_width(confidence) == pytest.approx(921, abs=1)
    assert DiscreteGaussian(Fraction(100)).half_width(confidence) == pytest.approx(428, abs=2)


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_the_standard_deviation_is_that_of_the_mass_function(noise: Noise) -> None:
    tails = beyond(noise)
    masses = [tails[k] - tails[k + 1] for k in range(len(tails) - 1)]
    variance = 2 * mpmath.fsum(k * k * mass for k, mass in enumerate(masses))
    assert noise.standard_deviation == pytest.approx(float(mpmath.sqrt(variance)), rel=1e-11)


def test_the_standard_deviation_of_an_all_but_uniform_noise_is_the_uniforms() -> None:
    limit = 10**12
    noise = TruncatedGeometric(Fraction(1, 2**52), limit)
    assert noise.standard_deviation == pytest.approx(limit / math.sqrt(3), rel=1e-3)


def test_no_noise_reaches_nowhere() -> None:
    noise = NoNoise()
    assert noise.half_width(Fraction(99, 100)) == 0
    assert noise.standard_deviation == 0.0
    assert (noise.tail_upper(0), noise.tail_upper(1), noise.tail_upper(-5)) == (1, 0, 1)
    assert ExactSampler().sample(noise, 2).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (NoNoise(), "no noise: the value is public"),
        (DiscreteLaplace(Fraction(25, 2)), "discrete Laplace, scale 12.5"),
        (DiscreteGaussian(Fraction(9)), "discrete Gaussian, sigma 3"),
        (TruncatedGeometric(Fraction(1, 2), 9), "truncated geometric, epsilon 0.5, limit 9"),
    ],
)
def test_a_noise_describes_itself_and_gives_its_argument(noise: Noise, words: str) -> None:
    assert noise.describe() == words
    assert noise.argument.endswith(".")


HOSTILE = [Fraction(0), Fraction(-1), 0, -3, 1, 0.5, math.nan, math.inf, Decimal("0.5"), "1", None]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_parameters_that_are_not_positive_rationals_are_refused_by_name(value: object) -> None:
    for make in (
        lambda: DiscreteLaplace(value),
        lambda: DiscreteGaussian(value),
        lambda: TruncatedGeometric(value, 3),
    ):
        with pytest.raises(Refused) as refusal:
            make()
        assert refusal.value.code == "noise_invalid"


@pytest.mark.parametrize("limit", [0, -1, 2.0, True, Fraction(3), None], ids=repr)
def test_a_limit_that_is_not_a_positive_integer_is_refused_by_name(limit: object) -> None:
    with pytest.raises(Refused) as refusal:
        TruncatedGeometric(Fraction(1), limit)
    assert refusal.value.code == "noise_invalid"


def test_noise_wider_than_the_integers_can_hold_is_refused_by_name() -> None:
    largest = Fraction(2**52)
    DiscreteLaplace(largest), DiscreteGaussian(largest**2), TruncatedGeometric(1 / largest, 2**61)
    for make in (
        lambda: DiscreteLaplace(largest + Fraction(1, 10**9)),
        lambda: DiscreteLaplace(Fraction(10) ** 400),
        lambda: DiscreteGaussian(largest**2 + 1),
        lambda: TruncatedGeometric(1 / (largest + 1), 5),
        lambda: TruncatedGeometric(Fraction(1), 2**61 + 1),
    ):
        with pytest.raises(Refused) as refusal:
            make()
        assert refusal.value.code == "noise_too_large"


def test_noise_too_narrow_to_protect_anybody_is_refused_by_name() -> None:
    smallest = Fraction(1, 2**52)
    for noise in (DiscreteLaplace(smallest), DiscreteGaussian(smallest**2)):
        assert noise.standard_deviation == 0.0
        assert noise.half_width(Fraction(99, 100)) == 0
        assert not ExactSampler().sample(noise, 1000).any()
    for make in (
        lambda: DiscreteLaplace(Fraction(1, 2**52 + 1)),
        lambda: DiscreteGaussian(Fraction(1, 10**400)),
        lambda: TruncatedGeometric(Fraction(2**53), 5),
    ):
        with pytest.raises(Refused) as refusal:
            make()
        assert refusal.value.code == "noise_too_small"


def test_a_quantile_of_the_lower_half_is_zero() -> None:
    for noise in EVERY:
        assert noise.quantile(Fraction(1, 10**30)) == noise.quantile(Fraction(1, 2)) == 0


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1), Fraction(-1), Fraction(3, 2)])
def test_a_confidence_outside_zero_and_one_is_refused(confidence: Fraction) -> None:
    for noise in (NoNoise(), DiscreteLaplace(Fraction(1))):
        with pytest.raises(Refused) as refusal:
            noise.half_width(confidence)
        assert refusal.value.code == "confidence_invalid"
