"""Divergences agree with brute force over all events, and obey the laws they should."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.theory import divergences, testing
from sanql.theory.distributions import Distribution, mixture
from sanql.theory.errors import TheoryError
from theory.strategies import distributions, gammas, kernels, probabilities

pytestmark = pytest.mark.slow


def events(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(size), k) for k in range(size + 1)))


@given(distributions(), distributions(), gammas())
def test_the_hockey_stick_is_the_best_of_all_events(
    p: Distribution, q: Distribution, gamma: Fraction
) -> None:
    best = max(p.probability(event) - gamma * q.probability(event) for event in events(4))
    assert divergences.hockey_stick(p, q, gamma) == best
    event = divergences.best_event(p, q, gamma)
    assert p.probability(event) - gamma * q.probability(event) == best


@given(distributions(), distributions())
def test_max_divergence_over_points_is_that_over_sets(p: Distribution, q: Distribution) -> None:
    ratios = [
        p.probability(event) / q.probability(event) if q.probability(event) else math.inf
        for event in events(4)
        if p.probability(event) > 0
    ]
    assert divergences.max_divergence_gamma(p, q) == max(ratios)


@given(distributions(), distributions(), probabilities())
def test_tight_gamma_is_enough_and_nothing_less_is(
    p: Distribution, q: Distribution, delta: Fraction
) -> None:
    gamma = divergences.tight_gamma(p, q, delta)
    if gamma == math.inf:
        assert divergences.hockey_stick(p, q, 10**9) > delta
        return
    assert divergences.hockey_stick(p, q, Fraction(gamma)) <= delta
    if gamma > 1:
        less = 1 + (Fraction(gamma) - 1) * Fraction(999, 1000)
        assert divergences.hockey_stick(p, q, less) > delta


@given(distributions(), distributions(), st.fractions("1/6", 8, max_denominator=6))
def test_swapping_the_pair_mirrors_the_normalised_hockey_stick(
    p: Distribution, q: Distribution, gamma: Fraction
) -> None:
    if gamma > 0:
        mirrored = gamma * divergences.hockey_stick(q, p, 1 / gamma)
        assert divergences.hockey_stick(p, q, gamma) == mirrored


@given(distributions(), distributions(), kernels(4, 3), gammas())
def test_post_processing_never_helps(
    p: Distribution, q: Distribution, kernel: list[Distribution], gamma: Fraction
) -> None:
    after = divergences.hockey_stick(mixture(p.masses, kernel), mixture(q.masses, kernel), gamma)
    assert after <= divergences.hockey_stick(p, q, gamma)


@given(kernels(2, 4), kernels(2, 4), probabilities(), gammas())
def test_the_hockey_stick_is_jointly_convex(
    left: list[Distribution], right: list[Distribution], share: Fraction, gamma: Fraction
) -> None:
    weights = [share, 1 - share]
    mixed = divergences.hockey_stick(mixture(weights, left), mixture(weights, right), gamma)
    parts = (divergences.hockey_stick(p, q, gamma) for p, q in zip(left, right, strict=True))
    assert mixed <= sum(w * part for w, part in zip(weights, parts, strict=True))


@given(distributions(), distributions(), distributions(), gammas(), gammas())
def test_the_weak_triangle_inequality_holds(
    p: Distribution, q: Distribution, r: Distribution, first: Fraction, second: Fraction
) -> None:
    direct = divergences.hockey_stick(p, r, first * second)
    via = divergences.hockey_stick(p, q, first) + first * divergences.hockey_stick(q, r, second)
    assert direct <= via


@given(kernels(2, 3), kernels(2, 3), gammas(), gammas())
def test_independent_releases_compose(
    left: list[Distribution], right: list[Distribution], first: Fraction, second: Fraction
) -> None:
    def product(a: Distribution, b: Distribution) -> Distribution:
        return Distribution.of({(s, t): u * v for s, u in a.items() for t, v in b.items()})

    joint = divergences.hockey_stick(product(*left), product(*right), first * second)
    one = divergences.hockey_stick(left[0], right[0], first)
    two = divergences.hockey_stick(left[1], right[1], second)
    assert joint <= one + two


@given(distributions(), distributions(), gammas())
def test_both_testing_inequalities_say_exactly_indistinguishable(
    p: Distribution, q: Distribution, gamma: Fraction
) -> None:
    delta = divergences.indistinguishability_delta(p, q, gamma)
    sums = [
        (false_positive + gamma * false_negative, false_negative + gamma * false_positive)
        for false_positive, false_negative in (testing.errors(p, q, e) for e in events(4))
    ]
    assert min(min(pair) for pair in sums) == 1 - delta


@given(distributions(), distributions(), probabilities())
def test_no_event_lies_below_the_trade_off_curve_and_the_profile_gives_it_back(
    p: Distribution, q: Distribution, alpha: Fraction
) -> None:
    for event in events(4):
        false_positive, false_negative = testing.errors(p, q, event)
        assert false_negative >= testing.tradeoff(p, q, false_positive)
    ratios = {a / b for a, b in divergences.align(p, q) if a and b} | {Fraction(1, 10**9)}
    profile = [(g, divergences.hockey_stick_sup(p, q, g)) for g in sorted(ratios)]
    vertices = testing.tradeoff_vertices(p, q)
    for gamma, height in profile:
        assert testing.hockey_stick_from_tradeoff(vertices, gamma) == height
    curve = testing.tradeoff_from_profile(profile, alpha)
    assert abs(curve - testing.tradeoff(p, q, alpha)) < Fraction(1, 10**6)


def test_a_statement_about_one_order_does_not_give_the_other() -> None:
    p, q = Distribution.over([0, 1]), Distribution.over(["1/2", "1/2"])
    assert divergences.hockey_stick(p, q, 2) == 0
    assert divergences.hockey_stick(q, p, 2) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("masses", "code"),
    [
        (["1/2", "1/3"], "mass_sum"),
        (["3/2", "-1/2"], "negative_mass"),
        ([float("nan"), 1], "not_a_number"),
        ([0.1] * 10, "mass_sum"),
        ([], "empty"),
        (["one"], "not_a_number"),
        ([True], "not_a_number"),
    ],
)
def test_masses_that_are_no_distribution_are_refused(masses: list[object], code: str) -> None:
    with pytest.raises(TheoryError) as caught:
        Distribution.over(masses)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.remedy


def test_levels_that_make_no_sense_are_refused() -> None:
    p = Distribution.over(["1/2", "1/2"])
    with pytest.raises(TheoryError, match="at least 1"):
        divergences.indistinguishability_delta(p, p, "1/2")
    with pytest.raises(TheoryError, match="between 0 and 1"):
        divergences.tight_gamma(p, p, "3/2")
    with pytest.raises(TheoryError, match="above 1"):
        divergences.renyi_divergence(p, p, 1)
