"""What a policy says about one column."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar, get_args

from sanql.kernel import TEXT_BYTES_DEFAULT, ColumnType
from sanql.policy.keys import (
    DOMAIN_VALUES_MOST,
    GRID_MOST,
    KEYS,
    TEXT_BYTES_LEAST,
    TEXT_BYTES_MOST,
    UNIT_SUM_MOST,
)
from sanql.policy.model import Column, Domain, ListedDomain, TableDomain, Value
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.values import (
    one_of,
    parse_column_name,
    parse_flag,
    parse_name,
    parse_number,
    parse_whole,
    show_number,
    value_of,
)

AUTO = "auto"
COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)

NUMBERS = ("integer", "decimal", "float")

_V = TypeVar("_V", bound=Value)
_Pair = tuple[Value, Value]


def read_column(section: Section, name: str) -> Column | None:
    """Return the column that the section declares."""
    section.allow(KEYS["column"])
    type = section.require("type", one_of(COLUMN_TYPES), f"write one of {', '.join(COLUMN_TYPES)}")
    if type is None:
        return None
    auto = section.content.get("bounds") == AUTO
    column = Column(
        name,
        type,
        bounds=None if auto else _read_bounds(section, type),
        precision=_read_precision(section, type),
        domain=_read_domain(section, type),
        total_bounds=_read_total_bounds(section, type),
        bounds_auto=auto and _may_be_found(section, type),
        bytes_max=_read_bytes_max(section, type),
        nullable=_read_nullable(section),
    )
    _check_missing(section, column)
    _check_grid(section, column)
    _check_domain_within_bounds(section, column)
    _check_domain_within_bytes(section, column)
    return column


def check_unit_sum(table: Section, column: Column, rows_per_unit: int) -> None:
    """Note bounds with which the rows of one unit could add up beyond a 64-bit integer."""
    step = _step(column)
    if step is None or column.bounds is None:
        return
    steps = rows_per_unit * _magnitude(column.bounds) / step
    if steps >= UNIT_SUM_MOST:
        table.fault(
            ("column", column.name, "bounds"),
            f"{rows_per_unit} rows of one unit could add up to {int(steps):.1e} steps of"
            f" {show_number(step)}, beyond 2**62",
            "narrow the bounds, use a coarser precision or count fewer rows per unit",
        )


def _read_bounds(section: Section, type: ColumnType) -> _Pair | None:
    remedy = "write bounds = [lowest, highest]"
    if type in NUMBERS:
        remedy += f', or bounds = "{AUTO}" to have them found privately'
    match type:
        case "text" | "boolean":
            _refuse(section, "bounds", f"a {type} column has no bounds")
            return None
        case "integer":
            return section.read("bounds", _pair_of(_parse_exact_in_double), remedy)
        case "decimal" | "float" | "date" | "timestamp":
            return section.read("bounds", _pair_of(value_of(type)), remedy)


def _may_be_found(section: Section, type: ColumnType) -> bool:
    """Return whether San can find the bounds of such a column; note the fault where it cannot."""
    if type not in NUMBERS:
        section.fault(
            "bounds",
            f'bounds = "{AUTO}" is for numbers, and the column is a {type}',
            "remove bounds" if type in ("text", "boolean") else "write bounds = [first, last]",
        )
    return type in NUMBERS


def _read_precision(section: Section, type: ColumnType) -> Fraction | None:
    if type not in ("decimal", "float"):
        _refuse(section, "precision", f"a column of type {type} is counted in whole steps already")
        return None
    remedy = "write the step in which sums are computed, such as precision = 0.01"
    needed = ("bounds", "total_bounds") if type == "decimal" else ("total_bounds",)
    for key in needed:
        if key in section.content and "precision" not in section.content:
            section.fault("precision", f"precision is missing beside {key}", remedy)
            return None
    return section.read("precision", _parse_positive, remedy)


def _read_total_bounds(section: Section, type: ColumnType) -> tuple[Fraction, Fraction] | None:
    match type:
        case "integer":
            parse: Callable[[object], Fraction] = _parse_whole_fraction
        case "decimal" | "float":
            parse = parse_number
        case "text" | "boolean" | "date" | "timestamp":
            _refuse(section, "total_bounds", f"a column of type {type} has no totals")
            return None

    def parse_around_zero(written: object) -> tuple[Fraction, Fraction]:
        low, high = _pair_of(parse)(written)
        if not low <= 0 <= high:
            raise Mistake(
                f"{quote(written)} leaves out 0, which is what somebody who is absent adds"
            )
        return low, high

    return section.read(
        "total_bounds", parse_around_zero, "write total_bounds = [lowest, highest] around 0"
    )


def _read_nullable(section: Section) -> bool:
    remedy = "write nullable = false, or leave it out"
    return section.read("nullable", parse_flag, remedy) is not False


def _check_missing(section: Section, column: Column) -> None:
    """Note a column whose missing values would have to be read as something that is not declared."""
    if not column.nullable and column.bounds is None:
        section.fault(
            "nullable",
            "a missing value is read as the lower bound, and the column has none that is stated",
            "write bounds = [lowest, highest] beside it, or leave nullable out",
        )


def _read_bytes_max(section: Section, type: ColumnType) -> int | None:
    if type != "text":
        _refuse(section, "bytes_max", f"a column of type {type} is no text")
        return None

    def parse(written: object) -> int:
        number = parse_whole(written)
        if not TEXT_BYTES_LEAST <= number <= TEXT_BYTES_MOST:
            raise Mistake(f"{quote(written)} is not from {TEXT_BYTES_LEAST} to {TEXT_BYTES_MOST:,}")
        return number

    return section.read("bytes_max", parse, "write bytes_max = 10000, or leave it out")


def _read_domain(section: Section, type: ColumnType) -> Domain | None:
    remedy = 'write a list of values, or { table = "…", column = "…" } of a public table'
    if isinstance(section.content.get("domain"), dict):
        return _read_table_domain(section)

    def parse(written: object) -> ListedDomain:
        if not isinstance(written, list):
            raise Mistake(f"expected a list of values, not {quote(written)}")
        if not 1 <= len(written) <= DOMAIN_VALUES_MOST:
            raise Mistake(
                f"{len(written):,} values are listed; 1 to {DOMAIN_VALUES_MOST:,} may be",
                "list the keys, or refer to a column of a public table",
            )
        values: dict[Value, None] = {}
        for item in written:
            value = value_of(type)(item)
            if value in values:
                raise Mistake(f"{quote(item)} is listed twice", "list it once")
            values[value] = None
        return ListedDomain(tuple(values))

    return section.read("domain", parse, remedy)


def _read_table_domain(section: Section) -> TableDomain | None:
    domain = section.section("domain", "")
    if domain is None:
        return None
    domain.allow(KEYS["domain"])
    table = domain.require("table", parse_name, "name a public table of this policy")
    column = domain.require("column", parse_column_name, "name a column of the public table")
    return TableDomain(table, column) if table is not None and column is not None else None


def _check_grid(section: Section, column: Column) -> None:
    step = _step(column)
    if step is None:
        return
    # The bounds of an integer column have been checked value by value.
    bounds = None if column.type == "integer" else column.bounds
    for key, pair, most in (
        ("bounds", bounds, GRID_MOST),
        ("total_bounds", column.total_bounds, UNIT_SUM_MOST),
    ):
        if pair is None:
            continue
        off_grid = [limit for limit in pair if (_fraction(limit) / step).denominator != 1]
        if off_grid:
            section.fault(
                key,
                f"{show_number(_fraction(off_grid[0]))} is not a multiple of the precision"
                f" {show_number(step)}",
                "choose limits that are whole steps, so that rounding cannot pass them",
            )
        if _magnitude(pair) / step >= most:
            section.fault(
                key,
                f"the limits reach 2**{most.bit_length() - 1} steps of {show_number(step)}",
                "narrow them, or use a coarser precision",
            )


def _check_domain_within_bounds(section: Section, column: Column) -> None:
    if column.bounds is None or not isinstance(column.domain, ListedDomain):
        return
    low, high = column.bounds
    outside = [v for v in column.domain.values if _exceeds(low, v) or _exceeds(v, high)]
    if outside:
        shown = outside[0] if not isinstance(outside[0], Fraction) else show_number(outside[0])
        section.fault(
            "domain",
            f"{shown} is outside the bounds"
            + (f", and {len(outside) - 1} more" if len(outside) > 1 else ""),
            "widen the bounds or leave the value out",
        )


def _check_domain_within_bytes(section: Section, column: Column) -> None:
    if column.type != "text" or not isinstance(column.domain, ListedDomain):
        return
    most = column.bytes_max or TEXT_BYTES_DEFAULT
    long = [value for value in column.domain.values if len(str(value).encode()) > most]
    if long:
        section.fault(
            "domain",
            f"{len(long):,} of its values have more than {most:,} bytes, and no row's text has",
            "raise bytes_max, or shorten the value",
        )


def _refuse(section: Section, key: str, message: str) -> None:
    if key in section.content:
        section.fault(key, message, f"remove {key}")


def _pair_of(parse: Callable[[object], _V]) -> Callable[[object], tuple[_V, _V]]:
    def parse_pair(written: object) -> tuple[_V, _V]:
        if not isinstance(written, list) or len(written) != 2:
            raise Mistake(f"expected two values [lowest, highest], not {quote(written)}")
        low, high = parse(written[0]), parse(written[1])
        if _exceeds(low, high):
            raise Mistake(f"the lowest value of {quote(written)} is above the highest")
        return low, high

    return parse_pair


def _parse_exact_in_double(written: object) -> int:
    number = parse_whole(written)
    if abs(number) > GRID_MOST:
        raise Mistake(
            f"{quote(written)} is beyond ±2**53, where engines round", "narrow the bounds"
        )
    return number


def _parse_whole_fraction(written: object) -> Fraction:
    return Fraction(parse_whole(written))


def _parse_positive(written: object) -> Fraction:
    number = parse_number(written)
    if number <= 0:
        raise Mistake(f"{quote(written)} is not above 0")
    return number


def _step(column: Column) -> Fraction | None:
    """Return the step sums are counted in, or None where there is no such step."""
    return Fraction(1) if column.type == "integer" else column.precision


def _magnitude(pair: _Pair) -> Fraction:
    return max(abs(_fraction(limit)) for limit in pair)


def _fraction(limit: Value) -> Fraction:
    assert isinstance(limit, int | Fraction)  # noqa: S101  (only numeric columns have steps)
    return Fraction(limit)


def _exceeds(left: Value, right: Value) -> bool:
    return left > right  # type: ignore[operator]  # both were parsed as the column's type
