"""Weights of keys as SQL: what the units of each group add up to, each weighted by its groups."""

from __future__ import annotations

from collections.abc import Sequence

from sanql.measurements import WEIGHT_BITS

WEIGHTS = "weights"
"""The keys that have a weight, and their weights `s`."""


def key_weights(keys: Sequence[str], counted: str) -> list[str]:
    """Return expressions that end in `weights`: every key of the pairs that are counted, and its weight.

    A weight is floor(2^k / sqrt(g)) = floor(sqrt(4^k / g)), in floating point: for g up to 4^k = 2^20
    what lies just below a whole number is further from it than any rounding reaches.
    """
    listed = ", ".join(f"a.{key}" for key in keys)
    weight = f"system.main.floor(system.main.sqrt({4**WEIGHT_BITS}::DOUBLE / system.main.count(*)))"
    return [
        f"spread AS (SELECT u, {weight}::BIGINT AS w FROM {counted} GROUP BY u)",
        f"{WEIGHTS} AS (SELECT {listed}, system.main.sum(b.w) AS s FROM {counted} a JOIN spread b "
        f"ON a.u = b.u GROUP BY {listed})",
    ]
