"""Arrow columns as DuckDB may see them: every value fits its type, and what does not is NULL.

DuckDB's scan of Arrow data stops at the first moment whose microseconds overflow, knows no half
floats and no wide decimals, and reads a decimal beyond its own precision as whatever its low bits
say. So a column is brought to a type in which every bit pattern is a value before DuckDB sees it, by
operations that look at one value at a time: what one row holds changes no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

_DECIMAL_DIGITS_MAX = 38
_DAYS = (-719_162, 2_932_896)  # of the years 1 to 9999, counted from 1970
_SECONDS_PER_DAY = 86_400
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6}
_DIGITS = Context(prec=100)
_CHARACTER_BYTES_MAX = 4


def scanned_type(kind: pyarrow.DataType) -> pyarrow.DataType | None:
    """Return the Arrow type DuckDB is shown in place of a stored one; None if there is none.

    Decided by the type alone: times of day, intervals and nested types have no policy type.
    """
    import pyarrow
    from pyarrow import types

    kind = plain_type(kind)
    if is_text(kind) or types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return pyarrow.large_binary() if types.is_large_string(kind) else pyarrow.binary()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pyarrow.large_binary()
    if types.is_decimal(kind):
        proper = 0 <= kind.scale <= kind.precision <= _DECIMAL_DIGITS_MAX
        return pyarrow.decimal128(kind.precision, kind.scale) if proper else None
    if types.is_timestamp(kind):
        return pyarrow.timestamp("ns" if kind.unit == "ns" else "us")
    if types.is_float16(kind):
        return pyarrow.float32()
    as_stored = (
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        or types.is_date32(kind) or types.is_null(kind) or kind == pyarrow.uuid()
    )  # fmt: skip
    return kind if as_stored else None


def plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Return a type without its encoding: a dictionary's values, an extension's storage."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pyarrow.BaseExtensionType) and kind != pyarrow.uuid():
        return plain_type(kind.storage_type)
    return kind


def is_text(kind: pyarrow.DataType) -> bool:
    """Return whether a plain type is text of any layout."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def of_any_length(kind: pyarrow.DataType) -> bool:
    """Return whether one value of a type may have many bytes: text and bytes, of whatever layout."""
    from pyarrow import types

    plain = plain_type(kind)
    return is_text(plain) or bool(
        types.is_binary(plain) or types.is_large_binary(plain) or types.is_binary_view(plain)
    )


def split_batch(batch: pyarrow.RecordBatch, bytes_max: int) -> Iterator[pyarrow.RecordBatch]:
    """Yield a batch in halves of halves, until each has no more bytes than that or is one row."""
    if batch.num_rows <= 1 or batch.nbytes <= bytes_max:
        yield batch
    else:
        half = batch.num_rows // 2
        yield from split_batch(batch.slice(0, half), bytes_max)
        yield from split_batch(batch.slice(half), bytes_max)


def gathered(
    batches: Iterator[pyarrow.RecordBatch], bytes_max: int, rows_max: int
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the same rows in fewer batches, none of them made larger than that."""
    import pyarrow

    waiting: list[pyarrow.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        if waiting and (size + batch.nbytes > bytes_max or rows + batch.num_rows > rows_max):
            yield pyarrow.concat_batches(waiting) if len(waiting) > 1 else waiting[0]
            waiting, size, rows = [], 0, 0
        waiting.append(batch)
        size, rows = size + batch.nbytes, rows + batch.num_rows
    if waiting:
        yield pyarrow.concat_batches(waiting)


def shortened(array: pyarrow.Array, bytes_max: int) -> pyarrow.Array:
    """Return bytes of which those that are too long are still so, by a character, and begin as before.

    So whoever cuts them, or takes none that is too long, finds what was in the longer ones. Bytes that
    are no text stay none, wherever they are broken.
    """
    from pyarrow import compute, types

    if not (types.is_binary(array.type) or types.is_large_binary(array.type)):
        return array
    longest = compute.max(compute.binary_length(array)).as_py() or 0
    if longest <= bytes_max + _CHARACTER_BYTES_MAX:
        return array
    import pyarrow

    starts = (_start(value.as_buffer(), bytes_max) if value.is_valid else None for value in array)
    return pyarrow.array(list(starts), array.type)


def _start(value: pyarrow.Buffer, bytes_max: int) -> bytes:
    start = bytes(memoryview(value)[: bytes_max + _CHARACTER_BYTES_MAX])
    if value.size == len(start):
        return start
    try:
        str(value, "utf-8")
    except UnicodeDecodeError:
        return b"\xff" * (bytes_max + 1)
    return start.decode(errors="ignore").encode()


def total(array: pyarrow.Array) -> pyarrow.Array:
    """Return a column in its scanned type; a value that does not fit is NULL, and only that one."""
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(array.type):
        return total(array.dictionary_decode())
    target = scanned_type(array.type)
    if isinstance(array.type, pyarrow.BaseExtensionType) and array.type != target:
        return total(array.storage)
    if types.is_timestamp(array.type):
        return _moments(array)
    if types.is_decimal(array.type):
        return _decimals(array, target)
    if types.is_date32(array.type):
        return _within(array.view(pyarrow.int32()), *_DAYS).view(target)
    return array if array.type == target else array.cast(target)


def _moments(array: pyarrow.Array) -> pyarrow.Array:
    """Return moments in microseconds since 1970, those of the years 1 to 9999; nanoseconds as such.

    A zone says how to show a moment: what is counted is the same with and without.
    """
    import pyarrow
    from pyarrow import compute

    counted = array.view(pyarrow.int64())
    if array.type.unit == "ns":
        return counted.view(pyarrow.timestamp("ns"))
    per_second = _UNITS_PER_SECOND[array.type.unit]
    per_day = _SECONDS_PER_DAY * per_second
    kept = _within(counted, _DAYS[0] * per_day, (_DAYS[1] + 1) * per_day - 1)
    return compute.multiply(kept, 10**6 // per_second).view(pyarrow.timestamp("us"))


def _decimals(array: pyarrow.Array, target: pyarrow.DataType) -> pyarrow.Array:
    """Return decimals as 128 bits wide; digits beyond the declared precision are no value."""
    import pyarrow
    from pyarrow import types

    most = 10**target.precision - 1
    if types.is_decimal32(array.type) or types.is_decimal64(array.type):
        bits = pyarrow.int32() if types.is_decimal32(array.type) else pyarrow.int64()
        counted = _within(array.view(bits).cast(pyarrow.int64()), -most, most)
        return counted.cast(pyarrow.decimal128(19, 0)).view(target)
    high = Decimal(most).scaleb(-target.scale, _DIGITS)
    ends = (pyarrow.scalar(end, array.type) for end in (high.copy_negate(), high))
    kept = _within(array, *ends)
    return kept if kept.type == target else kept.cast(target)


def _within(array: pyarrow.Array, low: object, high: object) -> pyarrow.Array:
    """Return an array whose values outside the ends are NULL."""
    import pyarrow
    from pyarrow import compute

    inside = compute.and_(compute.greater_equal(array, low), compute.less_equal(array, high))
    return compute.if_else(inside, array, pyarrow.scalar(None, array.type))
