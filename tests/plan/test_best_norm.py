"""The norm with the least error: against every norm there is, on units that are known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sanql.plan.best_norm import (
    DIFFERENCE,
    LOST_OF_COUNTS,
    LOST_OF_MEANS,
    NOISE_OF_NO_USE,
    Lengths,
    NormCost,
    UnitLengths,
    best_norm,
)

SEEDED = np.random.default_rng(16)
ROWS = np.maximum(1, SEEDED.lognormal(3, 1.1, 2000)).astype(int)
KNOWN: Lengths = tuple(
    UnitLengths(float(count), float(size), float(size))
    for size, count in zip(*np.unique(ROWS, return_counts=True), strict=True)
)


def allowed_by_hand(lost: dict[int, float], cost: NormCost) -> float:
    """Return which share may be lost: of counts a tenth, unless noise is then most of what is shown."""
    if cost.means:
        return LOST_OF_MEANS
    bearable = [norm for norm, share in lost.items() if share <= LOST_OF_COUNTS]
    least = min(bearable, key=lambda norm: error_by_hand(norm, cost))
    noise = cost.deviation * least / (ROWS.sum() / cost.groups)
    return LOST_OF_COUNTS if noise <= NOISE_OF_NO_USE else 1.0


def error_by_hand(norm: int, cost: NormCost) -> float:
    """Return the expected squared error of an average group, unit by unit."""
    kept = np.minimum(ROWS, norm).sum() / ROWS.sum()
    lost = (1 - kept) * ROWS.sum() / cost.groups
    if not cost.means:
        return float((cost.deviation * norm) ** 2 + lost**2)
    return float((cost.deviation * norm / kept) ** 2 + (DIFFERENCE * lost) ** 2)


@pytest.mark.parametrize("means", [False, True])
@pytest.mark.parametrize("groups", [1, 16, 365])
@pytest.mark.parametrize("deviation", [0.1, 2.8, 40])
def test_no_other_norm_that_loses_no_more_is_better_by_much(
    deviation: float, groups: int, means: bool
) -> None:
    cost = NormCost(deviation, groups, means)
    chosen = best_norm(KNOWN, cost)
    lost = {
        norm: 1 - np.minimum(ROWS, norm).sum() / ROWS.sum() for norm in range(1, ROWS.max() + 1)
    }
    allowed = allowed_by_hand(lost, cost)
    assert lost[chosen] <= allowed
    best = min(error_by_hand(norm, cost) for norm in lost if lost[norm] <= allowed)
    # norms are tried in steps of a twelfth
    assert math.sqrt(error_by_hand(chosen, cost)) <= 1.1 * math.sqrt(best)


def test_more_noise_makes_it_shorter_and_limits_cap_it() -> None:
    chosen = [best_norm(KNOWN, NormCost(deviation, 16)) for deviation in (0.01, 1, 10, 100)]
    assert chosen == sorted(chosen, reverse=True) and len(set(chosen)) > 2
    assert chosen[0] == ROWS.max()
    assert best_norm(KNOWN, NormCost(0.01, 16), 40) == 40
    assert best_norm((), NormCost(1, 1)) == 1


def test_a_mean_is_had_with_a_shorter_norm_than_a_count() -> None:
    """What is lost of a count is missing; of a mean it is a weight."""
    count, mean = (best_norm(KNOWN, NormCost(3, 3, means)) for means in (False, True))
    assert mean < count / 2
