"""Channels are exact stochastic matrices; neighbour relations are what they say."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given

from sanql.theory import channels, neighbours
from sanql.theory.channel_file import parse_channel
from sanql.theory.channels import Channel
from sanql.theory.definitions.dp import approximate_dp_delta, pure_dp
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from theory.strategies import channels as random_channels
from theory.strategies import gammas, kernels

pytestmark = pytest.mark.slow

BITS = list(product((0, 1), repeat=2))


@given(random_channels(), random_channels(), gammas(), gammas())
def test_composition_adds_the_levels_and_the_deltas(
    first: Channel, second: Channel, gamma_1: Fraction, gamma_2: Fraction
) -> None:
    near = neighbours.change_one(BITS)
    both = channels.compose(first, second)
    delta = approximate_dp_delta(both, near, gamma_1 * gamma_2)["delta"]
    one = approximate_dp_delta(first, near, gamma_1)["delta"]
    two = approximate_dp_delta(second, near, gamma_2)["delta"]
    assert delta <= one + two


@given(random_channels(), kernels(3, 2), gammas())
def test_post_processing_a_channel_never_hurts(
    channel: Channel, kernel: list[Distribution], gamma: Fraction
) -> None:
    near = neighbours.change_one(BITS)
    after = channels.post_process(channel, lambda t: kernel[t])
    assert (
        approximate_dp_delta(after, near, gamma)["delta"]
        <= (approximate_dp_delta(channel, near, gamma)["delta"])
    )


@given(random_channels(), random_channels(), gammas())
def test_a_secret_mixture_is_no_worse_than_the_average(
    first: Channel, second: Channel, gamma: Fraction
) -> None:
    near = neighbours.change_one(BITS)
    share = Fraction(1, 3)
    mixed = channels.mix([share, 1 - share], [first, second])
    parts = [approximate_dp_delta(c, near, gamma)["delta"] for c in (first, second)]
    assert (
        approximate_dp_delta(mixed, near, gamma)["delta"]
        <= share * parts[0] + (1 - share) * parts[1]
    )


def test_randomised_response_with_three_values_has_its_odds_as_level() -> None:
    channel = channels.randomised_response(1, odds=5, values=("a", "b", "c"))
    assert pure_dp(channel, neighbours.change_one(channel.databases))["gamma"] == 5


def test_a_named_random_row_is_private_in_statistical_difference_only() -> None:
    rows = list(product((0, 1), repeat=4))
    channel = channels.random_row(rows, 1, named=True)
    near = neighbours.change_one(rows)
    assert approximate_dp_delta(channel, near, 1)["delta"] == Fraction(1, 4)
    assert approximate_dp_delta(channel, near, 1000)["delta"] == Fraction(1, 4)


def test_the_statistical_difference_to_any_database_is_at_most_n_times_that_to_neighbours() -> None:
    rows = list(product((0, 1, 2), repeat=3))
    channel = channels.random_row(rows, "1/10")
    near = approximate_dp_delta(channel, neighbours.change_one(rows), 1)["delta"]
    far = approximate_dp_delta(channel, neighbours.listed([((1, 1, 1), (0, 0, 0))]), 1)["delta"]
    assert (near, far) == (Fraction(1, 30), Fraction(1, 10))


def test_neighbour_relations_list_the_pairs_they_name() -> None:
    assert len(neighbours.change_one(product((0, 1), repeat=3)).pairs) == 12
    assert set(neighbours.add_remove([(), (0,), (0, 0), (0, 1)]).pairs) == {
        ((0,), ()),
        ((0, 0), (0,)),
        ((0, 1), (0,)),
    }
    edge = frozenset
    empty, star = edge(), edge({edge("ab"), edge("ac")})
    triangle = star | {edge("bc")}
    assert neighbours.graph_nodes([empty, star, triangle]).pairs == (
        (empty, star),
        (star, triangle),
    )
    schools = neighbours.groups_of(product((0, 1), repeat=3), ("north", "north", "south"))
    assert ((0, 0, 0), (1, 1, 0)) in schools.pairs
    assert ((0, 0, 0), (0, 1, 1)) not in schools.pairs
    firms = neighbours.within([(1,), (2,), (4,)], 1)
    assert firms.pairs == (((1,), (2,)),)
    assert len(neighbours.named("all", BITS).pairs) == 6


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Channel((), (), ()), "empty"),
        (lambda: Channel((1, 1), (0,), ((Fraction(1),),) * 2), "duplicate"),
        (lambda: Channel((1,), (0, 1), ((Fraction(1),),)), "lengths"),
        (lambda: Channel((1,), (0,), ((Fraction(1, 2),),)), "mass_sum"),
        (lambda: channels.randomised_response(1, odds=0), "not_positive"),
        (lambda: channels.truncated_geometric(2, 1), "ratio"),
        (lambda: channels.random_row([(0,)], 2), "not_a_probability"),
        (lambda: neighbours.change_one(["ab"]), "not_records"),
        (lambda: neighbours.change_one([(0,)]), "no_neighbours"),
        (lambda: neighbours.listed([((0,), (0,))]), "self_neighbour"),
        (lambda: neighbours.named("change-two", [(0,)]), "unknown_neighbours"),
    ],
)
def test_bad_channels_and_relations_are_refused(make: object, code: str) -> None:
    with pytest.raises(TheoryError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.code == code


def test_a_neighbour_the_channel_does_not_know_is_refused() -> None:
    channel = channels.randomised_response(1, odds=2)
    with pytest.raises(TheoryError, match="no database"):
        pure_dp(channel, neighbours.listed([((0,), (7,))]))


def test_the_empty_text_is_the_database_of_no_records() -> None:
    rows = {"": ["1/2", "1/2"], "0": ["1/3", "2/3"], "1": ["2/3", "1/3"]}
    read = parse_channel({"databases": rows, "neighbours": "add-remove"})
    assert read.channel.databases == ((), ("0",), ("1",))
    assert {frozenset(pair) for pair in read.neighbours.pairs} == {
        frozenset({(), ("0",)}),
        frozenset({(), ("1",)}),
    }
    assert read.default == "0"
    assert "0 or 1 records" in read.as_read()[0]


def test_a_secret_that_names_a_database_twice_is_refused() -> None:
    rows = {"0": [1], "1": [1]}
    with pytest.raises(TheoryError, match="given twice"):
        parse_channel({"databases": rows, "secrets": {"ill": {"0": 0, "1": 0, " 1": 1}}})


@pytest.mark.parametrize("outputs", [None, [0, 1], ["0", "1"]])
def test_rows_as_lists_and_as_objects_speak_of_the_same_outputs(outputs: list[object]) -> None:
    rows = {"0": ["1/2", "1/2"], "1": {"0": "1/2", "1": "1/2"}}
    named = {} if outputs is None else {"outputs": outputs}
    read = parse_channel({"databases": rows, **named})
    assert read.channel.outputs == ("0", "1")
    assert pure_dp(read.channel, read.neighbours)["gamma"] == 1
    with pytest.raises(TheoryError, match="outputs is"):
        parse_channel({"databases": {"0": [0, 1], "1": [0, 1]}, "outputs": [0, "0"]})
