"""What counts of a table say of its policy: each at the line that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import assert_never

from sanql.examine.counts import ColumnCounts, Reference, TableCounts, UnitCounts
from sanql.policy import Budget, Column, ColumnUnit, Policy, RowUnit, Table, ViaUnit

WRONG = Fraction(1, 100)
"""The share of rows read as what they are not above which answers are wrong, and not only less exact."""
CUT = Fraction(1, 20)
"""The share of rows beyond a limit that is worth a word."""
FEW_UNITS = 100
DELTA_LOOK = 0.1
WIDE = 20
"""How many times as far as nearly all values bounds may reach, and limits as any unit has rows."""

_OWN = "values that are chosen by looking at the data are no part of the guarantee"
KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class Observation:
    """One thing in which policy and data differ, at a key of the policy."""

    path: KeyPath
    wrong: bool
    message: str
    remedy: str


def observed(policy: Policy, counted: TableCounts) -> Iterator[Observation]:
    """Yield what the owner should know of one table."""
    table = counted.table
    place = ("table", table.name)
    if counted.rows == 0:
        yield Observation(
            place, True, "the table is empty", "see that the source has the data meant"
        )
        return
    for name, counts in counted.columns.items():
        column = table.columns[name]
        yield from _of_values((*place, "column", name), column, counts)
    if isinstance(table.unit, RowUnit):
        yield from _of_few((*place, "privacy_unit", *_of_kind(table)), counted.rows)
        yield from _of_delta(policy, counted.rows, table.kind)
    if counted.whose is not None:
        yield from _of_nobody((*place, "privacy_unit", *_of_kind(table)), counted.whose)
    if counted.reference is not None and isinstance(table.unit, ViaUnit):
        yield from _of_reference(
            (*place, "privacy_unit", *_of_kind(table)), counted.reference, table.unit
        )
    if counted.units is not None:
        yield from _of_units(policy, counted, counted.units)


def _of_kind(table: Table) -> KeyPath:
    """Return where the kind of a table's units is written, below what is written by kind."""
    return () if table.kind is None else (table.kind,)


def _of_values(place: KeyPath, column: Column, counts: ColumnCounts) -> Iterator[Observation]:
    unreadable = counts.given - counts.read
    if not counts.given:
        yield Observation(place, True, "no row has a value", "see that the column is the one meant")
        return
    if unreadable:
        yield Observation(
            (*place, "type"),
            _share(unreadable, counts.given) >= WRONG,
            f"cannot be read as {column.type}, and counts as missing: "
            f"{_of(unreadable, counts.given, 'value')}",
            f"{_written_as(column)}, or declare the type that the values have",
        )
    if counts.read:
        yield from _of_missing(place, column, counts)
        yield from _of_bounds(place, column, counts)
        yield from _of_domain(place, column, counts)


def _written_as(column: Column) -> str:
    match column.type:
        case "date":
            return "write dates as 2026-12-31"
        case "timestamp":
            return "write moments as 2026-12-31 23:59:59"
        case "integer":
            return "write whole numbers without a mark for thousands"
        case "decimal" | "float":
            return "write numbers with a point, and without a mark for thousands"
        case "boolean":
            return "write true and false"
        case "text":
            return "write text as UTF-8"
        case _:
            assert_never(column.type)


def _of_missing(place: KeyPath, column: Column, counts: ColumnCounts) -> Iterator[Observation]:
    missing = counts.rows - counts.read
    if missing and not column.nullable:
        yield Observation(
            (*place, "nullable"),
            _share(missing, counts.rows) >= WRONG,
            f"has no value, and is read as the lower bound: {_of(missing, counts.rows, 'row')}",
            "leave nullable out, or fill the values in",
        )


def _of_bounds(place: KeyPath, column: Column, counts: ColumnCounts) -> Iterator[Observation]:
    if column.bounds is None:
        return
    outside = counts.below + counts.above
    low, high = column.bounds
    ends = f"[{_shown(low)}, {_shown(high)}]"
    if outside:
        yield Observation(
            (*place, "bounds"),
            _share(outside, counts.read) >= WRONG,
            f"outside {ends}, and read as the nearest end: {_of(outside, counts.read, 'value')}, "
            f"{counts.below:,} below and {counts.above:,} above",
            f"widen the bounds to what such a value can be; {_OWN}",
        )
    seen, declared = _width(counts.low, counts.high), _width(low, high)
    if outside or seen is None or declared is None or declared <= WIDE * max(seen, Fraction(1)):
        return
    yield Observation(
        (*place, "bounds"),
        False,
        f"98 of 100 values lie from {_shown(counts.low)} to {_shown(counts.high)}, and {ends} is "
        f"{float(declared / max(seen, Fraction(1))):,.0f} times as wide: sums have as much more noise",
        f"narrow the bounds to what is known of such values from elsewhere; {_OWN}",
    )


def _of_domain(place: KeyPath, column: Column, counts: ColumnCounts) -> Iterator[Observation]:
    if column.domain is None:
        return
    if counts.outside:
        frequent = ", ".join(repr(value) for value in counts.frequent)
        alike = f" ({counts.alike:,} but for case or blanks)" if counts.alike else ""
        yield Observation(
            (*place, "domain"),
            _share(counts.outside, counts.read) >= WRONG,
            f"none of the domain's values{alike}, and left out of every group: "
            f"{_of(counts.outside, counts.read, 'value')}; most frequent: {frequent}",
            "write the domain's values as they are stored, or mend the data",
        )
    absent = counts.domain - counts.keys
    if absent > counts.domain // 2 and not counts.outside:
        yield Observation(
            (*place, "domain"),
            False,
            f"in no row: {_of(absent, counts.domain, 'key')}; answers show each of them",
            "see that the domain is the one of this column",
        )


def _of_nobody(place: KeyPath, whose: ColumnCounts) -> Iterator[Observation]:
    nobody, unreadable = whose.rows - whose.read, whose.given - whose.read
    if nobody:
        which = (
            f", {unreadable:,} with an identifier that cannot be read as one" if unreadable else ""
        )
        yield Observation(
            place,
            _share(nobody, whose.rows) >= WRONG,
            f"nobody's, and in no answer: {_of(nobody, whose.rows, 'row')}{which}",
            "see that rows without an identifier are not meant to count",
        )


def _of_reference(place: KeyPath, reference: Reference, unit: ViaUnit) -> Iterator[Observation]:
    if reference.nowhere:
        yield Observation(
            (*place, "references"),
            _share(reference.nowhere, reference.given) >= WRONG,
            f"leads to no row of {unit.table}, and is in no answer: "
            f"{_of(reference.nowhere, reference.given, 'row')}",
            f"see that {unit.column} holds values of {unit.table}.{unit.key}",
        )
    if reference.several:
        yield Observation(
            (*place, "references"),
            True,
            f"leads to several rows of {unit.table}, and counts with each: "
            f"{_of(reference.several, reference.given, 'row')}",
            f"see that {unit.table}.{unit.key} has every value once, or name the column that does",
        )


def _of_units(policy: Policy, counted: TableCounts, units: UnitCounts) -> Iterator[Observation]:
    table = counted.table
    place = ("table", table.name)
    if not units.units:
        yield Observation(
            (*place, "privacy_unit", *_of_kind(table)),
            True,
            "no row is anybody's",
            "see that the unit is the column meant",
        )
        return
    if isinstance(table.unit, ColumnUnit):  # elsewhere they are another table's, and said there
        yield from _of_few((*place, "privacy_unit", *_of_kind(table)), units.units)
        yield from _of_delta(policy, units.units, table.kind)
    yield from _of_limits(place, table, units)


def _of_limits(place: KeyPath, table: Table, units: UnitCounts) -> Iterator[Observation]:
    limit = table.rows_per_unit_max
    key: KeyPath = ("rows_per_unit_max",)
    if table.second is not None:
        key = ("rows_per_group_max", *_of_kind(table))
    if table.unique and units.most > 1:
        yield Observation(
            (*place, "unique"),
            True,
            f"has several rows, of which one counts: {_of(units.units_cut, units.units, 'unit')}, "
            f"up to {units.most:,} rows",
            "write rows_per_unit_max in place of unique = true",
        )
    elif limit is not None and units.rows_cut:
        yield Observation(
            (*place, *key),
            _share(units.rows_cut, units.rows) >= CUT,
            f"beyond {limit:,} rows of a unit, and missing from answers: "
            f"{_of(units.rows_cut, units.rows, 'row')}, of {_of(units.units_cut, units.units, 'unit')}, "
            f"up to {units.most:,} rows",
            f"raise it to what a unit can have, or keep it and say so; {_OWN}",
        )
    elif limit is not None and limit > WIDE * units.most:
        yield Observation(
            (*place, *key),
            False,
            f"no unit has more than {_count(units.most, 'row')}; the limit is {limit:,}: noise is for "
            f"{limit / units.most:,.0f} times as many rows as there are",
            f"lower it to what is known from elsewhere, or take a profile; {_OWN}",
        )
    if isinstance(table.unit, ColumnUnit) and units.most == 1 and (limit or 1) > 1:
        yield Observation(
            (*place, "privacy_unit", *_of_kind(table)),
            False,
            f"{table.unit.column} is different in every row, and a unit may have {limit:,}",
            "see that it names whoever is protected, and not the row; then write unique = true",
        )


def _of_few(place: KeyPath, units: int) -> Iterator[Observation]:
    if units < FEW_UNITS:
        yield Observation(
            place,
            True,
            f"there are no more than {_count(units, 'unit')}: what hides one of so few hides the rest "
            "too, and a column with so few values may name a group in place of whoever is protected",
            "name the column that identifies whoever is protected",
        )


def _of_delta(policy: Policy, units: int, kind: str | None) -> Iterator[Observation]:
    budgets: list[tuple[KeyPath, Budget]] = [(("dataset", "budget"), policy.budget)]
    if kind is not None:
        budgets = [(("unit", kind, "budget"), policy.kinds[kind].budget)]
    budgets += [
        (("analyst", each.name, "budget"), each.budget)
        for each in policy.analysts.values()
        if each.budget is not None
    ]
    for path, budget in budgets:
        expected = float(budget.delta * units)
        if expected > DELTA_LOOK:
            yield Observation(
                path,
                expected >= 1,
                f"delta is {float(budget.delta):g}, with {units:,} units: to publish each one's rows "
                f"with that chance, {expected:.2g} of them on average, would be within the budget",
                f"write a delta far below 1/{units:,}, such as {0.01 / units:.0e}",
            )


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(0)


def _of(part: int, whole: int, what: str) -> str:
    share = _share(part, whole) * 100
    shown = f"{float(share):.3g} %" if share >= Fraction(1, 1000) else "under 0.001 %"
    return f"{part:,} of {_count(whole, what)} ({shown})"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _shown(value: object) -> str:
    match value:
        case Fraction():
            return f"{float(value):,.15g}"
        case bool() | None:
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.6g}"
        case _:
            return str(value)


def _width(low: object, high: object) -> Fraction | None:
    """Return how far two ends are apart, in days between dates; None of what has no distance."""
    match low, high:
        case (bool(), _) | (_, bool()):
            return None
        case (int() | float() | Fraction(), int() | float() | Fraction()):
            return Fraction(high) - Fraction(low)
        case (date(), date()):
            return Fraction((high - low).days)
        case _:
            return None
