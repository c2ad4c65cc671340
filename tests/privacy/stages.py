"""Where questions are put to the oracles: tables, policies over them, worlds cut into parts, a grammar.

A world is cut so that every unit is in exactly one part and public tables are whole in all of them. Small
worlds have one unit in a part. Large ones have 10 to 10,000 rows on either side of a join, so that the
engine changes the sides of its joins between the parts and the whole; their first part is a single unit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacy import chains, mixed_world, worlds
from privacy.grammar import Grammar
from privacy.kernel import Schema
from privacy.mixed_grammar import MixedGrammar
from privacy.nested_grammar import NestedGrammar
from privacy.over_grammar import OverGrammar
from sanql.policy.model import Neighbours, Policy

Row = dict[str, Any]
World = dict[str, list[Row]]
PAIRS = 5.3  # the logarithm of the most pairs that a join of two tables makes


@dataclass(frozen=True)
class Split:
    """A world: all of it, and its parts; public tables are whole in all.

    What belongs to nobody is in the first part too.
    """

    whole: World
    parts: tuple[World, ...]
    singles: int  # the first so many parts hold one unit each


@dataclass(frozen=True)
class Stage:
    """One set of tables, with how policies, worlds and questions are drawn."""

    name: str
    schema: Schema
    policy: Callable[[Path, Neighbours, random.Random], Policy]
    draw: Callable[[random.Random, bool], Split]
    asks: Callable[[random.Random], Callable[[], str]]


def _merged(parts: Sequence[World], public: World) -> World:
    names = {name for part in parts for name in part}
    private = {name: [row for part in parts for row in part.get(name, ())] for name in names}
    return {**private, **public}


def _split(
    rng: random.Random, nobody: World, units: list[World], public: World, large: bool
) -> Split:
    """Return units as parts: each its own, or one of them and the others in one or two heaps."""
    rng.shuffle(units)
    first, *others = units
    first = _merged([first, nobody], {})
    if large:
        cut = rng.choice([0, rng.randint(1, len(others))])
        others = [_merged(heap, {}) for heap in (others[:cut], others[cut:]) if heap]
    parts = tuple(_merged([part], public) for part in (first, *others))
    return Split(_merged([first, *others], public), parts, 1 if large else len(parts))


def _sizes(rng: random.Random) -> tuple[int, int]:
    """Return numbers of units and of public rows, from 10 to 10,000 each.

    All orders of magnitude are alike, but not both sides of a join are large, whose product takes long.
    """
    many = rng.uniform(1, 4)
    return tuple(rng.sample([round(10**many), round(10 ** rng.uniform(1, PAIRS - many))], 2))  # type: ignore[return-value]


def _few(rng: random.Random) -> int:
    return rng.choice([2, 2, 3, 3, 4])


# ---- real numbers without bounds, windows, odd predicates


def _mixed(rng: random.Random, large: bool) -> Split:
    count, size = _sizes(rng) if large else (_few(rng), rng.choice([10, 30, 60]))
    units = [mixed_world.draw_person(rng, name) for name in range(max(count, 3))]
    public = mixed_world.draw_public(rng, size)
    return _split(rng, mixed_world.draw_nobody(rng), units, public, large)


# ---- one table with every function


def _plain_policy(folder: Path, neighbours: Neighbours, rng: random.Random) -> Policy:
    limits = {name: worlds.draw_bounding(rng) for name, unit in worlds.UNITS.items() if unit}
    return worlds.write_policy(folder, neighbours, limits)


def _plain(rng: random.Random, large: bool) -> Split:
    nobody: World = {
        name: [{**worlds.draw_row(rng), unit: None}] for name, unit in worlds.UNITS.items() if unit
    }
    count = max(_sizes(rng)[0] // 4, 3) if large else _few(rng)
    units = [
        {name: worlds.draw_unit(rng, name, number) for name in worlds.UNITS}
        for number in range(count)
    ]
    regions = [{"name": name, "rate": rate} for name, rate in worlds.REGIONS]
    return _split(rng, nobody, units, {"regions": regions}, large)


def _plain_asks(rng: random.Random) -> Callable[[], str]:
    grammar = Grammar(rng)

    def ask() -> str:
        table = rng.choice(list(worlds.UNITS))
        make = grammar.question_with_levels if rng.random() < 0.1 else grammar.question
        return make(table)

    return ask


def _plain_schema() -> Schema:
    units = set(filter(None, worlds.UNITS.values()))
    found: dict[str, Mapping[str, str]] = {"regions": {"name": "VARCHAR", "rate": "DOUBLE"}}
    for name, unit in worlds.UNITS.items():
        found[name] = {c: k for c, k in worlds.ENGINE.items() if c == unit or c not in units}
    return found


# ---- chains of foreign keys


def _chained(rng: random.Random, large: bool) -> Split:
    """Return people whose items follow whoever has their order; an order may be of two people."""
    nobody, *people = chains.draw_people(rng)
    public = {table: chains.draw_public(rng, table) for table in chains.PUBLIC}
    readings = [chains.draw_row(rng, "readings") for _ in people]
    whole = chains.tables_of([nobody, *people], public, readings)
    parts = []
    for person, reading in zip(people, readings, strict=True):
        held = {row["order_id"] for row in person.rows["orders"]} - {None}
        own = {
            t: [row for row in whole[t] if row["order_id"] in held] for t in ("items", "returns")
        }
        parts.append({**person.rows, **public, **own, "readings": [reading]})
    parts[0] = {
        t: rows if t in public else [*rows, *nobody.rows[t]] for t, rows in parts[0].items()
    }
    return Split(whole, tuple(parts), len(parts))


STAGES = (
    Stage(
        "mixed",
        mixed_world.SCHEMA,
        mixed_world.write_policy,
        _mixed,
        lambda rng: MixedGrammar(rng).question,
    ),
    Stage("plain", _plain_schema(), _plain_policy, _plain, _plain_asks),
    Stage(
        "chains",
        chains.ENGINE,
        chains.write_policy,
        _chained,
        lambda rng: NestedGrammar(rng).question,
    ),
    Stage(
        "over",
        chains.ENGINE,
        chains.write_policy,
        _chained,
        lambda rng: OverGrammar(rng).question,
    ),
)
