"""Rows of two kinds of unit: what is taken in all moves by no more than the room of who comes or goes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from random import Random

import pytest

from sanql.kernel.pouring import POURED_MAX, Turn, taken_by_group

Pairs = dict[tuple[int, int], int]
"""What the rows of each two units have to add."""
FIRST, SECOND = (0, 1, 2), (0, 1, 2)
ROOMS = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 1)]


def turns(pairs: Pairs, places: tuple[int, ...], salt: int = 0) -> list[Turn]:
    """Return the turns of a group in an order that hangs on nothing but whose they are."""
    order = sorted(pairs, key=lambda pair: (places[pair[0]], Random(f"{salt}{pair}").random()))
    return [(0, first, second, pairs[first, second], 0) for first, second in order]


def taken(pairs: Pairs, room: tuple[int, int], places: tuple[int, ...], salt: int = 0) -> int:
    return taken_by_group(turns(pairs, places, salt), room, (0, 0)).get(0, 0)


def without(pairs: Pairs, kind: int, unit: int) -> Pairs:
    return {pair: has for pair, has in pairs.items() if pair[kind] != unit}


def worlds() -> Iterator[Pairs]:
    """Yield every world of three units of each kind, with 0 to 2 rows of each two of them."""
    cells = [*product(FIRST, SECOND)]
    for numbers in product(range(3), repeat=len(cells)):
        yield {cell: has for cell, has in zip(cells, numbers, strict=True) if has}


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_in_every_small_world_one_unit_adds_something_and_no_more_than_its_room(
    room: tuple[int, int],
) -> None:
    """All 19,683 worlds, each unit of each kind taken away: add-remove, and so change-one as well."""
    places = (1, 2, 0)
    for pairs in worlds():
        whole = taken(pairs, room, places)
        assert whole <= sum(pairs.values())
        for kind, units in ((0, FIRST), (1, SECOND)):
            for unit in units:
                moved = whole - taken(without(pairs, kind, unit), room, places)
                assert 0 <= moved <= room[kind]


@pytest.mark.slow
def test_it_holds_in_every_order_of_first_units() -> None:
    random = Random(1)
    for _ in range(300):
        pairs = {(f, s): random.choice([0, 1, 1, 4]) for f, s in product(FIRST, SECOND)}
        for places in permutations(range(3)):
            whole = taken(pairs, (2, 3), places, salt=_)
            for kind, unit in product((0, 1), range(3)):
                moved = whole - taken(without(pairs, kind, unit), (2, 3), places, salt=_)
                assert 0 <= moved <= (2, 3)[kind]


@pytest.mark.slow
def test_a_unit_that_changes_moves_the_sum_by_no_more_than_its_room() -> None:
    random = Random(2)
    for _ in range(5000):
        pairs = {(f, s): random.choice([0, 0, 1, 2, 9]) for f, s in product(FIRST, SECOND)}
        kind, unit = random.randrange(2), random.randrange(3)
        changed = {
            pair: random.choice([0, 1, 9]) if pair[kind] == unit else has
            for pair, has in pairs.items()
        }
        room = random.choice(ROOMS)
        moved = abs(taken(pairs, room, (0, 1, 2)) - taken(changed, room, (0, 1, 2)))
        assert moved <= room[kind]


def test_a_unit_with_any_number_of_rows_of_others_moves_it_by_its_room() -> None:
    """A doctor of a thousand patients, each with another row: limits by ranks would move by 1,000."""
    patients = range(1000)
    others = {(patient, 1 + patient): 1 for patient in patients}
    giant = {(patient, 0): 1 for patient in patients}
    places = tuple(patients)
    before = taken(others, (1, 5), places)
    after = taken(others | giant, (1, 5), places)
    assert before == 1000 and 0 <= after - before <= 5
    turned = {(s, f): has for (f, s), has in (others | giant).items()}
    without_giant = {(s, f): has for (f, s), has in others.items()}
    places = tuple(range(1001))
    assert 0 <= taken(turned, (5, 1), places) - taken(without_giant, (5, 1), places) <= 5


def test_within_all_room_everything_is_taken() -> None:
    pairs = {(0, 0): 2, (0, 1): 1, (1, 0): 1}
    assert taken(pairs, (3, 3), (0, 1, 2)) == 4


def test_one_turn_of_two_units_takes_what_its_rows_would_one_after_the_other() -> None:
    random = Random(3)
    for _ in range(2000):
        pairs = {(f, s): random.randrange(5) for f, s in product(FIRST, SECOND)}
        together = turns(pairs, (0, 1, 2))
        apart = [(g, f, s, 1, 0) for g, f, s, has, _ in together for _ in range(has)]
        room = random.choice(ROOMS)
        assert taken_by_group(together, room, (0, 0)).get(0, 0) == taken_by_group(
            apart, room, (0, 0)
        ).get(0, 0)


def test_what_is_below_zero_has_room_of_its_own_and_groups_are_apart() -> None:
    rows = [(0, 1, 1, 5, 4), (0, 1, 2, 5, 4), (1, 1, 1, 5, 4), (1, 2, 1, 5, 4)]
    assert taken_by_group(rows, (8, 6), (3, 9)) == {0: 8 - 3, 1: 6 - 6}


def test_sums_saturate_where_cells_do() -> None:
    most = POURED_MAX
    rows = [(0, unit, unit, most, 0) for unit in range(3)]
    assert taken_by_group(rows, (most, most), (0, 0)) == {0: most}
    below = [(0, unit, unit, 0, most) for unit in range(3)]
    assert taken_by_group(below, (0, 0), (most, most)) == {0: -most}
