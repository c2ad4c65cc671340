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
_ROWS = "a"  # of a pair, as a column of `held`
_WORD = 2**62  # below it whole numbers fit 64 bits, which the engine divides many times quicker


@dataclass(frozen=True)
class _Length:
    """A number whose length over a unit's groups decides its factor, as a column of `held`.

    Where all products that it divides fit 64 bits, it is `held` there: a length that does not fit is more
    than any of them, and so is 2^62, so that nothing is left either way.
    """

    column: str
    norm: NormBound
    short: bool
    held_as: str  # the column, which may be that of a measurement

    @property
    def added(self) -> str:
        """The L1 norm of all its groups, or the square of the L2 norm, in whole parts."""
        shift = self.norm.shift
        if self.norm.order == 2 and shift >= 0:  # no number has more than 31 bits less the shift
            squares = f"system.main.sum({self.held_as} * {self.held_as})"
            return f"{squares} * {1 << 2 * shift}" if shift else squares
        size = f"system.main.abs({self.held_as})::BIGINT"
        if shift < 0:
            parts = 1 << -shift
            size = f"(({size}::HUGEINT + {parts - 1}) // {parts})::BIGINT"
        return (
            f"system.main.sum({size})"
            if self.norm.order == 1
            else f"system.main.sum({size} * {size})"
        )

    def held(self, length: str) -> str:
        """Return a length as numbers are divided by it."""
        return f"system.main.least({length}, {_WORD})::BIGINT" if self.short else length


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

    def scaled(
        self,
        weighed_groups: int | None = None,
        small: str | None = None,
        small_groups: str | None = None,
    ) -> list[str]:
        """Return the pairs' parts of the measurements that are bounded by norm, as `scaled`.

        Where keys are selected by weights, of at most `weighed_groups` groups of each unit, `w` is the
        pair's weight. Pairs that are `small` are as long as they may be, and need no unit; in how many
        groups it is they say as `small_groups`.
        """
        lengths = self._lengths()
        held = ["u", *self._keys]
        held += [f"{self._held(place)} AS a{place}" for place in self._places]
        if any(length.held_as == _ROWS for length in lengths):
            held.append(f"{self._rows()} AS {_ROWS}")
        statements = [f"held AS MATERIALIZED (SELECT {', '.join(held)} FROM pairs)"]
        source = "held"
        columns = [f"held.{key} AS {key}" for key in self._keys]
        whole = [] if small_groups is None else [weight(small_groups)]
        if weighed_groups is not None:
            statements += [*_reached(lengths), *self._weighed(weighed_groups, len(lengths))]
            source += " JOIN weighed ON held.u = weighed.u"
            # a branch each: of an OR the engine looks at both sides of all rows
            counted = f"WHEN {self._hash('held')} < weighed.below THEN weighed.w"
            columns.append(f"CASE WHEN weighed.below IS NULL THEN weighed.w {counted} END AS w")
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
                _scaled(text, long[n], part.norm.scale, length)
                for n, length in enumerate(lengths)
                if self._scales(length.column, place)
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
        lengths: dict[str, _Length] = {}
        for place in self._places:
            norm = self._norm(place)
            column = _deciding(place, norm)
            if column not in lengths:
                held_as = self._held_as(column)
                lengths[column] = _Length(column, norm, self._is_short(column, norm), held_as)
        return list(lengths.values())

    def _held_as(self, column: str) -> str:
        """Return where a column that decides is held: that of rows may be one that is measured."""
        if column != _ROWS:
            return column
        same = (f"a{place}" for place in self._places if self._held(place) == self._rows())
        return next(same, column)

    def _is_short(self, column: str, norm: NormBound) -> bool:
        """Return whether the products of all numbers that a length scales fit 64 bits."""
        scaled = (place for place in self._places if self._scales(column, place))
        return all(
            self._most(self._measurements[place]) * self._norm(place).scale * norm.numerator < _WORD
            for place in scaled
        )

    def _scales(self, column: str, place: int) -> bool:
        """Return whether the length of a column decides about a measurement, alone or among others."""
        norm = self._norm(place)
        return norm.jointly or column == _deciding(place, norm)

    def _norm(self, place: int) -> NormBound:
        norm = self._measurements[place].norm
        assert norm is not None  # noqa: S101  (these are the places of those that have one)
        return norm

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
        most = self._most(part)
        if part.norm.alone and not part.norm.jointly:
            text = self._share(f"{self._number(place, part)}::HUGEINT", 1 << ROWS_BITS)
        elif part.kind is Measured.ROWS:
            return f"system.main.least(n, {most})"
        else:
            return self._held_by_rows(place, part)
        return _narrowed(most, _within(most, text))

    def _held_by_rows(self, place: int, part: Measurement) -> str:
        """Return a pair's number as its share of the rows that count.

        What so few rows add up to fits 64 bits, where the engine is quicker, and so does what is left of
        a longer one, once it is held to what rows that nobody has could be.
        """
        beyond, rows = (
            part.size << ROWS_BITS,
            min(self._norm_of_rows().most, self._rows_per_group()),
        )
        text = _within(beyond, f"{self._number(place, part)}::HUGEINT")
        most = self._most(part)
        if beyond * rows >= _WORD:
            return _narrowed(most, _within(most, self._share(text, rows)))
        far = max(abs(part.centre), abs(part.centre + part.high), abs(part.centre + part.low))
        few, many = f"({text})::BIGINT", f"(({text})::BIGINT * {rows}) // n"
        if (part.size + far) * rows < _WORD:
            few = self._number(place, part, few_rows=True)
        if most < part.size * rows:  # no row moves it by more than its size
            few = _within(most, few)
        return _narrowed(most, f"CASE WHEN n > {rows} THEN {_within(most, many)} ELSE {few} END")

    def _number(self, place: int, part: Measurement, *, few_rows: bool = False) -> str:
        """Return what a pair's rows add up to; of `few_rows`, in 64 bits."""
        column = value_column(self._measurements, place)
        values, sums = f"v{column}", f"s{column}"
        if few_rows:
            sums = f"TRY_CAST({sums} AS BIGINT)"
        match part.kind:
            case Measured.ROWS:
                return "n"
            case Measured.VALUES:
                return values
            case Measured.BELOW if few_rows:
                return f"({values} * {part.centre + part.high} - {sums})"
            case Measured.BELOW:
                return below(sums, values, part)
            case _ if part.centre:
                return f"({sums} - {values}{'' if few_rows else '::HUGEINT'} * {part.centre})"
            case _:
                return sums

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


def _narrowed(most: int, text: str) -> str:
    """Return a number that is no further than this from zero, in 64 bits where it fits."""
    return f"({text})::BIGINT" if most < _WORD else text


def _deciding(place: int, norm: NormBound) -> str:
    """Return the column whose length decides about a measurement."""
    return f"a{place}" if norm.alone else _ROWS


def _too_long(length: _Length) -> str:
    """Return the units that are longer than they may be, and how long, in whole parts, rounded up."""
    added = f"SELECT u, {length.added} AS added FROM held GROUP BY u"
    long = f"SELECT u, added FROM ({added}) WHERE added > {length.norm.threshold}"
    if length.norm.order == 1:
        return f"SELECT u, {length.held('added')} AS l FROM ({long})"
    squares = f"(SELECT u, added AS squares FROM ({long}))"
    return f"SELECT u, {length.held('l')} AS l FROM ({rooted(squares)})"


def _reached(lengths: Sequence[_Length]) -> list[str]:
    """Return all units: in how many groups they are, and their lengths where these are too long."""
    sums, roots, found = "", "", ""
    for number, length in enumerate(lengths):
        total, root = f"q{number}", f"root{number}"
        sums += f", {length.added} AS {total}"
        long = f"{total} > {length.norm.threshold}"
        whole = total
        if length.norm.order == 2:
            roots += f", CASE WHEN {long} THEN {_root(total)} END AS {root}"
            whole = _rounded_up(root, total)
        found += f", CASE WHEN {long} THEN {length.held(whole)} END AS l{number}"
    every = f"SELECT u, system.main.count(*) AS g{sums} FROM held GROUP BY u"
    return [
        f"added AS ({every})",
        f"reached AS MATERIALIZED (SELECT u, g{found} FROM (SELECT *{roots} FROM added))",
    ]


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


def _scaled(text: str, divisor: str, scale: int, length: _Length) -> str:
    """Return a number in steps of the cells, scaled down, toward zero, where its unit is too long."""
    number = text if length.short else f"{text}::HUGEINT"
    beyond = f"({number} * {scale * length.norm.numerator}) // {divisor}"
    return f"CASE WHEN {divisor} IS NULL THEN {text} * {scale} ELSE {beyond} END"


def _nearest_to_zero(text: str, scaled: list[str]) -> str:
    """Return what is left of a number, scaled by the least of several factors."""
    if len(scaled) == 1:
        return scaled[0]
    each = ", ".join(scaled)
    return (
        f"CASE WHEN {text} < 0 THEN system.main.greatest({each}) ELSE system.main.least({each}) END"
    )
