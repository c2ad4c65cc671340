"""Remedies that several refusals share."""

from __future__ import annotations


def stating_bounds(name: str, value: str = "x", high: int = 100) -> str:
    """Return how a question states bounds for what it adds up, where the policy has none.

    >>> stating_bounds("SUM").split("; ")[1]
    'SUM(GREATEST(0, LEAST(100, x))) moves them to the ends, and NULL to 100'
    """
    return (
        f"{name}(CASE WHEN {value} BETWEEN 0 AND {high} THEN {value} END) leaves other values out; "
        f"{name}(GREATEST(0, LEAST({high}, {value}))) moves them to the ends, and NULL to {high}"
    )
