"""What an exact release is said to mean, against every test and every belief of members of its class."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exact.towns import AMOUNT, MEMBER, REGIONS, SCORE, Town, write_people, write_policy
from sanql.exact import meaning_of_release, terms_of
from sanql.mechanisms.noiseless import delta_at
from sanql.policy import Policy, load
from sanql.policy.exact import ExactValues

MEMBERS = 400


def declared(exact: str, tmp_path: Path) -> Policy:
    write_people(tmp_path)
    return load(write_policy(tmp_path, exact))


def member(rng: np.random.Generator, least: float, unknown: int, values: int) -> np.ndarray:
    """Return the law of the sum of the unknown others, each with at least `least` on every value.

    What is left of a record's mass is put where it makes records most alike or most apart.
    """
    total = np.ones(1)
    places = (
        rng.choice(values, size=unknown) if rng.random() < 0.5 else [rng.integers(values)] * unknown
    )
    for place in places:
        law = np.full(values, least)
        law[place] += 1 - least * values
        total = np.convolve(total, law)
    return total


def moved(law: np.ndarray, by: int, room: int) -> np.ndarray:
    return np.concatenate([np.zeros(by), law, np.zeros(room - by)])


CLASSES = {"score": (SCORE, 0.15, 5), "member": (MEMBER, 0.3, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_no_member_of_the_class_is_told_from_the_ideal_world_more_easily(
    name: str, tmp_path: Path
) -> None:
    text, least, values = CLASSES[name]
    exact = declared(text, tmp_path).exact[name]
    assert isinstance(exact, ExactValues)
    terms = terms_of(exact)
    told: Any = meaning_of_release(exact, terms.least, (terms.certified, terms.at_delta))
    unknown = terms.least - 1 - exact.known_records
    rng = np.random.default_rng(20)
    room, middle = values - 1, exact.middle - exact.low
    widest = 0.0
    for _ in range(MEMBERS):
        others = member(rng, least, unknown, values)
        ideal = moved(others, middle, room)
        for value in range(values):
            real = moved(others, value, room)
            apart = 0.5 * float(np.abs(real - ideal).sum())
            widest = max(widest, apart)
            assert apart <= told["advantage_upper"]
            for test in told["tests"]:
                assert missed(ideal, real, test["false_alarms"]) >= test["missed_at_least"] - 1e-12
    assert widest > told["advantage_upper"] / 8
    assert told["even_guess_upper"] >= (1 + told["advantage_upper"]) / 2


def missed(null: np.ndarray, other: np.ndarray, rate: float) -> float:
    """Return the least miss rate at a false alarm rate, by Neyman and Pearson."""
    order = np.argsort(-(other / np.maximum(null, 1e-300)))
    alarms, hits = np.cumsum(null[order]), np.cumsum(other[order])
    return 1 - float(np.interp(rate, np.append(0, alarms), np.append(0, hits)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_no_belief_about_a_value_moves_further_but_with_the_stated_probability(
    name: str, tmp_path: Path
) -> None:
    text, least, values = CLASSES[name]
    exact = declared(text, tmp_path).exact[name]
    assert isinstance(exact, ExactValues)
    terms = terms_of(exact)
    rng = np.random.default_rng(21)
    unknown = terms.least - 1 - exact.known_records
    for prior in (0.01, 0.1, 0.5, 0.9):
        points = (terms.certified, terms.at_delta)
        told: Any = meaning_of_release(exact, terms.least, points, prior)["belief"]
        low, high = told["posterior"]
        assert low < prior < high
        for _ in range(MEMBERS // 4):
            others = member(rng, least, unknown, values)
            # a fact is a set of values: what is thought likely given the fact, and given its contrary
            given, otherwise = (rng.dirichlet(np.full(values, 0.3)) for _ in range(2))
            if rng.random() < 0.5:
                given, otherwise = np.eye(values)[0], np.eye(values)[-1]
            laws = [np.convolve(others, fact) for fact in (given, otherwise)]
            both = prior * laws[0] + (1 - prior) * laws[1]
            after = prior * laws[0] / np.maximum(both, 1e-300)
            outside = (after < low) | (after > high)
            for law in (*laws, both):
                assert float(law[outside & (both > 0)].sum()) <= told["failure"]


@pytest.mark.parametrize("text", [SCORE, AMOUNT, MEMBER, REGIONS])
def test_the_least_epsilon_is_certified_at_the_accepted_delta(text: str, tmp_path: Path) -> None:
    (exact,) = declared(text, tmp_path).exact.values()
    terms = terms_of(exact)
    others = terms.least - 1 if isinstance(exact, ExactValues) else terms.least
    least = Fraction(terms.at_delta.epsilon)
    assert least <= exact.accept.epsilon
    assert delta_at(exact.against(others), least).delta_upper <= exact.accept.delta
    assert (
        delta_at(exact.against(others), least * Fraction(97, 100)).delta_upper > exact.accept.delta
    )


def test_a_histogram_says_nothing_of_beliefs_about_values(town: Town) -> None:
    words = town("regions").explain(
        "SELECT region, COUNT(*) FROM people GROUP BY region", exact=True
    )
    told: Any = words.certificate.to_dict()["meaning"]
    assert "belief" not in told and "not been sampled" in told["ideal"]


def test_the_worlds_are_told_in_the_columns_own_units(town: Town) -> None:
    said = str(town("amount").explain("SELECT SUM(amount) FROM people", exact=True))
    assert "ideal world: the sums without your value, 100 in its place" in said
    assert "at the accepted delta 1e-06 it is epsilon" in said
