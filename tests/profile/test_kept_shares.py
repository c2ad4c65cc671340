"""What limits keep, from noisy counts: exact where there is no noise, covered where there is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from plan.conftest import TABLES
from sanql.mechanisms.noise import DiscreteLaplace
from sanql.mechanisms.sampler import ExactSampler
from sanql.plan.best_norm import NormCost, best_norm
from sanql.plan.unit_spread import OCTAVES, PLACES, base_and_width
from sanql.profile.histogram import SizeCounts, UnitSpread
from sanql.profile.norms import lengths_of, lengths_of_rows
from sanql.profile.parts import parts_of

SEEDED = np.random.default_rng(20)
GEOMETRIC = SEEDED.geometric(0.05, 3000)
HEAVY = np.maximum(1, SEEDED.lognormal(3, 1.2, 3000)).astype(int)


def bin_of(size: int) -> int:
    return next(index for index, edge in enumerate(OCTAVES) if size <= edge)


def spread_of(
    sizes: Sequence[int], epsilon: Fraction = Fraction(10**6), noisy: bool = False
) -> UnitSpread:
    """Return what is measured of units of these sizes, by hand, with noise or as if it were none."""
    counts, places = [0] * len(OCTAVES), [0] * len(OCTAVES)
    for size in sizes:
        index = bin_of(int(size))
        base, width = base_and_width(index)
        counts[index] += 1
        places[index] += (int(size) - base) * PLACES // width if width else 0
    noises = DiscreteLaplace(2 / epsilon), DiscreteLaplace(2 * PLACES / epsilon)
    if noisy:
        sampler = ExactSampler()
        counts = [
            a + int(b) for a, b in zip(counts, sampler.sample(noises[0], len(counts)), strict=True)
        ]
        places = [
            a + int(b) for a, b in zip(places, sampler.sample(noises[1], len(places)), strict=True)
        ]
    return UnitSpread(OCTAVES, tuple(counts), noises[0], tuple(places), noises[1])


def kept_by_hand(sizes: Sequence[int], limit: int, up_to: int) -> float:
    seen = [int(size) for size in sizes if size <= up_to]
    return sum(min(size, limit) for size in seen) / sum(seen)


@pytest.mark.parametrize(
    "sizes", [GEOMETRIC, HEAVY, [1, 2, 3, 3, 7] * 100], ids=["geo", "heavy", "few"]
)
@pytest.mark.parametrize("limit", [1, 2, 4, 8, 16, 64])
def test_without_noise_the_share_kept_at_the_end_of_a_bin_is_exact(
    sizes: Sequence[int], limit: int
) -> None:
    share = spread_of(sizes).kept(limit)
    assert share is not None and share.units_above == 0
    truth = 1000 * kept_by_hand(sizes, limit, share.up_to)
    assert share.low <= truth <= share.high
    assert share.high - share.low <= 4  # of a thousand


@pytest.mark.parametrize("limit", [3, 5, 6, 7, 11, 23, 50])
def test_a_limit_inside_a_bin_is_held_between_lines(limit: int) -> None:
    share = spread_of(HEAVY).kept(limit)
    assert share is not None
    truth = 1000 * kept_by_hand(HEAVY, limit, share.up_to)
    assert share.low <= truth <= share.high
    assert share.high - share.low <= 120


@pytest.mark.parametrize("limit", [1, 3, 8, 30])
def test_units_within_a_limit_are_counted_by_hand(limit: int) -> None:
    share = spread_of(HEAVY).within(limit)
    assert share is not None
    assert share.low <= 1000 * float(np.mean(limit >= HEAVY)) <= share.high


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [GEOMETRIC, HEAVY], ids=["geo", "heavy"])
@pytest.mark.parametrize("limit", [4, 6, 16, 64])
def test_intervals_cover_what_is_kept_and_count_who_is_beyond(
    sizes: Sequence[int], limit: int
) -> None:
    """Of 40 draws each may miss with 5 %: more than 14 misses have a chance below 1e-9."""
    missed = 0
    for _ in range(40):
        share = spread_of(sizes, Fraction(1, 2), noisy=True).kept(limit)
        assert share is not None
        truth = 1000 * kept_by_hand(sizes, limit, share.up_to)
        above = sum(int(size) > share.up_to for size in sizes)
        missed += not (share.low <= truth <= share.high and above <= share.units_above)
    assert missed <= 14


def test_what_is_said_holds_both_ends() -> None:
    share = spread_of(HEAVY, Fraction(1), noisy=True).kept(16)
    assert share is not None
    middle, width = (
        float(part)
        for part in share.in_words().removeprefix("about ").replace(" %", "").split(" ± ")
    )
    assert 10 * (middle - width) <= share.low + 1e-6 and share.high - 1e-6 <= 10 * (middle + width)


def test_a_limit_that_nobody_seen_exceeds_keeps_all_of_them() -> None:
    share = spread_of(GEOMETRIC, Fraction(1), noisy=True).kept(10**6)
    assert share is not None and (share.low, share.in_words()) == (1000, "all")


def test_where_no_bin_rises_above_the_noise_nothing_is_said() -> None:
    assert spread_of([1, 2], Fraction(1, 100)).kept(1) is None


def test_the_average_size_in_a_bin_is_known_by_places() -> None:
    spread = spread_of([5] * 50 + [8] * 50)
    assert abs(float(spread.sizes[bin_of(8)]) - 6.5) < 0.02


def test_lengths_are_those_of_the_units_that_are_told_from_noise() -> None:
    rows = spread_of([4] * 300 + [64] * 100)
    found = {round(each.length): (each.units, each.rows) for each in lengths_of(rows)}
    assert found == {4: (300, 4.0), 64: (100, 64.0)}
    # in L2 they are ten long, each as far below its rows as one chance tells; of nine tenths on average
    norms = SizeCounts((9, 10, 11), (0, 400, 0), DiscreteLaplace(Fraction(1, 10**6)))
    few, many = lengths_of_rows(norms, rows)
    assert [(each.units, each.rows) for each in (few, many)] == [(300, 4.0), (100, 64.0)]
    assert 300 * few.length + 60 * many.length == pytest.approx(3600)
    chances = [(each.length**2 - each.rows) / (each.rows**2 - each.rows) for each in (few, many)]
    assert chances[0] == pytest.approx(chances[1]) and 0 < chances[0] < 1
    # longer than their rows are none, nor shorter than if each were in a group of its own
    for size, lengths in ((2, [2.0, 8.0]), (90, [4.0, 64.0])):
        counts = SizeCounts((size - 1, size, size + 1), (0, 400, 0), norms.noise)
        assert [each.length for each in lengths_of_rows(counts, rows)] == pytest.approx(lengths)


def test_the_longest_units_are_not_lost_in_the_noise_of_lengths() -> None:
    """Ten units of a thousand rows are less than noise in a bin of their own, and most of all rows."""
    rows = spread_of([4] * 300 + [1000] * 10)
    norms = SizeCounts((2, 4, 1000), (0, 310, 10), DiscreteLaplace(Fraction(20)))
    assert max(each.length for each in lengths_of(norms)) < 5
    found = lengths_of_rows(norms, rows)
    assert max(each.length for each in found) > 100
    assert sum(each.units * each.rows for each in found) == pytest.approx(11_200, rel=0.05)


def test_units_of_a_bin_are_spread_over_it_so_that_the_average_is_not_the_longest() -> None:
    """Red where all of a bin are taken for average: the norm of the average would lose nothing."""
    rows = spread_of([*range(257, 513)] * 4)
    found = lengths_of(rows)
    assert sum(each.units for each in found) == pytest.approx(1024)
    assert sum(each.units * each.rows for each in found) == pytest.approx(
        4 * sum(range(257, 513)), 0.01
    )
    assert (
        min(each.length for each in found) >= 257
        and 470 < max(each.length for each in found) <= 512
    )
    assert best_norm(found, NormCost(0.1, 1.0)) > 450


def test_units_that_are_all_alike_are_not_spread() -> None:
    assert [each.length for each in lengths_of(spread_of([1] * 50))] == [1.0]
    (last,) = {round(each.length, 1) for each in lengths_of(spread_of([512] * 50))}
    assert last == 512


def test_a_quarter_of_the_price_is_for_rows_and_all_of_it_is_spent() -> None:
    for columns in ([], ["sex"], ["sex", "age"]):
        parts = parts_of("visits", columns, TABLES, Fraction(2))
        assert sum(part.epsilon for part in parts) == 2
        assert parts[0].kind == "rows" and parts[0].epsilon == (Fraction(1, 2) if columns else 2)
        assert len({part.epsilon for part in parts[1:]}) <= 1


def test_noise_in_a_bin_far_from_all_others_is_not_taken_for_units() -> None:
    """A hundred units of 2^20 rows would have more than all others; noise can look like them."""
    noise = DiscreteLaplace(Fraction(13))
    counts = [0] * len(OCTAVES)
    counts[3:8] = [400, 900, 700, 0, 120]
    counts[-1] = 110
    near = lengths_of(SizeCounts(OCTAVES, tuple(counts), noise))
    assert max(each.length for each in near) < 128
    counts[-1] = 600  # beyond any doubt
    assert (
        max(each.length for each in lengths_of(SizeCounts(OCTAVES, tuple(counts), noise))) > 2**18
    )


def test_few_large_units_below_the_noise_of_their_bins_are_reckoned_with() -> None:
    """Octaves of 400, 200, 100, 50 and so on: of 25, 12 and 6 nobody knows, and they have most rows."""
    noise = DiscreteLaplace(Fraction(9))
    counts = (0, 400, 200, 100, 50, 25, 12, 6, 3, -4, 30, 2)
    edges = (0, *(2**k for k in range(4, 15)))
    counted = SizeCounts(edges, counts, noise)
    found = lengths_of(counted)
    units = [sum(e.units for e in found if low < e.length <= high) for low, high in pairwise(edges)]
    assert units[3:8] == pytest.approx([50, 25, 12, 6 * 1.0, 2.88], rel=0.1)
    assert sum(units[8:]) == 0  # none beyond an empty bin, however many noise puts there
