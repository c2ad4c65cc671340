"""Parts of the units: ranges of their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

from sanql.kernel.messages import BUCKETS

_PARTS_FROM_ALL = 6  # so many parts are each looked for among all rows


def bucket_ranges(parts: int) -> Iterator[tuple[int, int]]:
    """Yield the first bucket of each part and the one after its last; every bucket is in one of them.

    >>> list(bucket_ranges(2))
    [(0, 32768), (32768, 65536)]
    """
    for part in range(parts):
        yield part * BUCKETS // parts, (part + 1) * BUCKETS // parts


def shares_of(parts: int) -> list[range]:
    """Return parts in shares, the rows of each of which are put apart before their parts are moved.

    All rows are looked at once for each share, those of a share twice for each of its parts: so many
    shares are least work. Of few parts they would be more.

    >>> [[*share] for share in shares_of(4)], [len(share) for share in shares_of(96)]
    ([[0, 1, 2, 3]], [7, 7, 8, 7, 7, 8, 7, 8, 7, 7, 8, 7, 8])
    """
    shares = isqrt(2 * parts) if parts > _PARTS_FROM_ALL else 1
    return [range(n * parts // shares, (n + 1) * parts // shares) for n in range(shares)]
