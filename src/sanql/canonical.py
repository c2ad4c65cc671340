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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from typing import assert_never, cast

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


Shape = (
    Named
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
    return json.dumps(_plain(shape), sort_keys=True, separators=(",", ":"), allow_nan=False)


_AS_THEY_ARE = {type(None), bool, int, str}
"""The types of what JSON writes as it is, so that most of a shape is not looked at any closer."""


def _plain(shape: Shape) -> object:
    kind = type(
        shape
    )  # first, what most of a shape consists of, and costs most to tell by a pattern
    if kind is tuple or kind is list:
        return [
            part if type(part) in _AS_THEY_ARE else _plain(part)
            for part in cast("Sequence[Shape]", shape)
        ]
    match shape:
        case Named(name, parts, later):
            inside = {**parts, **later}.items() if later else parts.items()
            return {
                "is": name,
                "of": {k: v if type(v) in _AS_THEY_ARE else _plain(v) for k, v in inside},
            }
        case None | bool() | int() | str():
            return shape
        case float():
            return {"float": shape.hex()}
        case Fraction():
            return {"fraction": f"{shape.numerator}/{shape.denominator}"}
        case datetime():
            return {"time": shape.isoformat()}
        case date():
            return {"date": shape.isoformat()}
        case Word(name, _, value):
            return {"word": value, "of": name}
        case ByName(entries):
            return {"table": {name: _plain(entry) for name, entry in entries.items()}}
        case Sequence():
            return [part if type(part) in _AS_THEY_ARE else _plain(part) for part in shape]
        case _:
            assert_never(shape)


def first_text(shape: Shape) -> str:
    """Return a shape as version 0.1.0 wrote it.

    >>> first_text(Named("Pair", {"low": Fraction(1, 2), "high": None}))
    'Pair(low=Fraction(1, 2), high=None)'
    """
    match shape:
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
        if type(part) in _AS_THEY_ARE:
            continue
        match part:
            case Named(_, parts, later) as named:
                found.append(named)
                pending += parts.values()
                pending += later.values()
            case ByName(entries):
                pending += entries.values()
            case str():
                pass
            case tuple() | list() | Sequence() as inside:
                pending += inside
            case _:
                pass
    return found
