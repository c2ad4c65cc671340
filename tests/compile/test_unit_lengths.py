"""A unit can be too long where the rule shortens the longest that there is."""

from __future__ import annotations

from itertools import product

import pytest

from privacy.norms import scaled
from sanql.compile.unit_lengths import Length
from sanql.measurements import NormBound, NormOrder

BOUNDS = [1, 2, 3, 6, 40, 41, 2**24 - 1, 2**24, 2**24 + 1, 2**25 + 3, 2**30, 2**50 + 1, 2**60]
MOST = [1, 2, 3, 10, 13, 14, 2**10, 2**23, 2**24, 2**24 + 1, 2**25 + 3, 2**30, 2**31]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 3, 4, 20, 1000])
def test_a_length_is_looked_for_where_the_longest_unit_is_shortened(
    order: NormOrder, groups: int
) -> None:
    found = set()
    for bound, most in product(BOUNDS, MOST):
        norm = NormBound(order, bound, 1)
        length = Length("a", norm, most, short=True, held_as="a")
        longest = (most,) * groups
        shortened = scaled(longest, longest, order, bound, 1) != longest
        if shortened:
            assert length.can_be_long(groups), (bound, most)
        elif groups * most**order > bound:  # so near that truncating takes nothing
            continue
        else:
            exact = norm.shift >= 0
            assert not length.can_be_long(groups) or not exact, (bound, most)
        found.add(length.can_be_long(groups))
        assert length.can_be_long(None)
    assert found == {True, False}


def test_who_is_not_looked_at_is_within_the_norm() -> None:
    """Every vector of up to three groups, of each length that there may be."""
    for order, bound, most, groups in product((1, 2), range(1, 30), range(1, 5), range(1, 4)):
        norm = NormBound(order, bound, 1)  # type: ignore[arg-type]
        length = Length("a", norm, most, short=True, held_as="a")
        lengths = {
            sum(n**order for n in vector) for vector in product(range(most + 1), repeat=groups)
        }
        assert length.can_be_long(groups) == (max(lengths) > bound)
