"""Bounding by norm as SQL: a unit's numbers in all its groups scaled down by one factor.

    held      each pair's numbers: of no more rows than count in one group, and than 128 bits bear
    long      units whose numbers are longer than they may be, with their lengths l0, l1, …, rounded up
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

from sanql.compile.key_weights import thresholds_with_counts, weight
from sanql.compile.keyed_hash import keyed_hash
from sanql.compile.measured_values import below, value_column
from sanql.compile.unit_lengths import WORD, Length, of_all_units, of_one_group, too_long
from sanql.measurements import ROWS_BITS, Measured, Measurement, NormBound
from sanql.plan import Level, PublicKeys, counted_by

_ROWS = "a"  # of a pair, as a column of `held`


class NormWriter:
    """Writes what lies between the relation `pairs` and the measurements that are bounded by norm."""

    def __init__(self, level: Level, secret: str) -> None:
        self._secret = secret
        self._measurements = level.computed
        self._keys = [f"k{index}" for index in range(len(level.query.keys))]
        self._limits = level.outline.limits
        self._groups = _groups_of(level)
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
        scaled = self._scaled_pairs(lengths)
        columns = [f"held.{key} AS {key}" for key in self._keys]
        statements, source = self._beside_lengths(lengths, weighed_groups)
        whole = [] if small_groups is None else [weight(small_groups)]
        if weighed_groups is not None:
            # a branch each: of an OR the engine looks at both sides of all rows
            counted = f"WHEN {self._hash('held')} < long.below THEN long.w"
            columns.append(f"CASE WHEN long.below IS NULL THEN long.w {counted} END AS w")
        columns += [f"{text} AS m{place}" for place, text in scaled.items()]
        whole += [f"({self._held(place)}) * {self._norm(place).scale}" for place in self._places]
        select = f"SELECT {', '.join(columns)} FROM {source}"
        if small is not None:
            select += f" UNION ALL SELECT {', '.join([*self._keys, *whole])} FROM ({small})"
        return [*statements, f"scaled AS ({select})"]

    def _beside_lengths(
        self, lengths: Sequence[Length], weighed_groups: int | None
    ) -> tuple[list[str], str]:
        """Return the pairs' numbers as `held`, and a FROM that has lengths of units, l0, …, as well."""
        columns = [
            "u",
            *self._keys,
            *(f"{self._held(place)} AS a{place}" for place in self._places),
        ]
        if any(length.held_as == _ROWS for length in lengths):
            columns.append(f"{self._rows()} AS {_ROWS}")
        held = f"SELECT {', '.join(columns)} FROM pairs"
        if weighed_groups is not None:
            looked_at = [*of_all_units(lengths), *self._weighed(weighed_groups, len(lengths))]
            statements = [f"held AS MATERIALIZED ({held})", *looked_at]
            return statements, "held JOIN weighed AS long ON held.u = long.u"
        if not lengths:
            return [f"held AS ({held})"], "held"
        if not self._keys:
            return [f"held AS ({of_one_group(lengths, f'({held})')})"], "held"
        statements = [f"held AS MATERIALIZED ({held})", f"long AS ({too_long(lengths)})"]
        return statements, "held LEFT JOIN long ON held.u = long.u"

    def _scaled_pairs(self, lengths: Sequence[Length]) -> dict[int, str]:
        """Return each pair's part of the cells, by the place of its measurement."""
        one_group = not self._keys
        found = {}
        for place in self._places:
            text, scale = f"held.a{place}", self._norm(place).scale
            scaled = [
                _scaled(text, f"{'held' if one_group else 'long'}.l{n}", scale, length)
                for n, length in enumerate(lengths)
                if self._scales(length.column, place)
            ]
            found[place] = _nearest_to_zero(text, scaled) if scaled else f"{text} * {scale}"
        return found

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

    def _lengths(self) -> list[Length]:
        """Return what decides factors: each sum that is bounded alone, or the rows for all of them.

        What no unit can have too much of decides nothing.
        """
        lengths: dict[str, Length] = {}
        for place in self._places:
            norm = self._norm(place)
            column = _deciding(place, norm)
            if column not in lengths:
                held_as = self._held_as(column)
                most, short = self._most_of(column), self._is_short(column, norm)
                lengths[column] = Length(column, norm, most, short, held_as)
        return [each for each in lengths.values() if each.can_be_long(self._groups)]

    def _held_as(self, column: str) -> str:
        """Return where a column that decides is held: that of rows may be one that is measured."""
        if column != _ROWS:
            return column
        same = (f"a{place}" for place in self._places if self._held(place) == self._rows())
        return next(same, column)

    def _most_of(self, column: str) -> int:
        """Return how far from zero a pair's number is at most, by its column."""
        if column == _ROWS:
            return min(self._norm_of_rows().most, self._rows_per_group())
        return self._most(self._measurements[int(column[1:])])

    def _is_short(self, column: str, norm: NormBound) -> bool:
        """Return whether the products of all numbers that a length scales fit 64 bits."""
        scaled = (place for place in self._places if self._scales(column, place))
        return all(
            self._most(self._measurements[place]) * self._norm(place).scale * norm.numerator < WORD
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
        rows = min(self._rows_per_group(), 1 << ROWS_BITS)
        if not part.norm.alone or part.norm.jointly:
            rows = min(self._norm_of_rows().most, rows)
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

        What few rows add up to fits 64 bits, where the engine is quicker; what more rows add up to is
        held to what rows that nobody has could be.
        """
        beyond = part.size << ROWS_BITS
        rows = min(self._norm_of_rows().most, self._rows_per_group())
        most = self._most(part)
        text = _within(beyond, f"{self._number(place, part)}::HUGEINT")
        many = f"(({text})::BIGINT * {rows}) // n"
        if beyond * rows >= WORD:
            many = f"({text} * {rows}) // n"
        far = max(abs(part.centre), abs(part.centre + part.high), abs(part.centre + part.low))
        few = min(rows, (WORD - 1) // (part.size + far))
        if few < rows:
            many = f"CASE WHEN n > {rows} THEN {many} ELSE {text} END"
        if few < 1:
            return _narrowed(most, _within(most, many))
        held = self._number(place, part, few_rows=True)
        if most < part.size * few:  # no row moves it by more than its size
            held = _within(most, held)
        many = _narrowed(most, _within(most, many))
        return f"CASE WHEN n > {few} THEN {many} ELSE {held} END"

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


def _groups_of(level: Level) -> int | None:
    """Return in how many groups a unit can be, where the question or the policy tells."""
    if not level.query.keys:
        return 1
    keys = level.outline.keys
    return keys.count if isinstance(keys, PublicKeys) else None


def _within(most: int, text: str) -> str:
    return f"system.main.greatest(-{most}, system.main.least({most}, {text}))"


def _narrowed(most: int, text: str) -> str:
    """Return a number that is no further than this from zero, in 64 bits where it fits."""
    return f"({text})::BIGINT" if most < WORD else text


def _deciding(place: int, norm: NormBound) -> str:
    """Return the column whose length decides about a measurement."""
    return f"a{place}" if norm.alone else _ROWS


def _scaled(text: str, divisor: str, scale: int, length: Length) -> str:
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
