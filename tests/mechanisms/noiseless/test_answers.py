"""The questions of an owner: what passes passes, and one less does not; quickly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sanql.mechanisms.noiseless import (
    BinomialPrior,
    CountAdversary,
    HistogramAdversary,
    MapAdversary,
    SumAdversary,
    continuous_sum,
    delta_at,
    discard_prior,
    epsilon_at,
    known_max,
    lattice_sum,
    others_enough,
    others_min,
    threshold_min,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "adversary",
    [
        continuous_sum(others=2000, eta="0.25"),
        lattice_sum(others=2000, lower=1, upper=5, mass="0.05"),
        CountAdversary(2000, "0.2"),
    ],
)
def test_the_smallest_n_and_the_largest_known_are_at_the_edge(
    adversary: SumAdversary | CountAdversary,
) -> None:
    epsilon, delta = Fraction(3, 5), Fraction(1, 10**6)
    least = others_min(adversary, epsilon, delta)
    assert adversary.with_others(least).bound(epsilon).delta_upper <= delta
    assert adversary.with_others(least - 1).bound(epsilon).delta_upper > delta
    enough, certificate = others_enough(adversary, epsilon, delta)
    assert least <= enough <= 1.02 * least + 2
    assert certificate == delta_at(adversary.with_others(enough), epsilon)
    assert certificate.delta_upper <= delta
    most = known_max(adversary, epsilon, delta)
    assert adversary.with_known(most).bound(epsilon).delta_upper <= delta
    assert adversary.with_known(most + 1).bound(epsilon).delta_upper > delta
    assert most == adversary.others - least


def test_the_smallest_threshold_is_at_the_edge_and_covers_known_members() -> None:
    prior = BinomialPrior("0.3")
    least = threshold_min(prior, 1, 1e-6)
    assert HistogramAdversary(least, prior).bound(1).delta_upper <= 1e-6
    assert HistogramAdversary(least - 1, prior).bound(1).delta_upper > 1e-6
    assert threshold_min(prior, 1, 1e-6, known=5) == least + 5


def test_a_fixed_size_sample_needs_about_the_cell_of_an_independent_one() -> None:
    prior = discard_prior(population=4000, sample=2000, epsilon_size="0.1", delta=1e-6)
    assert prior.offset == 153
    least = threshold_min(prior, 1, 1e-6)
    # 153 of 2000 are discarded, and drawing without repetition varies less: 59 instead of 60
    assert threshold_min(BinomialPrior("0.5"), 1, 1e-6) == least + 1


def test_a_certificate_says_everything() -> None:
    found = delta_at(continuous_sum(others=1000, eta="0.1", known=3), "0.5").to_dict()
    assert found["epsilon"] == 0.5
    assert 0 < float(str(found["delta"])) < 2e-6
    assert "997" in str(found["class"])
    assert "Theorem" in str(found["theorem"])
    assert any("at most 3 of the 1,000" in str(said) for said in found["assumptions"])  # type: ignore[attr-defined]
    assert "blocks" in str(found["tiers"])


@pytest.mark.parametrize(("others", "delta"), [(19, "1e-4"), (29, "1e-6")])
def test_an_epsilon_that_floats_do_not_see_is_found(others: int, delta: str) -> None:
    found = epsilon_at(CountAdversary(others, "0.5"), delta)
    assert found.epsilon < 3
    assert found.delta_upper <= Fraction(delta)


def test_a_map_estimator_of_many_records_is_certified_below_the_slack_of_enumeration() -> None:
    """300 records of 0.9 against 0.1: the enumeration's rounding slack is 6e-13, Chernoff 8e-67."""
    adversary = MapAdversary(300, (("0.9", "0.1"), ("0.1", "0.9")))
    assert adversary.bound(0).delta_upper < 1e-60
    # the truth: one record decides only where the others are within one of a tie
    tie = math.comb(300, 150) * 0.09**150
    assert tie * 0.1 < adversary.bound(0).delta_upper
