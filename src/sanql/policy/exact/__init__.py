"""What an owner declares about exact releases."""

from sanql.policy.exact.cells import Acceptance, Cells
from sanql.policy.exact.footprint import Footprint, uncovered
from sanql.policy.exact.model import (
    BinaryColumn,
    BinomialSample,
    Exact,
    ExactHistogram,
    ExactValues,
    LatticePart,
    PoissonSample,
    SampleClass,
    UniformComponent,
    ValueClass,
)
from sanql.policy.exact.sections import read_exact
from sanql.policy.exact.verdicts import (
    ExactVerdict,
    Family,
    LowerMedian,
    MapEstimate,
    MostFrequent,
    ShareAtLeast,
    VerdictFunction,
)

__all__ = [
    "Acceptance",
    "BinaryColumn",
    "BinomialSample",
    "Cells",
    "Exact",
    "ExactHistogram",
    "ExactValues",
    "ExactVerdict",
    "Family",
    "Footprint",
    "LatticePart",
    "LowerMedian",
    "MapEstimate",
    "MostFrequent",
    "PoissonSample",
    "SampleClass",
    "ShareAtLeast",
    "UniformComponent",
    "ValueClass",
    "VerdictFunction",
    "read_exact",
    "uncovered",
]
