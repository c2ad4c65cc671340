"""Keyed hashes in SQL, which choose at random the groups, values and rows of a unit that count."""

from __future__ import annotations


def keyed_hash(secret: str, *parts: str) -> str:
    """Return SQL for a hash of these columns under the answer's secret: as good as a random number.

    The engine's hash of several values is a hash of all but the last XOR one of the last. By it alone,
    which of a unit's groups come first would hang on the bits of their keys: of four keys one was
    kept four times as often as another, whatever the secret. So it is hashed once more.
    """
    return f"system.main.hash(system.main.hash({', '.join([secret, *parts])}))"
