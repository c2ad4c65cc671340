"""Words completed by the key Tab, and texts brought back by the keys up and down, at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanql.results import Schema

CLAUSES = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "JOIN",
    "LEFT JOIN", "USING", "WITH", "AS", "UNION ALL", "CASE", "WHEN", "THEN", "ELSE", "END", "BETWEEN",
    "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "MEDIAN(", "MIN(", "MAX(", "STDDEV(", "DATE_TRUNC(",
    "ROLLUP", "OVER", "PARTITION BY",
)  # fmt: skip
HISTORY_MAX = 500


def completions(schema: Schema, words: Sequence[str]) -> tuple[str, ...]:
    """Return what may be typed: words of the shell, clauses, tables and columns, in this order."""
    named = [
        name for table in schema.tables for name in (table.name, *(c.name for c in table.columns))
    ]
    return tuple(dict.fromkeys([*words, *CLAUSES, *named]))


def completed(begun: str, known: Sequence[str]) -> list[str]:
    """Return the words that begin as what is typed does, whatever its capitals.

    >>> completed("sel", ("SELECT", "FROM", "self"))
    ['SELECT', 'self']
    """
    return [word for word in known if word.lower().startswith(begun.lower())] if begun else []


def unremembered(prompt: str) -> str:
    """Return a line that is typed, which the keys up and down do not bring back: it is no question."""
    typed = input(prompt)
    readline = sys.modules.get("readline")
    if readline is not None and typed and sys.stdin.isatty():
        last = readline.get_current_history_length()
        if last and readline.get_history_item(last) == typed:
            readline.remove_history_item(last - 1)
    return typed


@contextmanager
def completing(schema: Schema, words: Sequence[str], texts: Sequence[str]) -> Iterator[None]:
    """Complete words, and bring back texts, while questions are typed; nothing is kept in a file."""
    try:
        import readline
    except ImportError:  # Python was built without it: then lines are typed as they are
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    known = completions(schema, words)
    readline.set_completer_delims(" \t\n,()=<>+-*/;")
    readline.set_completer(lambda begun, place: ([*completed(begun, known), None])[place])
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(HISTORY_MAX)
    for text in dict.fromkeys(texts[-HISTORY_MAX:]):
        readline.add_history(f"{' '.join(text.split())};")
    try:
        yield
    finally:
        readline.clear_history()
        readline.set_completer(None)
