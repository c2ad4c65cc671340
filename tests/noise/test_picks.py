"""Scores of quantiles move by no more than declared, on every neighbour of small databases."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from sanql.measurements.limits import ContributionLimits
from sanql.measurements.quantile_picks import (
    ROW,
    QuantileBins,
    ladder,
    make_quantile_bins,
    pick_levels,
    sensitivity_of_ladder,
    sensitivity_of_picks,
)
from sanql.measurements.sensitivity import SensitivitySetting
from sanql.noise.picks import score, spread
from sanql.policy.model import Neighbours

pytestmark = pytest.mark.slow

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
SETS = [
    (Fraction(1, 2),),
    (Fraction(9, 10),),
    (Fraction(0),),
    (Fraction(0), Fraction(1)),
    QUARTILES,
    tuple(Fraction(n, 7) for n in range(1, 7)),
]


@pytest.mark.parametrize("splits", [1, 2, 8, 64])
def test_one_row_more_in_a_bin_is_one_more_in_one_of_its_places(splits: int) -> None:
    for count in range(3 * splits):
        before = np.diff(spread(np.array([5, count, 7]), splits))
        after = np.diff(spread(np.array([5, count + 1, 7]), splits))
        moved = after - before
        assert moved.sum() == 1 and moved.min() == 0
        assert moved[splits : 2 * splits].sum() == 1


@pytest.mark.parametrize("splits", [4, 64])
def test_the_rows_of_a_bin_are_spread_evenly(splits: int) -> None:
    for count in range(4 * splits):
        before = spread(np.array([count]), splits)
        places = np.arange(splits + 1)
        # bit reversal: never further off than the logarithm of the number of places
        assert np.abs(before - count * places / splits).max() <= 1 + np.log2(splits) / 2


def moved(
    ours: list[np.ndarray], theirs: list[np.ndarray], fractions: tuple[Fraction, ...], splits: int,
    picks: list[int],
) -> int:  # fmt: skip
    """Return how far the scores of all turns move together, when these places are picked."""
    total = 0
    for level in pick_levels(fractions):
        for turn in level:
            start = picks[turn.after] if turn.after is not None else 0
            stop = picks[turn.before] if turn.before is not None else len(ours[0]) * splits
            for a, b in zip(ours, theirs, strict=True):
                left, right = (score(spread(rows, splits), start, stop, turn, 0) for rows in (a, b))
                total += int(np.abs(left - right).max())
    return total


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("fractions", SETS, ids=str)
@pytest.mark.parametrize("splits", [1, 4])
def test_scores_move_by_no_more_than_declared(
    neighbours: Neighbours, fractions: tuple[Fraction, ...], splits: int
) -> None:
    numbers = np.random.default_rng(len(fractions) * 10 + splits)
    bins, reached = 3, 0.0
    for limits, groups in [
        (ContributionLimits(1, 1, 1), 1),
        (ContributionLimits(1, 2, 2), 1),
        (ContributionLimits(2, 3, 2), 2),
    ]:
        setting = SensitivitySetting(neighbours, limits, groups == 1, False)
        declared = sensitivity_of_picks(setting, fractions).l1
        # everything one unit can hold: rows in bins of groups, within the limits
        units = [
            np.array(held).reshape(groups, bins)
            for held in product(range(limits.rows_per_group + 1), repeat=groups * bins)
            if sum(held) <= limits.rows
        ]
        units = [u for u in units if u.sum(axis=1).max() <= limits.rows_per_group]
        nobody = np.zeros((groups, bins), dtype=int)
        pairs = [(one, nobody) for one in units]
        if neighbours == "change-one":  # all would be thousands; as many, drawn anew each time
            drawn = numbers.integers(0, len(units), (len(units), 2))
            pairs = [(units[a], units[b]) for a, b in drawn]
        for _ in range(4):
            base = numbers.integers(0, 5, (groups, bins))
            picks = sorted(numbers.integers(0, bins * splits, len(fractions)).tolist())
            for one, other in pairs:
                found = moved(list(base + one), list(base + other), fractions, splits, picks)
                assert found <= declared
                reached = max(reached, found / declared)
    assert reached > 0.5  # the bound is of the right size


@pytest.mark.parametrize("fractions", SETS, ids=str)
def test_every_quantile_has_one_turn_between_its_neighbours(
    fractions: tuple[Fraction, ...],
) -> None:
    turns = [turn for level in pick_levels(fractions) for turn in level]
    assert sorted(turn.index for turn in turns) == list(range(len(fractions)))
    assert len(pick_levels(fractions)) == len(fractions).bit_length()
    for level in pick_levels(fractions):
        ends = [(turn.after if turn.after is not None else -1, turn.before) for turn in level]
        for (_, before), (after, _) in pairwise(ends):
            assert before is not None and before <= after  # sides do not share rows
    for turn in turns:
        low = fractions[turn.after] if turn.after is not None else Fraction(0)
        high = fractions[turn.before] if turn.before is not None else Fraction(1)
        meant = low + Fraction(turn.share, ROW) * (high - low)
        assert abs(meant - fractions[turn.index]) <= Fraction(1, ROW)


def test_a_ladder_counts_each_row_once() -> None:
    bins = QuantileBins(Fraction(1), 0, 999, 1, 1)
    bounds = ladder(bins, [0, 500, 999])
    assert bounds == sorted(set(bounds)) and bounds[0] > 0 and bounds[-1] < 1000
    assert {500, 501, 502, 504, 499, 497} <= set(bounds)
    setting = SensitivitySetting("change-one", ContributionLimits(1, 3, 3), True, False)
    assert (
        sensitivity_of_ladder(setting).l1 == 6
    )  # three rows leave their rungs and three enter others


@pytest.mark.parametrize("points", [1, 2, 41, 4096, 10**6, 2**40])
@pytest.mark.parametrize("groups", [None, 1, 50, 10**5])
@pytest.mark.parametrize("several", [True, False])
def test_bins_cover_the_bounds_and_stay_few(points: int, groups: int | None, several: bool) -> None:
    bins = make_quantile_bins(Fraction(1), -7, points - 8, several, groups)
    assert bins.bottom + bins.count * bins.width > bins.top
    assert bins.bottom + (bins.count - 1) * bins.width <= bins.top
    assert bins.places <= 2**18
    assert bins.splits & (bins.splits - 1) == 0
    assert (groups or 256) * bins.places <= max(2**20, (groups or 256) * 2**8)
