"""Formats of dates: a constant of known codes, whichever database's spelling it is written in.

The engine has codes that its own parser refuses at run time, and one (`%n`) that prints memory it
never wrote. Only the codes listed here pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from sanql.errors import Refused
from sanql.functions.calendar import MOMENTS
from sanql.functions.facts import any_nullable, constant_text, need
from sanql.functions.table import Function
from sanql.question import TEMPORAL, Expr, Facts, Type

FORMAT_LENGTH_MAX = 100
PRINTED = (
    "%a %A %b %B %d %-d %f %H %-H %I %-I %j %-j %m %-m %M %-M %p %S %-S %u %U %V %w %W %y %Y %G %%"
)
READ = "%b %B %d %-d %f %H %-H %I %-I %m %-m %M %-M %p %S %-S %y %Y %%"
_CODE = re.compile(r"%(-?.)", re.DOTALL)
# longest first: the letters of PostgreSQL, Oracle and Snowflake
LETTERS: Mapping[str, str] = {
    "YYYY": "%Y", "IYYY": "%G", "HH24": "%H", "HH12": "%I", "MONTH": "%B", "DDD": "%j", "MON": "%b",
    "DAY": "%A", "YY": "%y", "MM": "%m", "DD": "%d", "DY": "%a", "HH": "%I", "MI": "%M", "SS": "%S",
    "US": "%f", "IW": "%V", "ID": "%u", "AM": "%p", "PM": "%p", "FM": "",
}  # fmt: skip
# MySQL's and Presto's codes, where they differ from those of C
PERCENT: Mapping[str, str] = {
    "i": "%M", "s": "%S", "M": "%B", "W": "%A", "h": "%I", "T": "%H:%M:%S", "c": "%-m", "e": "%-d",
}  # fmt: skip


def _checked(arg: Expr, what: str, allowed: str) -> None:
    text = constant_text(arg, f"{what}'s format", FORMAT_LENGTH_MAX)
    for code in _CODE.findall(text + " " if text.endswith("%") else text):
        if f"%{code}" not in allowed.split():
            raise Refused(
                "format_unknown",
                f"{what} does not take %{code.strip()} in its format",
                f"the codes are {allowed}",
            )
    if not text:
        raise Refused("format_unknown", f"{what} needs a format", "write, for example, '%Y-%m-%d'")


def _printed(args: tuple[Expr, ...]) -> Facts:
    need(args[:1], TEMPORAL, "STRFTIME")
    _checked(args[1], "STRFTIME", PRINTED)
    return Facts(Type.TEXT, nullable=any_nullable(args))


def _read(args: tuple[Expr, ...]) -> Facts:
    need(args[:1], frozenset({Type.TEXT}), "STRPTIME")
    _checked(args[1], "STRPTIME", READ)
    low, high = MOMENTS
    assert isinstance(low, datetime) and isinstance(high, datetime)  # noqa: S101
    return Facts(Type.TIMESTAMP, low, high, nullable=True)


def from_c(text: str) -> str:
    """Return a format of C's strftime with its abbreviations written out."""
    return text.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S")


def from_letters(text: str) -> str:
    """Return a format such as PostgreSQL's in our codes, or refuse a letter that has none.

    >>> from_letters('YYYY-MM "week" IW')
    '%Y-%m week %V'
    """
    codes: list[str] = []
    place = 0
    while place < len(text):
        if text[place] == '"':
            end = text.find('"', place + 1)
            end = end if end > 0 else len(text)
            codes.append(text[place + 1 : end].replace("%", "%%"))
            place = end + 1
            continue
        word = next((w for w in LETTERS if text[place : place + len(w)].upper() == w), None)
        if word is None and text[place].isalnum():
            raise Refused(
                "format_unknown",
                f"the format {text!r} has no meaning at {text[place:]!r}",
                f"the parts are {', '.join(LETTERS)}; put other words in double quotes",
            )
        codes.append(LETTERS[word] if word is not None else text[place].replace("%", "%%"))
        place += len(word) if word is not None else 1
    return "".join(codes)


def from_percent(text: str) -> str:
    """Return a format of MySQL's DATE_FORMAT in our codes."""
    return _CODE.sub(lambda code: PERCENT.get(code[1], code[0]), text)


FORMATS = (
    Function(
        "strftime",
        "STRFTIME(d, '%Y-%m'), FORMAT_DATE/FORMAT_DATETIME/FORMAT_TIMESTAMP('%Y-%m', d), "
        "TO_CHAR/TO_VARCHAR(d, 'YYYY-MM'), DATE_FORMAT(d, '%Y-%m')",
        _printed,
        "a constant format of known codes (below)",
        "as long as the format makes it",
    ),
    Function(
        "strptime",
        "STRPTIME/TRY_STRPTIME(x, '%d.%m.%Y'), PARSE_DATE/PARSE_DATETIME/PARSE_TIMESTAMP('%d.%m.%Y', x), "
        "TO_DATE/TRY_TO_DATE/TO_TIMESTAMP(x, 'DD.MM.YYYY'), STR_TO_DATE(x, '%d.%m.%Y')",
        _read,
        "a constant format of known codes; NULL where x has another; held within the years 1 to 9999",
        "all timestamps; PARSE_DATE and TO_DATE give dates",
    ),
)
