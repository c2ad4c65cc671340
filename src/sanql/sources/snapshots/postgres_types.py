"""How a column of PostgreSQL is read: as which type, and by which expression that no value can fail.

Moments outside the years 1 to 9999, infinite ones among them, are read as missing, and so is a numeric
that is not a number. What has no type of its own among those of a policy is read as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanql.kernel import TEXT_BYTES_DEFAULT

if TYPE_CHECKING:
    import pyarrow

    from sanql.policy import Column

_BETWEEN = "CASE WHEN {{0}} BETWEEN {1}'{2}' AND {1}'{3}' THEN {{0}} END"
_TIMES = {
    "date": ("DATE", "date", "0001-01-01", "9999-12-31"),
    "timestamp": ("TIMESTAMP", "timestamp", "0001-01-01", "9999-12-31 23:59:59.999999"),
    "timestamptz": (
        "TIMESTAMP WITH TIME ZONE",
        "timestamptz",
        "0001-01-01 00:00:00+00",
        "9999-12-31 23:59:59.999999+00",
    ),
}
_PLAIN = {
    **dict.fromkeys(("int2", "int4", "int8"), ("BIGINT", "{0}::pg_catalog.int8")),
    **dict.fromkeys(("float4", "float8"), ("DOUBLE", "{0}::pg_catalog.float8")),
    "bool": ("BOOLEAN", "{0}::pg_catalog.bool"),
}
# Types of which equal values are equal as they are read: those that can tell units apart.
_IDENTIFYING = {
    *("int2", "int4", "int8", "oid", "numeric", "bool", "date", "timestamp", "timestamptz"),
    *("text", "varchar", "bpchar", "name", "uuid", "bytea"),
}
_MODIFIER = 4  # what PostgreSQL adds to the precision and scale of a numeric
_DIGITS_MAX = 38


@dataclass(frozen=True)
class StoredColumn:
    """A column as the database has it: its type beneath all domains, and whether it may be read."""

    name: str
    type: str
    own: bool  # whether the type is PostgreSQL's own, or an enumeration
    enum: bool
    modifier: int
    computed: bool
    deterministic: bool  # whether texts are equal only where they are the same
    readable: bool

    @property
    def fault(self) -> tuple[str, str] | None:
        """What keeps it from being read, and the remedy."""
        if self.computed:
            return (
                "is computed when it is read, which may fail on a row, or look at others",
                "store its values in a column of their own",
            )
        if not self.readable:
            return "may not be read by the role", "grant it SELECT on the column"
        if not (self.own or self.type == "citext"):
            return (
                "has a type that is none of PostgreSQL's own",
                "store it as text, or as a number, date or timestamp",
            )
        return None

    @property
    def identifies(self) -> bool:
        """Whether equal values of it are the same as they are read, and others are not."""
        return self.deterministic and (self.enum or self.type in _IDENTIFYING)


@dataclass(frozen=True)
class ReadColumn:
    """A column as it is read: the type that an engine finds in the snapshot, and the SQL for a value."""

    name: str
    physical: str
    expression: str  # with {0} where the column stands
    characters_max: int = 64

    def field(self) -> pyarrow.Field:
        """Return it as a field of the snapshot."""
        import pyarrow as pa

        types = {
            "BIGINT": pa.int64(),
            "DOUBLE": pa.float64(),
            "BOOLEAN": pa.bool_(),
            "DATE": pa.date32(),
            "TIMESTAMP": pa.timestamp("us"),
            "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
            "VARCHAR": pa.string(),
        }
        if self.physical.startswith("DECIMAL"):
            precision, scale = self.physical[8:-1].split(",")
            return pa.field(self.name, pa.decimal128(int(precision), int(scale)))
        return pa.field(self.name, types[self.physical])


def read_column(column: StoredColumn, declared: Column | None) -> ReadColumn:
    """Return how a column is read that the policy declares so, or not at all.

    Of a text one character more is read than counts, so that one that is too long is known to be.

    >>> age = StoredColumn("age", "int4", True, False, -1, False, True, True)
    >>> read_column(age, None).physical, read_column(age, None).expression
    ('BIGINT', '{0}::pg_catalog.int8')
    """
    if column.type in _TIMES:
        physical, cast, first, last = _TIMES[column.type]
        guarded = _BETWEEN.format("", f"pg_catalog.{cast} ", first, last)
        return ReadColumn(column.name, physical, guarded)
    if column.type in _PLAIN:
        return ReadColumn(column.name, *_PLAIN[column.type])
    limit = (declared.bytes_max if declared else None) or TEXT_BYTES_DEFAULT
    text = "{0}::pg_catalog.text"
    if column.type == "numeric":
        digits = _digits(column.modifier)
        if digits is not None:
            number = "CASE WHEN {0} <> 'NaN'::pg_catalog.numeric THEN {0} END"
            return ReadColumn(column.name, f"DECIMAL({digits[0]},{digits[1]})", number)
        text = "pg_catalog.trim_scale({0})::pg_catalog.text"
    if declared is not None and declared.type != "text":  # a part of it could be another value
        short = f"CASE WHEN pg_catalog.length({text}) <= {limit} THEN {text} END"
        return ReadColumn(column.name, "VARCHAR", short, limit)
    first = f'pg_catalog."left"({text}, {limit + 1})'
    return ReadColumn(column.name, "VARCHAR", first, limit + 1)


def _digits(modifier: int) -> tuple[int, int] | None:
    """Return precision and scale of a numeric; None where it has none, or none that Parquet knows.

    >>> _digits(((10 << 16) | 2) + 4), _digits(-1)
    ((10, 2), None)
    """
    if modifier < _MODIFIER:
        return None
    packed = modifier - _MODIFIER
    precision, scale = packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 0x400) - 0x400
    return (precision, scale) if 0 <= scale <= precision <= _DIGITS_MAX else None
