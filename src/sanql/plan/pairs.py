"""Averages and variances with Laplace noise: sums and counts measured as pairs (measurements/pairs.py).

A sum and a count of sensitivities that are equal, in units of one row, have of an epsilon the shares
that suit their weights a and b best, and a weighted variance of 2 (∛a + ∛b)³ / epsilon²; as a pair, 4
(a + b) / epsilon². Of an average a = 1 and b = 1/3: 9.7 and 5.3. Whatever else is asked of the same
rows, a count or a sum, has its weight there too. With Gaussian noise a pair is a rotation, which
changes nothing. A variance rests on a sum and a count as an average does, and on squares besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanql.measurements import Measured, Measurement, NormOrder, measured_as_pair, width_of
from sanql.plan.mechanism import pure_weight
from sanql.plan.norms import bounded_by_norm
from sanql.statistics import Measuring

_COUNTS = (Measured.ROWS, Measured.VALUES, Measured.UNITS)


def suited(measuring: Measuring, order: NormOrder | None) -> Measuring:
    """Return the measurements of a level as they suit noise of this norm: bounded by it, and in pairs."""
    bounded = bounded_by_norm(measuring, order)
    return in_pairs(bounded) if order == 1 else bounded


def in_pairs(measuring: Measuring) -> Measuring:
    """Return measurements with sums and their counts in pairs, wherever they have less noise so."""
    made = list(measuring.measurements)
    centred = _read_with_their_centre(measuring)
    for place, count in dict.fromkeys(_sums_and_counts(measuring)):
        pair = _pair(measuring, made, place, count, keep_centre=place in centred)
        if pair is not None:
            both = place, count
            before, (made[place], made[count]) = (made[place], made[count]), pair
            apart = sum(pure_weight(before, part) for part in before)
            if sum(pure_weight(made, made[each]) for each in both) >= apart:
                made[place], made[count] = before
    return replace(measuring, measurements=tuple(made))


def _sums_and_counts(measuring: Measuring) -> Iterator[tuple[int, int]]:
    for estimate in measuring.estimates:
        if estimate.sum_and_count is not None:
            yield estimate.sum_and_count


def _read_with_their_centre(measuring: Measuring) -> set[int]:
    """Return the measurements that some estimate reads for which their centre must stay what it is."""
    return {
        place
        for estimate in measuring.estimates
        if not estimate.with_any_centre
        for place in estimate.measurements
    }


def _pair(
    measuring: Measuring, made: Sequence[Measurement], place: int, count: int, *, keep_centre: bool
) -> tuple[Measurement, Measurement] | None:
    """Return a sum and a count as a pair, where they can be one."""
    setting = measuring.setting
    if setting is None or setting.merged or count == measuring.selection:
        return None
    if not _can_be_paired(made[place], made[count]):
        return None
    return measured_as_pair(made, place, count, setting, keep_centre=keep_centre)


def _can_be_paired(part: Measurement, counted: Measurement) -> bool:
    """Return whether a sum and a count, of the same rows, are bounded alike and not paired already."""
    if part.kind is not Measured.SUM or counted.kind not in _COUNTS:
        return False
    if any(one.sensitivity.zero or one.total is not None or one.pair for one in (part, counted)):
        return False
    norms = [
        None if one.norm is None else (one.norm.order, one.norm.bound) for one in (part, counted)
    ]
    return norms[0] == norms[1] and width_of(part) > 0
