"""Histograms as SQL: how many rows of each group are in each bin.

Where m of a pair's n rows count (limits.py), its values are laid end to end in the order of their
bins' hashes, and every n/m-th counts, from a random start r: v values become (v·m + r) // n, as in a
count of them, and never more than m.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanql.compile.keyed_hash import keyed_hash


def bin_counts(index: int, keys: Sequence[str], secret: str, by_unit: bool) -> list[str]:
    """Return expressions that end in `leaves`: how many rows each bin of each group has."""
    listed = "".join(f"{key}, " for key in keys)
    source = f"SELECT {listed}x{index} AS leaf, 1 AS c FROM input WHERE x{index} IS NOT NULL"
    statements = []
    if by_unit:
        statements = _by_unit(index, keys, secret)
        source = f"SELECT * FROM allotted{index}"
    return [
        *statements,
        f"leaves{index} AS (SELECT {listed}leaf, system.main.sum(c) AS c FROM ({source}) "
        f"GROUP BY {listed}leaf HAVING system.main.sum(c) > 0)",
    ]


def bin_lists(index: int, keys: Sequence[str]) -> str:
    """Return `lists` over `leaves`: for each group its bins and how many rows each has."""
    listed = "".join(f"{key}, " for key in keys)
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"lists{index} AS (SELECT {listed}system.main.list(leaf ORDER BY leaf)::BIGINT[] AS leaves, "
        f"system.main.list(c ORDER BY leaf)::BIGINT[] AS counts FROM leaves{index}{grouping})"
    )


def _by_unit(index: int, keys: Sequence[str], secret: str) -> list[str]:
    listed = "".join(f"{key}, " for key in keys)
    same = " AND ".join(["a.u = b.u", *(f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in keys)])
    hashed = keyed_hash(secret, "u", *keys, "leaf")
    return [
        f"held{index} AS (SELECT u, {listed}x{index} AS leaf, system.main.count(*) AS c FROM input "
        f"WHERE x{index} IS NOT NULL GROUP BY u, {listed}x{index})",
        f"limited{index} AS (SELECT a.*, m, n, r FROM held{index} a JOIN rounded b ON {same})",
        f"laid{index} AS (SELECT *, system.main.sum(c) OVER (PARTITION BY u{_after(keys)} "
        f"ORDER BY {hashed}, leaf ROWS UNBOUNDED PRECEDING) AS upto "
        f"FROM limited{index} WHERE m < n)",
        f"allotted{index} AS (SELECT {listed}leaf, c FROM limited{index} WHERE m >= n UNION ALL "
        f"SELECT {listed}leaf, ((upto * m + r) // n - ((upto - c) * m + r) // n)::BIGINT AS c "
        f"FROM laid{index})",
    ]


def _after(keys: Sequence[str]) -> str:
    return "".join(f", {key}" for key in keys)
