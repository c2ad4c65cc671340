"""What a statistic is: how it is written, what is measured for it, and what noisy numbers say of it.

A `Statistic` belongs to a name in SQL. Written for, it becomes an `Aggregate` of the question; measured,
an `Estimate`, which knows its measurements by their places. Each statistic has a file of its own with
both; listed.py lists them all, and nothing else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sanql.measurements import Band, Measurement, shared_confidence
from sanql.question import Aggregate, Expr

if TYPE_CHECKING:
    from sanql.statistics.collector import Collector
    from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise

Values = NDArray[Any]
"""One value for each group: numbers with NaN for NULL, or objects with None for it."""
Mask = NDArray[np.bool_]


class Operand(Enum):
    """What stands between the brackets of a statistic, one after the other."""

    VALUE = "an expression over one row"
    FRACTION = "a constant between 0 and 1"


@dataclass(frozen=True)
class Written:
    """A statistic as it was written: its name as typed, its operands, and all of its text."""

    name: str
    arguments: tuple[Expr, ...]
    text: str
    fraction: Fraction | None = None

    @property
    def argument(self) -> Expr:
        """The first operand."""
        return self.arguments[0]


class Statistic(ABC):
    """One of the statistics that can be asked for."""

    name: str  # of the aggregates that it makes
    spellings: tuple[str, ...]  # the names of its function in SQL
    operands: ClassVar[tuple[Operand, ...]] = (Operand.VALUE,)
    written: str = ""  # how the manual says it is written, where no other row says it already
    found: str = ""  # how the manual says it is found
    counts_rows: ClassVar[bool] = False  # rows with a value are counted for it, so sums may use it
    by_unit: ClassVar[bool] = False  # a unit counts once, however many rows it has
    by_value: ClassVar[bool] = False  # a value counts once, however many rows and units have it
    needs_bounds: ClassVar[bool] = True  # the bounds of its values decide how much noise it has

    @abstractmethod
    def ask(self, written: Written) -> Aggregate:
        """Return what a question asks for, or refuse it with a remedy."""

    @abstractmethod
    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        """Return how it is computed from measurements, which the collector adds up."""


class Estimate(ABC):
    """A statistic as it is computed from noisy measurements.

    Intervals cover the noise: the exact value *of the bounded data* lies inside when every measurement
    is within its own interval at the confidence that is passed.
    """

    needs_rows: ClassVar[bool] = False  # its half-width depends on how many rows it is over
    depends_on_spread: ClassVar[bool] = False  # no accuracy can be promised before it is known
    has_interval: ClassVar[bool] = True  # something is known of how far it is off
    width_in: ClassVar[str] = ""  # what a half-width counts, where it is not the statistic itself
    can_be_rounded: ClassVar[bool] = False  # it adds up, so `rounded` is about it
    with_any_centre: ClassVar[bool] = False  # its sum may be less another centre than was planned

    @property
    @abstractmethod
    def measurements(self) -> frozenset[int]:
        """The measurements whose intervals decide the interval."""

    @abstractmethod
    def value(self, noisy: NoisyMeasurements) -> Values:
        """Return the noisy value in every group."""

    @abstractmethod
    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band | None:
        """Return the interval in every group, or None for what has none."""

    def band_alone(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band | None:
        """Return the interval in every group where it alone must hold at a confidence."""
        return self.band(noisy, shared_confidence(confidence, len(self.measurements)))

    @abstractmethod
    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        """Return where the exact value may be NULL."""

    @abstractmethod
    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how wide half of an interval will be at most, over so many rows."""

    @abstractmethod
    def in_words(self) -> str:
        """Return how it is computed, naming measurements by their numbers from 1 on."""

    def caveat(self) -> str:
        """Return what must be said of it under an answer, after its name, where no interval tells it."""
        return ""

    @property
    def quotient(self) -> tuple[int, int] | None:
        """The sum and the count whose quotient it rests on, if it rests on one."""
        return None

    @property
    def sum_and_count(self) -> tuple[int, int] | None:
        """The sum and the count that it is computed from, which had better be measured as a pair."""
        return self.quotient

    @property
    def plain(self) -> int | None:
        """The measurement whose noise is all of the statistic's own, if there is one."""
        return None

    @property
    def whole(self) -> bool:
        """Whether it is always a whole number that adds up."""
        return False

    def never_negative(self, measurements: tuple[Measurement, ...]) -> bool:
        """Return whether the exact value cannot be below zero, by what is known without the data."""
        return False
