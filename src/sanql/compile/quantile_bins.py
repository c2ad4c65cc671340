"""Histograms as SQL: how many rows of each group are in each bin.

Where m of a pair's n rows count (limits.py), its values are laid end to end in the order of their
bins' hashes, and every n/m-th counts, from a random start r: v values become (v·m + r) // n, as in a
count of them, and never more than m. Rows in one bin are alike: which of them counts is no matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanql.compile.keyed_hash import keyed_hash


def bin_counts(
    index: int, keys: Sequence[str], secret: str, *, by_unit: bool, all_pairs: bool
) -> list[str]:
    """Return expressions that end in `leaves`: how many rows each bin of each group has.

    `all_pairs` says that no unit can be in more groups than it may, so that none of its pairs is dropped.
    """
    listed = "".join(f"{key}, " for key in keys)
    source = f"SELECT {listed}x{index} AS leaf FROM input WHERE x{index} IS NOT NULL"
    statements = []
    if by_unit:
        statements = _by_unit(index, keys, secret, all_pairs=all_pairs)
        source = f"SELECT * FROM allotted{index}"
    return [
        *statements,
        f"leaves{index} AS (SELECT {listed}leaf, system.main.count(*) AS c FROM ({source}) "
        f"GROUP BY {listed}leaf)",
    ]


def bin_lists(index: int, keys: Sequence[str]) -> str:
    """Return `lists` over `leaves`: for each group its bins and how many rows each has."""
    listed = "".join(f"{key}, " for key in keys)
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"lists{index} AS (SELECT {listed}system.main.list(leaf ORDER BY leaf)::BIGINT[] AS leaves, "
        f"system.main.list(c ORDER BY leaf)::BIGINT[] AS counts FROM leaves{index}{grouping})"
    )


def _by_unit(index: int, keys: Sequence[str], secret: str, *, all_pairs: bool) -> list[str]:
    """Return `allotted`: the bins of the rows that count, each row by itself.

    Only pairs that are cut are ranked, which is a sort; of all others every row counts. Row i of the v
    that are laid end to end counts where (i·m + r) // n is one more than it was before that row.
    """
    listed, pair = "".join(f"{key}, " for key in keys), ", ".join(["u", *keys])
    rows = f"(SELECT {pair}, x{index} AS leaf FROM input WHERE x{index} IS NOT NULL) a"
    same = " AND ".join(["a.u = b.u", *(f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in keys)])
    hashed = keyed_hash(secret, *(f"a.{part}" for part in ("u", *keys, "leaf")))
    partition = ", ".join(f"a.{part}" for part in ("u", *keys))
    whole = (
        f"{rows} ANTI JOIN cut{index} b ON {same}"
        if all_pairs
        else f"{rows} SEMI JOIN (SELECT {pair} FROM rounded WHERE m >= n) b ON {same}"
    )
    return [
        f"cut{index} AS MATERIALIZED (SELECT {pair}, m, n, r FROM rounded WHERE m < n)",
        f"laid{index} AS (SELECT a.*, system.main.row_number() OVER (PARTITION BY {partition} "
        f"ORDER BY {hashed}, a.leaf) AS i FROM {rows} SEMI JOIN cut{index} b ON {same})",
        f"allotted{index} AS (SELECT {listed}leaf FROM {whole} UNION ALL "
        f"SELECT {''.join(f'a.{key}, ' for key in keys)}a.leaf FROM laid{index} a "
        f"JOIN cut{index} b ON {same} WHERE (i::HUGEINT * m + r) % n < m)",
    ]
