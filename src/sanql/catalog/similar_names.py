"""Remedies that point at the name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest_similar(name: str, existing: Iterable[str]) -> str:
    """Return a remedy that points at the most similar existing name.

    >>> suggest_similar("peple", ["people", "visits"])
    'did you mean "people"?'
    """
    by_lower = {other.lower(): other for other in existing}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return f'did you mean "{by_lower[close[0]]}"?' if close else ""
