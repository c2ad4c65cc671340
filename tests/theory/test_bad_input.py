"""Every door of the library refuses what is no number, no probability, no level: one error, no
crash, no guess."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.cli.theory import theory
from sanql.theory import Channel, Distribution, TheoryError, channels, constants, large, testing
from sanql.theory import closed_forms as closed
from sanql.theory import discrete_noise as discrete
from sanql.theory import divergences as distances
from sanql.theory import meaning as meanings
from sanql.theory import neighbours as near
from sanql.theory.attackers import membership, reconstruction, separations
from sanql.theory.definitions import (
    bayesian,
    coupled_worlds,
    dp,
    inference,
    inference_best,
    secrets,
    semantic,
    semantic_bounds,
    simulation,
)
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import mixture
from sanql.theory.implications import Setting, guarantee, parse

pytestmark = pytest.mark.slow

P, Q = Distribution.over(["3/4", "1/4"]), Distribution.over(["1/4", "3/4"])
COINS = channels.randomised_response(2, odds=3)
PAIRS = near.change_one(COINS.databases)
WORLD = World.without_side_information(Distribution.uniform(COINS.databases))
SIMULATOR = Channel.of(
    {p.alt(x): Distribution.point((0, 0)) for p in records(2) for x in COINS.databases}
)
SECRET = secrets.Secret("first", lambda x: x[0])
SIZE = secrets.Secret("size", lambda x: sum(x) + 5)
SURE = Distribution.point((0, 0))

NOT_NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, -1, -0.5, None, True, [], "", "x", "nan"]

NO_PROBABILITY: dict[str, Callable[[Any], object]] = {
    "mass": lambda v: Distribution.of({"a": v}),
    "masses": lambda v: Distribution.over([v, "1/2"]),
    "mixture": lambda v: mixture([v], [P]),
    "indistinguishable": lambda v: distances.are_indistinguishable(P, Q, 2, v),
    "tight gamma": lambda v: distances.tight_gamma_two_sided(P, Q, v),
    "large epsilon": lambda v: large.tight_epsilon_upper([0.75, 0.25], [0.25, 0.75], v),
    "large mass": lambda v: large.hockey_stick_upper([v, 0.25], [0.25, 0.75], 2),
    "trade-off": lambda v: testing.tradeoff(P, Q, v),
    "trade-off bound": lambda v: testing.tradeoff_bound(2, v, 0.5),
    "from profile": lambda v: testing.tradeoff_from_profile([(Fraction(1), Fraction(1, 2))], v),
    "posterior odds": lambda v: testing.posterior_odds(P, Q, 0, v),
    "random row": lambda v: channels.random_row([(0,), (1,)], v),
    "mixed channels": lambda v: channels.mix([v], [COINS]),
    "guaranteed delta": lambda v: closed.GuaranteedPair(1.0, v),
    "Laplace trade-off": lambda v: closed.LaplacePair(1.0).tradeoff(v),
    "Gaussian trade-off": lambda v: closed.GaussianPair(1.0).tradeoff(v),
    "guaranteed trade-off": lambda v: closed.GuaranteedPair(1.0).tradeoff(v),
    "discrete Laplace trade-off": lambda v: discrete.DiscreteLaplacePair(2.0).tradeoff(v),
    "discrete Gaussian trade-off": lambda v: discrete.DiscreteGaussianPair(2.0).tradeoff(v),
    "prior": lambda v: meanings.posterior_band(v, 1.0),
    "delta of a band": lambda v: meanings.posterior_band(0.1, 1.0, v),
    "failure of a band": lambda v: meanings.posterior_band(0.1, 1.0, failure=v),
    "best test": lambda v: meanings.best_test(v, 1.0),
    "prior of a meaning": lambda v: meanings.meaning_of(closed.GuaranteedPair(1.0), v),
    "loss bound": lambda v: meanings.loss_bound(closed.GuaranteedPair(1.0), v),
    "approximate dp": lambda v: dp.approximate_dp(COINS, PAIRS, v),
    "failure tau": lambda v: semantic.failure_probability(COINS, SURE, v, 0),
    "semantic tau": lambda v: semantic_bounds.approximate_semantic_privacy(COINS, v, 0),
    "semantic gap": lambda v: semantic_bounds.approximate_semantic_privacy(COINS, "1/5", 0, gap=v),
    "reality tau": lambda v: semantic_bounds.reality_oblivious_privacy(COINS, v, 0),
    "two-point tau": lambda v: semantic_bounds.two_point_failure_sup(COINS, v, 0),
    "semantic upper tau": lambda v: semantic_bounds.semantic_failure_upper(COINS, v, 0),
    "ddp delta": lambda v: coupled_worlds.distributional_dp_gamma(COINS, [WORLD], v),
    "inference slack": lambda v: inference_best.best_inference_privacy(
        COINS, [WORLD], records(2), gamma=2, delta_hat=v
    ),
    "pufferfish slack": lambda v: secrets.pufferfish_inference(
        COINS, [WORLD], [SECRET], gamma=2, delta_hat=v
    ),
    "world": lambda v: World.of({((0, 0), None): v}),
    "setting tau": lambda v: Setting(tau=v if v is not None else -1),
    "guarantee delta": lambda v: guarantee("approximate_dp", epsilon=1, delta=v),
    "tester": lambda v: membership.tester(COINS, (0, 0), (0, 1), v),
    "flip": lambda v: separations.common_sign(3, v, sign_is_known=True),
}
"""Doors behind which a probability is expected."""

NO_LEVEL: dict[str, Callable[[Any], object]] = {
    "delta at gamma": lambda v: distances.indistinguishability_delta(P, Q, v),
    "pointwise": lambda v: distances.pointwise_delta(P, Q, v),
    "large hockey stick": lambda v: large.hockey_stick_upper([0.75, 0.25], [0.25, 0.75], v),
    "trade-off bound": lambda v: testing.tradeoff_bound(v, 0, 0.5),
    "dp delta": lambda v: dp.approximate_dp_delta(COINS, PAIRS, v),
    "simulation": lambda v: simulation.simulation_dp_delta(COINS, v),
    "ddp": lambda v: coupled_worlds.distributional_dp_delta(COINS, [WORLD], v),
    "inference": lambda v: inference.inference_privacy(
        COINS, [WORLD], records(2), simulator=SIMULATOR, gamma=v, delta_hat=0
    ),
    "best inference": lambda v: inference_best.best_inference_privacy(
        COINS, [WORLD], records(2), gamma=v, delta_hat=0
    ),
    "noiseless": lambda v: secrets.noiseless_delta(COINS, [WORLD], v),
    "pufferfish": lambda v: secrets.pufferfish_delta(COINS, [WORLD], [SECRET], v),
}
"""Doors behind which a level e^epsilon >= 1 is expected."""

NOT_POSITIVE: dict[str, Callable[[Any], object]] = {
    "hockey stick": lambda v: distances.hockey_stick(P, Q, v),
    "sup form": lambda v: distances.hockey_stick_sup(P, Q, v),
    "Rényi": lambda v: distances.renyi_divergence(P, Q, v),
    "moment": lambda v: distances.renyi_moment(P, Q, v),
    "weighted error": lambda v: testing.least_weighted_error(P, Q, v),
    "odds": lambda v: channels.randomised_response(1, odds=v),
    "people": lambda v: channels.randomised_response(v, odds=2),
    "counts": lambda v: channels.truncated_geometric(v, "1/2"),
    "ratio": lambda v: closed.geometric_pair(v, 1),
    "geometric shift": lambda v: closed.geometric_pair("1/2", v),
    "Laplace scale": closed.LaplacePair,
    "Laplace shift": lambda v: closed.LaplacePair(1.0, v),
    "mu": closed.GaussianPair,
    "epsilon": closed.GuaranteedPair,
    "discrete scale": discrete.DiscreteLaplacePair,
    "discrete shift": lambda v: discrete.DiscreteLaplacePair(2.0, v),
    "sigma": discrete.DiscreteGaussianPair,
    "sigma shift": lambda v: discrete.DiscreteGaussianPair(2.0, v),
    "records": lambda v: Setting(records=v if v is not None else -1),
    "guarantee epsilon": lambda v: guarantee("pure_dp", epsilon=-1 if v == math.inf else v),
    "nodes": lambda v: semantic_bounds.approximate_semantic_privacy(COINS, "1/5", 0, nodes=v),
    "homer people": lambda v: membership.homer(v, 5, trials=2),
    "homer noise": lambda v: membership.homer(5, 5, noise=v, trials=2),
    "linear noise": lambda v: reconstruction.linear(5, 5, noise=v),
    "linear people": lambda v: reconstruction.linear(v, 5, noise=0),
    "parity people": separations.parity,
    "sum people": lambda v: separations.gaussian_sum(v, 1.0),
    "sum sigma": lambda v: separations.gaussian_sum(3, v),
    "distance": lambda v: near.within([(0,), (1,)], v),
    "group": lambda v: constants.group_delta(Fraction(2), Fraction(1, 10), v),
}
"""Doors behind which something above 0 is expected."""


def refused(door: Callable[[Any], object], value: Any) -> TheoryError:
    with warnings.catch_warnings(), pytest.raises(TheoryError) as caught:
        warnings.simplefilter("error")
        door(value)
    assert caught.value.code
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 2, 1.0000001, "3/2", 10**400, "1e999"], ids=repr)
@pytest.mark.parametrize("door", NO_PROBABILITY)
def test_what_is_no_probability_is_refused(door: str, value: Any) -> None:
    refused(NO_PROBABILITY[door], value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0, 0.999, "1/2"], ids=repr)
@pytest.mark.parametrize("door", NO_LEVEL)
def test_what_is_no_level_is_refused(door: str, value: Any) -> None:
    refused(NO_LEVEL[door], value)


@pytest.mark.parametrize("value", [math.nan, -1, -0.5, 0, 0.5], ids=repr)
@pytest.mark.parametrize(
    "pair",
    [
        closed.LaplacePair(1.0),
        closed.GaussianPair(1.0),
        closed.GuaranteedPair(1.0),
        discrete.DiscreteLaplacePair(2.0),
        discrete.DiscreteGaussianPair(2.0),
    ],
    ids=lambda pair: type(pair).__name__,
)
def test_a_mechanism_is_not_asked_below_level_one_nor_for_negative_losses(
    pair: closed.Pair, value: float
) -> None:
    refused(pair.hockey_stick, value)
    refused(pair.loss_tail, -1 - abs(value))
    assert 0 <= pair.hockey_stick(math.inf) <= 1


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
@pytest.mark.parametrize("door", NOT_POSITIVE)
def test_what_is_not_positive_is_refused(door: str, value: Any) -> None:
    refused(NOT_POSITIVE[door], value)


@pytest.mark.parametrize(
    "door",
    [
        constants.tv_constant,
        constants.hat_constant,
        constants.inference_delta,
        constants.statistical_difference_bound,
        constants.one_sided_difference_bound,
        lambda g, p: constants.pointwise_bound(g, p, 10),
        lambda g, p: constants.composed_delta(g, p, g, p),
        lambda g, p: constants.chain_delta(g, p, g, p),
        lambda g, p: constants.group_delta(g, p, 2),
    ],
)
@pytest.mark.parametrize(
    ("gamma", "share"),
    [(0.5, 0.1), (math.nan, 0.1), (-1, 0.1), (2, -0.1), (2, 1.5), (2, math.nan)],
)
def test_constants_are_given_only_for_levels_and_probabilities(
    door: Callable[[Any, Any], object], gamma: float, share: float
) -> None:
    refused(lambda _: door(gamma, share), None)


@pytest.mark.parametrize(
    ("door", "code"),
    [
        (lambda: Distribution.over([]), "empty"),
        (lambda: Distribution.over(["1e999999999"]), "not_a_number"),
        (lambda: Distribution.over([Decimal("1e-999999999")]), "not_a_number"),
        (lambda: Distribution.of({}), "empty"),
        (lambda: Distribution.uniform([]), "weights"),
        (lambda: Distribution.from_weights({"a": 0}), "weights"),
        (lambda: mixture([], []), "lengths"),
        (lambda: mixture([1], [P, Q]), "lengths"),
        (lambda: channels.mix([], []), "databases"),
        (lambda: channels.mix([1], [COINS, COINS]), "lengths"),
        (lambda: channels.randomised_response(3, odds=2, values=()), "not_a_count"),
        (lambda: channels.randomised_response(16, odds=2), "not_a_count"),
        (lambda: testing.hockey_stick_from_tradeoff([], 2), "empty"),
        (lambda: testing.tradeoff_from_profile([], "1/2"), "empty"),
        (lambda: near.change_one([]), "no_neighbours"),
        (lambda: near.named("close", [(0,)]), "unknown_neighbours"),
        (lambda: near.listed([]), "no_neighbours"),
        (lambda: semantic.game_posterior(COINS, SURE, "no output", 0, 0), "unknown_output"),
        (lambda: semantic.game_posterior(COINS, SURE, (0, 0), 3, 0), "unknown_output"),
        (lambda: semantic.reality_oblivious_failure(COINS, SURE, (7, 7), 0, 0), "unknown_database"),
        (lambda: secrets.noiseless_delta(COINS, [], 1), "empty_class"),
        (lambda: secrets.pufferfish_delta(COINS, [WORLD], [], 1), "empty_class"),
        (lambda: coupled_worlds.distributional_dp_gamma(COINS, [], 0), "empty_class"),
        (
            lambda: inference_best.best_inference_privacy(
                COINS, [], records(2), gamma=1, delta_hat=0
            ),
            "empty_class",
        ),
        (lambda: membership.tester(COINS, (9, 9), (0, 1), 0), "unknown_database"),
        (lambda: membership.homer(5, 5, seed=-1), "not_a_count"),
        (lambda: reconstruction.linear(5, 5, noise=0, seed=-1), "not_a_count"),
        (lambda: channels.random_row([("nothing",), ("x",)], "1/2"), "nothing"),
        (lambda: secrets.pufferfish_delta(COINS, [WORLD], [SIZE], 1), "secret"),
        (
            lambda: secrets.pufferfish_inference(COINS, [WORLD], [SIZE], gamma=1, delta_hat=0),
            "secret",
        ),
        (lambda: World.of({"x": 1}), "world"),
        (lambda: Distribution(("a",), (1.0,)), "not_a_number"),  # type: ignore[arg-type]
        (lambda: near.graph_nodes([(0,), (1,)]), "not_records"),  # type: ignore[list-item]
        (lambda: near.private_attribute([(0,), (1,)]), "not_records"),
        (lambda: near.within([("a",), ("b",)], 1), "not_a_number"),
        (lambda: bayesian.posterior(P, {0: Fraction(1)}), "unknown_value"),
        (lambda: constants.inference_delta(2, 0.1, 0), "not_a_count"),
        (lambda: reconstruction.differencer([1, 2], 2, float, float), "not_a_count"),
        (lambda: bayesian.largest_shift(Fraction(1, 2)), "gamma_below_one"),
        (lambda: distances.renyi_divergence(P, Q, 1), "renyi_order"),
        (lambda: distances.renyi_moment(P, Q, 10**6), "renyi_order"),
        (lambda: parse("pure_dp(epsilon=True)"), "unreadable_guarantee"),
        (lambda: parse("pure_dp(epsilon='1')"), "unreadable_guarantee"),
        (lambda: parse("pure_dp(" * 500), "unreadable_guarantee"),
        (lambda: parse("pure_dp(1)"), "unreadable_guarantee"),
        (lambda: parse("pure_dp(epsilon=1, delta=0)"), "parameters"),
        (lambda: parse("approximate_dp(epsilon=1)"), "parameters"),
        (lambda: parse("approximate_dp(epsilon=1, delta=2)"), "not_a_probability"),
        (lambda: parse("pure_dp(epsilon=-1)"), "negative_parameter"),
    ],
)
def test_empty_and_unknown_things_are_refused_by_name(
    door: Callable[[], object], code: str
) -> None:
    assert refused(lambda _: door(), None).code == code


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["", "x", "1/3", "-1", "0", "1", "2", "1e-400", "1e400", "nan", "٣"]),
)
OPTIONS = {
    "meaning": ["--epsilon", "--delta", "--prior", "--failure", "--scale", "--shift"],
    "implications": ["--records", "--group", "--protections", "--values", "--tau", "--delta-hat"],
    "check": ["--epsilon", "--delta", "--tau", "--nodes", "--definition"],
    "plot": ["--epsilon", "--delta"],
}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(OPTIONS)), st.data())
def test_no_option_of_the_command_ends_in_a_traceback(command: str, data: st.DataObject) -> None:
    arguments = [command]
    if command == "check":
        arguments.append(str(CHANNEL))
    if command == "implications":
        kinds = st.sampled_from(["pure_dp(epsilon=1)", "approximate_dp(epsilon=0.1, delta=1e-6)"])
        arguments.append(data.draw(kinds))
    if command == "plot":
        arguments += ["profile", "-o", "no-such-folder/x.png"]
    for option in data.draw(st.lists(st.sampled_from(OPTIONS[command]), unique=True, max_size=3)):
        arguments += [option, data.draw(NUMBERS)]
    result = CliRunner().invoke(theory, [*arguments, "--format", "json"])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code in (0, 2)
    if result.exit_code == 0 or result.output.startswith("{"):
        told = json.loads(result.output)
        assert result.exit_code == 0 or set(told["error"]) == {"code", "message", "remedy"}


CHANNEL = Path(__file__).parent / "coin.json"


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.text(max_size=4),
    st.sampled_from(["1/2", "1/3", "0,1", "change-one", "all"]),
)  # fmt: skip
CONTENT = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["0", "1", "0,1", "a", ""]), inner, max_size=3),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["databases", "outputs", "neighbours", "default", "worlds", "secrets"]),
        CONTENT,
    )
)
def test_no_channel_file_ends_in_a_traceback(content: dict[str, object]) -> None:
    from sanql.theory.channel_file import parse_channel
    from sanql.theory.check import Levels, check

    if "databases" not in content:
        content = {**content, "databases": {"0": ["3/4", "1/4"], "1": ["1/4", "3/4"]}}
    try:
        check(parse_channel(content), Levels(nodes=2))
    except TheoryError as error:
        assert error.remedy
