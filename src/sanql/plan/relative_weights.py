"""How much sums and averages matter beside counts, where it is known how large an average value is.

By itself a sum matters by its error in rows of the largest value: nothing smaller is known. An error of
an average as large as half its bounds then weighs as much as one of all rows of a count, and an average
of small values is left without epsilon beside a count. Where values are s on average and M at most, an
error is (M/s)² times as much in rows of an average value: errors of averages and sums are relative to
what these are, as those of counts are to the number of rows.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.measurements import Measured
from sanql.statistics import Measuring

SHARE_OF_COUNT = 1 / 3
"""Of the weight of an average's sum, that of its count by itself (statistics/average.py)."""


def weighed_by_sizes(measuring: Measuring) -> Measuring:
    """Return measurements of which sums of a known size matter in rows of an average value."""
    norms = measuring.unit_norms
    if norms is None:
        return measuring
    made = list(measuring.measurements)
    for place, part in enumerate(measuring.measurements):
        size = norms.known_size(part.expression)
        if size is None or part.sensitivity.zero or not _is_summed_or_averaged(measuring, place):
            continue
        more = (part.size / size) ** 2
        made[place] = replace(part, weight=part.weight * more)
        for count in _counts_of_averages(measuring, place):
            added = part.weight * (more - 1) * SHARE_OF_COUNT
            # never nothing: what a number without weight would have of epsilon has no noise
            least = part.weight * more * SHARE_OF_COUNT
            made[count] = replace(made[count], weight=max(least, made[count].weight + added))
    return replace(measuring, measurements=tuple(made))


def _counts_of_averages(measuring: Measuring, place: int) -> set[int]:
    """Return the counts that averages by a sum are divided by."""
    quotients = [each.quotient for each in measuring.estimates]
    return {each[1] for each in quotients if each is not None and each[0] == place}


def _is_summed_or_averaged(measuring: Measuring, place: int) -> bool:
    """Return whether a number is a sum that is shown or divided by a count, and serves nothing else."""
    reading = [each for each in measuring.estimates if place in each.measurements]
    return measuring.measurements[place].kind is Measured.SUM and all(
        each.plain == place or each.measurements == frozenset(each.quotient or ())
        for each in reading
    )
