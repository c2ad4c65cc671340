"""Protections written down as JSON: what is protected of each database, and what the ideal world shows.

    "protections": [
      "records",                               every record, left out
      {"private_parts": true},                 of records "F/ill": the part after the first /
      {"schools": ["a", "a", "b"]},            each record, its whole school staying away
      {"node": "ann"},                         of graphs "ann-bob,bob-cem": a node, its edges
      {"firm": 1, "noise": {"90": {"80": "1/2", "100": "1/2"}, …}},     a record, blurred
      {"name": "…", "alt": {"0,1": "view", …}, "priv": {"0,1": "value", …}}
    ]

The last form is any function as a table (Bassily, Groce, Katz, Smith, section IV): `alt` says what the
ideal world still shows of each database, for certain or by chance ({"view": "1/2", …}), `priv` what is
protected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sanql.theory.channels import Channel
from sanql.theory.definitions.records import people
from sanql.theory.definitions.worlds import (
    Protection,
    Record,
    graph_node,
    noisy_firm,
    private_parts,
    records,
    schools,
)
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import quoted

_FORMS = "records, private_parts, schools, node, firm with noise, or name with alt and priv"


def parse_protections(content: object, channel: Channel) -> tuple[Protection, ...]:
    """Return the protections of a file, in its order; of every name there is one."""
    if not isinstance(content, list):
        raise _wrong("protections is not a list", f"list what is protected: {_FORMS}")
    found = [one for written in content for one in _parsed(written, channel)]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _wrong(f"{quoted(twice)} is protected twice", "protect each once")
    return tuple(found)


def _parsed(written: object, channel: Channel) -> tuple[Protection, ...]:
    if written == "records":
        return records(people(channel))
    keys = frozenset(written) if isinstance(written, dict) else frozenset()
    assert isinstance(written, dict) or not keys  # noqa: S101  (for the type checker)
    match sorted(keys), written:
        case ["private_parts"], {"private_parts": True}:
            return _private_parts(channel)
        case ["schools"], {"schools": list(members)}:
            return _schools(members, channel)
        case ["node"], {"node": str(node)}:
            return (_node(node, channel),)
        case ["firm", "noise"], {"firm": int(firm), "noise": dict(noise)}:
            return (_firm(firm, noise, channel),)
        case ["alt", "name", "priv"], {"name": str(name), "alt": dict(alt), "priv": dict(priv)}:
            return (_table(name, alt, priv, channel),)
        case _:
            raise _wrong(f"{quoted(written)} is no protection", f"write {_FORMS}")


def _private_parts(channel: Channel) -> tuple[Protection, ...]:
    for database in channel.databases:
        for record in _tuple(database):
            if "/" not in str(record):
                raise _wrong(
                    f"the record {quoted(record)} has no private part",
                    'write records as "public/private", such as "F/ill"',
                )
    inner = private_parts(people(channel))
    return tuple(Protection(one.name, _Split(one.alt), _Split(one.priv)) for one in inner)


class _Split:
    """A function of records in two parts, applied to records that are one text each."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, database: Any) -> Any:
        return self._function(tuple(tuple(record.split("/", 1)) for record in database))


def _schools(members: list[Any], channel: Channel) -> tuple[Protection, ...]:
    if len(members) != people(channel) or not all(isinstance(one, str) for one in members):
        raise _wrong(
            f"{len(members)} schools for {people(channel)} records",
            "name the school of each record",
        )
    return schools(members)


def _node(node: str, channel: Channel) -> Protection:
    for database in channel.databases:
        for edge in _tuple(database):
            ends = str(edge).split("-")
            if len(ends) != 2 or not all(ends):
                raise _wrong(
                    f"{quoted(edge)} is no edge", 'write graphs as edges, such as "ann-bob,bob-cem"'
                )
    inner = graph_node(node)
    return Protection(inner.name, _Graph(inner.alt), _Graph(inner.priv))


class _Graph:
    """A function of sets of edges, applied to edges that are one text each."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, database: Any) -> Any:
        return self._function(frozenset(frozenset(edge.split("-")) for edge in database))


def _firm(firm: int, noise: Mapping[str, Any], channel: Channel) -> Protection:
    count = people(channel)
    if not 1 <= firm <= count:
        raise _wrong(f"there is no firm {firm}", f"count from 1 to {count}")
    laws = {record: Distribution.of(_masses(law)) for record, law in noise.items()}
    missing = {str(Record(firm - 1)(x)) for x in channel.databases} - laws.keys()
    if missing:
        raise _wrong(
            f"the noise does not say what is shown of {quoted(min(missing))}",
            "give the law of what is shown for every value of the firm",
        )
    return noisy_firm(firm - 1, laws.__getitem__)


def _table(
    name: str, alt: Mapping[str, Any], priv: Mapping[str, Any], channel: Channel
) -> Protection:
    views: dict[Any, Any] = {}
    values: dict[Any, Outcome] = {}
    for what, table, into in (("alt", alt, views), ("priv", priv, values)):
        for text, value in table.items():
            database = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
            channel.index(database)
            into[database] = _shown(name, value) if what == "alt" else _plain(value)
        if into.keys() != set(channel.databases):
            raise _wrong(
                f"the protection {quoted(name)} does not say {what} of every database",
                "give it for each database",
            )
    return Protection(name, views.__getitem__, values.__getitem__)


def _shown(name: str, value: object) -> Outcome | Distribution:
    if isinstance(value, dict):
        return Distribution.of(value).map(lambda view: (name, view))
    return name, _plain(value)


def _plain(value: object) -> Outcome:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _wrong(f"{quoted(value)} is neither a text nor a whole number", "write a text")
    return str(value)


def _masses(law: object) -> Mapping[str, Any]:
    if not isinstance(law, dict):
        raise _wrong(f"{quoted(law)} is no law", "write {shown: mass}")
    return law


def _tuple(database: object) -> tuple[Any, ...]:
    assert isinstance(database, tuple)  # noqa: S101  (those of a file are)
    return database


def _wrong(message: str, remedy: str) -> TheoryError:
    return TheoryError("channel_file", message, remedy)
