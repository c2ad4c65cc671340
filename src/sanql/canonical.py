"""Canonical forms for digests: values under fixed names, whatever the classes of the code are called.

A digest names a thing for years: a recorded answer is free, and an exact release is the same one, exactly
where the digests agree. So a digest is never made of the code's own names. Each kind of thing says by
which fixed name and labels it goes (`Named`, `Word`), and there are two ways to write that down:

* `canonical_text` is the one in use: JSON that says the type of every value, form 2;
* `first_text` is that of version 0.1.0, form 1, by which older ledgers name what they recorded.

A name or label that has been used never changes. What is added to a kind of thing later is `later`: part
of form 2 only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, assert_never

from sanql.computed_once import computed_once

DIGEST_FORM = 2
"""The number of the form that digests are made of now; it is part of each of them."""


@dataclass(frozen=True)
class Named:
    """A value under its fixed name, with fields under fixed labels in a fixed order."""

    name: str
    parts: Mapping[str, Shape]
    later: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True)
class Word:
    """One of a fixed list of words, such as a type; `key` is how form 1 spells it."""

    name: str
    key: str
    value: str


@dataclass(frozen=True)
class ByName:
    """Shapes by names that an owner gave, in their order; form 1 tells those that were `found`."""

    entries: Mapping[str, Shape]
    found: bool = False


@dataclass(frozen=True)
class WrittenOnce:
    """A shape that comes again and again, and is written down once."""

    shape: Shape

    @computed_once
    def text(self) -> str:
        """Its canonical text."""
        return canonical_text(self.shape)

    @computed_once
    def named(self) -> tuple[Named, ...]:
        """Every named thing in it."""
        return tuple(named_inside(self.shape))


Shape = (
    Named
    | WrittenOnce
    | Word
    | ByName
    | Sequence["Shape"]
    | None
    | bool
    | int
    | float
    | Fraction
    | str
    | date
    | datetime
)


_WORDS: dict[tuple[str, StrEnum], Word] = {}
"""Every word that was asked for: a list under a name is fixed, and so are its keys."""


def word(name: str, member: StrEnum, keys: Mapping[str, str]) -> Word:
    """Return a member of a fixed list; `keys` are form 1's spellings where they are not its capitals."""
    known = _WORDS.get((name, member))
    if known is None:
        value = str(member)
        known = _WORDS[name, member] = Word(name, keys.get(value, value.upper()), value)
    return known


def digest_of(shape: Shape) -> str:
    """Return the digest of a thing, in the form in use."""
    return hashlib.sha256(canonical_text(shape).encode("ascii")).hexdigest()


def first_digest_of(shape: Shape) -> str:
    """Return the digest that version 0.1.0 gave a thing."""
    return hashlib.sha256(first_text(shape).encode()).hexdigest()


def canonical_text(shape: Shape) -> str:
    """Return the one text of a shape; different shapes have different texts.

    >>> canonical_text(Named("Pair", {"low": Fraction(1, 2), "high": None}))
    '{"is":"Pair","of":{"high":null,"low":{"fraction":"1/2"}}}'
    """
    write = _WRITERS.get(type(shape))
    return write(shape) if write is not None else _of_another_type(shape)


_quoted = json.encoder.encode_basestring_ascii


def _named(shape: Named) -> str:
    parts = {**shape.parts, **shape.later} if shape.later else shape.parts
    return f'{{"is":{_quoted(shape.name)},"of":{_by_label(parts)}}}'


def _by_label(parts: Mapping[str, Shape]) -> str:
    """Return fields sorted by their labels; a kind of thing has the same ones every time."""
    labels = tuple(parts)
    ordered = _ORDERED.get(labels)
    if ordered is None:
        made = tuple((label, f"{_quoted(label)}:") for label in sorted(labels))
        ordered = made if len(_ORDERED) >= _ORDERED_MAX else _ORDERED.setdefault(labels, made)
    return f"{{{','.join([start + canonical_text(parts[label]) for label, start in ordered])}}}"


_ORDERED_MAX = 1_000  # owners' names are labels too, and there may be many
_ORDERED: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}


def _sequence(shape: Sequence[Shape]) -> str:
    return f"[{','.join([canonical_text(part) for part in shape])}]"


def _word(shape: Word) -> str:
    return f'{{"of":{_quoted(shape.name)},"word":{_quoted(shape.value)}}}'


_WRITERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda shape: "true" if shape else "false",
    int: str,
    str: _quoted,
    float: lambda shape: f'{{"float":"{shape.hex()}"}}',
    Fraction: lambda shape: f'{{"fraction":"{shape.numerator}/{shape.denominator}"}}',
    datetime: lambda shape: f'{{"time":"{shape.isoformat()}"}}',
    date: lambda shape: f'{{"date":"{shape.isoformat()}"}}',
    tuple: _sequence,
    list: _sequence,
    Named: _named,
    WrittenOnce: lambda shape: shape.text,
    Word: _word,
    ByName: lambda shape: f'{{"table":{_by_label(shape.entries)}}}',
}


def _of_another_type(shape: Shape) -> str:
    """Return the text of a value whose type derives from one that is written, such as a StrEnum's."""
    if isinstance(shape, Sequence) and not isinstance(shape, str):
        return _sequence(shape)
    kind = next((kind for kind in _WRITERS if isinstance(shape, kind)), None)
    if kind is None:
        raise TypeError(f"{type(shape).__name__} has no canonical form")
    return _WRITERS[kind](shape)


def first_text(shape: Shape) -> str:
    """Return a shape as version 0.1.0 wrote it.

    >>> first_text(Named("Pair", {"low": Fraction(1, 2), "high": None}))
    'Pair(low=Fraction(1, 2), high=None)'
    """
    match shape:
        case WrittenOnce(inside):
            return first_text(inside)
        case Word(name, key, value):
            return f"<{name}.{key}: {value!r}>"
        case Named(name, parts, _):
            return f"{name}({', '.join(f'{k}={first_text(v)}' for k, v in parts.items())})"
        case ByName(entries):
            inside = ", ".join(f"{k!r}: {first_text(v)}" for k, v in entries.items())
            return f"mappingproxy({{{inside}}})" if shape.found else f"{{{inside}}}"
        case str() | None | bool() | int() | float():
            return repr(shape)
        case Fraction():
            return f"Fraction({shape.numerator}, {shape.denominator})"
        case datetime() | date():
            return repr(shape)
        case list():
            return f"[{', '.join(map(first_text, shape))}]"
        case Sequence():
            inside = ", ".join(map(first_text, shape))
            return f"({inside},)" if len(shape) == 1 else f"({inside})"
        case _:
            assert_never(shape)


def named_inside(shape: Shape) -> list[Named]:
    """Return every named thing in a shape, itself included."""
    pending, found = [shape], []
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind in _AS_THEY_ARE:
            continue
        if isinstance(part, tuple | list):  # first: most of what is left are
            pending += part
        elif isinstance(part, Named):
            found.append(part)
            pending += part.parts.values()
            pending += part.later.values()
        elif isinstance(part, WrittenOnce):
            found += part.named
        elif isinstance(part, ByName):
            pending += part.entries.values()
        elif isinstance(part, Sequence) and not isinstance(part, str):
            pending += part
    return found


_AS_THEY_ARE = {type(None), bool, int, float, Fraction, str, date, datetime, Word}
"""The types of what has nothing inside."""
