"""Examples that separate definitions: the parity, the common sign, and the belief far from
reality."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from sanql.theory.attackers.outcome import Learned
from sanql.theory.channels import Channel, exact_statistic, from_function
from sanql.theory.closed_forms import GaussianPair
from sanql.theory.definitions import coupled_worlds, inference, secrets, semantic
from sanql.theory.definitions.worlds import World, canonical_simulator, records
from sanql.theory.distributions import Distribution
from sanql.theory.exact import Real, as_count, as_probability, as_width


def parity(people: int) -> Learned:
    """Return the separation of the two forms of DDP (coupled worlds Example 1), for 2 people or
    more.

    Uniform bits, side information and output both the parity. Every simulator is off by 1/2 at
    every epsilon (real), yet nothing at all is inferred about any record (ideal).

    >>> parity(3).real, parity(3).ideal
    (Fraction(1, 2), Fraction(0, 1))
    """
    as_count(people, "people", least=2, most=10)  # one person's parity is his record
    bits = list(product((0, 1), repeat=people))
    channel = exact_statistic(bits, lambda x: sum(x) % 2)
    world = World.knowing(Distribution.uniform(bits), lambda x: sum(x) % 2)
    coin = Distribution.over(["1/2", "1/2"])
    simulator = Channel.of({p.alt(x): coin for p in records(people) for x in bits})
    failure = inference.inference_failure(
        channel, [world], records(people), simulator=simulator, gamma=1, delta_hat=0
    )
    delta = coupled_worlds.distributional_dp_delta(channel, [world], 100)["delta"]
    return Learned(
        "parity",
        "DDP's best delta at e^epsilon = 100 (real), inference failure at epsilon = 0 (ideal)",
        delta,
        failure,
    )


def common_sign(people: int, flip: Real, *, sign_is_known: bool) -> Learned:
    """Return DDP against noiseless privacy when all records follow one hidden sign.

    The majority of the records is released. Without knowledge of the sign it tells much about each
    record through the sign (noiseless delta, real) and little about the record itself (DDP delta,
    ideal).
    """
    as_count(people, "people", most=10)
    world = _sign_world(people, as_probability(flip, "flip"))
    if not sign_is_known:
        world = world.reduced(lambda _: Distribution.point(None))
    channel = from_function(list(product((1, -1), repeat=people)), _majority)
    smaller = from_function(list(product((1, -1), repeat=people - 1)), _majority)
    ddp = coupled_worlds.distributional_dp_delta(
        channel, [world], 1, simulator=canonical_simulator(smaller, people)
    )
    noiseless = secrets.noiseless_delta(channel, [world], 1)
    return Learned(
        "common sign", "noiseless delta (real) and DDP delta (ideal) at epsilon = 0",
        noiseless["delta"], ddp["delta"], {"the sign is known": sign_is_known},
    )  # fmt: skip


def reality(
    channel: Channel, belief: Distribution, database: tuple[int, ...], tau: Real
) -> Learned:
    """Return how often a conclusion goes wrong by more than tau, in reality and under the belief.

    Theorem A.2: with delta > 0 a belief far from reality may be misled almost surely, although
    under the belief itself it almost never is.
    """
    return Learned(
        "belief far from reality",
        f"chance that conclusions differ by more than {tau}",
        semantic.reality_oblivious_failure(channel, belief, database, tau, 0),
        semantic.failure_probability(channel, belief, tau, 0),
    )


def gaussian_sum(people: int, sigma: float) -> Learned:
    """Return the same for a Gaussian sum: everyone is 1, the belief says nobody or only the first.

    At the output t = n the log-odds are (2 n - 1)/(2 sigma^2); the distance from the game without
    person 1 is tanh((2 n - 1)/(4 sigma^2))/2.
    """
    as_count(people, "people")
    sigma = as_width(sigma, "sigma")
    log_odds = (2 * people - 1) / (2 * sigma**2)
    return Learned(
        "Gaussian sum far from the belief",
        "distance between conclusions at t = n (real); between the two believed outputs (ideal)",
        math.tanh(log_odds / 2) / 2,
        GaussianPair(1 / sigma).hockey_stick(1.0),
        {"log-odds": log_odds},
    )


def majority_laws(
    people: int, flip: Fraction
) -> tuple[dict[int, Distribution], dict[int, Distribution]]:
    """Return the law of the majority given the first record: used (real) and left out (ideal)."""
    world = _sign_world(people, flip).reduced(lambda _: Distribution.point(None))
    real, ideal = {}, {}
    for (value, _), databases in world.given(lambda x: x[0]).items():
        sign = 1 if value == 1 else -1
        full = from_function(databases.support, _majority)
        real[sign] = full.output_of(databases)
        rest = databases.map(lambda x: x[1:])
        ideal[sign] = from_function(rest.support, _majority).output_of(rest)
    return real, ideal


def _sign_world(people: int, eta: Fraction) -> World:
    cells = {}
    for sign in (1, -1):
        for x in product((1, -1), repeat=people):
            agree = sum(value == sign for value in x)
            cells[x, sign] = (1 - eta) ** agree * eta ** (people - agree) / 2
    return World.of(cells)


def _majority(x: tuple[int, ...]) -> Distribution:
    total = sum(x)
    if total == 0:
        return Distribution.of({1: Fraction(1, 2), -1: Fraction(1, 2)})
    return Distribution.point(1 if total > 0 else -1)
