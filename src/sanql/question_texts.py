"""The texts of several questions as one, each ended by a semicolon."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PIECES = re.compile(
    r"""(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"""
    r"""|(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<end>;)|(?P<space>\s+)|.""",
    re.DOTALL,
)


def joined_questions(texts: Iterable[str]) -> str:
    """Return texts as one that `split_questions` takes apart again.

    >>> joined_questions(["SELECT 1;", "SELECT 2 -- two", "SELECT 3"])
    'SELECT 1;\\nSELECT 2 -- two\\n;\\nSELECT 3'
    """
    *before, last = [text.strip().rstrip(";") for text in texts]
    return "".join(f"{text}{_end(text)};\n" for text in before) + last


def _end(text: str) -> str:
    """Return what keeps a semicolon after a text out of a comment on its last line."""
    return "\n" if "--" in text.rpartition("\n")[2] else ""


def split_questions(sql: str) -> list[str]:
    """Return the statements of a text that end with semicolons, as they were typed.

    >>> split_questions("SELECT ';' FROM t; -- the next; one\\n SELECT n FROM t;")
    ["SELECT ';' FROM t", 'SELECT n FROM t']
    """
    found, first, last = list[str](), -1, -1
    for piece in _PIECES.finditer(sql):
        match piece.lastgroup:
            case "end":
                found += [sql[first:last]] if first >= 0 else []
                first = -1
            case "comment" | "space":
                pass
            case _:
                first, last = piece.start() if first < 0 else first, piece.end()
    return [*found, sql[first:last]] if first >= 0 else found
