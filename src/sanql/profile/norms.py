"""How long units' contributions are, by the noisy counts of a profile: what norms are chosen by."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sanql.plan import Lengths, UnitLengths
from sanql.profile.histogram import SizeCounts

SURE = Fraction(1, 10**9)
GAP = 2  # bins


def lengths_of(counted: SizeCounts) -> Lengths:
    """Return how many units there are of which size: as many rows, or groups, as they are long."""
    found = list(zip(counted.counts, counted.sizes, strict=True))[: _end(counted)]
    return tuple(
        UnitLengths(float(units), float(size), float(size))
        for units, size in found
        if units > 0 and size
    )


def lengths_of_rows(counted: SizeCounts, rows: SizeCounts) -> Lengths:
    """Return the lengths of units' rows, by a count of units by length and one by rows.

    How many rows a unit of some length has is not known; all have as many for their length.
    """
    lengths = lengths_of(counted)
    total = sum(each.units * each.rows for each in lengths_of(rows))
    whole = sum(each.units * each.length for each in lengths)
    return tuple(replace(each, rows=each.length * total / whole) for each in lengths)


def _end(counted: SizeCounts) -> int:
    """Return where the bins that units are in end, as far as is told from noise.

    Whoever is very long has very many rows, so that noise in an empty bin far from all others would
    decide alone: it must be all but sure. Next to bins with units less is enough.
    """
    seen, sure = counted.above_noise, counted.noise.least_reaching(SURE)
    last = max(range(len(seen)), key=lambda index: seen[index])
    if not seen[last]:
        return 0
    for index in range(last + 1, len(seen)):
        if seen[index] >= (1 if index <= last + GAP else sure):
            last = index
    return last + 1
