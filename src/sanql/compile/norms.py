"""Bounding by norm as SQL: a unit's numbers in all its groups scaled down by one factor.

    held      each pair's numbers: of no more rows than count in one group, and than 128 bits bear
    long0 …   units whose numbers are longer than they may be, with that length, rounded up
    scaled    each pair's part of the cells, in steps of the cells

Where keys are selected by weights, all units are looked at once, for their lengths and for their groups:

    added     each unit's number of groups, and its lengths or their squares
    reached   the same, with roots
    spread_out  units in more groups than are weighed, and the hash below which these lie
    weighed   each unit's lengths where they are too long, and what each of its groups weighs

measurements/norms.py has the formula and why it bounds the norm. All of it is whole numbers; the one
root is taken in floating point and believed only as far as whole numbers confirm it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanql.compile.key_weights import thresholds_with_counts, weight
from sanql.compile.keyed_hash import keyed_hash
from sanql.compile.measured_values import below, value_column
from sanql.measurements import ROWS_BITS, Measured, Measurement, NormBound
from sanql.plan import Level, counted_by

_ROOT_MARGIN = 2**30  # a root in floating point is right to one part in 2^50
_WORD = 2**62  # below it whole numbers fit 64 bits, which the engine divides many times quicker


@dataclass(frozen=True)
class _Length:
    """A number whose length over a unit's groups decides its factor, as a column of `held`."""

    column: str
    norm: NormBound


class NormWriter:
    """Writes what lies between the relation `pairs` and the measurements that are bounded by norm."""

    def __init__(self, level: Level, secret: str) -> None:
        self._secret = secret
        self._measurements = level.computed
        self._keys = [f"k{index}" for index in range(len(level.query.keys))]
        self._limits = level.outline.limits
        self._places = [i for i, part in enumerate(level.computed) if part.norm is not None]

    @property
    def needed(self) -> bool:
        """Whether any measurement is bounded by norm."""
        return bool(self._places)

    def scaled(self, weighed_groups: int | None = None, small: str | None = None) -> list[str]:
        """Return the pairs' parts of the measurements that are bounded by norm, as `scaled`.

        Where keys are selected by weights, of at most `weighed_groups` groups of each unit, `w` is the
        pair's weight. Pairs that are `small` are as long as they may be, and need no unit.
        """
        lengths = self._lengths()
        held = ["u", *self._keys]
        held += [f"{self._held(place)} AS a{place}" for place in self._places]
        if any(not length.norm.alone for length in lengths):
            held.append(f"{self._rows()} AS a")
        statements = [f"held AS MATERIALIZED (SELECT {', '.join(held)} FROM pairs)"]
        source = "held"
        columns = [f"held.{key} AS {key}" for key in self._keys]
        whole = []
        if weighed_groups is not None:
            statements += [*_reached(lengths), *self._weighed(weighed_groups, len(lengths))]
            source += " JOIN weighed ON held.u = weighed.u"
            counted = f"weighed.below IS NULL OR {self._hash('held')} < weighed.below"
            columns.append(f"CASE WHEN {counted} THEN weighed.w END AS w")
        else:
            for number, length in enumerate(lengths):
                name = f"long{number}"
                statements.append(f"{name} AS ({_too_long(length)})")
                source += f" LEFT JOIN {name} ON held.u = {name}.u"
        where = "long{}.l" if weighed_groups is None else "weighed.l{}"
        long = [where.format(number) for number in range(len(lengths))]
        for place in self._places:
            part = self._measurements[place]
            assert part.norm is not None  # noqa: S101  (these are the places of those that have one)
            text = f"held.a{place}"
            scaled = [
                _scaled(text, self._most(part), long[n], part.norm.scale, length.norm)
                for n, length in enumerate(lengths)
                if part.norm.jointly or _decides(length, place, part)
            ]
            columns.append(f"{_nearest_to_zero(text, scaled)} AS m{place}")
            whole.append(f"({self._held(place)}) * {part.norm.scale}")
        select = f"SELECT {', '.join(columns)} FROM {source}"
        if small is not None:
            select += f" UNION ALL SELECT {', '.join([*self._keys, *whole])} FROM ({small})"
        return [*statements, f"scaled AS ({select})"]

    def _weighed(self, most: int, lengths: int) -> list[str]:
        """Return what each group of a unit weighs, and the hash below which these groups are."""
        many = f"(SELECT u FROM reached WHERE g > {most})"
        pairs = f"SELECT a.u, {self._hash('a')} AS h FROM held a SEMI JOIN {many} b ON a.u = b.u"
        long = "".join(f", reached.l{number}" for number in range(lengths))
        groups = "coalesce(spread_out.g, reached.g)"
        return [
            f"spread_out AS ({thresholds_with_counts(pairs, most)})",
            f"weighed AS (SELECT reached.u{long}, below, {weight(groups)} AS w "
            "FROM reached LEFT JOIN spread_out ON reached.u = spread_out.u)",
        ]

    def _hash(self, pairs: str) -> str:
        return keyed_hash(self._secret, *(f"{pairs}.{part}" for part in ("u", *self._keys)))

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

    def _most(self, part: Measurement) -> int:
        """Return how far from zero a pair's number is at most.

        No row moves it by more than its size, so its share of `rows` rows is not beyond so many of them.
        """
        assert part.norm is not None  # noqa: S101
        if part.norm.alone and not part.norm.jointly:
            return part.norm.most
        rows = min(self._norm_of_rows().most, self._rows_per_group(), 1 << ROWS_BITS)
        by_rows = part.size * rows
        return min(part.norm.most, by_rows) if part.norm.alone else by_rows

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
            text = self._share(f"{text}::HUGEINT", 1 << ROWS_BITS)
        else:
            # so many rows are nobody's; held there, the product has room
            beyond, rows = part.size << ROWS_BITS, self._norm_of_rows().most
            text = _within(beyond, f"{text}::HUGEINT")
            short = beyond * min(rows, self._rows_per_group()) < _WORD
            text = self._share(f"({text})::BIGINT" if short else text, rows)
        most = self._most(part)
        return f"({_within(most, text)})::BIGINT" if most < _WORD else _within(most, text)

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
        if rows == "n":
            return f"system.main.least(n, {most})"
        share = f"({rows}::HUGEINT * {most} + n - 1) // n"
        return f"CASE WHEN n > {most} THEN ({share})::BIGINT ELSE {rows} END"

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
    norm, size = length.norm, _size(length)
    if norm.order == 1:
        total = f"system.main.sum({size})"
        return f"SELECT u, {total} AS l FROM held GROUP BY u HAVING {total} > {norm.threshold}"
    sized = f"SELECT u, {size} AS size FROM held"
    squares = (
        f"SELECT u, system.main.sum(size * size) AS squares FROM ({sized}) GROUP BY u "
        f"HAVING system.main.sum(size * size) > {norm.threshold}"
    )
    return rooted(f"({squares})")


def _reached(lengths: Sequence[_Length]) -> list[str]:
    """Return all units: in how many groups they are, and their lengths where these are too long."""
    sizes = "".join(f", {_size(length)} AS size{n}" for n, length in enumerate(lengths))
    sums, roots, found = "", "", ""
    for number, length in enumerate(lengths):
        size, total, root = f"size{number}", f"q{number}", f"root{number}"
        added = size if length.norm.order == 1 else f"{size} * {size}"
        sums += f", system.main.sum({added}) AS {total}"
        long = f"{total} > {length.norm.threshold}"
        if length.norm.order == 1:
            found += f", CASE WHEN {long} THEN {total} END AS l{number}"
        else:
            roots += f", {_root(total)} AS {root}"
            found += f", CASE WHEN {long} THEN {_rounded_up(root, total)} END AS l{number}"
    every = f"SELECT u, system.main.count(*) AS g{sums} FROM (SELECT u{sizes} FROM held) GROUP BY u"
    return [
        f"added AS ({every})",
        f"reached AS MATERIALIZED (SELECT u, g{found} FROM (SELECT *{roots} FROM added))",
    ]


def _size(length: _Length) -> str:
    """Return one number of a pair as a part of a length: whole, and rounded up."""
    shift = length.norm.shift
    size = f"system.main.abs({length.column})"
    if shift >= 0:
        size = f"({size} * {1 << shift})::BIGINT" if shift else f"{size}::BIGINT"
    else:
        parts = 1 << -shift
        size = f"(({size}::HUGEINT + {parts - 1}) // {parts})::BIGINT"
    return size


def rooted(squares: str) -> str:
    """Return roots of whole numbers, rounded up, as `l`: none is shorter than the exact one."""
    first = f"SELECT u, squares, {_root('squares')} AS root FROM {squares}"
    return f"SELECT *, {_rounded_up('root', 'squares')} AS l FROM ({first})"


def _root(squares: str) -> str:
    return f"CAST(system.main.floor(system.main.sqrt(CAST({squares} AS DOUBLE))) AS HUGEINT)"


def _rounded_up(root: str, squares: str) -> str:
    """Return the least whole number near a root in floating point that is not below the exact one."""
    return (
        f"CASE WHEN {root} * {root} >= {squares} THEN {root} "
        f"WHEN ({root} + 1) * ({root} + 1) >= {squares} THEN {root} + 1 "
        f"ELSE {root} + 1 + {root} // {_ROOT_MARGIN} END"
    )


def _scaled(text: str, most: int, length: str, scale: int, norm: NormBound) -> str:
    """Return a number in steps of the cells, scaled down, toward zero, where its unit is too long.

    `most` is how far from zero it is at most. A product that fits 64 bits is divided there, by the length
    or, where that is longer, by a number that is more than the product too: either way nothing is left.
    """
    factor = scale * norm.numerator
    if most * factor < _WORD:
        length_held = f"system.main.least({length}, {_WORD})::BIGINT"
    else:
        text, length_held = f"{text}::HUGEINT", length
    beyond = f"({text} * {factor}) // {length_held}"
    return f"CASE WHEN {length} IS NULL THEN {text} * {scale} ELSE {beyond} END"


def _nearest_to_zero(text: str, scaled: list[str]) -> str:
    """Return what is left of a number, scaled by the least of several factors."""
    if len(scaled) == 1:
        return scaled[0]
    each = ", ".join(scaled)
    return (
        f"CASE WHEN {text} < 0 THEN system.main.greatest({each}) ELSE system.main.least({each}) END"
    )
