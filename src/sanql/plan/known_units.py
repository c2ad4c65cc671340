"""What a profile tells of the units of a table, and how long their rows are over groups of a question.

Over several columns rows are in no fewer groups than over one of them, so no unit is longer; and none is
longer in L2 than in L1.

Where a condition leaves k of V values of a column, as many rows of a unit as pass are no more than √k
times its length over all values of that column (Cauchy and Schwarz). Units are taken to be so long, and
to be so many that k/V of all rows pass: a plane has no more flights to one airport than that, and most
planes fly elsewhere. Where V is not known it is taken to be as many as groups are taken to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sanql.errors import Refused
from sanql.plan.best_norm import Lengths, UnitLengths, ValueSpread
from sanql.plan.chosen_keys import values_passing
from sanql.plan.keys import listed_values
from sanql.policy import Table
from sanql.question import Call, ColumnRef, Expr, From, Join, Query, Scan, conjuncts, scans, walk

GROUPS_UNKNOWN = 16
GROUPS_BEYOND = 2  # times as many groups as an average unit is in, if that is all that is known
MOST_LACK = 1 / 2
"""Of all rows: where fewer have a value of a column, norms are of these rows alone."""
BEYOND_LIMIT = 2
"""How many times as many rows as the policy's limit are taken to be the most that hidden units have."""
SPREAD = (0.5, 1.0, 1.5)
"""What units have of something, in parts of the average, where that is all that is known."""


@dataclass(frozen=True)
class KnownUnits:
    """What a profile tells of the units of a table.

    How many there are with how many rows, of which L2 norms over the groups of columns, in how many of
    these groups; and how large an average value of a column is, which averages may rest on unless an
    accuracy is asked for: that is promised whatever the average is, also if it is as large as bounds;
    and how values are `spread` around that.
    """

    rows: Lengths
    norms: Mapping[str, Lengths] = field(default_factory=dict)
    groups: Mapping[str, Lengths] = field(default_factory=dict)
    sizes: Mapping[str, Fraction] = field(default_factory=dict)
    spread: Mapping[str, ValueSpread] = field(default_factory=dict)
    accuracy_asked: bool = False
    hidden: Lengths = ()
    values: Mapping[str, Lengths] = field(default_factory=dict)

    @property
    def units(self) -> float:
        """How many units there are."""
        return sum(each.units for each in self.rows)

    def average_groups(self, column: str) -> float:
        """Return how many groups of a column an average unit is in; 0 where that is not known."""
        spread = self.groups.get(column, ())
        units = sum(each.units for each in spread)
        return sum(each.units * each.length for each in spread) / units if units else 0.0

    def most_groups(self, column: str) -> float:
        """Return how many groups of a column the largest units are in; 0 where that is not known."""
        return max((each.length for each in self.groups.get(column, ())), default=0.0)


def private_table(query: Query) -> str | None:
    """Return the only private table that a question reads, by itself or joined to public ones."""
    if not _of_tables(query.source):
        return None
    private = [scan.table for scan in scans(query.source) if scan.private]
    return private[0] if len(private) == 1 else None


def _of_tables(source: From) -> bool:
    match source:
        case Scan():
            return True
        case Join(_, left, right, _):
            return _of_tables(left) and _of_tables(right)
        case _:
            return False


def groups_beyond(averages: Sequence[float]) -> int:
    """Return how many groups there are taken to be, by in how many an average unit is."""
    return math.ceil(max([GROUPS_UNKNOWN, *(GROUPS_BEYOND * each for each in averages)]))


def groups_left(query: Query, units: KnownUnits, tables: Mapping[str, Table]) -> int:
    """Return how many groups a question is taken to have whose keys are not known without the data."""
    columns = grouped_columns(query)
    left = {name: values for name, values, _ in _values_left(query, units, tables)}
    if columns and len(columns) == len(query.keys) and all(name in left for name in columns):
        return math.prod(left[name] for name in columns)
    return groups_beyond([units.average_groups(name) for name in columns])


def lengths_over_groups(
    query: Query, units: KnownUnits, tables: Mapping[str, Table], counted: Expr | None = None
) -> tuple[Lengths, Lengths]:
    """Return how long units are in L1, and in L2 over the groups of a question, if that is known.

    Where rows count that have a value, these rows alone, if most are known to have none.
    """
    rows, over_groups = _lengths_of_rows(query, units, tables)
    some = _with_a_value(rows, counted, query, units)
    if not some:
        return rows, over_groups
    return some, _over_several(some, [over_groups]) if over_groups else ()


def _with_a_value(
    rows: Lengths, counted: Expr | None, query: Query, units: KnownUnits
) -> Lengths | None:
    """Return units by rows with a value of a column; None where that is not known, or many have one.

    Units with more rows than are told from noise have values in as many of them as all have on average.
    A condition leaves as many of either.
    """
    match counted:
        case ColumnRef(origin=(table, column)) if table == private_table(query):
            found = units.values.get(column, ())
        case _:
            return None
    share = _rows_of(found) / _rows_of(units.rows) if found else 1.0
    if share > MOST_LACK:
        return None
    if query.where is not None:
        return tuple(each.times(share) for each in rows)
    longest = max(each.length for each in found)
    return (*found, *(e for e in (each.times(share) for each in rows) if e.length > longest))


def _lengths_of_rows(
    query: Query, units: KnownUnits, tables: Mapping[str, Table]
) -> tuple[Lengths, Lengths]:
    units = _with_hidden(units, tables.get(private_table(query) or ""))
    held = list(_held_to_values(query, units, tables))
    over = [units.norms[name] for name in grouped_columns(query) if units.norms.get(name)]
    if len(over) > 1:
        over.append(_over_several(units.rows, over))
    rows = min([units.rows, *held], key=_all_in_all)
    if len(grouped_columns(query)) < len(query.keys) and query.table is None:
        over.append(rows)  # keys of a joined table: who has all rows in one group is no longer
    return rows, min([*over, *held], key=_all_in_all, default=())


def _with_hidden(units: KnownUnits, table: Table | None) -> KnownUnits:
    """Return units with those that noise may hide, which no owner expects to be far beyond limits.

    Over the groups of a column their rows lie like those of the units that are seen.
    """
    limit = None if table is None else table.rows_per_unit_max
    most = math.inf if limit is None else float(BEYOND_LIMIT * limit)
    within = tuple(each for each in units.hidden if each.rows <= most)
    beyond = math.sqrt(sum(each.units**2 for each in units.hidden if each.rows > most))
    hidden = (*within, UnitLengths(beyond, most, most)) if beyond else within
    if not hidden:
        return units
    norms = {
        name: (*lengths, *_over_several(hidden, [lengths])) if lengths else lengths
        for name, lengths in units.norms.items()
    }
    return replace(units, rows=(*units.rows, *hidden), norms=norms, hidden=())


def _over_several(rows: Lengths, columns: Sequence[Lengths]) -> Lengths:
    """Return about how long units are over groups of several columns, by their lengths over each.

    Of n rows with the length v over a column, (v² - n) / (n² - n) is the chance that two of them are in
    one group. For several columns chances are multiplied, as if one told nothing of the other.
    """
    ratios = [sum(e.units * e.length for e in each) / _rows_of(each) for each in columns]
    found = []
    for each in rows:
        pairs, alike = each.rows**2 - each.rows, 1.0
        for ratio in ratios if pairs > 0 else ():
            alike *= max(0.0, (ratio * each.rows) ** 2 - each.rows) / pairs
        found.append(replace(each, length=math.sqrt(each.rows + max(0.0, pairs) * alike)))
    return tuple(found)


def _rows_of(lengths: Lengths) -> float:
    return sum(each.units * each.rows for each in lengths)


def _held_to_values(
    query: Query, units: KnownUnits, tables: Mapping[str, Table]
) -> Iterator[Lengths]:
    """Yield how many rows units have where WHERE leaves few values of a column."""
    for column, values, among in _values_left(query, units, tables):
        of_all = max(values, among or groups_beyond([units.average_groups(column)]))
        if lengths := units.norms[column]:  # none where all were drowned in noise
            yield _held(lengths, values, of_all)


def _values_left(
    query: Query, units: KnownUnits, tables: Mapping[str, Table]
) -> Iterator[tuple[str, int, int | None]]:
    """Yield columns with how many of their values WHERE leaves, and of how many where that is known."""
    tests = conjuncts(query.where)
    named = [node for test in tests for node in walk(test) if isinstance(node, ColumnRef)]
    for column in dict.fromkeys(named):
        if column.origin is None or column.origin[0] != private_table(query):
            continue
        name, public = column.origin[1], listed_values(column, tables)
        if name not in units.norms:
            continue
        with suppress(Refused):  # none is left: nothing is counted, whatever the norm is
            if public is not None:
                left = len(values_passing(query.where, column, public))
                if left < len(public):
                    yield name, left, len(public)
        chosen = [_chosen(test, column) for test in tests]
        if public is None and any(chosen):
            yield name, min(filter(None, chosen)), None


def _chosen(test: Expr, column: ColumnRef) -> int | None:
    """Return how many values of a column a condition names that a row must have one of."""
    match test:
        case Call("equal", (one, other)) if column in (one, other):
            return 1
        case Call("in", (subject, *choices)) if subject == column:
            return len(choices)
        case _:
            return None


def _held(lengths: Lengths, values: int, among: int) -> Lengths:
    """Return units as long as rows with some of all values can be, of which there are as many in all."""
    longest = [min(math.sqrt(values) * each.length, each.rows) for each in lengths]
    whole = sum(each.units * length for each, length in zip(lengths, longest, strict=True))
    share = min(1.0, values / among * _rows_of(lengths) / whole) if whole else 1.0
    return tuple(
        UnitLengths(share * each.units, length, length)
        for each, length in zip(lengths, longest, strict=True)
    )


def spread_out(lengths: Lengths, values: ValueSpread) -> Lengths:
    """Return lengths of sums, in average values, whatever units have larger or smaller ones."""
    return tuple(
        replace(each.times(factor), units=each.units / len(SPREAD))
        for each in with_large_values(lengths, values)
        for factor in SPREAD
    )


def with_large_values(lengths: Lengths, values: ValueSpread) -> Lengths:
    """Return lengths of sums of which one value is as large as `values` say, and the others are average.

    A unit with many rows is hardly longer for one of them; of few rows of heavy-tailed values it is most.
    """
    return tuple(
        replace(each.times(1 + (factor - 1) / max(1.0, each.rows)), units=share * each.units)
        for each in lengths
        for factor, share in values or ((1.0, 1.0),)
    )


def _all_in_all(lengths: Lengths) -> float:
    return sum(each.units * each.length for each in lengths)


def grouped_columns(query: Query) -> list[str]:
    """Return the columns of the table that a question groups by."""
    table = private_table(query)
    origins = [key.origin for key in query.keys if isinstance(key, ColumnRef)]
    return [origin[1] for origin in origins if origin is not None and origin[0] == table]


def spread_of_values(expression: Expr | None, query: Query, units: KnownUnits) -> ValueSpread:
    """Return how values of a column are spread around their average, if that is known."""
    match expression:
        case ColumnRef(origin=(table, column)) if table == private_table(query):
            return units.spread.get(column, ())
        case _:
            return ()


def average_size(expression: Expr | None, query: Query, units: KnownUnits) -> Fraction | None:
    """Return how large an average value of a column is, if that is known."""
    match expression:
        case ColumnRef(origin=(table, column)) if table == private_table(query):
            return units.sizes.get(column)
        case _:
            return None
