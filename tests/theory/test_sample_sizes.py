"""Equation (2): sets of sizes by hand, the one-sided example, and binomial samples."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.theory.distributions import Distribution
from sanql.theory.sample_sizes import binomial_sizes, size_uncertainty


def test_the_delta_covers_every_set_of_sizes() -> None:
    """Pointwise is stronger than (epsilon, delta)-close: no set tells N from N + 1 by more."""
    rng = np.random.default_rng(9)
    telling = 0
    for _ in range(250):
        weights = [int(w) for w in rng.integers(0, 9, size=int(rng.integers(1, 7)))]
        weights[0] += 1
        gamma = Fraction(int(rng.integers(10, 40)), 10)
        law = {n + 2: Fraction(w, sum(weights)) for n, w in enumerate(weights)}
        found = size_uncertainty(Distribution.of(law), gamma)
        places = range(2, len(weights) + 3)
        by_ratio = [
            n
            for n in places
            if not law.get(n, 0) * law.get(n - 1, 0)
            or not 1 / gamma <= law[n] / law[n - 1] <= gamma
        ]
        assert found.printed == sum(law.get(n, 0) for n in by_ratio)
        assert found.shifted == sum(law.get(n - 1, 0) for n in by_ratio)
        for chosen in chain.from_iterable(combinations(places, k) for k in range(8)):
            p, q = (sum(law.get(n - shift, 0) for n in chosen) for shift in (0, 1))
            assert p - gamma * q <= found.printed
            assert q - gamma * p <= found.shifted
            telling += p > gamma * q or q > gamma * p
    assert telling > 100


def test_as_printed_the_equation_is_one_sided() -> None:
    weights = {n: Fraction(2) ** n for n in range(40)}
    found = size_uncertainty(Distribution.from_weights(weights), 2)
    assert found.printed < Fraction(1, 10**11)
    assert found.shifted > Fraction(1, 2)


def test_lemma_2_misses_the_share_that_is_not_sampled() -> None:
    """At n = 1000, p = 0.99, epsilon = 1/2 delta is above 0.1, exp(-n p epsilon²/3) is 1e-36."""
    asked = "theory sizes --population 1000 --rate 0.99 --epsilon 0.5 --format json"
    done = CliRunner().invoke(main, asked.split())
    assert done.exit_code == 0, done.output
    (told,) = json.loads(done.output).values()
    delta = float(told["delta, as corrected"])
    assert delta > 0.1 > math.exp(-1000 * 0.99 * 0.25 / 3)
    assert sum(binomial_sizes(7, "2/7").masses) == 1
    done = CliRunner().invoke(main, ["theory", "sizes", "--epsilon", "1"])
    assert done.exit_code == 2
    assert "--population and --rate" in done.output
