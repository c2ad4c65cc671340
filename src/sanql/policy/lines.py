"""Where each key of a TOML text was written, since the standard parser does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

KeyPath = tuple[str, ...]

_LEXEME = re.compile(
    r"""
      (?P<string> \"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<comment> \#[^\n]* )
    | (?P<newline> \n )
    | (?P<mark> [\[\]{}=,.] )
    | (?P<bare> [^\s\[\]{}=,.\#"']+ )
    """,
    re.VERBOSE | re.DOTALL,
)


def find_lines(text: str) -> dict[KeyPath, int]:
    """Return the line on which each key and section first appears in a valid TOML text.

    >>> find_lines('[engine]\\nworkers = 2')
    {('engine',): 1, ('engine', 'workers'): 2}
    """
    lines: dict[KeyPath, int] = {}
    for path, line in _written_keys(text):
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], line)
    return lines


def _written_keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    section: KeyPath = ()
    # The innermost open bracket is last: the path of an inline table, or None for an array.
    open_brackets: list[KeyPath | None] = []
    parts: list[str] = []
    latest: KeyPath = ()
    in_header, in_key = False, True
    for kind, lexeme, line in _lexemes(text):
        if in_header:
            if kind in ("bare", "string"):
                parts.append(_plain(lexeme))
            elif kind == "newline":
                section, parts, in_header = tuple(parts), [], False
                yield section, line
        elif in_key and kind in ("bare", "string"):
            parts.append(_plain(lexeme))
        elif in_key and lexeme == "=":
            around = open_brackets[-1] if open_brackets else section
            latest, parts, in_key = (around or ()) + tuple(parts), [], False
            yield latest, line
        elif lexeme == "[" and in_key and not open_brackets:
            in_header = True
        elif lexeme == "[":
            open_brackets.append(None)
        elif lexeme == "{":
            open_brackets.append(latest)
            in_key = True
        elif lexeme in ("]", "}"):
            open_brackets.pop()
            in_key = False
        elif lexeme == ",":
            in_key = open_brackets[-1] is not None
        elif kind == "newline" and not open_brackets:
            in_key = True


def _lexemes(text: str) -> Iterator[tuple[str, str, int]]:
    line = 1
    for match in _LEXEME.finditer(text.replace("\r\n", "\n") + "\n"):
        kind, lexeme = str(match.lastgroup), match.group()
        if kind != "comment":
            yield kind, lexeme, line
        line += lexeme.count("\n")


def _plain(lexeme: str) -> str:
    if lexeme[0] in "\"'":
        return str(tomllib.loads(f"key = {lexeme}")["key"])
    return lexeme
