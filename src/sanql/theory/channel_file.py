"""A mechanism written down as JSON, for `sanql theory check`.

    {
      "databases":  {"0,0": ["9/16", "3/16", …], "0,1": {"yes": "1/3", "no": "2/3"}, …},
      "outputs":    ["00", "01", …],                 names for rows that are lists
      "neighbours": "change-one",                    or a list of pairs
      "default":    "0",                             the value that replaces a left-out record
      "worlds":     [{"0,0": "1/2", "1,1 | seen": "1/2"}],   database | side information: mass
      "laws":       [{"0": "3/4", "1": "1/4"}],      worlds of independent records, see laws_file.py
      "secrets":    {"ill": {"0,0": 0, "0,1": 1, "1,0": null}},
      "protections": ["records", …]                  see protections_file.py
    }

A database is its records with commas between them; without a comma it is one record, so "01" is one
record of value 01, and "" is the database of no records. Outputs are texts: those of a list without
names are "0", "1", …. Numbers may be exact strings; JSON decimals are read exactly as written. Unknown
keys are refused. docs/theory/4_definitions.md has an example of each key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.secrets import Secret
from sanql.theory.definitions.worlds import Protection, World
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, quoted
from sanql.theory.laws_file import parse_laws
from sanql.theory.neighbours import Neighbours, listed, named
from sanql.theory.protections_file import parse_protections

_KEYS = frozenset(
    {"databases", "outputs", "neighbours", "default", "worlds", "laws", "secrets", "protections"}
)


@dataclass(frozen=True)
class ChannelFile:
    """A channel with the choices its definitions need.

    Where the file names no default it is the first record of the first database.
    """

    channel: Channel
    neighbours: Neighbours
    default: Outcome | None
    worlds: tuple[World, ...]
    secrets: tuple[Secret, ...]
    default_given: bool = True
    protections: tuple[Protection, ...] = ()

    def as_read(self) -> tuple[str, ...]:
        """Return in words how the file was read, and a warning where it may be meant otherwise.

        >>> rows = {"00": [1], "01": [1], "10": [1], "11": [1]}
        >>> print("\\n".join(parse_channel({"databases": rows}).as_read()))
        read: 4 databases of 1 record with 4 values (00, 01, 10, 11), neighbours change-one (6 pairs)
        default: 00, the first record in the file, as it names none
        note: "00" has no comma, so it is one record; two records are written "0,0"
        """
        known = [x for x in self.channel.databases if isinstance(x, tuple)]
        values = list(dict.fromkeys(str(record) for x in known for record in x))
        sizes = sorted({len(x) for x in known})
        lengths = " or ".join(str(size) for size in sizes)
        told = [
            f"read: {_counted(len(known), 'database')} of {lengths} "
            f"record{'' if sizes == [1] else 's'} with {_counted(len(values), 'value')} "
            f"({', '.join(values[:8])}{', …' if len(values) > 8 else ''}), neighbours "
            f"{self.neighbours.name} ({_counted(len(self.neighbours.pairs), 'pair')})",
            f"default: {self.default}"
            + ("" if self.default_given else ", the first record in the file, as it names none"),
        ]
        if sizes == [1] and len({len(value) for value in values}) == 1 < len(values[0]):
            split = ",".join(values[0][:2]) + (",…" if len(values[0]) > 2 else "")
            told.append(
                f'note: "{values[0]}" has no comma, so it is one record; '
                f'{"two" if len(values[0]) == 2 else "several"} records are written "{split}"'
            )
        return tuple(told)


def read_channel(path: Path) -> ChannelFile:
    """Return the mechanism in a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise TheoryError(
            "unreadable_file", f"{path} cannot be read: {why}", "give the path of a JSON file"
        ) from error
    try:
        content = json.loads(
            text,
            parse_float=_number,
            parse_int=_number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_duplicates,
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise TheoryError(
            "not_json", f"{path} is not JSON: {error}", "write one JSON object, see the docs"
        ) from error
    return parse_channel(content)


def parse_channel(content: object) -> ChannelFile:
    """Return the mechanism in JSON data."""
    if not isinstance(content, dict) or not isinstance(content.get("databases"), dict):
        raise _wrong('the file has no object "databases"', 'write {"databases": {…}, …}')
    _refuse_unprintable(content)
    unknown = sorted(set(content) - _KEYS)
    if unknown:
        raise _wrong(f"unknown keys: {', '.join(unknown)}", f"use {', '.join(sorted(_KEYS))}")
    worlds, secrets = content.get("worlds", []), content.get("secrets", {})
    if not isinstance(worlds, list) or not isinstance(secrets, dict):
        raise _wrong(
            "worlds is not a list or secrets not an object",
            'write "worlds": [{database: mass}] and "secrets": {name: {database: 0|1|null}}',
        )
    outputs = content.get("outputs")
    for name in content["databases"]:
        if "|" in name:
            raise _wrong(
                f'the database "{name}" has a | in it, which separates it from side information',
                "write its records without |",
            )
    rows = [
        (as_database(x), _named_row(x, row, outputs)) for x, row in content["databases"].items()
    ]
    channel = Channel.of(dict(_refuse_duplicates(rows)))
    return ChannelFile(
        channel,
        _neighbours(content.get("neighbours", "change-one"), channel),
        _default(content.get("default"), channel),
        tuple(_numbered_world(k, world, channel) for k, world in enumerate(worlds, 1))
        + parse_laws(content.get("laws", []), channel),
        tuple(_secret(name, table, channel) for name, table in secrets.items()),
        default_given=content.get("default") is not None,
        protections=parse_protections(content.get("protections", []), channel),
    )


def as_database(text: str) -> Database:
    """Return the database that a text of the file names."""
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()


@contextmanager
def _speaking_of(what: str) -> Iterator[None]:
    """Say of which part of the file an error speaks, and remedy it in the file."""
    try:
        yield
    except TheoryError as error:
        remedy = error.remedy
        if error.code == "mass_sum":
            remedy = 'let its masses sum to 1; exact strings such as "1/3" lose nothing'
        raise TheoryError(error.code, f"{what}: {error.message}", remedy) from error


def _named_row(name: str, row: object, outputs: object) -> Distribution:
    with _speaking_of(f'the row of database "{name}"'):
        return _row(row, outputs)


def _row(row: object, outputs: object) -> Distribution:
    if isinstance(row, dict):
        return Distribution.of(row)
    if not isinstance(row, list):
        raise _wrong(
            f"the row {quoted(row)} is neither a list nor an object",
            "write [masses] or {output: mass}",
        )
    names = [str(place) for place in range(len(row))] if outputs is None else _names(outputs)
    if len(names) != len(row):
        raise _wrong(
            f"a row has {len(row)} masses for the outputs {quoted(outputs)}",
            "name each output once",
        )
    return Distribution.of(dict(zip(names, row, strict=True)))


def _names(outputs: object) -> list[str]:
    """Return the outputs as texts, as the keys of an object are: 0 and "0" are the same output."""
    if isinstance(outputs, list) and all(isinstance(t, str | int) for t in outputs):
        names = [str(t) for t in outputs]
        if len(names) == len(set(names)) and not any(isinstance(t, bool) for t in outputs):
            return names
    raise _wrong(f"outputs is {quoted(outputs)}", 'write "outputs": ["no", "yes"], each name once')


def _neighbours(value: object, channel: Channel) -> Neighbours:
    if isinstance(value, str):
        return named(value, channel.databases)
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise _wrong(f"neighbours is {quoted(value)}", 'write "change-one" or a list of pairs')
    pairs = [(as_database(str(left)), as_database(str(right))) for left, right in value]
    for pair in pairs:
        for database in pair:
            channel.index(database)
    return listed(pairs)


def _default(value: object, channel: Channel) -> Outcome | None:
    if value is not None:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise _wrong(
                f"default is {quoted(value)}, neither a text nor a whole number",
                'write the value of a record, such as "0"',
            )
        return str(value)
    records = [x[0] for x in channel.databases if isinstance(x, tuple) and x]
    return records[0] if records else None


def _numbered_world(number: int, masses: object, channel: Channel) -> World:
    with _speaking_of(f"world {number}"):
        return _world(masses, channel)


def _world(masses: object, channel: Channel) -> World:
    if not isinstance(masses, dict):
        raise _wrong(
            f"the world {quoted(masses)} is not an object", "write {database | side: mass}"
        )
    cells: list[tuple[Any, Any]] = []
    for key, mass in masses.items():
        text, _, side = key.partition("|")
        database = as_database(text)
        channel.index(database)
        cells.append(((database, side.strip() or None), mass))
    return World.of(_refuse_duplicates(cells))


def _secret(name: str, table: object, channel: Channel) -> Secret:
    if not isinstance(table, dict) or not all(
        value is None or (isinstance(value, int) and value in (0, 1)) for value in table.values()
    ):
        raise _wrong(
            f"the secret {name!r} has values other than 0, 1, null", "write {database: 0|1|null}"
        )
    cells = [(as_database(x), value) for x, value in table.items()]
    values: Mapping[Database, Outcome] = _refuse_duplicates(cells)
    if values.keys() != set(channel.databases):
        raise _wrong(
            f"the secret {name!r} does not speak of exactly the databases",
            "give 0, 1 or null for each database",
        )
    return Secret(name, values.__getitem__)


def _refuse_unprintable(content: object) -> None:
    """Refuse texts with control characters or halves of characters: they would reach a terminal."""
    left = [content]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and not value.isprintable():
            raise _wrong(
                f"the text {quoted(ascii(value))} has characters that cannot be printed",
                "give databases, outputs and secrets names of letters, digits and signs",
            )


def _refuse_duplicates(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """The pairs as a dictionary; a key given twice would silently lose its first value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _wrong(f"{twice!r} is given twice", "give each key once")
    return found


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _number(text: str) -> int | Fraction:
    """A number of the file, exactly as written; a whole one stays one."""
    number = as_fraction(text, "a number in the file")
    return int(number) if text.lstrip("-").isdecimal() else number


def _refuse_constant(name: str) -> object:
    raise TheoryError("not_a_number", f"the file has the number {name}", "give finite numbers")


def _wrong(message: str, remedy: str) -> TheoryError:
    return TheoryError("channel_file", message, remedy)
