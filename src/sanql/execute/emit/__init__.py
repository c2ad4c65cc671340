"""Expressions as DuckDB SQL: freshly written, fully qualified, total for every value of a row.

Nothing an analyst typed is copied: names come from the policy, strings travel as parameters,
numbers and dates are printed from exact values. Division guards against zero, casts yield NULL,
whole numbers are widened to 128 bits wherever their proved range asks for it.
"""

from sanql.execute.emit.emitter import (
    ENGINE_TYPES,
    SQL_LENGTH_MAX,
    Emitter,
    engine_type,
    row_leaf,
    scanned,
)
from sanql.execute.emit.values import finite, one_zero, real, wide, within, within_or_nan

__all__ = [
    "ENGINE_TYPES",
    "SQL_LENGTH_MAX",
    "Emitter",
    "engine_type",
    "finite",
    "one_zero",
    "real",
    "row_leaf",
    "scanned",
    "wide",
    "within",
    "within_or_nan",
]
