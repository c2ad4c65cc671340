"""Two laws and the mechanisms of the sources, from Python and from the command, against brute force."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sanql.theory.distributions import Distribution
from sanql.theory.examples import example
from sanql.theory.two_laws import compare, joint
from support.commands import run

Masses = list[Fraction]


def law(rng: np.random.Generator, outcomes: int) -> Masses:
    weights = [int(w) for w in rng.integers(0, 6, size=outcomes)]
    weights[int(rng.integers(outcomes))] += 1
    return [Fraction(w, sum(weights)) for w in weights]


def events(outcomes: int) -> list[tuple[int, ...]]:
    return [e for size in range(outcomes + 1) for e in combinations(range(outcomes), size)]


def best(p: Masses, q: Masses, gamma: Fraction, among: list[tuple[int, ...]]) -> Fraction:
    zero = Fraction(0)
    return max(sum((p[t] - gamma * q[t] for t in event), zero) for event in among)


@pytest.mark.slow
def test_divergences_events_and_tests_are_those_of_all_events() -> None:
    rng = np.random.default_rng(7)
    apart = 0
    for _ in range(300):
        outcomes = int(rng.integers(2, 6))
        p, q = law(rng, outcomes), law(rng, outcomes)
        gamma = Fraction(int(rng.integers(4, 13)), 4)
        found = compare(Distribution.over(p), Distribution.over(q), gamma, Fraction(0))
        every = events(outcomes)
        intervals = [
            tuple(range(a, b)) for a in range(outcomes + 1) for b in range(a, outcomes + 1)
        ]
        assert found.hockey_stick == (best(p, q, gamma, every), best(q, p, gamma, every))
        assert found.interval == best(p, q, gamma, intervals)
        apart += found.interval < found.hockey_stick[0]
        assert best(p, q, gamma, [found.event]) == found.hockey_stick[0]  # type: ignore[list-item]
        assert found.statistical_difference == best(p, q, Fraction(1), every)
        weighed = min(
            1 - sum(p[t] for t in accepted) + gamma * sum(q[t] for t in accepted)
            for accepted in every
        )
        assert found.least_weighted_error == weighed
    assert apart > 10  # intervals are not enough


@pytest.mark.slow
def test_no_prior_and_output_move_a_belief_further_than_is_said() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        p, q = law(rng, 3), law(rng, 3)
        gamma = Fraction(int(rng.integers(4, 9)), 4)
        found = compare(Distribution.over(p), Distribution.over(q), gamma, Fraction(0))
        for t, a in product(range(3), [Fraction(k, 20) for k in range(1, 20)]):
            seen = a * p[t] + (1 - a) * q[t]
            if seen:
                posterior = [a * p[t] / seen, (1 - a) * q[t] / seen]
                moved = best(posterior, [a, 1 - a], gamma, events(2))
                assert moved <= found.prior_moved


def test_a_public_part_averages_divergences_and_most_pairs_bound_the_rest() -> None:
    rng = np.random.default_rng(9)
    for _ in range(150):
        count = int(rng.integers(1, 4))
        pairs = [(law(rng, 3), law(rng, 3)) for _ in range(count)]
        weights = law(rng, count)
        gamma, delta = Fraction(int(rng.integers(4, 9)), 4), Fraction(int(rng.integers(0, 5)), 10)
        whole: tuple[Masses, Masses] = ([], [])
        for weight, pair in zip(weights, pairs, strict=True):
            for side in (0, 1):
                whole[side].extend(weight * mass for mass in pair[side])
        found = joint(
            weights, [(Distribution.over(p), Distribution.over(q)) for p, q in pairs], gamma, delta
        )
        zero = Fraction(0)
        exact = sum((max(zero, p - gamma * q) for p, q in zip(*whole, strict=True)), zero)
        assert found.hockey_stick == exact <= found.bound


@pytest.mark.parametrize("people", [1, 2, 4])
@pytest.mark.parametrize("name", ["random-row", "named-row"])
def test_a_random_row_is_near_and_tells_everything(name: str, people: int) -> None:
    asked = ["theory", "example", name, "--people", str(people), "--epsilon", "9"]
    told: Any = json.loads(run(*asked, "--format", "json").stdout)
    (found,) = told.values()
    share = Fraction(1, 10 * people)
    assert Fraction(found["statistical difference of neighbours"]) == share
    if name == "named-row" or people == 1:
        assert (found["epsilon at delta 0"], Fraction(found["delta at epsilon 9"])) == (
            "infinite",
            share,
        )


def test_uniform_noise_is_as_private_as_its_ends() -> None:
    for width in (0, 2, 7):
        asked = ["theory", "example", "uniform-noise", "--width", str(width), "--format", "json"]
        (found,) = json.loads(run(*asked).stdout).values()
        assert Fraction(found["statistical difference of neighbours"]) == Fraction(1, 2 * width + 1)
        assert found["perfect privacy"] == "does not hold"
    assert example("uniform-noise", 2, Fraction(1), 3).row((1, 1)).support == tuple(range(-1, 6))


def test_sensitivities_are_those_of_all_neighbours() -> None:
    def asked(*words: str) -> dict[str, str]:
        (found,) = json.loads(
            run("theory", "sensitivity", *words, "--format", "json").stdout
        ).values()
        return found  # type: ignore[no-any-return]

    assert asked("count") == {"a record changed": "1", "a record more or less": "1"}
    assert asked("sum", "--values", "-3,5") == {
        "a record changed": "8",
        "a record more or less": "5",
    }
    assert asked("count", "--values", "1,2,3", "--counted", "2")["a record changed"] == "1"


def test_the_command_compares_laws_and_refuses_what_is_none(tmp_path: Path) -> None:
    words = [
        "theory",
        "compare",
        "--p",
        "1/2,1/2",
        "--q",
        "1/4,3/4",
        "--accept",
        "0",
        "--format",
        "json",
    ]
    (pair,) = json.loads(run(*words).stdout).values()
    assert (pair["statistical difference"], pair["FP"], pair["FN"]) == ("1/4", "1/2", "1/4")
    assert pair["epsilon at delta 0"].startswith(f"{math.log(2):.6g}")
    for wrong in (
        ["--p", "1/2,1/3", "--q", "1/2,1/2"],
        ["--p", "1/2,1/2"],
        ["--p", "1,0", "--q", "0,1", "--accept", "5"],
        ["--p", "1,0", "--q", "0,1", "--weight", "1/2"],
    ):
        assert run("theory", "compare", *wrong).exit_code == 2


@pytest.mark.slow
def test_a_density_and_a_count_are_drawn_at_any_level(tmp_path: Path) -> None:
    for name in ("density", "count"):
        path = tmp_path / f"{name}.svg"
        assert run("theory", "plot", name, "--epsilon", "0.4", "-o", str(path)).exit_code == 0
        assert "density" in path.read_text(encoding="utf-8")
