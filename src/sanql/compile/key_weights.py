"""Weights of keys as SQL: what the units of each group add up to, each weighted by its groups."""

from __future__ import annotations

from collections.abc import Sequence

from sanql.measurements import WEIGHT_BITS

_KEPT_MAX = 1 << 10  # hashes of a unit that are kept at once; more are sorted
WEIGHTS = "weights"
"""The keys that have a weight, and their weights `s`."""


def key_weights(keys: Sequence[str], counted: str) -> list[str]:
    """Return expressions that end in `weights`: every key of the pairs that are counted, and its weight.

    A weight is floor(2^k / sqrt(g)) = floor(sqrt(4^k / g)), in floating point: for g up to 4^k = 2^20
    what lies just below a whole number is further from it than any rounding reaches.
    """
    listed = ", ".join(f"a.{key}" for key in keys)
    return [
        f"spread AS (SELECT u, {weight('system.main.count(*)')} AS w FROM {counted} GROUP BY u)",
        f"{WEIGHTS} AS (SELECT {listed}, system.main.sum(b.w) AS s FROM {counted} a JOIN spread b "
        f"ON a.u = b.u GROUP BY {listed})",
    ]


def weight(groups: str) -> str:
    """Return the weight that each group of a unit in so many groups has."""
    root = f"system.main.sqrt({4**WEIGHT_BITS}::DOUBLE / {groups})"
    return f"system.main.floor({root})::BIGINT"


def thresholds_with_counts(pairs: str, most: int) -> str:
    """Return of units with more than `most` pairs the hash `below` which they are counted, and how many.

    These are `most`, or fewer where hashes are equal. Each of the units has more rows than hashes are
    kept of it.
    """
    if most < _KEPT_MAX:
        smallest = f"SELECT u, system.main.min(h, {most + 1}) AS smallest FROM ({pairs}) GROUP BY u"
        below = f"smallest[{most + 1}]"
        return (
            f"SELECT u, {below} AS below, system.main.list_position(smallest, {below}) - 1 AS g "
            f"FROM ({smallest})"
        )
    over = "OVER (PARTITION BY u ORDER BY h)"
    ranked = (
        f"SELECT u, h, system.main.row_number() {over} AS place, system.main.rank() {over} - 1 AS g "
        f"FROM ({pairs})"
    )
    return f"SELECT u, h AS below, g FROM ({ranked}) WHERE place = {most + 1}"
