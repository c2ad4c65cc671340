"""The meaning of a guarantee is tight, safe and never claims more than the mechanism gives."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.theory.closed_forms import GaussianPair, GuaranteedPair, LaplacePair
from sanql.theory.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from sanql.theory.distributions import Distribution
from sanql.theory.divergences import align, indistinguishability_delta, max_divergence_gamma
from sanql.theory.errors import TheoryError
from sanql.theory.meaning import (
    best_test,
    best_test_of,
    loss_bound,
    meaning_of,
    posterior_band,
    posterior_band_of,
)
from theory.strategies import distributions, gammas


@pytest.mark.slow
@given(distributions(), distributions(), st.fractions("1/50", "49/50", max_denominator=50))
def test_no_posterior_leaves_the_band_of_pure_privacy(
    p: Distribution, q: Distribution, prior: Fraction
) -> None:
    gamma = max(max_divergence_gamma(p, q), max_divergence_gamma(q, p))
    epsilon = 1e9 if gamma == math.inf else math.log(gamma) * (1 + 1e-15)
    low, high = posterior_band(float(prior), min(epsilon, 700.0))
    for a, b in align(p, q):
        if a or b:
            posterior = Fraction(float(prior)) * a
            posterior /= posterior + (1 - Fraction(float(prior))) * b
            if gamma != math.inf:
                assert low <= posterior <= high


def test_the_pure_band_is_attained_by_randomised_response() -> None:
    low, high = posterior_band(0.25, math.log(3))
    assert Fraction(1, 2) <= high < 0.5 + 1e-14
    assert 0.1 - 1e-14 < low <= Fraction(1, 10)


@pytest.mark.slow
@given(distributions(), distributions(), gammas(), st.sampled_from([2, 3, 10]))
def test_the_band_with_failure_holds_except_with_that_probability(
    p: Distribution, q: Distribution, gamma: Fraction, times: int
) -> None:
    delta = indistinguishability_delta(p, q, gamma)
    failure = float(delta * times)
    if not 0 < failure < 1:
        return
    epsilon = math.log(gamma) + 1e-15
    low, high = posterior_band(0.5, epsilon, float(delta), failure=failure)
    outside = [(a, b) for a, b in align(p, q) if a + b and not low <= a / (a + b) <= high]
    assert sum(a for a, _ in outside) <= failure * (1 + 1e-12)
    assert sum(b for _, b in outside) <= failure * (1 + 1e-12)


def test_the_band_with_failure_is_sharp() -> None:
    # Kasiviswanathan-Smith Claim 3.3(2), vector A07: at odds 5 the two bad outcomes have mass 6/100
    low, high = posterior_band(0.5, math.log(2), 0.03, failure=0.06)
    odds = (0.06 * 2 + 0.03) / (0.06 - 0.03)
    assert math.isclose(high / (1 - high), odds, rel_tol=1e-12)
    assert odds == pytest.approx(5)
    assert math.isclose(low, 1 - high, rel_tol=1e-12)


@pytest.mark.parametrize(
    "pair",
    [
        LaplacePair(2.0, 1.0),
        DiscreteLaplacePair(3.0, 2),
        GaussianPair(0.7),
        DiscreteGaussianPair(4.0, 2),
        GuaranteedPair(0.5, 1e-6),
    ],
)
def test_bands_widen_as_the_failure_allowed_shrinks(pair: object) -> None:
    bands = [posterior_band_of(pair, 0.2, failure=f) for f in (0.3, 1e-2, 1e-4)]  # type: ignore[arg-type]
    for (wide_low, wide_high), (low, high) in zip(bands[1:], bands, strict=False):
        assert wide_low <= low <= 0.2 <= high <= wide_high
    assert loss_bound(pair, 1e-4) < math.inf  # type: ignore[arg-type]


def test_the_actual_mechanism_says_more_than_its_epsilon() -> None:
    actual, claimed = DiscreteLaplacePair(scale=4.0, shift=4), GuaranteedPair(epsilon=1.0)
    for rate in (0.01, 0.05, 0.1, 0.3, 0.5):
        assert best_test_of(actual, rate) >= best_test_of(claimed, rate) - 1e-12
    assert best_test_of(actual, 0.3) > best_test_of(claimed, 0.3) + 0.01


def test_the_best_test_matches_the_formula() -> None:
    assert best_test(0.0, 1.0, 0.0) == pytest.approx(1)
    assert best_test(0.05, math.log(2), 0.1) == pytest.approx(0.8)
    assert best_test(0.05, math.log(2), 0.1) <= 0.8
    assert best_test(1.0, 3.0, 0.5) == 0


def test_the_meaning_reads_as_sentences_and_data() -> None:
    told = meaning_of(GuaranteedPair(1.0, 1e-6), 0.1, failure=1e-5)
    assert told.band == (0.0, 1.0)
    assert any("except with probability 1e-05" in sentence for sentence in told.sentences())
    assert told.to_dict()["prior"] == 0.1


@pytest.mark.parametrize(
    ("prior", "epsilon", "delta"),
    [(1.2, 1.0, 0.0), (0.1, -1.0, 0.0), (0.1, 1.0, 2.0), (math.nan, 1.0, 0.0)],
)
def test_nonsense_is_refused(prior: float, epsilon: float, delta: float) -> None:
    with pytest.raises(TheoryError):
        posterior_band(prior, epsilon, delta)


def test_exact_percentages_are_not_shown_a_tenth_off() -> None:
    told = meaning_of(GuaranteedPair(0.0), prior=0.5).sentences()
    assert "50.0% to 50.0%" in told[0]
    assert "at least 95.0% of the time" in told[1]
    assert "right at most 50.0% of the time" in told[2]
    assert "more than 0.0 percentage points" in told[3]


def test_an_even_guess_gains_half_of_the_advantage() -> None:
    # by hand: the best guess between two answers of odds e is right with probability e/(1 + e)
    told = meaning_of(GuaranteedPair(1.0), prior=0.5)
    right = math.e / (1 + math.e)
    assert right <= told.even_guess_upper < right + 1e-12
    assert told.even_guess_upper >= told.band[1] - 1e-12
    assert "at most 73.2% of the time" in told.sentences()[2]
    assert "more than 46.3 percentage points" in told.sentences()[3]
    assert meaning_of(GuaranteedPair(700.0), prior=0.5).even_guess_upper == 1.0


@given(distributions(), distributions())
def test_no_guess_between_two_equally_likely_laws_is_right_more_often_than_said(
    p: Distribution, q: Distribution
) -> None:
    best = sum((max(a, b) for a, b in align(p, q)), Fraction(0)) / 2
    gamma = max(max_divergence_gamma(p, q), max_divergence_gamma(q, p))
    epsilon = 700.0 if gamma == math.inf else math.log(gamma) * (1 + 1e-15)
    assert best <= meaning_of(GuaranteedPair(epsilon), prior=0.5).even_guess_upper
