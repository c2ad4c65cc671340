"""The rest: what the groups that do not appear have together, as one row more.

Keys are selected first, at the price selection has anyway; let S be the keys that appear. Given S, the
measurements are taken of a *partition* of all groups: each key of S by itself, and everything else as one
cell, in which a key nobody has counts nothing. For every S that is a measurement like any other, so its
noise composes with selection as before; what changes is how far one unit moves it. Adding up cells
never lengthens a change in L1, so discrete Laplace noise stays as it is (though one cell may now move by
all of it, which the Rényi accounts charge); discrete Gaussian noise answers for a longer change in L2
(measurements/sensitivity.py, *merged*).

The noise of the rest is a draw of its own: added up, the draws of the groups that do not appear would
show how many these are. The row is always there, or its presence would tell that a group is missing.

The count that selects is released only for keys that appear; selection has paid for no more. Where it is
what the answer shows, the rest of it is one measurement more, with a share of the budget of its own.
Counts of distinct units add up only where a unit is in one group; distinct values and quantiles never do.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.errors import Refused
from sanql.measurements import Limits, Measured, Measurement, Setting, sensitivity_of_rest
from sanql.statistics import Estimate, Measuring

REST_WEIGHT = 1 / 27  # one row, and seldom a small one: a third of what a count gets


def with_rest(measuring: Measuring, setting: Setting) -> Measuring:
    """Return the measurements with one for the rest of the selecting count, where it is shown."""
    shown = frozenset[int]().union(*(estimate.measurements for estimate in measuring.estimates))
    if measuring.selection not in shown or setting.limits.groups > 1:
        return measuring
    rest = Measurement(
        Measured.REST,
        None,
        sensitivity_of_rest(setting),
        weight=REST_WEIGHT,
        of=measuring.selection,
    )
    parts = measuring.measurements
    return replace(measuring, measurements=(*parts, rest), rest=len(parts))


def adds_up(part: Measurement, limits: Limits) -> bool:
    """Return whether a measurement of several groups is the sum of theirs."""
    match part.kind:
        case Measured.ROWS | Measured.VALUES | Measured.SUM | Measured.REST:
            return True
        case Measured.UNITS:
            return limits.groups == 1
        case Measured.DISTINCT | Measured.PICKS | Measured.LADDER | Measured.HISTOGRAM:
            return False


def is_told(estimate: Estimate, measuring: Measuring, limits: Limits) -> bool:
    """Return whether an aggregate can be told of the rest: whether all it rests on adds up."""
    parts = measuring.measurements
    return all(adds_up(parts[index], limits) for index in estimate.measurements)


def check_rest(selects_keys: bool) -> None:
    """Refuse to add up other groups where there are none: where every group appears."""
    if not selects_keys:
        raise Refused(
            "other_needless",
            "every group of this question appears, so there are no others to add up",
            "leave other out; it is for keys that are selected privately",
        )
