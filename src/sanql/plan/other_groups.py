"""Other groups: the groups that do not appear, added up in one more row.

Keys are selected first, at the price selection has anyway; let S be the keys that appear. Given S, the
measurements are taken of a *partition* of all groups: each key of S by itself, and everything else as one
cell, in which a key nobody has counts nothing. For every S that is a measurement like any other, so its
noise composes with selection as before; what changes is how far one unit moves it. Adding up cells
never lengthens a change in L1, so discrete Laplace noise stays as it is (though one cell may now move by
all of it, which the Rényi accounts charge); discrete Gaussian noise answers for a longer change in L2
(measurements/sensitivity.py, *merged*).

The noise of that row is a draw of its own: added up, the draws of the groups that do not appear would
show how many these are. The row is always there, or its presence would tell that a group is missing.

The count that selects is released only for keys that appear; selection has paid for no more. Where it is
what the answer shows, its total over other groups is one measurement more, with a share of the budget of
its own. Counts of distinct units add up only where a unit is in one group; distinct values and quantiles
never do.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.errors import Refused
from sanql.measurements import (
    ContributionLimits,
    Measured,
    Measurement,
    SensitivitySetting,
    sensitivity_of_other_groups,
)
from sanql.statistics import Estimate, Measuring

OTHER_GROUPS_WEIGHT = 1 / 27  # one row, and seldom a small one: a third of what a count gets


def with_other_groups(measuring: Measuring, setting: SensitivitySetting) -> Measuring:
    """Return the measurements with the units of other groups, where the count that selects is shown."""
    shown = frozenset[int]().union(*(estimate.measurements for estimate in measuring.estimates))
    if measuring.selection not in shown or setting.limits.groups > 1:
        return measuring
    together = Measurement(
        Measured.OTHER_GROUPS,
        None,
        sensitivity_of_other_groups(setting),
        weight=OTHER_GROUPS_WEIGHT,
        of=measuring.selection,
    )
    measurements = measuring.measurements
    return replace(
        measuring, measurements=(*measurements, together), other_groups=len(measurements)
    )


def adds_up(measurement: Measurement, limits: ContributionLimits) -> bool:
    """Return whether the measurement of several groups together is the sum of their measurements."""
    match measurement.kind:
        case (
            Measured.ROWS | Measured.VALUES | Measured.SUM | Measured.BELOW | Measured.OTHER_GROUPS
        ):
            return True
        case Measured.UNITS:
            return limits.groups == 1
        case (
            Measured.DISTINCT
            | Measured.CHOICE
            | Measured.PICKS
            | Measured.LADDER
            | Measured.HISTOGRAM
            | Measured.KEY_WEIGHTS
        ):
            return False


def is_known_of_other_groups(
    estimate: Estimate, measuring: Measuring, limits: ContributionLimits
) -> bool:
    """Return whether an aggregate is known of other groups: whether all it is computed from adds up."""
    measurements = measuring.measurements
    return all(adds_up(measurements[index], limits) for index in estimate.measurements)


def check_other_groups(selects_keys: bool) -> None:
    """Refuse to add up other groups where there are none: where every group appears."""
    if not selects_keys:
        raise Refused(
            "other_needless",
            "every group of this question appears, so there are no others to add up",
            "leave other out; it is for keys that are selected privately",
        )
