"""Large distributions: never below the exact value, close to it, and quick."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.theory import large
from sanql.theory.divergences import excess, gamma_at
from sanql.theory.errors import TheoryError


@pytest.mark.slow
@settings(max_examples=150)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 0.1]))
def test_float_results_are_never_below_the_exact_ones(seed: int, delta: float) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(12, 0.3)), rng.dirichlet(np.full(12, 0.3))
    pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(p, q, strict=True)]
    mirrored = [(b, a) for a, b in pairs]
    exact = max(gamma_at(pairs, Fraction(delta)), gamma_at(mirrored, Fraction(delta)))
    found = large.tight_epsilon_upper(p, q, delta)
    if exact == math.inf:
        assert found == math.inf
    else:
        assert Fraction(math.exp(found)) * (1 + Fraction(1, 2**50)) >= exact
        assert found <= math.log(exact) * (1 + 1e-9) + 1e-12
    upper = large.hockey_stick_upper(p, q, 2)
    assert Fraction(upper) >= excess(pairs, Fraction(2))
    assert upper <= excess(pairs, Fraction(2)) + Fraction(1, 10**12)


def test_an_excess_hidden_by_rounding_is_still_counted() -> None:
    # in floats 3 * 0.1 rounds up to exactly p, although the exact product is below it
    p, q = [0.30000000000000004, 0.7], [0.1, 0.9]
    exact = excess([(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)], Fraction(3))
    assert p[0] - 3 * q[0] == 0 < exact
    assert large.hockey_stick_upper(p, q, 3) >= exact


def test_a_delta_and_a_level_that_are_no_floats_are_rounded_to_the_safe_side() -> None:
    # as floats 1/10 and 1/3 lie above themselves: taken so, the loss would come out too small
    p, q = [0.75, 0.25], [0.25, 0.75]
    for delta in ("1/10", "1/3", "0.1"):
        found = large.tight_epsilon_upper(p, q, delta)
        exact = gamma_at(
            [(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)], Fraction(delta)
        )
        assert Decimal(found) >= (Decimal(exact.numerator) / exact.denominator).ln()
    # the float 0.1 exceeds 1/10 by less than its last place, which a tiny q turns into a factor
    p, q = [0.1, 0.9], [2.0**-60, 1.0]
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)]
    assert gamma_at(pairs, Fraction(1, 10)) > 6
    assert large.tight_epsilon_upper(p, q, "1/10") > math.log(6)
    p, q = [0.75, 0.25], [0.25, 0.75]
    level = Fraction(14, 5)
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)]
    assert Fraction(large.hockey_stick_upper(p, q, level)) >= excess(pairs, level)


def test_mass_outside_the_other_support_may_use_up_delta_exactly() -> None:
    p, q = [0.125, 0.875, 0.0], [0.0, 0.5, 0.5]
    assert large.tight_epsilon_upper(p, q, 0.125) == math.inf
    both = large.tight_epsilon_upper([0.125, 0.875], [0.0, 1.0], 0.125)
    assert 0 <= both < 1e-12
    # the float 0.1 is more than a tenth, so no level is enough
    assert large.tight_epsilon_upper([0.1, 0.9], [0.0, 1.0], "1/10") == math.inf
    assert large.tight_epsilon_upper([0.1, 0.9], [0.0, 1.0], 0.1) < 1


@pytest.mark.slow
def test_a_million_outcomes_have_an_epsilon_that_holds() -> None:
    rng = np.random.default_rng(7)
    p, q = rng.random(1_000_000), rng.random(1_000_000)
    p, q = p / p.sum(), q / q.sum()
    large.tight_epsilon_upper(p[:10] / p[:10].sum(), q[:10] / q[:10].sum(), 1e-3)
    epsilon = large.tight_epsilon_upper(p, q, 1e-6)
    assert large.hockey_stick_upper(p, q, math.exp(epsilon)) <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("p", "q", "code"),
    [
        ([0.5, 0.4], [0.5, 0.5], "mass_sum"),
        ([1.5, -0.5], [0.5, 0.5], "negative_mass"),
        ([math.nan, 1.0], [0.5, 0.5], "not_a_number"),
        ([1.0], [0.5, 0.5], "lengths"),
        ([], [], "empty"),
    ],
)
def test_bad_arrays_are_refused(p: list[float], q: list[float], code: str) -> None:
    with pytest.raises(TheoryError) as caught:
        large.tight_epsilon_upper(p, q)
    assert caught.value.code == code


def test_a_delta_of_one_allows_everything() -> None:
    assert large.tight_epsilon_upper([0.0, 1.0, 1e-56], [0.4, 0.0, 0.6], 1) == 0


def test_a_sum_that_loses_its_small_terms_is_still_counted_in_full() -> None:
    # numpy adds 128 terms in eight lanes: fifteen times a lane loses just under half its last place
    small = 0.49 * math.ulp(1 / 16)
    p = [*[1 / 16] * 8, *[small] * 120, 0.5, 0.0]
    q = [*[0.0] * 128, 0.6, 0.4]
    exact = sum(Fraction(mass) for mass in p[:128])
    assert Fraction(float(np.sum(p[:128]))) < exact, "otherwise this shows nothing"
    assert Fraction(large.hockey_stick_upper(p, q, 1)) >= exact


def test_a_level_beyond_the_floats_is_no_warning() -> None:
    with np.errstate(all="raise"):
        assert large.hockey_stick_upper([0.5, 0.5], [0.0, 1 + 1e-10], 10**400) < 0.5 + 1e-9
        for delta in (0, 5e-324, 1e-10):
            assert large.tight_epsilon_upper([0.5, 0.5], [5e-324, 1 + 1e-10], delta) > 700


def test_masses_below_the_normal_floats_are_not_lost() -> None:
    p, q, gamma = [1e-323, 1.0], [5e-324, 1.0], 1.6
    true = Fraction(p[0]) - Fraction(gamma) * Fraction(q[0])
    assert 0 < true <= Fraction(large.hockey_stick_upper(p, q, gamma))
