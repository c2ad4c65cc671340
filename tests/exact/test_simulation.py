"""Real and ideal worlds, drawn from the declared class: no test tells them apart beyond delta.

The real world releases the sum of a cell with the protected record in it; the ideal one the sum of
the others plus the middle of the bounds. Trade-offs are empirical, with a band of the
Dvoretzky-Kiefer-Wolfowitz inequality: sup |F_n − F| ≤ r except with probability 2·exp(−2·n·r²), here
at most 1e-10 for each of the two worlds.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from exact.towns import MEMBER, SCORE, write_policy
from sanql.exact.terms import terms_of
from sanql.policy import load
from sanql.policy.exact.model import ExactValues
from support.volume import share_rows_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

DRAWS = 400_000
BAND = math.sqrt(math.log(2 / 1e-10) / (2 * DRAWS))


def declared(folder: Path, text: str, name: str) -> ExactValues:
    found = load(write_policy(folder, text)).exact[name]
    assert isinstance(found, ExactValues)
    return found


def tail_gap(
    one: NDArray[np.int64], other: NDArray[np.int64], epsilon: float
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest P(one ≥ t) − e^epsilon·P(other ≥ t), and both tails at every t."""
    thresholds = np.arange(min(one.min(), other.min()), max(one.max(), other.max()) + 2)
    tails = [1 - np.searchsorted(np.sort(x), thresholds, "left") / len(x) for x in (one, other)]
    return float((tails[0] - math.exp(epsilon) * tails[1]).max()), tails[0], tails[1]


def scores(rng: np.random.Generator, exact: ExactValues, unknown: int) -> NDArray[np.int64]:
    """Draw sums of records that are uniform with the declared share and else the worst: constant."""
    share = float(exact.against(unknown + exact.known_records).alpha)  # type: ignore[union-attr]
    uniform = rng.binomial(unknown, share, DRAWS)
    points = exact.high - exact.low + 1
    total = np.zeros(DRAWS, np.int64)
    for _ in range(int(uniform.max())):
        active = uniform > 0
        total[active] += rng.integers(0, points, int(active.sum()))
        uniform = uniform - 1
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("x", "epsilon"), share_rows_of(product([1, 5], ["0.2", "0.5", "1"]), 2))
def test_sums_stay_under_the_certified_trade_off(tmp_path: Path, epsilon: str, x: int) -> None:
    text = SCORE.replace("epsilon = 1,", f"epsilon = {epsilon},").replace("1e-6", "0.5")
    exact = declared(tmp_path, text.replace("records_min = 150", "records_min = 60"), "score")
    certified = terms_of(exact).certified
    unknown = 60 - 1 - exact.known_records
    rng = np.random.default_rng(11 + x)
    middle = (exact.low + exact.high) // 2
    real = scores(rng, exact, unknown) + x
    ideal = scores(rng, exact, unknown) + middle
    slack = BAND * (1 + math.exp(float(epsilon)))
    for one, other in ((real, ideal), (ideal, real), (-real, -ideal), (-ideal, -real)):
        gap, alarm, power = tail_gap(one, other, float(epsilon))
        assert gap <= certified.delta_upper + slack
        # the trade-off: detection at a false alarm is at most delta + e^epsilon·alarm
        assert (alarm <= certified.delta_upper + math.exp(float(epsilon)) * power + slack).all()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.2", "1"])
def test_counts_stay_under_the_certificate_and_reach_it(tmp_path: Path, epsilon: str) -> None:
    """With the simulator that fills in 0 or 1 the worst member nearly attains the certificate."""
    text = MEMBER.replace("epsilon = 1,", f"epsilon = {epsilon},").replace("1e-6", "0.5")
    exact = declared(tmp_path, text.replace("records_min = 350", "records_min = 46"), "member")
    certified = terms_of(exact).certified
    unknown = 46 - 1 - exact.known_records
    rng = np.random.default_rng(5)
    gaps = []
    for chance in (0.3, 0.7):
        others = [rng.binomial(unknown, chance, DRAWS).astype(np.int64) for _ in range(2)]
        for one, other in ((others[0] + 1, others[1]), (others[0], others[1] + 1)):
            gaps.append(tail_gap(one, other, float(epsilon))[0])
            gaps.append(tail_gap(-one, -other, float(epsilon))[0])
    slack = BAND * (1 + math.exp(float(epsilon)))
    assert max(gaps) <= certified.delta_upper + slack
    assert max(gaps) >= certified.delta_upper - slack


@pytest.mark.slow
def test_an_adversary_outside_the_class_exceeds_the_certificate(tmp_path: Path) -> None:
    """Power: the same simulation finds a class that is too optimistic."""
    text = SCORE.replace("1e-6", "0.5").replace("records_min = 150", "records_min = 60")
    exact = declared(tmp_path, text, "score")
    certified = terms_of(exact).certified
    rng = np.random.default_rng(3)
    real = scores(rng, exact, 3) + 5  # all but three others are known to this one
    ideal = scores(rng, exact, 3) + 3
    gap, _, _ = tail_gap(real, ideal, 1.0)
    assert gap > certified.delta_upper + BAND * (1 + math.e)
