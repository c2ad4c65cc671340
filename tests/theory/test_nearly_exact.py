"""Large channels: floats skip pairs, and what is found is what whole numbers find for every pair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sanql.theory.channels import Channel
from sanql.theory.definitions import nearly_exact
from sanql.theory.definitions.bayesian import prior_to_posterior
from sanql.theory.definitions.dp import approximate_dp, approximate_dp_delta, pure_dp
from sanql.theory.definitions.nearly_exact import NearlyExact
from sanql.theory.definitions.semantic import informed_semantic_privacy, semantic_privacy
from sanql.theory.neighbours import change_one


def channel(rng: np.random.Generator, sharp: int) -> Channel:
    """Return a channel of 64 databases whose rows are equal, nearly equal, or far apart."""
    databases = [(a, b) for a in range(8) for b in range(8)]
    base = [int(w) for w in rng.integers(1, 9, size=12)]
    rows = []
    for _ in databases:
        weights = [w * 10**sharp + int(rng.integers(0, 3)) for w in base]
        if rng.random() < 0.1:
            weights = [int(w) for w in rng.integers(0, 9, size=12)]
            weights[0] += 1
        rows.append(tuple(Fraction(w, sum(weights)) for w in weights))
    return Channel(tuple(databases), tuple(range(12)), tuple(rows))


@pytest.mark.slow
@pytest.mark.parametrize("sharp", [0, 3, 15, 17, 40])
def test_what_floats_skip_changes_no_result(monkeypatch: pytest.MonkeyPatch, sharp: int) -> None:
    rng = np.random.default_rng(sharp)
    for _ in range(6):
        given = channel(rng, sharp)
        near = change_one(given.databases)
        asked = [
            lambda c=given, n=near: pure_dp(c, n),
            lambda c=given, n=near: approximate_dp(c, n, Fraction(1, 50)),
            *(lambda c=given, n=near, g=g: approximate_dp_delta(c, n, g) for g in (1, 2, "11/10")),
            lambda c=given: prior_to_posterior(c),
            lambda c=given: semantic_privacy(c, 0),
            lambda c=given: informed_semantic_privacy(c, 3),
        ]
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(nearly_exact, "_ENTRIES_LEAST", least)
            found.append([question() for question in asked])
        assert found[0] == found[1]


def test_floats_decide_most_pairs_and_leave_open_what_is_equal() -> None:
    rows = (
        (Fraction(1, 3), Fraction(2, 3)),
        (Fraction(10**17 + 3, 3 * 10**17), Fraction(2 * 10**17 - 3, 3 * 10**17)),
        (Fraction(1, 2), Fraction(1, 2)),
    )
    given = Channel(((0,), (1,), (2,)), ("a", "b"), rows)
    nearly = NearlyExact(given, np.array([[float(m) for m in row] for row in rows]))
    one = Fraction(1)
    assert not nearly.ratio_at_most(
        (1,), (0,), one
    )  # more likely by 1e-17, which floats do not see
    assert nearly.ratio_at_most((0,), (0,), one)  # what floats leave open is compared exactly
    assert not nearly.excess_at_most((0,), (0,), one, Fraction(1, 10**17))
    assert nearly.ratio_at_most((0,), (2,), Fraction(3, 2))
    assert not nearly.excess_at_most((0,), (2,), one, Fraction(1, 6))
    assert nearly.excess_at_most((0,), (2,), one, Fraction(1, 5))
    assert NearlyExact.of(given) is None


def test_quotients_that_overflow_in_floats_are_compared_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny = [Fraction(1, 10**k) for k in (160, 170, 165)]
    rows = [
        (1 - tiny[0], tiny[0], Fraction(0)),
        (tiny[1], 1 - tiny[1], Fraction(0)),
        (tiny[2], 1 - 2 * tiny[2], tiny[2]),
        (1 - 2 * tiny[1], tiny[1], tiny[1]),
    ]
    databases = ((0, 0), (0, 1), (1, 0), (1, 1))
    for chosen in ([0, 1, 1, 0], [3, 2, 2, 3], [0, 1, 2, 3], [3, 2, 3, 2]):
        given = Channel(databases, tuple("abc"), tuple(rows[k] for k in chosen))
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(nearly_exact, "_ENTRIES_LEAST", least)
            found.append(
                [
                    prior_to_posterior(given),
                    *(semantic_privacy(given, d) for d in (0, 1)),
                    *(informed_semantic_privacy(given, d) for d in (0, 1)),
                ]
            )
        assert found[0] == found[1]
