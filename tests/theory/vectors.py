"""The 64 vectors, read: exact fractions, infinity, or a float with its expression."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from sanql.theory.distributions import Distribution

ALL: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "semantics_vectors.json").read_text(encoding="utf-8")
)["vectors"]


def number(value: Any) -> Any:
    """Return an exact fraction, infinity, or the float of an irrational expectation."""
    if isinstance(value, dict):
        return float(value["float"])
    return math.inf if value == "inf" else Fraction(value)


def masses(values: list[str]) -> Distribution:
    return Distribution.over(values)


def row_table(rows: dict[str, list[str]]) -> dict[tuple[int, ...], Distribution]:
    """Return rows keyed by database, a tuple of integers."""
    return {database(key): Distribution.over(row) for key, row in rows.items()}


def database(key: str) -> tuple[int, ...]:
    return tuple(int(part) for part in key.split(","))


def agrees(value: Any, expected: Any, tolerance: float = 1e-12) -> bool:
    """Exact where the expectation is exact, else to 1e-12 relative."""
    wanted = number(expected)
    if isinstance(wanted, Fraction) and isinstance(value, Fraction | int):
        return bool(value == wanted)
    if math.inf in (wanted, value):
        return bool(value == wanted)
    return math.isclose(float(value), float(wanted), rel_tol=tolerance, abs_tol=tolerance)
