"""What an owner declares about a verdict: a column's listed values, a function of their counts, laws.

A verdict is one of a few outputs for each cell: which declared law fits best, the most frequent
value, the lower median, whether at least a share of the records is true. Its guarantee has epsilon 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, assert_never

from sanql.mechanisms.noiseless import (
    MAP,
    Verdict,
    VerdictAdversary,
    lower_median,
    mode,
    share_test,
)
from sanql.policy.exact.cells import Acceptance, Cells
from sanql.policy.exact.footprint import Footprint

if TYPE_CHECKING:
    from sanql.policy.model import Value

VALUES_MOST = 64
"""A verdict is about so many values at most, each of which may be an output."""


@dataclass(frozen=True)
class MapEstimate:
    """Which of the declared laws fits the records best: shown by its name."""


@dataclass(frozen=True)
class MostFrequent:
    """The value that most records have, the first listed among equals."""


@dataclass(frozen=True)
class LowerMedian:
    """The lower median, in the order of the values."""


@dataclass(frozen=True)
class ShareAtLeast:
    """Whether at least this share of the records is true."""

    share: Fraction


VerdictFunction = MapEstimate | MostFrequent | LowerMedian | ShareAtLeast


@dataclass(frozen=True)
class Family:
    """All records are drawn from one of these laws over the listed values, which one being unknown."""

    laws: tuple[tuple[Fraction, ...], ...]
    names: tuple[str, ...]
    weights: tuple[Fraction, ...]


@dataclass(frozen=True)
class ExactVerdict:
    """A verdict on the records of every cell, with public cell sizes.

    `values` are all that a record can have, in order; one with none of them counts as the value at the
    place `missing`. `records_min` is None where the owner leaves it to San to find a number that passes.
    """

    name: str
    table: str
    cells: Cells
    accept: Acceptance
    known_records: int
    column: str
    adversary: Family
    known_columns: tuple[str, ...]
    values: tuple[Value, ...]
    missing: int
    function: VerdictFunction
    records_min: int | None

    @property
    def footprint(self) -> Footprint:
        """What the release touches."""
        return Footprint(self.name, self.table, self.column, self.known_columns)

    @property
    def verdict(self) -> Verdict:
        """The function of counts."""
        match self.function:
            case MapEstimate():
                return MAP
            case MostFrequent():
                return mode(len(self.values))
            case LowerMedian():
                return lower_median(len(self.values))
            case ShareAtLeast(share):
                return share_test([value is True for value in self.values], share)
            case _:
                assert_never(self.function)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """What the verdict can be, in its order."""
        match self.function:
            case MapEstimate():
                return self.adversary.names
            case MostFrequent() | LowerMedian():
                return self.values
            case ShareAtLeast():
                return (True, False)
            case _:
                assert_never(self.function)

    def against(self, others: int) -> VerdictAdversary:
        """Return the class to certify against in a cell with so many records besides one."""
        family = self.adversary
        return VerdictAdversary(
            others, family.laws, self.verdict, family.weights, self.known_records
        )
