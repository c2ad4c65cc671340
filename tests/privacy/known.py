"""Profiles drawn at random, of which nothing is true: what is known of units decides accuracy alone.

A question is planned with the norms and limits that follow from one, and put to the same oracles as
without: whatever a profile says, one unit moves cells by no more than the plan declares.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

from sanql.plan.best_norm import Lengths, UnitLengths, ValueSpread
from sanql.plan.known_norms import limits_by_profile, with_known_norms
from sanql.plan.known_units import KnownUnits
from sanql.plan.plan import Outline, outline
from sanql.policy import Budget
from sanql.policy.model import Neighbours, Table
from sanql.question import Query

SIZES = (0.5, 1.0, 1.5, 2.0, 3.0, 7.5, 40.0, 1000.0, 2.0**20)
COUNTS = (0.01, 1.0, 3.0, 50.0, 4000.0, 1e9)


def draw_known(rng: random.Random, tables: Mapping[str, Table]) -> dict[str, KnownUnits]:
    """Return what might be known of some private tables: far too much of it, too little, or nothing."""
    return {
        name: _units(rng, table)
        for name, table in tables.items()
        if not table.public and rng.random() < 0.8
    }


def _units(rng: random.Random, table: Table) -> KnownUnits:
    columns = list(table.columns)

    def of_some(draw: object) -> dict[str, object]:
        return {name: draw(rng) for name in columns if rng.random() < 0.6}  # type: ignore[operator]

    return KnownUnits(
        rows=_lengths(rng),
        norms=of_some(lambda rng: rng.choice([(), _lengths(rng)])),  # type: ignore[arg-type]
        groups=of_some(_lengths),  # type: ignore[arg-type]
        sizes=of_some(_size),  # type: ignore[arg-type]
        spread=of_some(_spread),  # type: ignore[arg-type]
        accuracy_asked=rng.random() < 0.1,
        hidden=rng.choice([(), _lengths(rng)]),
        values=of_some(lambda rng: rng.choice([(), _lengths(rng)])),  # type: ignore[arg-type]
    )


def _lengths(rng: random.Random) -> Lengths:
    """Return units of any lengths; now and then with other rows than are possible at these."""
    found = []
    for _ in range(rng.randint(1, 5)):
        rows = rng.choice(SIZES)
        length = rows if rng.random() < 0.5 else rng.choice(SIZES)
        found.append(UnitLengths(rng.choice(COUNTS), length, rows))
    return tuple(found)


def _size(rng: random.Random) -> Fraction:
    return rng.choice(
        [Fraction(0), Fraction(1, 10**6), Fraction(1), Fraction(37, 2), Fraction(10**9)]
    )


def _spread(rng: random.Random) -> ValueSpread:
    return tuple((rng.choice(SIZES), rng.random()) for _ in range(rng.randint(0, 3)))


def outlined_with(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups: int | None,
    known: Mapping[str, KnownUnits],
    within: Budget,
) -> Outline:
    """Return what is measured for a question with limits and norms by a profile, as San outlines it."""
    outlined = outline(query, tables, neighbours, groups)
    chosen = limits_by_profile(outlined, known, within)
    outlined = outline(
        query,
        tables,
        neighbours,
        groups or chosen.groups,
        rows_asked=chosen.rows,
        values_asked=chosen.values,
    )
    return with_known_norms(outlined, known, within)
