"""Rows of a copy grouped by unit and key in blocks: ranges of buckets, one after the other.

A group of a unit is of one block, whichever they are, so the pairs of all blocks are those of all rows;
each block's are found in a table that fits into caches of processors (`kernel/blocks.py`). What is read
is then written once for each block, so only short statements over one table are.
"""

from __future__ import annotations

from sanql.catalog import Layout
from sanql.kernel import IN_PART, in_block
from sanql.measurements import Measured
from sanql.plan import Level, PrivateKeys
from sanql.question import Scan

_LENGTH_MAX = 2_000  # of what is written again and again


def blocks_of(level: Level, layout: Layout) -> int:
    """Return in how many blocks the pairs of a level may be found; 1 where rows are read otherwise.

    Of public keys a unit has few, and one table is quick enough.
    """
    source, keys = level.query.source, level.outline.keys
    if not isinstance(source, Scan) or source.table not in layout.buckets:
        return 1
    by_pairs = all(
        part.kind is not Measured.DISTINCT and not part.by_bins for part in level.computed
    )
    return layout.blocks if by_pairs and isinstance(keys, PrivateKeys) else 1


def in_blocks(rows: str, blocks: int) -> list[str]:
    """Return a SELECT of rows for each block, or the one of all where these would be too long."""
    if blocks == 1 or rows.count(IN_PART) != 1 or len(rows) > _LENGTH_MAX:
        return [rows]
    return [in_block(rows, number, blocks) for number in range(blocks)]
