"""Many noises together, against every way in which a unit can move the cells, by brute force."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sanql.theory.closed_forms import GaussianPair
from sanql.theory.composed import (
    NOISES_MAX,
    ComposedPair,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    Responses,
    composed_pair,
)
from sanql.theory.discrete_noise import DiscreteLaplacePair
from sanql.theory.meaning import loss_bound, posterior_band_of

GAMMAS = (1.0, 1.05, 1.3, 2.0, 4.0, 20.0)
Loss = dict[float, float]
"""A privacy loss: with which probability it takes which value."""


def moves(l1: int, linf: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to move cells by at most l1 in sum and linf each, in falling order."""

    def rest(left: int, most: int) -> Iterator[tuple[int, ...]]:
        yield ()
        for first in range(1, min(left, most) + 1):
            for more in rest(left - first, first):
                yield (first, *more)

    return rest(l1, linf)


def laplace_loss(scale: float, move: int) -> Loss:
    ratio = math.exp(-1 / scale)
    masses = [1 / (1 + ratio)]
    masses += [(1 - ratio) / (1 + ratio) * ratio**j for j in range(1, move)]
    masses.append(ratio**move / (1 + ratio))
    return {(move - 2 * j) / scale: mass for j, mass in enumerate(masses)}


def gaussian_loss(sigma2: float, move: int) -> Loss:
    """Return the loss of one cell that moves: (move² − 2·move·k)/(2σ²) at noise k."""
    reach = math.ceil(12 * math.sqrt(sigma2)) + 2
    k = np.arange(-reach, reach + 1)
    masses = np.exp(-(k**2) / (2 * sigma2))
    masses /= masses.sum()
    return {
        (move * move - 2 * move * int(n)) / (2 * sigma2): float(mass)
        for n, mass in zip(k, masses, strict=True)
    }


def response_loss(epsilon: float) -> Loss:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {epsilon: truth, -epsilon: 1 - truth}


def added(losses: list[Loss]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and masses of independent losses added up."""
    values, masses = np.zeros(1), np.ones(1)
    for loss in losses:
        own, shares = np.array(list(loss)), np.array(list(loss.values()))
        values = np.round((values[:, None] + own[None, :]).ravel(), 12)
        masses = (masses[:, None] * shares[None, :]).ravel()
        values, places = np.unique(values, return_inverse=True)
        masses = np.bincount(places, weights=masses)
    return values, masses


def excess(values: np.ndarray, masses: np.ndarray, gamma: float) -> float:
    return float((masses * np.maximum(0.0, 1 - gamma * np.exp(-values))).sum())


def missed(values: np.ndarray, masses: np.ndarray, rate: float) -> float:
    """Return the least miss rate of any test: it rejects P where the loss is low."""
    null, other = masses, masses * np.exp(-values)
    alarms = np.append(0.0, np.cumsum(null))
    hits = np.append(0.0, np.cumsum(other))
    return 1 - float(np.interp(rate, alarms, hits))


def check(pair: ComposedPair, losses: list[Loss]) -> float:
    """Fail unless the pair is at least as easy to tell apart; return by how much at gamma = 1."""
    values, masses = added(losses)
    leak = float(pair.leak)
    for gamma in GAMMAS:
        assert pair.hockey_stick(gamma) >= leak + (1 - leak) * excess(values, masses, gamma) - 1e-15
    for rate in (0.001, 0.05, 0.5):
        assert pair.tradeoff(rate) <= (1 - leak) * missed(values, masses, rate) + 1e-12
    for epsilon in (0.01, 0.3, 1.0, 3.0):
        tail = float(masses[np.abs(values) > epsilon].sum())
        assert pair.loss_tail(epsilon) >= (1 - leak) * tail - 1e-14
    return pair.hockey_stick(1.0) - leak - excess(values, masses, 1.0)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(40)])
@pytest.mark.parametrize(("l1", "linf"), [(1, 1), (4, 4), (5, 2), (6, 3), (7, 1)])
def test_no_way_to_move_cells_with_laplace_noise_is_told_more_easily(
    scale: Fraction, l1: int, linf: int
) -> None:
    pair = ComposedPair((LaplaceNoise(scale, l1, linf),))
    spare = [
        check(pair, [laplace_loss(float(scale), move) for move in way]) for way in moves(l1, linf)
    ]
    assert len(spare) > 1
    assert min(spare) < 2e-3  # the worst way is one of them, and little is lost by the grid


@pytest.mark.slow
@pytest.mark.parametrize("sigma2", [Fraction(3), Fraction(20), Fraction(150)])
@pytest.mark.parametrize("squared", [1, 4, 9])
def test_no_way_to_move_cells_with_gaussian_noise_is_told_more_easily(
    sigma2: Fraction, squared: int
) -> None:
    pair = ComposedPair((GaussianNoise(sigma2, Fraction(squared)),))
    spare = []
    for way in moves(squared, math.isqrt(squared)):
        if sum(move * move for move in way) <= squared and len(way) <= 5:
            spare.append(check(pair, [gaussian_loss(float(sigma2), move) for move in way]))
    assert len(spare) > 1
    if sigma2 >= 100:
        assert min(spare) < 0.01


def test_noises_of_every_kind_add_up() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        noises: list[Noise] = []
        losses: list[Loss] = []
        for _ in range(int(rng.integers(1, 5))):
            match int(rng.integers(3)):
                case 0:
                    scale, move = Fraction(int(rng.integers(1, 60)), 4), int(rng.integers(0, 5))
                    noises.append(LaplaceNoise(scale, move, max(1, move)))
                    losses += [laplace_loss(float(scale), move)] if move else []
                case 1:
                    sigma2, move = Fraction(int(rng.integers(3, 80))), int(rng.integers(0, 3))
                    noises.append(GaussianNoise(sigma2, Fraction(move * move)))
                    losses += [gaussian_loss(float(sigma2), move)] if move else []
                case _:
                    epsilon, times = Fraction(int(rng.integers(0, 9)), 7), int(rng.integers(0, 3))
                    noises.append(Responses(epsilon, times))
                    losses += [response_loss(float(epsilon))] * times
        leak = Fraction(int(rng.integers(0, 2)), 1000)
        pair = composed_pair(noises, leak)
        if pair is not None:
            check(pair, losses)


@pytest.mark.slow
def test_beliefs_stay_in_the_band_but_with_the_failure_probability() -> None:
    pair = ComposedPair((LaplaceNoise(Fraction(3), 4, 2), GaussianNoise(Fraction(40), Fraction(4))))
    for way in moves(4, 2):
        for gaussian in ((2,), (1, 1, 1), (1,), ()):
            values, masses = added(
                [laplace_loss(3.0, move) for move in way]
                + [gaussian_loss(40.0, move) for move in gaussian]
            )
            for prior, failure in product((0.01, 0.5, 0.9), (1e-6, 1e-3, 0.05)):
                low, high = posterior_band_of(pair, prior, failure=failure)
                after = prior / (prior + (1 - prior) * np.exp(-values))
                outside = (after < low) | (after > high)
                # under the law that the belief itself expects, and under either of the two
                for law in (masses, masses * np.exp(-values)):
                    assert float(law[outside].sum()) <= failure


def test_one_noise_is_what_its_closed_form_says() -> None:
    one = ComposedPair((LaplaceNoise(Fraction(5), 5, 5),))
    exact = DiscreteLaplacePair(5.0, 5)
    assert one.epsilon_max == 1.0
    for gamma in GAMMAS:
        assert 0 <= one.hockey_stick(gamma) - exact.hockey_stick(gamma) < 2e-4
    many = ComposedPair((GaussianNoise(Fraction(10**6), Fraction(10**4)),) * 9)
    close = GaussianPair(0.3)
    for gamma in GAMMAS:
        assert 0 <= many.hockey_stick(gamma) - close.hockey_stick(gamma) < 1e-3
    assert loss_bound(many, 1e-3) < 1.15 * loss_bound(close, 1e-3)


def test_more_noises_than_are_added_up_are_left_to_the_guarantee() -> None:
    assert composed_pair([LaplaceNoise(Fraction(10**9), NOISES_MAX + 1, 1)]) is None
    assert composed_pair([LaplaceNoise(Fraction(1), 100, 100)]) is None
    assert composed_pair([GaussianNoise(Fraction(1, 2), Fraction(1))]) is None
    nothing = composed_pair([], Fraction(1, 100))
    assert nothing is not None
    assert nothing.hockey_stick(3.0) == pytest.approx(0.01)
