"""Three shapes of data: even and coarse, skewed with wide bounds, and a spike with a tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Shape:
    """Values of one column, with the bounds and the precision its owner would declare."""

    name: str
    values: NDArray[np.float64]
    low: float
    high: float
    precision: float


def shapes() -> list[Shape]:
    """Return the shapes, the same every time."""
    numbers = np.random.default_rng(2026)
    ages = np.clip(np.round(numbers.normal(42, 20, 1000)), 0, 120)
    incomes = np.clip(np.round(numbers.lognormal(10.3, 0.6, 10_000), 2), 0, 500_000)
    costs = np.round(numbers.exponential(80, 10_000), 2) * (numbers.random(10_000) < 0.4)
    return [
        Shape("ages: 1,000 whole numbers in [0, 120]", ages, 0, 120, 1),
        Shape("incomes: 10,000 skewed in [0, 500,000]", incomes, 0, 500_000, 0.01),
        Shape("costs: 10,000, 60 % zero, in [0, 1,000]", np.clip(costs, 0, 1000), 0, 1000, 0.01),
    ]
