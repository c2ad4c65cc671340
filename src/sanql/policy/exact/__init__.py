"""What an owner declares about exact releases."""

from sanql.policy.exact.footprint import Footprint, uncovered
from sanql.policy.exact.model import (
    Acceptance,
    BinaryColumn,
    BinomialSample,
    Cells,
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

__all__ = [
    "Acceptance",
    "BinaryColumn",
    "BinomialSample",
    "Cells",
    "Exact",
    "ExactHistogram",
    "ExactValues",
    "Footprint",
    "LatticePart",
    "PoissonSample",
    "SampleClass",
    "UniformComponent",
    "ValueClass",
    "read_exact",
    "uncovered",
]
