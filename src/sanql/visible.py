r"""Text made safe to show: control and invisible characters are escaped here and nowhere else.

Names, keys and typed text can hold characters that steer a terminal (escape sequences), reorder what
stands around them (bidirectional overrides and isolates), cannot be seen at all (zero-width characters,
byte-order marks) or break lines. `visible` shows each of them as an escape. In CSV a text that a
spreadsheet would run as a formula is guarded besides. JSON is data for programs: there every such
character is written as JSON's own escape, and reads back as it was.

>>> print(visible("\x1b[31mred\u202e"))
\x1b[31mred\u202e
>>> csv_text(" =1+1"), csv_text("a = b"), json_text(["\u202e"])
("' =1+1", 'a = b', '["\\u202e"]')
"""

from __future__ import annotations

import json
import re
import unicodedata

FORMULA_STARTS = tuple("=+-@\t\r\n|%＝＋－＠﹢﹣−﹦﹫")  # some programs read wide signs as theirs
_SKIPPED = (
    " \t\r\n\v\f\xa0\u3000\ufeff'\"`´‘’“”«»"  # what may stand before a formula that still runs
)
_HIDDEN = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
# letters and marks by category, and nothing to be seen: fillers, joiners, selectors of Mongolian
_FILLERS = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)]
_BLANKS = frozenset(map(chr, _FILLERS))
_PLAIN = re.compile(r"[ -~]*")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, *, lines: bool = False) -> str:
    """Return text whose invisible and control characters are escaped; `lines` keeps line breaks."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(c if _is_seen(c) or (lines and c == "\n") else _escaped(c) for c in text)


def csv_text(text: str) -> str:
    """Return visible text that no spreadsheet runs as a formula."""
    first = next((c for c in text if _is_seen(c) and c not in _SKIPPED), "")
    formula = text.startswith(FORMULA_STARTS) or first in FORMULA_STARTS
    return f"'{visible(text)}" if formula else visible(text)


def json_text(shape: object, *, indent: int | None = None, allow_nan: bool = True) -> str:
    """Return plain data as JSON in ASCII without control characters; it reads back as it was."""
    text = json.dumps(shape, ensure_ascii=True, allow_nan=allow_nan, indent=indent)
    return text.replace("\x7f", "\\u007f")  # the one control character that JSON would leave


def toml_key(name: str) -> str:
    """Return a name as a key of TOML, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_text(text: str) -> str:
    """Return a text as TOML writes it, on one line whatever it holds."""
    escaped = {'"': '\\"', "\\": "\\\\"}
    return (
        '"'
        + "".join(escaped.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text)
        + '"'
    )


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _HIDDEN and character not in _BLANKS


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
