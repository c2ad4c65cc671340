"""How far one unit's whole history moves all releases: every history of a tiny domain."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from sanql.continual import Stream
from sanql.continual.weights import weights
from sanql.policy import Continual, Neighbours

RELEASES = 3
Rows = tuple[int, ...]
"""The periods, from 0, of a unit's rows in one version of the data."""
History = tuple[Rows, ...]
"""The rows of a unit in the version that each release reads."""

VERSIONS: list[Rows] = [
    rows for size in range(4) for rows in combinations_with_replacement(range(RELEASES), size)
]


def stream(rows: int, neighbours: Neighbours) -> Stream:
    price = Fraction(1), Fraction(1, 10**6)
    declared = Continual(
        "count", "visits", "rows", None, "day", "day", "2026-01-01", RELEASES, rows, *price
    )
    return Stream(declared, neighbours)


def moved(history: History, most: int) -> tuple[int, ...]:
    """Return what a unit adds to each release, by the definition: its first rows, by their age."""
    own = weights(RELEASES)
    return tuple(
        sum(own[place - came] for came in sorted(c for c in rows if c <= place)[:most])
        for place, rows in enumerate(history)
    )


def taken_away(history: History) -> int:
    """Return how many rows are removed or altered while there are others: each breaks the rule."""
    broken = 0
    for place, (before, after) in enumerate(pairwise(history)):
        if any(history[place + 1 :]):
            broken += sum((Counter(before) - Counter(after)).values())
    return broken


@cache
def histories() -> tuple[History, ...]:
    return tuple(product(VERSIONS, repeat=RELEASES))


@pytest.mark.parametrize("most", [1, 2])
def test_no_history_that_only_grows_or_ends_moves_releases_further_than_is_paid_for(
    most: int,
) -> None:
    found = [
        sum(part * part for part in moved(history, most))
        for history in histories()
        if not taken_away(history)
    ]
    assert max(found) == stream(most, "add-remove").l2_squared
    assert len(found) > 300


@pytest.mark.parametrize("most", [1, 2])
def test_no_two_such_histories_are_further_apart_than_change_one_pays_for(most: int) -> None:
    kept = {moved(history, most) for history in histories() if not taken_away(history)}
    points = np.array(sorted(kept), dtype=np.int64)
    apart = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    assert apart.max() <= stream(most, "change-one").l2_squared


@pytest.mark.parametrize("most", [1, 2])
def test_each_row_that_is_removed_or_altered_alone_costs_as_one_row_more(most: int) -> None:
    column = sum(weight * weight for weight in weights(RELEASES))
    worst = Counter[int]()
    for history in histories():
        broken = taken_away(history)
        length = sum(part * part for part in moved(history, most))
        worst[broken] = max(worst[broken], length)
        assert length <= (most + broken) ** 2 * column
    assert worst[1] > worst[0]  # the assumption is needed


def test_rows_that_come_late_move_releases_no_further() -> None:
    """By hand: a row of the first period that is there from the second on has lost its first weight."""
    assert moved(((), (0,), (0,)), 1) == (0, 128, 96)
    assert moved(((), (1,), (0, 1)), 1) == (0, 256, 96)
