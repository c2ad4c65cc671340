"""An attacker stated in words: the epsilon allows no more than was stated, and hardly less."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import product

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory.choose import Attacker, laplace_count
from sanql.theory.errors import TheoryError


def worst_pair(epsilon: float, delta: float) -> list[tuple[Fraction, Fraction]]:
    """Return (P, Q) masses of the worst mechanism that (epsilon, delta) allows for one person."""
    # e^epsilon from below, which is what the safe side has to allow for at least
    gamma, lost = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**14)), Fraction(delta)
    one, other = (1 - lost) * gamma / (1 + gamma), (1 - lost) / (1 + gamma)
    return [(lost, Fraction(0)), (one, other), (other, one), (Fraction(0), lost)]


def group_pair(attacker: Attacker) -> list[tuple[Fraction, Fraction]]:
    """Return the law of the answers of everybody in the group, all with one or the other value."""
    single = worst_pair(attacker.epsilon, 0)
    joint = []
    for answers in product(single, repeat=attacker.group_of):
        joint.append((math.prod(p for p, _ in answers), math.prod(q for _, q in answers)))
    return [(Fraction(p), Fraction(q)) for p, q in joint if p or q]


def most_hits(pair: list[tuple[Fraction, Fraction]], alarms: Fraction) -> Fraction:
    """Return the power of the best randomised test (Neyman and Pearson)."""
    left, hits = alarms, Fraction(0)
    ordered = sorted(pair, key=lambda pq: -math.inf if pq[0] == 0 else -float(pq[1] / pq[0]))
    for p, q in ordered:
        share = Fraction(1) if p <= left else left / p
        hits, left = hits + share * q, left - share * p
        if share < 1:
            break
    return hits


def random_belief(rng: random.Random) -> tuple[Fraction, Fraction]:
    low, high = sorted(rng.sample(range(1, 10 ** rng.randint(1, 6)), 2)) if rng else (1, 2)
    whole = rng.choice([high + 1, high * 2, high * 1000])
    return Fraction(low, whole), Fraction(high, whole)


@pytest.mark.parametrize("seed", range(60))
def test_no_answer_of_the_worst_mechanism_leads_beyond_the_stated_belief(seed: int) -> None:
    rng = random.Random(seed)
    prior, most = random_belief(rng)
    attacker = Attacker(prior, most, group_of=rng.randint(1, 4))
    posteriors = [prior * p / (prior * p + (1 - prior) * q) for p, q in group_pair(attacker)]
    assert max(posteriors) <= most
    assert max(posteriors) >= most * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("seed", range(60))
def test_no_test_of_the_worst_mechanism_finds_more_than_stated(seed: int) -> None:
    rng = random.Random(seed)
    alarms, hits = random_belief(rng)
    attacker = Attacker(false_alarms=alarms, hits_at_most=hits, group_of=rng.randint(1, 3))
    found = most_hits(group_pair(attacker), alarms)
    assert found <= hits
    if attacker.group_of == 1:
        assert found >= hits * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("seed", range(60))
def test_with_a_delta_the_statement_fails_as_seldom_as_said(seed: int) -> None:
    rng = random.Random(1000 + seed)
    prior, most = random_belief(rng)
    delta = Fraction(1, 10 ** rng.randint(3, 9))
    try:
        belief = Attacker(prior, most, delta=delta)
    except TheoryError:
        return  # too close to the prior for that delta
    pair = worst_pair(belief.epsilon, float(delta) * (1 - 1e-12))
    beyond = [(p, q) for p, q in pair if p and prior * p > most * (prior * p + (1 - prior) * q)]
    assert sum(p for p, _ in beyond) <= belief.usual_failure
    test = Attacker(false_alarms=prior, hits_at_most=most, delta=delta)
    pair = worst_pair(test.epsilon, float(delta) * (1 - 1e-12))
    assert most_hits(pair, prior) <= most


def test_the_example_is_the_ratio_of_odds() -> None:
    attacker = Attacker("0.1", "0.2")
    assert attacker.level == Fraction(9, 4)
    assert attacker.epsilon <= math.log(9 / 4) < attacker.epsilon + 1e-12
    assert Attacker("0.1", "0.2", group_of=4).epsilon <= attacker.epsilon / 4


def test_a_group_shares_its_delta() -> None:
    attacker = Attacker(false_alarms="0.05", hits_at_most="0.2", group_of=3, delta="1e-6")
    gamma = math.exp(attacker.epsilon)
    assert attacker.delta_of_one * (1 + gamma + gamma**2) == pytest.approx(1e-6, rel=1e-9)
    assert attacker.delta_of_one * (1 + gamma + gamma**2) <= 1e-6 * (1 + 1e-15)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"prior": "0.1"},
        {"prior": "0.1", "posterior_at_most": "0.2", "false_alarms": "0.1"},
        {"prior": "0.2", "posterior_at_most": "0.2"},
        {"prior": "0.3", "posterior_at_most": "0.2"},
        {"prior": "0", "posterior_at_most": "0.2"},
        {"prior": "0.1", "posterior_at_most": "1"},
        {"prior": "0.1", "posterior_at_most": "0.2", "failure": "0.1"},
        {"prior": "0.1", "posterior_at_most": "0.2", "group_of": 0},
        {"prior": "0.1", "posterior_at_most": "0.2", "delta": "0.5"},
        {"false_alarms": "0.1", "hits_at_most": "0.1"},
    ],
)
def test_what_is_no_attacker_is_refused(stated: dict[str, object]) -> None:
    with pytest.raises(TheoryError) as refused:
        Attacker(**stated)  # type: ignore[arg-type]
    assert refused.value.remedy


@pytest.mark.parametrize("epsilon", [0.01, 0.3, math.log(2), 1.7, 8.0])
def test_the_error_of_a_count_is_that_of_its_noise(epsilon: float) -> None:
    deviation, error = laplace_count(epsilon)
    ratio = math.exp(-epsilon)
    law = {k: (1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-20_000, 20_001)}
    assert deviation == pytest.approx(math.sqrt(sum(k * k * p for k, p in law.items())), rel=1e-9)
    assert sum(p for k, p in law.items() if abs(k) > error) <= 0.05 + 1e-12
    assert error == 0 or sum(p for k, p in law.items() if abs(k) > error - 1) > 0.05


def test_the_command_says_epsilon_noise_and_what_follows() -> None:
    stated = ["choose", "--prior", "0.1", "--posterior-at-most", "0.2", "--known-records", "10"]
    told = CliRunner().invoke(theory, [*stated, "--format", "json"])
    content = json.loads(told.output)
    assert content["epsilon"] == Attacker("0.1", "0.2").epsilon
    assert any(text.startswith("prior_posterior(") for text in content["implies"])
    assert "10 of them known" in content["exact"]
    words = CliRunner().invoke(theory, stated).output
    assert "epsilon 0.81093, delta 0" in words and "4 19 times of 20" in words
    refused = CliRunner().invoke(theory, ["choose", "--prior", "0.1"])
    assert refused.exit_code == 2 and "remedy" in refused.output
