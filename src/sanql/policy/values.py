"""What a single written value means: parsers that return it exactly or raise the Mistake in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Literal, TypeVar

from sanql.kernel import ColumnType
from sanql.policy.document import WrittenFloat
from sanql.policy.model import Value
from sanql.policy.section import Mistake, quote, suggest

Choice = TypeVar("Choice", bound=str)

_FLOAT = re.compile(r"[+-]?[0-9_]+(?:\.[0-9_]+)?(?:[eE][+-]?[0-9_]+)?")
_NUMBER_CHARACTERS_MAX = 60
_NUMBER_MOST = Fraction(10**60)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
)


def parse_number(written: object) -> Fraction:
    """Return a finite number exactly as its decimal text says."""
    match written:
        case bool():
            raise Mistake(f"expected a number, not {quote(written)}")
        case int() if abs(written) <= _NUMBER_MOST:
            return Fraction(written)
        case WrittenFloat(text) if "nan" in text or "inf" in text:
            raise Mistake(f"{text} is not a finite number")
        case WrittenFloat(text) if len(text) <= _NUMBER_CHARACTERS_MAX and _FLOAT.fullmatch(text):
            return _exact(text.replace("_", ""))
        case int() | WrittenFloat():
            raise Mistake(f"{quote(written)} has too many digits")
        case str():
            raise Mistake(f"expected a number, not the text {quote(written)}", "remove the quotes")
        case _:
            raise Mistake(f"expected a number, not {quote(written)}")


def _exact(text: str) -> Fraction:
    exponent = int(re.split("[eE]", text)[1]) if "e" in text.lower() else 0
    if abs(exponent) > _NUMBER_CHARACTERS_MAX:  # before 1e999999999 becomes a billion digits
        raise Mistake(f"{text} is too large or too small to compute with exactly")
    return Fraction(text)


def number_between(least: Fraction, most: Fraction) -> Callable[[object], Fraction]:
    """Return a parser of numbers from `least` to `most`, both allowed."""

    def parse(written: object) -> Fraction:
        number = parse_number(written)
        if not least <= number <= most:
            raise Mistake(
                f"{quote(written)} is not between {show_number(least)} and {show_number(most)}"
            )
        return number

    return parse


def parse_delta(written: object) -> Fraction:
    """Return a probability below one."""
    number = parse_number(written)
    if not 0 <= number < 1:
        raise Mistake(f"{quote(written)} is not at least 0 and below 1")
    return number


def integer_between(least: int, most: int) -> Callable[[object], int]:
    """Return a parser of integers from `least` to `most`, both allowed."""

    def parse(written: object) -> int:
        if isinstance(written, str):
            raise Mistake(f"expected an integer, not the text {quote(written)}")
        if isinstance(written, bool) or not isinstance(written, int):
            raise Mistake(f"expected an integer, not {quote(written)}")
        if not least <= written <= most:
            raise Mistake(f"{quote(written)} is not between {least} and {most}")
        return written

    return parse


def parse_flag(written: object) -> bool:
    """Return true or false."""
    if not isinstance(written, bool):
        raise Mistake(f"expected true or false, not {quote(written)}")
    return written


def parse_text(written: object) -> str:
    """Return a text without control characters."""
    if not isinstance(written, str):
        raise Mistake(f"expected a text in quotes, not {quote(written)}")
    if not written.isprintable():
        raise Mistake(f"{quote(written)} has a control or invisible character")
    return written


def parse_file(written: object) -> str:
    """Return the path of a file."""
    file = parse_text(written)
    if file.endswith(("/", ".")):
        raise Mistake(f"{quote(file)} is a folder")
    return file


def one_of(options: Sequence[Choice]) -> Callable[[object], Choice]:
    """Return a parser of one word out of a few."""

    def parse(written: object) -> Choice:
        for option in options:
            if written == option:
                return option
        if isinstance(written, str):
            raise Mistake(f"unknown value {quote(written)}", suggest(written, options))
        raise Mistake(f"expected one of {', '.join(map(quote, options))}, not {quote(written)}")

    return parse


def parse_name(written: object) -> str:
    """Return a name that can stand, quoted, in SQL and in a file name."""
    name = parse_column_name(written)
    if "/" in name or "\\" in name or name.startswith("."):
        raise Mistake(f"the name {quote(name)} has a slash or begins with a dot", "rename it")
    return name


def parse_column_name(written: object) -> str:
    """Return a name that can stand, quoted, in SQL."""
    name = parse_text(written)
    if any(mark in name for mark in "\"'`"):
        raise Mistake(f"the name {quote(name)} has a quotation mark", "rename it")
    if not name or name != name.strip():
        raise Mistake(f"the name {quote(name)} is empty or has spaces around it", "rename it")
    if len(name) > 200:
        raise Mistake(f"the name {quote(name)} is longer than 200 characters", "shorten it")
    return name


def value_of(type: ColumnType) -> Callable[[object], Value]:
    """Return the parser of values that a column of the type may hold."""
    match type:
        case "integer":
            return parse_whole
        case "decimal" | "float":
            return parse_number
        case "text":
            return _parse_content
        case "boolean":
            return parse_flag
        case "date":
            return _parse_date
        case "timestamp":
            return _parse_timestamp


def parse_whole(written: object) -> int:
    """Return a 64-bit integer; 1e6 is one too."""
    number = parse_number(written)
    if number.denominator != 1:
        raise Mistake(f"{quote(written)} is not a whole number")
    if abs(number) >= 2**63:
        raise Mistake(f"{quote(written)} does not fit 64 bits")
    return int(number)


def _parse_content(written: object) -> str:
    if not isinstance(written, str):
        raise Mistake(f"expected a text in quotes, not {quote(written)}")
    if "\0" in written:
        raise Mistake(f"{quote(written)} has a zero character, which engines do not agree on")
    return written


def _parse_date(written: object) -> date:
    if isinstance(written, str) and _DATE.fullmatch(written):
        written = _from_iso(written, "date").date()
    if not isinstance(written, date) or isinstance(written, datetime):
        raise Mistake(f"expected a date such as 2024-12-31, not {quote(written)}")
    return written


def _parse_timestamp(written: object) -> datetime:
    if isinstance(written, str) and _TIMESTAMP.fullmatch(written):
        written = _from_iso(written, "timestamp")
    if not isinstance(written, datetime):
        raise Mistake(f"expected a timestamp such as 2024-12-31T23:59:59, not {quote(written)}")
    if written.tzinfo is not None:
        raise Mistake(f"{quote(written)} has a time zone", "write it without Z or an offset")
    return written


def _from_iso(written: str, kind: Literal["date", "timestamp"]) -> datetime:
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        raise Mistake(f"{quote(written)} is not a {kind} of the calendar") from None


def show_number(number: Fraction) -> str:
    """Return a number that was written as a decimal in a form that reads back as itself.

    >>> show_number(Fraction(1, 8)), show_number(Fraction(10**6))
    ('0.125', '1000000')
    """
    places = 0
    while (number * 10**places).denominator != 1 and places < 100:
        places += 1
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
