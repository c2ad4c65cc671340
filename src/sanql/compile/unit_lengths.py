"""How long units' numbers are, as SQL: in whole numbers, rounded up, where they are too long.

A length is looked for only where a unit can be too long. In as many groups as there are, with as many
rows in each as count there, it may be no longer than the norm; then there is nothing to look for. Where
there is one group a unit is one row, whose length is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanql.measurements import NormBound

WORD = 2**62  # below it whole numbers fit 64 bits, which the engine divides many times quicker
_ROOT_MARGIN = 2**30  # a root in floating point is right to one part in 2^50


@dataclass(frozen=True)
class Length:
    """A number whose length over a unit's groups decides its factor, as a column of `held`.

    In one group it is no further from zero than `most`. Where all products that it divides fit 64 bits,
    it is held there: a length that does not fit is more than any of them, and so is 2^62, so that nothing
    is left either way.
    """

    column: str
    norm: NormBound
    most: int
    short: bool
    held_as: str  # the column, which may be that of a measurement

    def can_be_long(self, groups: int | None) -> bool:
        """Return whether a unit in so many groups can be longer than it may be; None is any number."""
        if groups is None:
            return True
        shift = self.norm.shift
        most = self.most << shift if shift >= 0 else -(-self.most >> -shift)
        longest = most if self.norm.order == 1 else most * most
        return groups * longest > self.norm.threshold

    @property
    def each(self) -> str:
        """What one group adds to the L1 norm, or to the square of the L2 norm, in whole parts."""
        shift = self.norm.shift
        if self.norm.order == 2 and shift >= 0:  # no number has more than 31 bits less the shift
            return f"{self.held_as} * {self.held_as}"
        size = f"system.main.abs({self.held_as})::BIGINT"
        if shift < 0:
            parts = 1 << -shift
            size = f"(({size}::HUGEINT + {parts - 1}) // {parts})::BIGINT"
        return size if self.norm.order == 1 else f"{size} * {size}"

    def whole(self, added: str) -> str:
        """Return the norm, or the square of it, from what all groups add."""
        shift = self.norm.shift
        return f"{added} * {1 << 2 * shift}" if self.norm.order == 2 and shift > 0 else added

    def held(self, length: str) -> str:
        """Return a length as numbers are divided by it."""
        return f"system.main.least({length}, {WORD})::BIGINT" if self.short else length


def of_one_group(lengths: Sequence[Length], pairs: str) -> str:
    """Return pairs that are all there is of their units, with their lengths where these are too long."""
    sizes = "".join(
        f", {length.whole(f'({length.each})::HUGEINT')} AS q{n}" for n, length in enumerate(lengths)
    )
    return _with_lengths("*", lengths, f"SELECT *{sizes} FROM {pairs}")


def too_long(lengths: Sequence[Length]) -> str:
    """Return the units that are longer than they may be, and how long where they are."""
    every = f"SELECT u{_added(lengths)} FROM held GROUP BY u"
    long = " OR ".join(f"q{n} > {length.norm.threshold}" for n, length in enumerate(lengths))
    return _with_lengths("u", lengths, f"SELECT * FROM ({every}) WHERE {long}")


def of_all_units(lengths: Sequence[Length]) -> list[str]:
    """Return all units: in how many groups they are, and their lengths where these are too long."""
    every = f"SELECT u, system.main.count(*) AS g{_added(lengths)} FROM held GROUP BY u"
    reached = _with_lengths("u, g", lengths, "added")
    return [f"added AS ({every})", f"reached AS MATERIALIZED ({reached})"]


def _added(lengths: Sequence[Length]) -> str:
    return "".join(
        f", {length.whole(f'system.main.sum({length.each})')} AS q{n}"
        for n, length in enumerate(lengths)
    )


def _with_lengths(columns: str, lengths: Sequence[Length], units: str) -> str:
    """Return units with their lengths, from norms or their squares."""
    roots, found = "", ""
    for number, length in enumerate(lengths):
        total, root = f"q{number}", f"root{number}"
        long = f"{total} > {length.norm.threshold}"
        whole = total
        if length.norm.order == 2:
            roots += f", CASE WHEN {long} THEN {first_root(total)} END AS {root}"
            whole = rounded_up(root, total)
        found += f", CASE WHEN {long} THEN {length.held(whole)} END AS l{number}"
    source = f"({units})" if " " in units else units
    if roots:
        source = f"(SELECT *{roots} FROM {source})"
    return f"SELECT {columns}{found} FROM {source}"


def first_root(squares: str) -> str:
    """Return the root of a whole number in floating point, rounded down: near the exact one."""
    return f"CAST(system.main.floor(system.main.sqrt(CAST({squares} AS DOUBLE))) AS HUGEINT)"


def rounded_up(root: str, squares: str) -> str:
    """Return the least whole number near a root in floating point that is not below the exact one."""
    return (
        f"CASE WHEN {root} * {root} >= {squares} THEN {root} "
        f"WHEN ({root} + 1) * ({root} + 1) >= {squares} THEN {root} + 1 "
        f"ELSE {root} + 1 + {root} // {_ROOT_MARGIN} END"
    )
