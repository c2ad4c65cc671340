"""How a stored DuckDB type becomes one of the policy's types, without a value that can fail.

Only the conversions listed here are used, each tried on the extremes of its stored type: TRY_CAST
is *not* total by itself (seconds-since-epoch timestamps to text, for one, end in a fatal error).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

from sanql.kernel.lockdown import quote_name
from sanql.kernel.messages import BUCKETS

ColumnType = Literal["integer", "decimal", "float", "text", "boolean", "date", "timestamp"]

TEXT_BYTES_DEFAULT = 4096
ROWS_READ_AT_ONCE = 2048  # the engine reads so many values of a column together, whatever is asked

CANONICAL: dict[ColumnType, str] = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}

# In place of the stored type of a column that is computed when it is read.
COMPUTED = "GENERATED"

# A 96-bit moment of Parquet, of which the microseconds are read: too coarse to tell units apart.
OLD_TIME = "INT96"
# A column of Parquet that holds nothing: writers call it so when no row has a value.
_EMPTY = '"NULL"'

_ZONED = "TIMESTAMP WITH TIME ZONE"

_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_INTEGERS = _NARROW | {"UBIGINT", "HUGEINT", "UHUGEINT"}
_FLOATS = {"FLOAT", "DOUBLE"}
_NUMBERS = _INTEGERS | _FLOATS | {"DECIMAL"}
_TIMES = {
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    _ZONED,
    OLD_TIME,
}
_ACCEPTED: dict[ColumnType, set[str]] = {
    "integer": _NUMBERS | {"VARCHAR"},
    "decimal": _NUMBERS | {"VARCHAR"},
    "float": _NUMBERS | {"VARCHAR"},
    "text": _INTEGERS | {"VARCHAR", "ENUM", "UUID", "BOOLEAN"},
    "boolean": _INTEGERS | {"BOOLEAN", "VARCHAR"},
    "date": _TIMES | {"VARCHAR"},
    "timestamp": _TIMES | {"VARCHAR"},
}
# No rounded numbers: they cannot tell units apart.
_UNITS = (
    _INTEGERS | (_TIMES - {OLD_TIME}) | {"DECIMAL", "VARCHAR", "ENUM", "UUID", "BOOLEAN", "BLOB"}
)


def stored_column(form: str, name: str, physical: str) -> str:
    """Return SQL for a column of a file as its stored type; bytes of Parquet that are no text are NULL.

    >>> stored_column("parquet", "city", "VARCHAR")
    'TRY(decode("city"))'
    >>> stored_column("csv", "city", "VARCHAR")
    '"city"'
    """
    if form == "parquet" and physical == "VARCHAR":
        return f"TRY(decode({quote_name(name)}))"
    return quote_name(name)


def convert(
    expression: str, physical: str, to: ColumnType, bytes_max: int = TEXT_BYTES_DEFAULT
) -> str | None:
    """Return SQL that yields the canonical type for any stored value; None if there is no such.

    A time outside the years 1 to 9999 (infinities among them) is read as NULL: neither the engine's
    calendar functions nor Python's dates are total beyond. Of a text, as many whole characters are read
    as fit `bytes_max`. Text that stands for another type goes through a CASE: a cast that
    stands directly on a CSV file is done by its reader, which drops the *row* of a field it cannot read.

    >>> convert('"age"', "INTEGER", "integer")
    'TRY_CAST("age" AS BIGINT)'
    >>> convert('"age"', "BIGINT", "integer")
    '"age"'
    """
    if physical == _EMPTY:
        return f"CAST(NULL AS {CANONICAL[to]})"
    if family(physical) not in _ACCEPTED[to]:
        return None
    target = CANONICAL[to]
    if physical == "VARCHAR" and target != "VARCHAR":
        expression = f"CASE WHEN {expression} <> '' THEN {expression} END"
    if physical == _ZONED:
        expression, physical = _in_utc(expression), "TIMESTAMP"
    converted = expression if physical == target else f"TRY_CAST({expression} AS {target})"
    match to:
        case "date":
            last = "DATE '9999-12-31'"
            first = "DATE '0001-01-01'"
        case "timestamp":
            last = "TIMESTAMP '9999-12-31 23:59:59.999999'"
            first = "TIMESTAMP '0001-01-01 00:00:00'"
        case "text" if family(physical) in ("VARCHAR", "ENUM"):
            return text_prefix(converted, bytes_max)
        case _:
            return converted
    return f"CASE WHEN {converted} BETWEEN {first} AND {last} THEN {converted} END"


def _in_utc(expression: str) -> str:
    """Return a zoned moment as one in UTC, whatever zone the session has; not every one can be cast."""
    first, last = "0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"
    held = f"{expression} BETWEEN TIMESTAMPTZ '{first}' AND TIMESTAMPTZ '{last}'"
    return f"CASE WHEN {held} THEN make_timestamp(epoch_us({expression})) END"


def identify_unit(
    expression: str,
    physical: str,
    declared: ColumnType | None,
    bytes_max: int = TEXT_BYTES_DEFAULT,
) -> str | None:
    """Return SQL for a privacy unit: never a conversion that could merge two units; None if unfit.

    A unit column that analysts may also use is widened to the canonical type where that keeps every
    value apart; any other difference between its stored and declared type is refused. One that is too
    long identifies nobody: cut, it could be somebody else's.
    """
    if family(physical) not in _UNITS:
        return None
    if family(physical) == "ENUM" and declared in (None, "text"):
        return _short_or_null(f"CAST({expression} AS VARCHAR)", "strlen", bytes_max)
    if declared is None or physical == CANONICAL[declared]:
        length = {"VARCHAR": "strlen", "BLOB": "octet_length"}.get(physical)
        return _short_or_null(expression, length, bytes_max) if length else expression
    widens = declared == "integer" and physical in _NARROW
    return f"TRY_CAST({expression} AS BIGINT)" if widens else None


def unit_bucket(unit: str, physical: str, secret: int) -> str:
    """Return SQL for the bucket of a unit that is read as such a type, under a secret.

    Equal units have one bucket, also where two tables store whole numbers of different widths.
    """
    unit = one_zero(unit, physical)
    number = f"system.main.hash(system.main.xor(TRY_CAST({unit} AS BIGINT), ({secret})::BIGINT))"
    if physical in _NARROW:
        hashed = number
    elif physical in ("UBIGINT", "HUGEINT"):
        beyond = f"system.main.hash(system.main.hash(({secret})::BIGINT, {unit}::HUGEINT))"
        hashed = f"CASE WHEN TRY_CAST({unit} AS BIGINT) IS NOT NULL THEN {number} ELSE {beyond} END"
    else:
        hashed = f"system.main.hash(system.main.hash(({secret})::BIGINT, {unit}))"
    return f"({hashed} & {BUCKETS - 1})"


def one_zero(unit: str, physical: str) -> str:
    """Return SQL for a unit in which values that compare equal are the same."""
    return f"({unit} + (0e0)::DOUBLE)" if physical in _FLOATS else unit


def joins_alike(first: str, second: str) -> bool:
    """Return whether values of two stored types are compared as they are, or only made wider."""
    return {first, second} <= _NARROW or (first == second and first not in _FLOATS)


def text_prefix(text: str, bytes_max: int) -> str:
    """Return SQL for the longest part of a text, from its start, of whole characters that fit.

    A character has at most four bytes, so one of the last four places is where one ends.
    """
    encoded = f"system.main.encode({text})"
    cuts = (
        f"TRY(system.main.decode(system.main.array_slice({encoded}, 1, {bytes_max - less})))"
        for less in range(4)
    )
    return (
        f"CASE WHEN system.main.strlen({text}) <= {bytes_max} THEN {text} "
        f"ELSE coalesce({', '.join(cuts)}) END"
    )


def _short_or_null(expression: str, length: str, bytes_max: int) -> str:
    return f"CASE WHEN system.main.{length}({expression}) <= {bytes_max} THEN {expression} END"


def identity_type(physical: str) -> str:
    """Return the type of a privacy unit as it is read: an ENUM's labels would be part of its type."""
    return "VARCHAR" if family(physical) == "ENUM" else physical


def suggest_type(physical: str) -> tuple[ColumnType, Fraction | None] | None:
    """Return the policy type (and a decimal's precision) a stored type suggests, if any.

    >>> suggest_type("DECIMAL(10,2)")
    ('decimal', Fraction(1, 100))
    """
    kind = family(physical)
    if kind == "DECIMAL":
        scale = re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", physical)
        return "decimal", Fraction(1, 10 ** int(scale[1])) if scale else None
    suggestions: tuple[tuple[ColumnType, set[str]], ...] = (
        ("integer", _INTEGERS),
        ("float", _FLOATS),
        ("text", {"VARCHAR", "ENUM", "UUID"}),
        ("boolean", {"BOOLEAN"}),
        ("date", {"DATE"}),
        ("timestamp", _TIMES - {"DATE"}),
    )
    return next(((name, None) for name, kinds in suggestions if kind in kinds), None)


def without_labels(physical: str) -> str:
    """Return a stored type without the values an ENUM lists: they may be one person's.

    >>> without_labels("STRUCT(x ENUM('a', 'it''s'), y INTEGER)")
    'STRUCT(x ENUM, y INTEGER)'
    """
    return re.sub(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)", "ENUM", physical)


def family(physical: str) -> str:
    """Return a stored type without its parameters; a nested type is its own, unknown family."""
    if physical.endswith("]"):
        return physical
    return physical.split("(", 1)[0]
