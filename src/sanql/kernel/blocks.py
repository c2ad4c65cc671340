"""Where a statement says which units it reads: those of a part, or of one of the blocks of a part.

Rows are grouped in tables of hashes, which are quick while they fit into caches of processors. So a part
may be grouped block by block: its range of buckets in pieces, each read and grouped by itself.
"""

from __future__ import annotations

import re

from sanql.kernel.messages import IN_PART

_BLOCK = re.compile("\x00in_block ([0-9]+) of ([0-9]+)\x00")


def in_block(sql: str, number: int, blocks: int) -> str:
    """Return a SELECT that reads one block of a part where it read all of the part."""
    return sql.replace(IN_PART, f"\x00in_block {number} of {blocks}\x00")


def of_part(sql: str, first: int, after: int) -> str:
    """Return a SELECT over the part whose buckets are those from `first` to before `after`.

    >>> of_part(f"{in_block(f'bucket {IN_PART}', 1, 4)} OR bucket {IN_PART}", 100, 200)
    'bucket BETWEEN 125 AND 149 OR bucket BETWEEN 100 AND 199'
    """

    def block(found: re.Match[str]) -> str:
        number, blocks = map(int, found.groups())
        low, end = (first + (after - first) * n // blocks for n in (number, number + 1))
        return f"BETWEEN {low} AND {end - 1}"

    return _BLOCK.sub(block, sql.replace(IN_PART, f"BETWEEN {first} AND {after - 1}"))
