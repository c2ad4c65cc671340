"""One record, two outputs: the best simulator is found by hand, so both ends of a finding are held to
it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from sanql.theory.channels import Channel
from sanql.theory.definitions import coupled_worlds, simulation
from sanql.theory.definitions.worlds import World
from sanql.theory.distributions import Distribution


def told_with(first: Fraction | str, second: Fraction | str) -> tuple[Channel, World]:
    """Return the channel that says yes with a chance that depends on the record, and a fair world."""
    rows = {
        (record,): Distribution.over([Fraction(share), 1 - Fraction(share)])
        for record, share in enumerate((first, second))
    }
    channel = Channel.of(rows)
    return channel, World.without_side_information(Distribution.uniform(channel.databases))


def least_delta(first: Fraction, second: Fraction, gamma: Fraction) -> Fraction:
    """Return the least delta over simulators (s, 1 - s): the lowest point of finitely many lines."""
    lines = [(Fraction(0), Fraction(0))]
    for share in (first, second):
        for real, start, slope in ((share, 0, 1), (1 - share, 1, -1)):
            lines.append((real - gamma * start, -gamma * slope))
            lines.append((start - gamma * real, Fraction(slope)))
    crossings = [(c - a) / (b - d) for (a, b), (c, d) in combinations(lines, 2) if b != d]
    inside = [s for s in (*crossings, Fraction(0), Fraction(1)) if 0 <= s <= 1]
    return min(max(a + b * s for a, b in lines) for s in inside)


@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [
        ("43/100", "93/100", 0.5),
        ("43/50", "1/4", 0.3),
        ("1/20", "31/50", 0.1),
        ("24/25", "13/25", 0.3),
        ("47/50", "1/25", 0.3),
        ("3/50", "2/5", 0.5),
        ("1/2", "1/2", 0.5),
    ],
)
def test_the_least_delta_lies_between_what_is_proved_and_what_is_attained(
    first: str, second: str, epsilon: float
) -> None:
    gamma = Fraction(math.exp(epsilon))
    true = least_delta(Fraction(first), Fraction(second), gamma)
    channel, fair = told_with(first, second)
    for found in (
        coupled_worlds.distributional_dp_delta(channel, [fair], gamma),
        simulation.simulation_dp_delta(channel, gamma),
    ):
        assert found.at_least["delta"] <= true <= found["delta"]
        assert found["delta"] - found.at_least["delta"] < Fraction(1, 10**15)


@pytest.mark.parametrize(("first", "second"), [("1/10", "1/5"), ("1/20", "1/10"), ("3/50", "1/5")])
def test_an_irrational_level_is_enclosed_and_never_called_tight(first: str, second: str) -> None:
    channel, fair = told_with(first, second)
    ratio = Fraction(second) / Fraction(first)  # its root is the level, and no fraction
    found = coupled_worlds.distributional_dp_gamma(channel, [fair], 0)
    assert found.status == "enclosed"
    assert Fraction(found.at_least["gamma"]) ** 2 < ratio < Fraction(found["gamma"]) ** 2


def test_outputs_that_one_record_excludes_leave_no_level_without_delta() -> None:
    channel, fair = told_with(1, "1/2")
    never = coupled_worlds.distributional_dp_gamma(channel, [fair], 0)
    assert never["gamma"] == never.at_least["gamma"] == math.inf
    assert never.status == "tight"
    # at level g the output is simulated with delta at least, and its missing half with g delta more
    some = coupled_worlds.distributional_dp_gamma(channel, [fair], "1/100")
    assert some.at_least["gamma"] <= 49 <= some["gamma"] <= 49 + Fraction(1, 10**6)
