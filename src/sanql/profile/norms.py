"""How long units' contributions are, by the noisy counts of a profile: what norms are chosen by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sanql.plan import Lengths, UnitLengths
from sanql.profile.histogram import SizeCounts

SURE = Fraction(1, 10**9)
GAP = 2  # bins
WITHIN = 4  # lengths that units of one bin are taken to have


def lengths_of(counted: SizeCounts) -> Lengths:
    """Return how many units there are of which size: as many rows, or groups, as they are long.

    Units of a bin are spread evenly around its average, as far as the nearer end of the bin. Were all of
    them taken to be average, the norm of the average would seem to lose nothing of the largest.
    """
    found = list(zip(counted.counts, counted.sizes, counted.spread, strict=True))[: _end(counted)]
    return tuple(
        each
        for units, size, around in found
        if units > 0 and size
        for each in _around(float(units), float(size), float(around))
    )


def _around(units: float, size: float, around: float) -> Iterator[UnitLengths]:
    """Yield units in equal parts, at the middles of equal parts of what lies so far around a size."""
    parts = WITHIN if around else 1
    for part in range(parts):
        length = size + around * (2 * part + 1 - parts) / parts
        yield UnitLengths(units / parts, length, length)


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
