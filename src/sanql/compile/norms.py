"""Bounding by norm as SQL: a unit's numbers in all its groups scaled down by one factor.

    held      each pair's numbers: of no more rows than count in one group, and than 128 bits bear
    long0 …   units whose numbers are longer than they may be, with that length, rounded up
    scaled    each pair's part of the cells, in steps of the cells

measurements/norms.py has the formula and why it bounds the norm. All of it is whole numbers; the one
root is taken in floating point and believed only as far as whole numbers confirm it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sanql.compile.measured_values import below, value_column
from sanql.measurements import ROWS_BITS, Measured, Measurement, NormBound
from sanql.plan import Level, counted_by

_ROOT_MARGIN = 2**30  # a root in floating point is right to one part in 2^50


@dataclass(frozen=True)
class _Length:
    """A number whose length over a unit's groups decides its factor, as a column of `held`."""

    column: str
    norm: NormBound


class NormWriter:
    """Writes what lies between the relation `pairs` and the measurements that are bounded by norm."""

    def __init__(self, level: Level) -> None:
        self._measurements = level.computed
        self._keys = [f"k{index}" for index in range(len(level.query.keys))]
        self._limits = level.outline.limits
        self._places = [i for i, part in enumerate(level.computed) if part.norm is not None]

    @property
    def needed(self) -> bool:
        """Whether any measurement is bounded by norm."""
        return bool(self._places)

    def scaled(self) -> list[str]:
        """Return the pairs' parts of the measurements that are bounded by norm, as `scaled`."""
        lengths = self._lengths()
        held = ["u", *self._keys]
        held += [f"{self._held(place)} AS a{place}" for place in self._places]
        if any(not length.norm.alone for length in lengths):
            held.append(f"{self._rows()} AS a")
        statements = [f"held AS MATERIALIZED (SELECT {', '.join(held)} FROM pairs)"]
        source = "held"
        for number, length in enumerate(lengths):
            name = f"long{number}"
            statements.append(f"{name} AS ({_too_long(length)})")
            source += f" LEFT JOIN {name} ON held.u = {name}.u"
        columns = [f"held.{key} AS {key}" for key in self._keys]
        for place in self._places:
            part = self._measurements[place]
            assert part.norm is not None  # noqa: S101  (these are the places of those that have one)
            text = f"held.a{place}"
            scaled = [
                _scaled(text, f"long{n}.l", part.norm.scale, length.norm)
                for n, length in enumerate(lengths)
                if part.norm.jointly or _decides(length, place, part)
            ]
            columns.append(f"{_nearest_to_zero(text, scaled)} AS m{place}")
        return [*statements, f"scaled AS (SELECT {', '.join(columns)} FROM {source})"]

    def _lengths(self) -> list[_Length]:
        """Return what decides factors: each sum that is bounded alone, or the rows for all of them."""
        lengths: list[_Length] = []
        for place in self._places:
            norm = self._measurements[place].norm
            assert norm is not None  # noqa: S101
            length = _Length(f"a{place}" if norm.alone else "a", norm)
            if all(length.column != other.column for other in lengths):
                lengths.append(length)
        return lengths

    def _held(self, place: int) -> str:
        """Return a pair's number: toward zero its share of the rows that count, within what is borne."""
        part = self._measurements[place]
        assert part.norm is not None  # noqa: S101
        column = value_column(self._measurements, place)
        match part.kind:
            case Measured.ROWS:
                text = "n"
            case Measured.VALUES:
                text = f"v{column}"
            case Measured.BELOW:
                text = below(f"s{column}", f"v{column}", part)
            case _:
                text = f"s{place}"
                if part.centre:
                    text = f"({text} - v{place}::HUGEINT * {part.centre})"
        if part.norm.alone and not part.norm.jointly:
            return _within(part.norm.most, self._share(f"{text}::HUGEINT", 1 << ROWS_BITS))
        # so many rows are nobody's; held there, the product below has room
        text = _within(part.size << ROWS_BITS, f"{text}::HUGEINT")
        text = self._share(text, self._norm_of_rows().most)
        return _within(part.norm.most, text) if part.norm.alone else text

    def _norm_of_rows(self) -> NormBound:
        """Return the norm that rows decide about."""
        norms = [self._measurements[place].norm for place in self._places]
        return next(norm for norm in norms if norm is not None and not norm.alone)

    def _share(self, text: str, most: int) -> str:
        """Return a pair's number scaled, toward zero, to the rows that count in one group."""
        most = min(most, self._rows_per_group())
        if most == 1 << ROWS_BITS:
            return text
        return f"CASE WHEN n > {most} THEN ({text} * {most}) // n ELSE {text} END"

    def _rows(self) -> str:
        """Return how many rows a pair's numbers are about, rounded up.

        Where all of them are about one column, these are its values, and all rows elsewhere.
        """
        decides = counted_by([self._measurements[place] for place in self._places])
        about = [p for p in self._places if self._measurements[p].expression == decides]
        rows = "n" if decides is None else f"v{value_column(self._measurements, about[0])}"
        most = min(self._norm_of_rows().most, self._rows_per_group())
        return f"CASE WHEN n > {most} THEN ({rows}::HUGEINT * {most} + n - 1) // n ELSE {rows} END"

    def _rows_per_group(self) -> int:
        """Return how many rows of a unit count in one group, where the policy says so."""
        limits = self._limits
        return limits.rows_per_group if limits.rows_per_group < limits.rows else 1 << ROWS_BITS


def _within(most: int, text: str) -> str:
    return f"system.main.greatest(-{most}, system.main.least({most}, {text}))"


def _decides(length: _Length, place: int, part: Measurement) -> bool:
    assert part.norm is not None  # noqa: S101
    return length.column == (f"a{place}" if part.norm.alone else "a")


def _too_long(length: _Length) -> str:
    """Return the units that are longer than they may be, and how long, in whole parts, rounded up."""
    norm, shift = length.norm, length.norm.shift
    size = f"system.main.abs({length.column})"
    if shift >= 0:
        size = f"({size} * {1 << shift})::BIGINT" if shift else f"{size}::BIGINT"
    else:
        parts = 1 << -shift
        size = f"(({size} + {parts - 1}) // {parts})::BIGINT"
    if norm.order == 1:
        total = f"system.main.sum({size})"
        return f"SELECT u, {total} AS l FROM held GROUP BY u HAVING {total} > {norm.threshold}"
    sized = f"SELECT u, {size} AS size FROM held"
    squares = (
        f"SELECT u, system.main.sum(size * size) AS squares FROM ({sized}) GROUP BY u "
        f"HAVING system.main.sum(size * size) > {norm.threshold}"
    )
    return rooted(f"({squares})")


def rooted(squares: str) -> str:
    """Return roots of whole numbers, rounded up, as `l`: none is shorter than the exact one."""
    root = "CAST(system.main.floor(system.main.sqrt(CAST(squares AS DOUBLE))) AS HUGEINT)"
    first = f"SELECT u, squares, {root} AS root FROM {squares}"
    return (
        "SELECT *, CASE WHEN root * root >= squares THEN root "
        "WHEN (root + 1) * (root + 1) >= squares THEN root + 1 "
        f"ELSE root + 1 + root // {_ROOT_MARGIN} END AS l FROM ({first})"
    )


def _scaled(text: str, length: str, scale: int, norm: NormBound) -> str:
    """Return a number in steps of the cells, scaled down, toward zero, where its unit is too long."""
    beyond = f"({text} * {scale * norm.numerator}) // {length}"
    return f"CASE WHEN {length} IS NULL THEN {text} * {scale} ELSE {beyond} END"


def _nearest_to_zero(text: str, scaled: list[str]) -> str:
    """Return what is left of a number, scaled by the least of several factors."""
    if len(scaled) == 1:
        return scaled[0]
    each = ", ".join(scaled)
    return (
        f"CASE WHEN {text} < 0 THEN system.main.greatest({each}) ELSE system.main.least({each}) END"
    )
