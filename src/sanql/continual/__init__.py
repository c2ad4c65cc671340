"""Counts of everything so far, released period by period at one price: weights, noise, estimates."""

from sanql.continual.estimates import ContinualCounts, PeriodCount, read_counts
from sanql.continual.planning import ContinualRelease
from sanql.continual.stream import Stream

__all__ = [
    "ContinualCounts",
    "ContinualRelease",
    "PeriodCount",
    "Stream",
    "read_counts",
]
