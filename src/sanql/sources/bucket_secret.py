"""The secret by which the units of a copy are spread over buckets."""

from __future__ import annotations

from sanql.entropy import OsEntropy


def bucket_secret() -> int:
    """Return a number that nobody who writes rows knows: nobody fills one bucket with units."""
    return int.from_bytes(OsEntropy().bytes(8), "big") >> 1
