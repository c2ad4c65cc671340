"""Real numbers as whole steps of a grid, so that sums are exact and in no order."""

from __future__ import annotations

from fractions import Fraction

from sanql.compile.expressions.values import real


def on_grid(text: str, grid: Fraction) -> str:
    """Return a real number as the nearest whole number of grid steps."""
    steps = f"CAST({text} AS DOUBLE) * {real(Fraction(grid.denominator))}"
    if grid.numerator != 1:
        steps = f"{steps} / {real(Fraction(grid.numerator))}"
    return f"TRY_CAST(system.main.floor({steps} + 0.5e0) AS BIGINT)"
