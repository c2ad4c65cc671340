"""Exact cells by plain arithmetic: what the engine would compute for values that are known."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sanql.measurements.measurement import Measured, Measurement

Whole = TypeVar("Whole", int, NDArray[np.int64])


def cell_of(part: Measurement, steps: Whole, rows: Whole) -> Whole:
    """Return the cells of a number of so many rows whose values have this sum in steps.

    `part` is one of those that the engine computes (`Level.computed`).
    """
    match part.kind:
        case Measured.SUM:
            return (steps - rows * part.centre) * part.scale
        case Measured.BELOW:
            return (rows * (part.high + part.centre) - steps) * part.scale
        case _:
            return rows * part.scale
