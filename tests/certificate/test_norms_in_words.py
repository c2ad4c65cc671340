"""What is said of norms is what they do: no unit with as many rows as are said to be kept is scaled."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from plan.test_known_norms import KNOWN, asked
from sanql.certificate.norms_in_words import norms_of_rows, rows_kept_at_least
from sanql.plan.known_norms import with_known_norms
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy import Budget
from sanql.policy.model import Neighbours

QUESTIONS = [
    "SELECT month, SUM(delay) FROM flights GROUP BY month",
    "SELECT month, SUM(delay), SUM(miles) FROM flights GROUP BY month",
    "SELECT month, SUM(miles) FROM flights GROUP BY month",
    "SELECT month, COUNT(*), SUM(delay) FROM flights GROUP BY month",
    "SELECT month, COUNT(*) FROM flights GROUP BY month",
    "SELECT month, SUM(delay - 270) FROM flights GROUP BY month",
]


def levels(sql: str, neighbours: Neighbours) -> list[Level]:
    """Return a question's level with and without a profile, with either noise."""
    outlined, found = asked(sql, neighbours=neighbours), []
    for within in (Budget(Fraction(1, 2), Fraction(0)), Budget(Fraction(1, 2), Fraction(1, 100))):
        both = [outlined, with_known_norms(outlined, KNOWN, within)]
        found += [price(each, within.epsilon, within.delta).levels[0] for each in both]
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_unit_with_as_many_rows_as_are_said_to_be_kept_is_not_scaled(
    sql: str, neighbours: Neighbours
) -> None:
    """Red where a sum of both signs, held to less than its rows, is told by what its rows would be."""
    for level in levels(sql, neighbours):
        norms = [part for part in level.measurements if part.norm is not None]
        rows = rows_kept_at_least(level) if norms else 0
        for part in norms:
            assert part.norm is not None
            length = part.norm.bound if part.norm.order == 1 else math.sqrt(part.norm.bound)
            if not part.norm.jointly or not part.norm.alone:  # else "where sums are within theirs"
                assert rows * (part.size if part.norm.alone else 1) <= length
        told = norms_of_rows(level).values()
        assert all(bound > 0 for bound in told) and bool(told) == bool(norms)
