"""Private counts of units by public bins, which San asks for itself to find bounds and suggest limits.

Each unit is in one bin (where it has values in several, in one of them chosen as any answer chooses
the groups a unit keeps), so it moves the counts by 1 in L1 when it comes or goes, and by 2 when it
changes. All bins are public and appear, empty or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sanql.functions import call
from sanql.mechanisms import SymmetricNoise
from sanql.plan.plan import Plan, outline, price
from sanql.policy import Neighbours, Table
from sanql.question import (
    AggregateRef,
    Expr,
    From,
    KeyRef,
    Output,
    Query,
    integer_literal,
)
from sanql.statistics import COUNTED, units_of

FALSE_ALARM = Fraction(1, 100)
"""The chance, at most, that any of the bins that are empty seems not to be."""


def bin_of(below: Sequence[Expr], first: int = 0) -> Expr:
    """Return the number of a row's bin; `below[i]` says that it lies below bin first + i + 1.

    Written as a balanced choice, so that a row meets few comparisons however many bins there are.
    """
    if not below:
        return integer_literal(first)
    middle = len(below) // 2
    left, right = bin_of(below[:middle], first), bin_of(below[middle + 1 :], first + middle + 1)
    return call("case", below[middle], left, right)


def count_units(
    bins: Expr,
    source: From,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    epsilon: Fraction,
) -> Plan:
    """Return the plan of counting units by bin; each unit counts in one bin."""
    units = units_of(None, "units")
    query = Query(
        source=source,
        where=None,
        keys=(bins,),
        aggregates=(units,),
        outputs=(Output("bin", KeyRef(0, bins.facts)), Output("units", AggregateRef(0, COUNTED))),
    )
    return price(outline(query, tables, neighbours, groups_asked=1), epsilon, Fraction(0))


def least_count_above_noise(planned: Plan, bins: int) -> int:
    """Return the least noisy count that an empty bin is unlikely to reach.

    Of `bins` empty ones, noise lifts none that high but with probability `FALSE_ALARM` in all.
    """
    (noise,) = planned.noises
    assert isinstance(noise, SymmetricNoise)  # noqa: S101  (counts have symmetric noise)
    return noise.least_reaching(FALSE_ALARM / bins)
