"""Scores of quantiles move by no more than declared, on every neighbour of small databases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from sanql.entropy import OsEntropy
from sanql.measurements.limits import ContributionLimits
from sanql.measurements.quantile_picks import (
    ROW,
    QuantileBins,
    Turn,
    ladder,
    make_quantile_bins,
    pick_levels,
    sensitivity_of_ladder,
    sensitivity_of_picks,
)
from sanql.measurements.sensitivity import SensitivitySetting
from sanql.mechanisms.choice import draw_choice
from sanql.noise.places import PlacesBetween, RankedPlaces
from sanql.policy.model import Neighbours
from support.places import permute_and_flip, score, spread

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
    assert bins.count <= 2**16
    assert (bins.splits == 1) == (bins.width == 1 and not several)
    assert (groups or 256) * bins.count <= max(2**20, (groups or 256) * 2**8)


def test_runs_are_what_writing_every_place_down_gives() -> None:
    numbers = np.random.default_rng(4)
    for _ in range(400):
        bins, splits = int(numbers.integers(1, 6)), 2 ** int(numbers.integers(0, 4))
        rows = numbers.integers(0, 2 * splits + 2, bins) * (numbers.random(bins) < 0.6)
        ranked, before = RankedPlaces(rows, splits), spread(rows, splits)
        assert [ranked.before(place) for place in range(before.size)] == before.tolist()
        start = int(numbers.integers(0, bins * splits))
        stop = int(numbers.integers(start, bins * splits + 1))
        turn = Turn(0, int(numbers.integers(0, ROW + 1)), None, None)
        aim = int(numbers.integers(-3 * ROW, 3 * ROW + 1)) * int(numbers.integers(0, 2))
        scores = score(before, start, stop, turn, aim)
        candidates = PlacesBetween(ranked, start, stop, turn.share, aim)
        assert candidates.count == scores.size
        for reach in (None, 0, ROW, 3 * ROW):
            runs = candidates.runs(reach)
            found = {
                place: distance
                for first, size, distance in zip(
                    runs.starts, runs.sizes, runs.distances, strict=True
                )
                for place in range(first, first + size)
            }
            away = dict(enumerate((scores.max() - scores).tolist(), start))
            assert found == {p: d for p, d in away.items() if reach is None or d <= reach}
            assert sum(runs.sizes) == len(found) == candidates.count - runs.others
            assert list(runs.distances) == sorted(runs.distances)


def all_picks(
    rows: np.ndarray, fractions: tuple[Fraction, ...], splits: int, scale: float
) -> dict[tuple[int, ...], float]:
    """Return how likely all quantiles are picked at each of all places, by permute and flip."""
    before = spread(rows, splits)
    likely: dict[tuple[tuple[int, int], ...], float] = {(): 1.0}
    for turn in (turn for level in pick_levels(fractions) for turn in level):
        further = {}
        for picked, chance in likely.items():
            known = dict(picked)
            start = known[turn.after] if turn.after is not None else 0
            stop = known[turn.before] if turn.before is not None else before.size - 1
            scores = score(before, start, stop, turn, 0)
            chances = permute_and_flip(np.exp((scores - scores.max()) / scale).tolist())
            for place, chance_here in enumerate(chances, start):
                further[(*picked, (turn.index, place))] = chance * chance_here
        likely = further
    return {tuple(place for _, place in sorted(picked)): p for picked, p in likely.items()}


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("fractions", [(Fraction(1, 2),), (Fraction(9, 10),), QUARTILES], ids=str)
def test_picks_of_all_neighbours_are_as_likely_as_epsilon_says(
    neighbours: Neighbours, fractions: tuple[Fraction, ...]
) -> None:
    """Every database of up to three rows in two bins of two places, every neighbour, every outcome."""
    epsilon, splits, bins = 1.0, 2, 2
    setting = SensitivitySetting(neighbours, ContributionLimits(1, 1, 1), True, False)
    scale = 2 * sensitivity_of_picks(setting, fractions).l1 / epsilon
    held = [np.array(rows) for rows in product(range(4), repeat=bins) if sum(rows) <= 3]
    likely = [all_picks(rows, fractions, splits, scale) for rows in held]
    steps = {(1, 0)} if neighbours == "add-remove" else {(1, 0), (1, 1)}
    reached = 0.0
    for (a, ours), (b, theirs) in product(zip(held, likely, strict=True), repeat=2):
        apart = int(np.maximum(a - b, 0).sum()), int(np.maximum(b - a, 0).sum())
        if tuple(sorted(apart, reverse=True)) in steps:
            ratios = [math.log(ours[place] / theirs[place]) for place in ours]
            reached = max(reached, *map(abs, ratios))
    assert 0.3 * epsilon < reached <= epsilon * (1 + 1e-9)


def test_the_value_of_the_median_is_found_as_often_as_ranks_in_the_middle_say() -> None:
    """Twelve rows of each value: the right one is twelve rows ahead, and has more than EM would give it.

    With distances to the edge of the rows in place of their middle, or by the exponential mechanism, it
    would be found in 76 of 100 or fewer: then this fails but with a chance of less than 1e-9.
    """
    rows, scale, draws = np.full(5, 12), Fraction(6 * ROW), 4000
    ranked = RankedPlaces(rows, 1)
    candidates = PlacesBetween(ranked, 0, 5, ROW // 2, 0)
    heads = [math.exp(-abs(place - 2) * 12 / 6) for place in range(5)]
    chance = permute_and_flip(heads)[2]
    found = sum(draw_choice(scale, candidates, OsEntropy()) == 2 for _ in range(draws))
    assert abs(found - draws * chance) <= norm.isf(1e-9 / 2) * math.sqrt(
        draws * chance * (1 - chance)
    )
    by_weights = heads[2] / sum(heads)
    assert chance - by_weights > 0.08  # so many standard deviations: sixteen
