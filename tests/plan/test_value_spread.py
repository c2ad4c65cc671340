"""How large values are beside the average, by noisy counts of units by order of magnitude."""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.plan.find_bounds import BoundsSearch, plan_bounds_search
from sanql.policy.model import Column, ColumnUnit, Table

FEES = Table("visits", ColumnUnit("person"), {"fee": Column("fee", "integer")}, 10)
MOST = Fraction(10**6)


def search() -> BoundsSearch:
    return plan_bounds_search(("visits", "fee"), {"visits": FEES}, "add-remove", Fraction(1))


def counted(orders: dict[int, int]) -> tuple[list[int], list[int]]:
    bins = list(range(-search().magnitudes.most, search().magnitudes.most + 1))
    return bins, [orders.get(number, 0) for number in bins]


def test_shares_add_up_and_values_are_the_average_on_average() -> None:
    spread = search().spread_of_sizes(*counted({3: 8000, 6: 4000, -5: 2000}), MOST)
    assert abs(sum(share for _, share in spread) - 1) < 1e-9
    assert abs(sum(size * share for size, share in spread) - 1) < 1e-9


def test_where_noise_hides_large_values_there_may_be_fewer_of_ever_larger_ones() -> None:
    """Red where orders that are not told from noise count as none: of heavy tails they are much."""
    least = search().least
    seen = {number: max(1, 2**20 >> number) for number in range(2, 20)}
    hidden = [number for number, count in seen.items() if count < least]
    sizes = dict(search().spread_of_sizes(*counted(seen), MOST))
    largest = max(sizes)
    average = search().average_size(*counted(seen), MOST)
    middle = search().magnitudes.middle(hidden[-1])
    assert len(hidden) > 1
    assert math.isclose(largest * float(average), float(min(MOST, middle)))
    assert all(share > 0 for share in sizes.values())


def test_no_more_large_values_are_expected_than_were_counted() -> None:
    """Where the counts end at once nothing follows; where noise is all there is nothing is known."""
    sharp = search().spread_of_sizes(*counted({4: 9000, 5: 8000}), MOST)
    assert len(sharp) == 2
    assert search().spread_of_sizes(*counted({}), MOST) == ()
