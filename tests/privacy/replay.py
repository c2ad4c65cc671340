"""Record and replay: one plan, one secret, two neighbouring databases, and how far they differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sanql.measurements.measurement import Measured, Measurement
from sanql.measurements.quantile_picks import ROW, QuantileBins, ladder, pick_levels
from sanql.measurements.squares import squares_around
from sanql.measurements.value_choice import choice_scores
from sanql.plan.keys import PrivateKeys, PublicKeys
from sanql.plan.level import Level
from support.places import few_splits, score, spread

Key = tuple[Any, ...]
ROWS = (Measured.ROWS, Measured.UNITS)
BY_BINS = (Measured.PICKS, Measured.LADDER, Measured.HISTOGRAM)


@dataclass(frozen=True)
class Distance:
    """How far one measurement of two databases differs, over all cells."""

    l1: int
    linf: int
    l2_squared: int

    def __add__(self, other: Distance) -> Distance:
        """Return how far two measurements together differ."""
        linf = max(self.linf, other.linf)
        return Distance(self.l1 + other.l1, linf, self.l2_squared + other.l2_squared)


def keyed(plan: Level, cells: pa.Table) -> dict[Key, list[Any]]:
    """Return the measurements of each group; a group that comes twice would be noised twice.

    Of quantiles it is the rows in each bin, of counts by value those with each, as a dictionary. Of
    distinct values, where is chosen how many of a unit count, it is a list with a count for each choice;
    of the choice itself, a list of what all groups have.
    """
    keys = [cells.column(f"k{i}").to_pylist() for i in range(len(plan.query.keys))]
    values = [_column(cells, i, part) for i, part in enumerate(plan.measurements)]
    groups = [tuple(column[row] for column in keys) for row in range(cells.num_rows)]
    repeated = [key for key, count in Counter(groups).items() if count > 1]
    assert not repeated, f"the groups {repeated[:3]} come more than once"
    return {key: [column[row] for column in values] for row, key in enumerate(groups)}


def _column(cells: pa.Table, index: int, part: Measurement) -> list[Any]:
    if part.kind is Measured.LADDER:
        index = part.of if part.of is not None else index
    if part.kind is Measured.CHOICE:
        return cells.column(f"q{part.of}").to_pylist()  # type: ignore[no-any-return]
    if part.kind in BY_BINS:
        pairs = zip(cells.column(f"l{index}"), cells.column(f"m{index}"), strict=True)
        return [dict(zip(a.as_py(), b.as_py(), strict=True)) for a, b in pairs]
    return cells.column(f"m{index}").to_pylist()  # type: ignore[no-any-return]


def distance(left: dict[Key, list[Any]], right: dict[Key, list[Any]], index: int) -> Distance:
    """Return how far a measurement moved; a missing cell counts as zero."""
    moved = [
        abs((left[key][index] if key in left else 0) - (right[key][index] if key in right else 0))
        for key in left.keys() | right.keys()
    ]
    return Distance(sum(moved), max(moved, default=0), sum(step * step for step in moved))


def check(plan: Level, left: pa.Table, right: pa.Table) -> list[bool]:
    """Assert that neighbours look alike; return which measurements attain their declared L1."""
    assert left.schema == right.schema
    ours, theirs = keyed(plan, left), keyed(plan, right)
    if not isinstance(plan.outline.keys, PrivateKeys):
        assert ours.keys() == theirs.keys(), "the set of groups depends on the data"
    if isinstance(plan.outline.keys, PublicKeys) and plan.outline.keys.count is not None:
        assert len(ours) == plan.outline.keys.count
    selection = plan.outline.measuring.selection
    if selection is not None:
        for group in [*ours.values(), *theirs.values()]:
            # what a unit adds by norm to a group that it does not keep is there, and never shown
            scaled = any(part.norm for part in plan.measurements)
            assert group[selection] >= (0 if scaled else 1), "a group appears that no unit is in"
    attained = []
    for index, part in enumerate(plan.computed):
        if part.kind is Measured.PICKS:
            found = scores_distance(part, ours, theirs, index)
        elif part.kind is Measured.LADDER:
            found = ladder_distance(plan, part, ours, theirs, index)
        elif part.kind is Measured.HISTOGRAM:
            found = histogram_distance(part, ours, theirs, index)
        elif part.kind is Measured.CHOICE:
            found = choice_distance(plan, part, ours, theirs, index)
        elif part.around is not None:
            found = squares_distance(plan, part, ours, theirs, index)
        elif part.choices:
            found = choices_distance(part, ours, theirs, index)
        elif part.kind is Measured.DISTINCT and ours and theirs:
            # a key that nobody keeps is not selected; where it is, what it counts is of all who have it
            both = ours.keys() & theirs.keys()
            found = distance(
                {key: ours[key] for key in both}, {key: theirs[key] for key in both}, index
            )
        elif part.pair is not None and part.kind is Measured.SUM:
            # one noise is for both sides together
            found = distance(ours, theirs, index) + distance(ours, theirs, part.pair.partner)
        else:
            found = distance(ours, theirs, index)
        declared = part.sensitivity
        assert found.l1 <= declared.l1, (index, part, found)
        assert found.linf <= declared.linf, (index, part, found)
        assert found.l2_squared <= declared.l2_squared, (index, part, found)
        if part.kind is Measured.KEY_WEIGHTS:  # made for L2, up to the rounding of roots
            attained.append(found.l2_squared > 0.99 * declared.l2_squared)
        else:
            attained.append(declared.l1 > 0 and found.l1 == declared.l1)
    return attained


def check_apart(plan: Level, whole: pa.Table, without: pa.Table, alone: pa.Table) -> None:
    """Assert that what a unit adds to every cell is what it has there when nobody else is.

    Far stricter than a sensitivity: a single row of one unit that rests on another's shows, whatever
    the limits. Only different values are not the sum of those that units have.
    """
    every, others, own = (keyed(plan, cells) for cells in (whole, without, alone))
    for index, part in enumerate(plan.measurements):
        if part.kind in (Measured.DISTINCT, Measured.CHOICE):
            continue
        for key in every.keys() | others.keys() | own.keys():
            cells = [side[key][index] if key in side else 0 for side in (every, others, own)]
            if part.kind in BY_BINS:
                counts = [Counter(cell or {}) for cell in cells]
                counts[1].update(counts[2])
                assert counts[0] == counts[1], (key, part, cells)
            else:
                assert cells[0] == cells[1] + cells[2], (key, part, cells)


def squares_distance(
    plan: Level, part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:  # fmt: skip
    """Return how far squares move around any mean that noise might say, of the only group there is."""
    assert part.around is not None
    first = plan.measurements[part.around]
    (left,), (right,) = ours.values(), theirs.values()
    (count,) = (i for i, p in enumerate(plan.measurements) if p.sensitivity.zero and p.kind in ROWS)
    assert left[count] == right[count], "the number of rows is public"
    moved = 0
    for mean in (first.low, Fraction(first.low + 3 * first.high, 4), 0, first.high):
        one, other = (
            squares_around(
                first, part, Fraction(mean), (side[part.around], side[index]), side[count]
            )
            for side in (left, right)
        )
        moved = max(moved, abs(one - other))
    return Distance(moved, moved, moved**2)


def choices_distance(
    part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:
    """Return how far counts of distinct values move for any choice, in steps of that choice's own noise.

    They are stretched to the largest, for which sensitivities are declared.
    """
    both, most = ours.keys() & theirs.keys(), part.choices[-1]
    found = []
    for place, choice in enumerate(part.choices):
        moved = [abs(ours[key][index][place] - theirs[key][index][place]) for key in both]
        stretched = [-(-step * most // choice) for step in moved]
        own = sum(moved), max(moved, default=0), sum(step * step for step in moved)
        found.append((-(-own[0] * most // choice), max(stretched, default=0), own[2], choice))
    l1, linf, _, _ = (max(column) for column in zip(*found, strict=True))
    squared = max(-(-own * most**2 // choice**2) for _, _, own, choice in found)
    return Distance(l1, linf, squared)


def choice_distance(
    plan: Level, part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:  # fmt: skip
    """Return how far any score of the choice moves, with penalties and without."""
    assert part.of is not None
    choices, neighbours = plan.measurements[part.of].choices, plan.outline.neighbours
    nothing = [0] * len(choices)
    totals = [next((group[index] for group in side.values()), nothing) for side in (ours, theirs)]
    if not ours or not theirs:  # where no group is, nothing is chosen
        return Distance(0, 0, 0)
    moved = 0
    for penalties in (nothing, [3 * ROW * choice + 7 for choice in choices]):
        left, right = (choice_scores(side, choices, penalties, neighbours) for side in totals)
        moved = max(moved, *(abs(a - b) for a, b in zip(left, right, strict=True)))
    return Distance(moved, moved, moved**2)


def scores_distance(
    part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:
    """Return how far the scores of all turns move together, when both sides pick the same places.

    The places are those of our data without noise and, once more, some far from them.
    """
    assert part.quantile_bins is not None
    found, splits = [], few_splits(part.quantile_bins)
    places = part.quantile_bins.count * splits
    for shift in (0, places // 3):
        total = 0
        for key in ours.keys() | theirs.keys():
            sides = [
                _rows_in_bins(part.quantile_bins, side.get(key), index) for side in (ours, theirs)
            ]
            before = [spread(rows, splits) for rows in sides]
            picked: dict[int, int] = {}
            for level in pick_levels(part.fractions):
                for turn in level:
                    start = picked[turn.after] if turn.after is not None else 0
                    stop = picked[turn.before] if turn.before is not None else places
                    left, right = (score(side, start, stop, turn, 0) for side in before)
                    total += int(np.abs(left - right).max())
                    best = int(np.argmax(left)) + shift
                    picked[turn.index] = start + best % left.size
        found.append(total)
    return Distance(max(found), max(found), max(found) ** 2)


def ladder_distance(
    plan: Level, part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:  # fmt: skip
    """Return how far counts around the middle bin move."""
    assert part.of is not None
    bins = plan.measurements[part.of].quantile_bins
    assert bins is not None
    bounds = [0, *ladder(bins, [bins.count // 2]), bins.count]
    moved = []
    for key in ours.keys() | theirs.keys():
        left, right = (_rows_in_bins(bins, side.get(key), index) for side in (ours, theirs))
        moved += [abs(int(left[a:b].sum() - right[a:b].sum())) for a, b in pairwise(bounds)]
    return Distance(sum(moved), max(moved, default=0), sum(step * step for step in moved))


def histogram_distance(
    part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> Distance:
    """Return how far counts of rows by value move, over all groups and values."""
    moved = [gap for gaps in _gaps(part, ours, theirs, index) for gap in gaps]
    return Distance(sum(moved), max(moved, default=0), sum(step * step for step in moved))


def _gaps(
    part: Measurement, ours: dict[Key, list[Any]], theirs: dict[Key, list[Any]], index: int
) -> list[list[int]]:
    """Return how far each bin of each group moves."""
    keys = ours.keys() | theirs.keys()
    pairs = [
        [_bin_rows(part.bin_count, side.get(key), index) for side in (ours, theirs)] for key in keys
    ]
    return [np.abs(left - right).tolist() for left, right in pairs]


def _rows_in_bins(bins: QuantileBins, group: list[Any] | None, index: int) -> np.ndarray:
    return _bin_rows(bins.count, group, index)


def _bin_rows(bins: int, group: list[Any] | None, index: int) -> np.ndarray:
    rows = np.zeros(bins, dtype=np.int64)
    for leaf, count in (group[index] if group is not None else {}).items():
        rows[leaf] = count
    return rows
