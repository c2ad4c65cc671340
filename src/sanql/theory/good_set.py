"""Databases on which a function has small local sensitivity, and how likely they are, exactly.

Kasiviswanathan and Smith, section 5: a belief that puts 1 − delta on the databases whose local
sensitivity is at most s allows noise for s alone (Theorem 5.1 and Corollary 5.2). The local sensitivity
of a database is how far its value is, at most, from that of a neighbour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.worlds import World
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, quoted
from sanql.theory.instability import cells_of, values_of
from sanql.theory.neighbours import Neighbours


@dataclass(frozen=True)
class GoodSet:
    """How likely, at most, the local sensitivity is above a scale.

    `bad` is the chance in the worst world; `bad_given` also given any one record and the side
    information, which distributional privacy asks for.
    """

    scale: Fraction
    bad: Fraction
    bad_given: Fraction


def local_sensitivities(channel: Channel, neighbours: Neighbours) -> dict[Database, Fraction]:
    """Return the local sensitivity of a function of numbers at each database.

    >>> from sanql.theory.channels import exact_statistic
    >>> from sanql.theory.neighbours import change_one
    >>> databases = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> both = local_sensitivities(exact_statistic(databases, min), change_one(databases))
    >>> [str(both[x]) for x in databases]
    ['0', '1', '1', '1']
    """
    values = {
        database: as_fraction(_number(value), f"the value on {quoted(database)}")
        for database, value in values_of(channel).items()
    }
    found = dict.fromkeys(values, Fraction(0))
    for x, y in neighbours.pairs:
        distance = abs(values[x] - values[y])
        found[x], found[y] = max(found[x], distance), max(found[y], distance)
    return found


def good_sets(
    channel: Channel, neighbours: Neighbours, worlds: Sequence[World]
) -> tuple[GoodSet, ...]:
    """Return the chance of more than each local sensitivity that occurs, from the smallest scale on.

    >>> from sanql.theory.channels import exact_statistic
    >>> from sanql.theory.distributions import Distribution
    >>> from sanql.theory.laws_file import independent
    >>> from sanql.theory.neighbours import change_one
    >>> databases = [(0, 0), (0, 1), (1, 0), (1, 1)]
    >>> least = exact_statistic(databases, min)
    >>> coin = Distribution.of({0: "9/10", 1: "1/10"})
    >>> found = good_sets(least, change_one(databases), [independent((coin, coin), least)])
    >>> [(str(one.scale), str(one.bad), str(one.bad_given)) for one in found]
    [('0', '19/100', '1'), ('1', '0', '0')]
    """
    local = local_sensitivities(channel, neighbours)
    if not worlds:
        raise TheoryError(
            "no_world", "no world says how likely databases are", "give worlds or laws"
        )
    _refuse_gaps(channel, neighbours, worlds)
    scales = sorted(set(local.values()))
    masses: dict[Any, dict[Fraction, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for number, x, side, mass in cells_of(worlds):
        masses[number,][local[x]] += mass
        for place, value in enumerate(x if isinstance(x, tuple) else ()):
            masses[number, place, value, side][local[x]] += mass
    return tuple(
        GoodSet(
            scale,
            max(_above(scale, law) for key, law in masses.items() if len(key) == 1),
            max(_above(scale, law) for law in masses.values()),
        )
        for scale in scales
    )


def at_scale(found: Sequence[GoodSet], scale: Fraction) -> GoodSet:
    """Return the good set of any scale: that of the largest local sensitivity that it covers."""
    covered = [one for one in found if one.scale <= scale]
    if not covered:
        return GoodSet(scale, Fraction(1), Fraction(1))
    return GoodSet(scale, covered[-1].bad, covered[-1].bad_given)


def _refuse_gaps(channel: Channel, neighbours: Neighbours, worlds: Sequence[World]) -> None:
    """Refuse a database whose neighbours do not show what each of its records does."""
    near: dict[Database, set[Database]] = defaultdict(set)
    for x, y in neighbours.pairs:
        near[x].add(y)
        near[y].add(x)
    values = {y for x in channel.databases if isinstance(x, tuple) for y in x}
    for _, x, _, _ in cells_of(worlds):
        for place in range(len(x) if isinstance(x, tuple) else 0):
            before, after = x[:place], x[place + 1 :]
            changed = {(*before, value, *after) for value in values} - {x}
            if before + after not in near[x] and not (changed and changed <= near[x]):
                raise TheoryError(
                    "neighbours_missing",
                    f"{quoted(x)} has no neighbour without record {place + 1}, and not each with "
                    "it replaced",
                    "give all databases over the values as change-one neighbours, or those of one "
                    "record fewer as add-remove ones",
                )


def _above(scale: Fraction, law: dict[Fraction, Fraction]) -> Fraction:
    whole = sum(law.values(), Fraction(0))
    return sum((mass for local, mass in law.items() if local > scale), Fraction(0)) / whole


def _number(value: Any) -> Any:
    """Return an output as a number, or what is refused as none."""
    return value if isinstance(value, int | float | str | Fraction) else str(value)
