"""How likely a record changes the value of a function, exactly: what Theorems 11 and 12 ask for.

Bassily, Groce, Katz and Smith: if F(X) differs from F(X without i) with probability at most mu, given
the record and what is known, then F is (0, mu)-DDP (Theorem 11), and (ln(c/(c − mu)), 0)-DDP if
every output has probability at least c above mu (Theorem 12, sharpened).

F without record i is F of one record fewer where it is known, and else F with the record replaced: by the
default, or by the one value for which mu is least, as the simulator may choose any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.worlds import World
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, as_count, quoted

LEFT_OUT = "left out"
_STEPS_MAX = 2_000_000


@dataclass(frozen=True)
class Instability:
    """The largest chance that a record changes the output, and the least chance of an output.

    `given` is the record's value and what is known where the chance is largest, in the world of this
    number, from 1 on; `replaced` is what the record is replaced by there.
    """

    chance: Fraction
    least_output: Fraction
    world: int
    record: int
    given: tuple[Outcome, ...]
    replaced: Outcome

    @property
    def gamma(self) -> Extended:
        """e^epsilon of Theorem 12: c/(c − mu), infinite where an output may be less likely than mu."""
        if self.chance == 0:
            return Fraction(1)
        if self.least_output <= self.chance:
            return INFINITE
        return self.least_output / (self.least_output - self.chance)


@dataclass(frozen=True)
class _Seen:
    """What one record and one replacement give: the largest chance, where, and the least output's."""

    chance: Fraction
    least: Fraction
    world: int
    given: tuple[Outcome, ...]


Group = tuple[int, tuple[Outcome, ...]]
Pairs = dict[Group, list[tuple[Fraction, Outcome, Outcome]]]


def instability(
    channel: Channel, worlds: Sequence[World], *, default: Outcome | None = None, known: int = 0
) -> Instability:
    """Return the instability of a function in worlds whose adversary also knows `known` other records.

    >>> from sanql.theory.channels import exact_statistic
    >>> from sanql.theory.laws_file import independent
    >>> from itertools import product
    >>> majority = exact_statistic(product((0, 1), repeat=3), lambda x: sum(x) >= 2)
    >>> coin = Distribution.of({0: "9/10", 1: "1/10"})
    >>> found = instability(majority, [independent((coin,) * 3, majority)])
    >>> found.chance, found.given, found.replaced
    (Fraction(9, 50), (1,), 0)
    """
    function = values_of(channel)
    records = records_of(worlds)
    _unknown(records, known)
    _refuse_too_many(len(cells_of(worlds)) * records * comb(records - 1, known))
    found = []
    for record in range(records):
        tried = [
            (_seen(pairs), replaced)
            for replaced in _replacements(function, worlds, record, default)
            if (pairs := _pairs(function, worlds, record, replaced, known)) is not None
        ]
        found.append((_least(tried), record + 1))
    return _worst(found)


def instability_of_counts(
    function: Callable[[tuple[int, ...]], Outcome],
    records: int,
    laws: Sequence[Distribution],
    *,
    default: Outcome | None = None,
    known: int = 0,
) -> Instability:
    """Return the instability of a function of how often each value occurs, records being alike.

    `laws` are over the same values, of which each record has one, independently.

    >>> coin = Distribution.of({0: "9/10", 1: "1/10"})
    >>> majority = lambda counts: counts[1] > counts[0]
    >>> [float(instability_of_counts(majority, n, [coin]).chance) for n in (3, 101)]
    [0.18, 5.199713101521201e-24]
    """
    values = _common_values(laws)
    others = _unknown(as_count(records, "the number of records", most=10_000), known)
    size = len(values)
    known_ways, ways = comb(known + size - 1, size - 1), comb(others + size - 1, size - 1)
    _refuse_too_many(known_ways * ways * len(laws) * size * size)
    answer = cache(function)
    tried = []
    for place, value in enumerate(values):
        if default is None or value == default:
            pairs = _pairs_of_counts(answer, laws, place, others, known)
            tried.append((_seen(pairs), value))
    return _worst([(_least(tried), 1)])


def values_of(channel: Channel) -> dict[Database, Outcome]:
    """Return the function that a channel without chance computes."""
    found = {}
    for database in channel.databases:
        outputs = channel.row(database).support
        if len(outputs) > 1:
            raise TheoryError(
                "not_a_function",
                f"the output on {quoted(database)} is left to chance",
                "give one output of mass 1 for each database",
            )
        found[database] = outputs[0]
    return found


def _unknown(records: int, known: int) -> int:
    """Return how many other records are not known."""
    if not 0 <= known < records:
        raise TheoryError(
            "known",
            f"{known} of {records - 1} other records are known",
            f"let between 0 and {records - 1} be known",
        )
    return records - 1 - known


def cells_of(worlds: Sequence[World]) -> list[tuple[int, Any, Any, Fraction]]:
    """Return world, database, side information and mass of everything that is possible."""
    found: list[tuple[int, Any, Any, Fraction]] = []
    for number, world in enumerate(worlds, 1):
        cells: Iterable[tuple[Any, Fraction]] = world.joint.items()
        found += [(number, x, side, mass) for (x, side), mass in cells if mass > 0]
    return found


def records_of(worlds: Sequence[World]) -> int:
    """Return how many records every possible database has."""
    if not worlds:
        raise TheoryError(
            "no_world", "no world says how likely databases are", "give worlds or laws"
        )
    sizes = {len(x) if isinstance(x, tuple) else 0 for _, x, _, _ in cells_of(worlds)}
    if len(sizes) > 1 or not min(sizes):
        raise TheoryError(
            "not_records",
            "the worlds speak of databases of different sizes, or of none",
            "give databases of one number of records a mass",
        )
    return sizes.pop()


def _replacements(
    function: Mapping[Database, Outcome],
    worlds: Sequence[World],
    record: int,
    default: Outcome | None,
) -> list[Outcome]:
    """Return by what a record may be replaced: the default, nothing, or any value."""
    if default is not None:
        return [default]
    if all(x[:record] + x[record + 1 :] in function for _, x, _, _ in cells_of(worlds)):
        return [LEFT_OUT]
    return list(dict.fromkeys(y for x in function if isinstance(x, tuple) for y in x))


def _pairs(
    function: Mapping[Database, Outcome],
    worlds: Sequence[World],
    record: int,
    replaced: Outcome,
    known: int,
) -> Pairs | None:
    """Return mass, real and ideal output by what is given; None where an ideal one is not known."""
    others = [k for k in range(records_of(worlds)) if k != record]
    found: Pairs = defaultdict(list)
    for number, x, side, mass in cells_of(worlds):
        kept = () if replaced is LEFT_OUT else (replaced,)
        ideal = x[:record] + kept + x[record + 1 :]
        if ideal not in function:
            return None
        for places in combinations(others, known):
            told = tuple(f"record {k + 1}: {x[k]}" for k in places)
            given = (x[record], *(() if side is None else (f"known: {side}",)), *told)
            found[number, given].append((mass, function[x], function[ideal]))
    return found


def _pairs_of_counts(
    function: Callable[[tuple[int, ...]], Outcome],
    laws: Sequence[Distribution],
    replaced: int,
    others: int,
    known: int,
) -> Pairs:
    found: Pairs = defaultdict(list)
    values = laws[0].outcomes
    for number, law in enumerate(laws, 1):
        possible = [k for k, mass in enumerate(law.masses) if mass > 0]
        chances = list(_multinomial(others, law.masses))
        for seen in _counts(known, len(values)):
            if any(seen[k] for k in range(len(values)) if k not in possible):
                continue
            for place in possible:
                told = (f"known: {seen}",) if known else ()
                cell = found[number, (values[place], *told)]
                for counts, mass in chances:
                    base = tuple(a + b for a, b in zip(counts, seen, strict=True))
                    real, ideal = (function(_more(base, k)) for k in (place, replaced))
                    cell.append((mass, real, ideal))
    return found


def _seen(pairs: Pairs) -> _Seen:
    """Return the largest chance of a change over all that may be given, and the least output's."""
    best: tuple[Fraction, Group] | None = None
    least = Fraction(1)
    for group, cells in pairs.items():
        whole = changed = Fraction(0)
        chances: dict[Outcome, Fraction] = defaultdict(Fraction)
        for mass, real, ideal in cells:
            whole += mass
            changed += mass * (real != ideal)
            chances[real] += mass
            chances[ideal] += 0
        least = min(least, min(chances.values()) / whole)
        if best is None or changed / whole > best[0]:
            best = changed / whole, group
    assert best is not None  # noqa: S101  (worlds have databases)
    return _Seen(best[0], least, *best[1])


def _least(tried: list[tuple[_Seen, Outcome]]) -> tuple[_Seen, Outcome]:
    if not tried:
        raise TheoryError(
            "no_replacement",
            "the function is not known on the databases with a record replaced or left out",
            "give its output on all databases over the values, or of one record fewer",
        )
    return min(tried, key=lambda one: (one[0].chance, -one[0].least))


def _worst(found: list[tuple[tuple[_Seen, Outcome], int]]) -> Instability:
    (seen, replaced), record = max(found, key=lambda one: one[0][0].chance)
    least = min(one.least for (one, _), _ in found)
    return Instability(seen.chance, least, seen.world, record, seen.given, replaced)


def _common_values(laws: Sequence[Distribution]) -> tuple[Outcome, ...]:
    if not laws:
        raise TheoryError("no_world", "no law says how likely records are", "give laws")
    if any(law.outcomes != laws[0].outcomes for law in laws):
        raise TheoryError(
            "values", "the laws are not over the same values in order", "give a mass to each, or 0"
        )
    return laws[0].outcomes


def _counts(total: int, values: int) -> Iterator[tuple[int, ...]]:
    """Return every way to count `total` records of so many values."""
    if values == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _counts(total - first, values - 1):
            yield (first, *rest)


def _multinomial(
    total: int, masses: Sequence[Fraction]
) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    for counts in _counts(total, len(masses)):
        chance, left = Fraction(1), total
        for count, mass in zip(counts, masses, strict=True):
            chance *= comb(left, count) * mass**count
            left -= count
        if chance > 0:
            yield counts, chance


def _more(counts: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


def _refuse_too_many(steps: int) -> None:
    if steps > _STEPS_MAX:
        raise TheoryError(
            "too_large",
            f"{steps} cases are too many to enumerate",
            "give fewer records, values or known records",
        )
