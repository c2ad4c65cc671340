"""Histograms as SQL: how many rows of each group are in each bin.

Where m of a pair's n rows count (limits.py), its values are laid end to end in ascending order, and
every n/m-th counts, from a random start r: v values become (v·m + r) // n, as in a count of them, and
never more than m. Each counts with the chance m/n, and in ascending order those that count are spread
over the pair's values as evenly as so few can be. Rows in one bin are alike: which of them counts is no
matter. So a pair's values are a list of bins, which a prepared copy may have in order (summaries.py).
"""

from __future__ import annotations

from collections.abc import Sequence


def bin_counts(
    index: int, keys: Sequence[str], *, by_unit: bool, in_order: bool = False
) -> list[str]:
    """Return expressions that end in `leaves`: how many rows each bin of each group has.

    The lists of pairs may be `in_order` already.
    """
    listed = "".join(f"{key}, " for key in keys)
    statements = []
    source = f"SELECT {listed}x{index} AS leaf FROM input WHERE x{index} IS NOT NULL"
    if by_unit:
        statements = [
            f"allotted{index} AS (SELECT {listed}unnest({_that_count(index, in_order)}) AS leaf "
            "FROM rounded)"
        ]
        source = f"SELECT * FROM allotted{index}"
    return [
        *statements,
        f"leaves{index} AS (SELECT {listed}leaf, system.main.count(*) AS c FROM ({source}) "
        f"GROUP BY {listed}leaf)",
    ]


def held_values(value: str) -> str:
    """Return the bins of all values of a pair, as a list in no order; NULL where it has none."""
    return f"system.main.list({value}) FILTER (WHERE {value} IS NOT NULL)"


def ascending(values: str) -> str:
    """Return a list of bins in order."""
    return f"system.main.list_sort({values}, 'ASC', 'NULLS LAST')"


def bin_lists(index: int, keys: Sequence[str]) -> str:
    """Return `lists` over `leaves`: for each group its bins and how many rows each has."""
    listed = "".join(f"{key}, " for key in keys)
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    return (
        f"lists{index} AS (SELECT {listed}system.main.list(leaf ORDER BY leaf)::BIGINT[] AS leaves, "
        f"system.main.list(c ORDER BY leaf)::BIGINT[] AS counts FROM leaves{index}{grouping})"
    )


def _that_count(index: int, in_order: bool) -> str:
    """Return the bins of a pair's values that count, as a list.

    Only pairs that are cut are sorted. The j-th that counts is the first value i, from 1, for which
    (i·m + r) // n is j: (j·n - r) / m, rounded up. No unit has 2^43 rows, so that all of it fits 64 bits.
    """
    held = f"b{index}"
    places = (
        f"system.main.list_transform(system.main.range(1, (system.main.len({held}) * m + r) // n + 1), "
        "lambda j: (j * n - r + m - 1) // m)"
    )
    values = held if in_order else ascending(held)
    return f"CASE WHEN m < n THEN system.main.list_select({values}, {places}) ELSE {held} END"
