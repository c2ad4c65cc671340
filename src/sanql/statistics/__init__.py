"""Statistics: what each measures, and what is read off noisy numbers; one file each, and one list."""

from sanql.statistics.average import Average
from sanql.statistics.collector import Measuring
from sanql.statistics.count import COUNTED, Count, CountUnits, count_of, units_of
from sanql.statistics.distinct import CHOSEN_ABOVE, DistinctOf, distinct_of
from sanql.statistics.listed import BY_SPELLING, STATISTICS, of_distinct, statistic_of
from sanql.statistics.measuring import Importance, plan_measurements
from sanql.statistics.mode import Mode
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise, whole_steps
from sanql.statistics.quantile import Quantile
from sanql.statistics.statistic import Estimate, Mask, Operand, Statistic, Values, Written
from sanql.statistics.sum import Sum, held_to
from sanql.statistics.values import no_bounds, when
from sanql.statistics.verdicts import MapFit, ShareTest

__all__ = [
    "BY_SPELLING",
    "CHOSEN_ABOVE",
    "COUNTED",
    "STATISTICS",
    "Average",
    "Count",
    "CountUnits",
    "DistinctOf",
    "Estimate",
    "Importance",
    "MapFit",
    "Mask",
    "Measuring",
    "Mode",
    "NoisyMeasurements",
    "Operand",
    "PlannedNoise",
    "Quantile",
    "ShareTest",
    "Statistic",
    "Sum",
    "Values",
    "Written",
    "count_of",
    "distinct_of",
    "held_to",
    "no_bounds",
    "of_distinct",
    "plan_measurements",
    "statistic_of",
    "units_of",
    "when",
    "whole_steps",
]
