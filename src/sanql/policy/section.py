"""Reading a policy section key by key, noting every fault on the way instead of stopping at one."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import lru_cache
from typing import TypeVar

from sanql.errors import Fault
from sanql.policy.document import WrittenFloat
from sanql.policy.lines import KeyPath

T = TypeVar("T")


class Mistake(Exception):
    """What is wrong with one value, said without knowing where it stands."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True)
class Faults:
    """The faults noted so far, each with the line it belongs to."""

    lines: Mapping[KeyPath, int]
    noted: list[tuple[int, Fault]] = field(default_factory=list)

    def note(self, path: KeyPath, message: str, remedy: str) -> None:
        """Add a fault at a key; a missing key has the line of the section it is missing from."""
        line, place = place_of(path, self.lines)
        self.noted.append((line, Fault(place, message, remedy)))

    def in_order(self) -> list[Fault]:
        """Return the faults from the file's first line to its last."""
        return [fault for _, fault in sorted(self.noted, key=lambda noted: noted[0])]


@dataclass(frozen=True)
class Section:
    """A table of the document with the path that leads to it.

    Every reading method returns None when there is nothing usable, and has then noted why unless
    the key was optional and absent.
    """

    path: KeyPath
    content: Mapping[str, object]
    faults: Faults

    def fault(self, key: str | KeyPath, message: str, remedy: str) -> None:
        """Note a fault at a key of this section or deeper; () is the section itself."""
        within = (key,) if isinstance(key, str) else key
        self.faults.note(self.path + within, message, remedy)

    def allow(self, keys: Sequence[str]) -> None:
        """Note every key that is not one of `keys`, with the nearest that is."""
        for key in self.content:
            if key not in keys:
                self.fault(key, f"unknown key {quote(key)}", suggest(key, keys))

    def read(self, key: str, parse: Callable[[object], T], remedy: str) -> T | None:
        """Return what `parse` makes of an optional key."""
        if key not in self.content:
            return None
        written = self.content[key]
        if written == "":
            self.fault(key, f"{key} is left blank", remedy)
            return None
        try:
            return parse(written)
        except Mistake as mistake:
            self.fault(key, mistake.message, mistake.remedy or remedy)
            return None

    def require(self, key: str, parse: Callable[[object], T], remedy: str) -> T | None:
        """Return what `parse` makes of a key that must be there."""
        if key not in self.content:
            self.fault(key, f"{key} is missing", remedy)
        return self.read(key, parse, remedy)

    def section(self, key: str, remedy: str) -> Section | None:
        """Return the section under an optional key."""
        content = self.read(key, _parse_section, remedy)
        return None if content is None else Section((*self.path, key), content, self.faults)

    def named_sections(
        self, parse_name: Callable[[object], str], remedy: str
    ) -> Iterator[tuple[str, Section]]:
        """Yield the sections in this one, checking their names and that SQL can tell them apart."""
        spelling: dict[str, str] = {}
        for name in self.content:
            try:
                parse_name(name)
            except Mistake as mistake:
                self.fault(name, mistake.message, mistake.remedy or "rename it")
            earlier = spelling.setdefault(fold(name), name)
            if earlier != name:
                self.fault(
                    name,
                    f"{quote(name)} and {quote(earlier)} differ only by case",
                    "SQL cannot tell them apart: rename one",
                )
            section = self.section(name, remedy)
            if section is not None:
                yield name, section


@lru_cache(maxsize=512)
def fold(name: str) -> str:
    """Return the name as SQL compares it: without case, and however its accents were typed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def suggest(written: str, allowed: Iterable[str]) -> str:
    """Return a remedy that names the nearest allowed spelling, or else all of them."""
    spellings = {fold(option): option for option in allowed}
    nearest = difflib.get_close_matches(fold(written[:100]), spellings, n=1)
    if nearest:
        return f"write {quote(spellings[nearest[0]])}"
    listed = ", ".join(quote(option) for option in list(spellings.values())[:20])
    return f"the choices here are {listed}" if listed else "remove it"


def place_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> tuple[int, str]:
    """Return the line of a key, or else of what it is missing from, and the key as owners look for it."""
    line = next((lines[p] for p in _outwards(path) if p in lines), 0)
    return line, describe_place(path) + (f" (line {line})" if line else "")


def describe_place(path: KeyPath) -> str:
    """Return a path as an owner would look for it.

    >>> describe_place(("table", "people", "column", "age", "bounds"))
    '[table.people.column] age.bounds'
    """
    match path:
        case ("table", _, "column", *_):
            header = 3
        case ("unit" | "analyst" | "coalition" | "table" | "exact", *_):
            header = 2
        case _:
            header = 1
    keys = [_key_text(key) for key in path]
    within = ".".join(keys[header:])
    return f"[{'.'.join(keys[:header])}]" + (f" {within}" if within else "")


def quote(written: object) -> str:
    """Return a value as the owner wrote it, short and safe to print."""
    match written:
        case str():
            return _quote_text(written)
        case bool():
            return "true" if written else "false"
        case int():
            return str(written) if abs(written) < 10**40 else "an integer of over 40 digits"
        case WrittenFloat():
            return _shorten(written.text)
        case datetime() | date() | time():
            return written.isoformat()
        case list():
            shown = [quote_scalar(value) for value in written[:4]]
            return "[" + ", ".join([*shown, "…"] if len(written) > 4 else shown) + "]"
        case dict():
            shown = [f"{_key_text(k)} = {quote_scalar(v)}" for k, v in list(written.items())[:4]]
            return "{ " + ", ".join([*shown, "…"] if len(written) > 4 else shown) + " }"
        case _:
            return type(written).__name__


def quote_scalar(written: object) -> str:
    """Return a value inside another one; nested brackets are not followed."""
    if isinstance(written, list):
        return "[…]"
    return "{…}" if isinstance(written, dict) else quote(written)


def _parse_section(written: object) -> Mapping[str, object]:
    if not isinstance(written, dict):
        raise Mistake(f"expected a section with keys, not {quote(written)}")
    return written


def _outwards(path: KeyPath) -> Iterator[KeyPath]:
    return (path[:length] for length in range(len(path), 0, -1))


def _key_text(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", key) else _quote_text(key)


def _quote_text(text: str) -> str:
    escaped = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    shown = (
        escaped.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in _shorten(text)
    )
    return f'"{"".join(shown)}"'


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
