"""Expressions as DuckDB SQL: freshly written, fully qualified, total for every value of a row.

Nothing an analyst typed is copied: names come from the policy, strings travel as parameters,
numbers and dates are printed from exact values. Division guards against zero, casts yield NULL,
whole numbers are widened to 128 bits wherever their proved range asks for it.
"""

from sanql.compile.expressions.emitter import (
    ENGINE_TYPES,
    SQL_LENGTH_MAX,
    Emitter,
    engine_type,
    row_column,
    scanned,
)
from sanql.compile.expressions.values import (
    clamp_or_nan,
    clamp_to_bounds,
    finite_or_null,
    may_exceed_64_bits,
    real,
    without_negative_zero,
)

__all__ = [
    "ENGINE_TYPES",
    "SQL_LENGTH_MAX",
    "Emitter",
    "clamp_or_nan",
    "clamp_to_bounds",
    "engine_type",
    "finite_or_null",
    "may_exceed_64_bits",
    "real",
    "row_column",
    "scanned",
    "without_negative_zero",
]
