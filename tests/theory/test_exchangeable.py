"""Where order means nothing, one record and multisets give what all records and lists give."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from sanql.theory.channels import Channel, from_function
from sanql.theory.definitions import exchangeable
from sanql.theory.definitions.coupled_worlds import (
    distributional_dp_delta,
    distributional_dp_gamma,
)
from sanql.theory.definitions.worlds import World
from sanql.theory.distributions import Distribution


def drawn(rng: random.Random, people: int, values: int) -> tuple[Channel, World]:
    """Return a mechanism of counts and a mixture of independent draws, some with what mixes known."""
    databases = list(product(range(values), repeat=people))
    laws: dict[tuple[int, ...], Distribution] = {}

    def law(x: tuple[int, ...]) -> Distribution:
        weights = {t: rng.choice([0, 1, 3, 9]) for t in range(3)}
        weights[0] += 1
        return laws.setdefault(tuple(sorted(x)), Distribution.from_weights(weights))

    cells: dict[tuple[tuple[int, ...], int | None], Fraction] = {}
    told = rng.random() < 0.5
    for side in (0, 1):
        chances = Distribution.from_weights({v: rng.randint(1, 5) for v in range(values)})
        for x in databases:
            mass = Fraction(1, 2)
            for value in x:
                mass *= chances[value]
            key = (x, side if told else None)
            cells[key] = cells.get(key, Fraction(0)) + mass
    return from_function(databases, law), World.of(cells)


@pytest.mark.slow
def test_one_record_gives_what_all_records_give(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(20)
    for _ in range(25):
        channel, world = drawn(rng, *rng.choice([(2, 2), (3, 2), (2, 3)]))
        level, delta = rng.choice([Fraction(1), Fraction(3, 2)]), Fraction(1, 20)
        found = []
        for least in (10**9, 1):
            monkeypatch.setattr(exchangeable, "_INPUTS_LEAST", least)
            assert (exchangeable.first_record_alone(channel, [world]) is None) == (least > 1)
            at_level = distributional_dp_delta(channel, [world], level)
            at_delta = distributional_dp_gamma(channel, [world], delta)
            found.append((at_level, at_delta))
            # the simulator that is shown does for every record what is said of it
            shown = at_level.witness.simulator  # type: ignore[union-attr]
            again = distributional_dp_delta(channel, [world], level, simulator=shown)
            assert again["delta"] == at_level["delta"]
            shown = at_delta.witness.simulator  # type: ignore[union-attr]
            again = distributional_dp_gamma(channel, [world], delta, simulator=shown)
            assert again["gamma"] == at_delta["gamma"]
        for whole, name in ((0, "delta"), (1, "gamma")):
            lists, counts = found[0][whole], found[1][whole]
            assert float(counts[name]) == pytest.approx(float(lists[name]), rel=1e-6, abs=1e-9)
            for one, other in ((lists, counts), (counts, lists)):
                assert one.at_least.get(name, one[name]) <= other[name]


def test_what_depends_on_order_is_not_taken_for_exchangeable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchangeable, "_INPUTS_LEAST", 1)
    bits = list(product((0, 1), repeat=2))
    even = World.without_side_information(Distribution.uniform(bits))
    total = from_function(bits, lambda x: Distribution.point(sum(x)))
    first = from_function(bits, lambda x: Distribution.point(x[0]))
    assert exchangeable.first_record_alone(total, [even]) is not None
    assert exchangeable.first_record_alone(first, [even]) is None
    uneven = World.without_side_information(
        Distribution.from_weights(dict(zip(bits, (1, 2, 3, 4), strict=True)))
    )
    assert exchangeable.first_record_alone(total, [uneven]) is None
    missing = World.without_side_information(Distribution.uniform(bits[:2]))
    assert exchangeable.first_record_alone(total, [missing]) is None
    knowing = World.knowing(Distribution.uniform(bits), lambda x: x[0])
    assert exchangeable.first_record_alone(total, [knowing]) is None
    assert exchangeable.first_record_alone(total, [even, knowing]) is None
