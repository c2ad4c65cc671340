"""Draws in SQL: numbers that chance decides for a unit's groups, values and rows, under a secret."""

from __future__ import annotations


def keyed_hash(secret: str, *parts: str) -> str:
    """Return a number that is as if drawn for these parts, under a secret drawn for this answer.

    The engine's hash of several values is a hash of all but the last XOR one of the last. By it alone,
    which of a unit's groups come first would hang on the bits of their keys: of four keys one was
    kept four times as often as another, whatever the secret. So it is hashed once more.
    """
    return f"system.main.hash(system.main.hash({', '.join([secret, *parts])}))"
