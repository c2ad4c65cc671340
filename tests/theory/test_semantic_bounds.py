"""Bounds on semantic failure over all beliefs: no person and no impossible output is left out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings

from sanql.theory.channels import Channel, from_function, randomised_response
from sanql.theory.definitions import semantic, semantic_bounds
from sanql.theory.distributions import Distribution
from theory.strategies import channels


def leaking(people: int, chance: str) -> Channel:
    """Return the mechanism that tells each record with a chance, all independently."""
    share = Fraction(chance)

    def tell(database: tuple[int, ...]) -> Distribution:
        masses: dict[object, Fraction] = {}
        for told in product((True, False), repeat=people):
            seen = tuple(v if t else None for v, t in zip(database, told, strict=True))
            count = sum(told)
            masses[seen] = share**count * (1 - share) ** (people - count)
        return Distribution.of(masses)

    return from_function(list(product((0, 1), repeat=people)), tell)


def test_two_people_who_may_each_be_told_of_fail_twice_as_often_as_one() -> None:
    two, tau = leaking(2, "1/100"), "99/100"
    sure = Distribution.point((1, 1))
    failed = semantic.failure_probability(two, sure, tau, 0)
    assert failed == 1 - Fraction(99, 100) ** 2
    bound = semantic_bounds.semantic_failure_upper(two, tau, 0)
    alone = semantic_bounds.semantic_failure_upper(leaking(1, "1/100"), tau, 0)
    assert alone < failed <= bound
    assert bound == pytest.approx(2 * alone)


def test_an_output_that_the_belief_excludes_counts_when_it_happens() -> None:
    channel = Channel.of({(0,): Distribution.over([1, 0]), (1,): Distribution.over(["1/2", "1/2"])})
    sure = Distribution.point((0,))
    assert semantic.failure_probability(channel, sure, "1/2", 0) == 0
    for tau in (0, "1/2", 1):
        assert semantic.reality_oblivious_failure(channel, sure, (1,), tau, 0) == Fraction(1, 2)
        assert semantic.reality_oblivious_failure(channel, sure, (0,), tau, 0) == 0


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(channels(2, 2))
def test_where_no_conclusion_may_move_the_failure_in_reality_is_exact(channel: Channel) -> None:
    found = semantic_bounds.reality_oblivious_privacy(channel, 0, 0, nodes=1)
    assert found.status == "tight"
    columns = zip(*channel.rows, strict=True)
    moves = [t for t, column in enumerate(columns) if len(set(column)) > 1]
    # an output of one probability everywhere moves nobody; any other moves the even belief
    worst = max(sum((row[t] for t in moves), Fraction(0)) for row in channel.rows)
    assert found["delta"] == worst


def test_randomised_response_moves_every_even_belief() -> None:
    found = semantic_bounds.reality_oblivious_privacy(randomised_response(2, odds=3), 0, 0)
    assert (found["delta"], found.status) == (1, "tight")
