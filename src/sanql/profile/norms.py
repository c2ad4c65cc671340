"""How long units' contributions are, by the noisy counts of a profile: what norms are chosen by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, repeat

from sanql.plan import Lengths, UnitLengths
from sanql.profile.hidden import hidden_units
from sanql.profile.histogram import SizeCounts

SURE = Fraction(1, 10**9)
GAP = 2  # bins
USUAL = 0.9  # of all units
LEAST_HIDDEN = 1 / 1000  # units
_HALVINGS = 40
WITHIN = 4  # lengths that units of one bin are taken to have


def lengths_of(counted: SizeCounts) -> Lengths:
    """Return how many units there are of which size: as many rows, or groups, as they are long.

    Beyond the last bin that is told from noise there are taken to be as many as would be if they went on
    getting fewer as they did, and no more than were counted: few large units may have most of the rows.
    Units of a bin are spread evenly around its average, as far as the nearer end of the bin. Were all of
    them taken to be average, the norm of the average would seem to lose nothing of the largest.
    """
    end = _end(counted)
    units = [*counted.counts[:end], *_tail(counted, end)]
    found = zip(units, counted.sizes, counted.spread, strict=False)
    return tuple(
        each
        for units, size, around in found
        if units > 0 and size
        for each in _around(float(units), float(size), float(around))
    )


def lengths_hidden(counted: SizeCounts) -> Lengths:
    """Return how many units more than `lengths_of` takes there to be the noise of far bins may hide."""
    end = _end(counted)
    tail = chain(_tail(counted, end), repeat(0.0))
    found = zip(hidden_units(counted, end), tail, counted.middles[end:], strict=False)
    return tuple(
        UnitLengths(hidden - units, float(size), float(size))
        for hidden, units, size in found
        if hidden - units > LEAST_HIDDEN
    )


def lengths_of_some(counted: SizeCounts) -> Lengths:
    """Return how many units have so many of something, of which others have none."""
    return lengths_of(SizeCounts(counted.edges[1:], counted.counts[1:], counted.noise))


def _tail(counted: SizeCounts, end: int) -> Iterator[float]:
    """Yield how many units there may be in bins after the end, each with fewer than the one before."""
    if end < 2 or counted.counts[end - 2] <= 0:
        return
    before, units = float(counted.counts[end - 2]), float(counted.counts[end - 1])
    for count in counted.counts[end:]:
        before, units = units, min(units * min(1.0, units / before), float(count))
        if units < 1:
            return
        yield units


def _around(units: float, size: float, around: float) -> Iterator[UnitLengths]:
    """Yield units in equal parts, at the middles of equal parts of what lies so far around a size."""
    parts = WITHIN if around else 1
    for part in range(parts):
        length = size + around * (2 * part + 1 - parts) / parts
        yield UnitLengths(units / parts, length, length)


def lengths_of_rows(counted: SizeCounts, rows: SizeCounts) -> Lengths:
    """Return the lengths of units' rows, by a count of units by length and one by rows.

    Units are as many, with as many rows, as the count by rows says, which has less noise: a bin of few
    long units is not told from noise, and they have many of the rows. What the other count tells is one
    number: with which chance p two rows of a unit are in one group, so that n rows have a length of about
    the root of n + p (n² - n). It is fitted to the nine tenths of units that are the shorter ones. Where
    less than half of the units are told from noise, nothing is known: none is returned.
    """
    lengths, spread = lengths_of(counted), lengths_of(rows)
    if not spread:
        return lengths
    if 2 * _units(lengths) < _units(spread):
        return ()
    usual = _usual(lengths)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _usual(_longer(spread, middle)) > usual:
            high = middle
        else:
            low = middle
    return _longer(spread, high)


def _units(lengths: Lengths) -> float:
    return sum(each.units for each in lengths)


def _usual(lengths: Lengths) -> float:
    """Return the average length of the shorter units: the longest may be lost in noise."""
    left = USUAL * _units(lengths)
    whole, total = left, 0.0
    for each in sorted(lengths, key=lambda each: each.length):
        units = min(left, each.units)
        total, left = total + units * each.length, left - units
    return total / whole


def _longer(spread: Lengths, alike: float) -> Lengths:
    """Return units with the length that their rows have where two are alike with such a chance."""
    return tuple(replace(each, length=_length(each.rows, alike)) for each in spread)


def _length(rows: float, alike: float) -> float:
    return math.sqrt(rows + alike * max(0.0, rows**2 - rows))


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
