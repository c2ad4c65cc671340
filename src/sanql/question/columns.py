"""What is known of a policy's column once its values are held to what was declared."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache

from sanql.policy import Column
from sanql.question.expressions import Facts, Type

BIGINT_RANGE: tuple[Fraction, Fraction] = (Fraction(-(2**63)), Fraction(2**63 - 1))


TYPES = {
    "integer": Type.INTEGER,
    "decimal": Type.REAL,
    "float": Type.REAL,
    "text": Type.TEXT,
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
}


TEMPORAL_DEFAULTS = {
    Type.DATE: (date(1, 1, 1), date(9999, 12, 31)),
    Type.TIMESTAMP: (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),
}


@lru_cache(maxsize=4096)
def column_facts(column: Column) -> Facts:
    """Return what is proved about a column once its bounds are enforced on reading, remembered."""
    kind = TYPES[column.type]
    grid = Fraction(1) if kind is Type.INTEGER else column.precision
    if column.bounds is not None:
        low, high = [
            Fraction(end) if isinstance(end, int | Fraction) else end for end in column.bounds
        ]
        assert not isinstance(low, str) and not isinstance(high, str)  # noqa: S101
        if kind is Type.TIMESTAMP:
            low, high = _moment(low), _moment(high)
        return Facts(kind, low, high, nullable=column.nullable, grid=grid)
    if kind is Type.INTEGER:
        return Facts(kind, *BIGINT_RANGE, grid=grid)
    if kind in TEMPORAL_DEFAULTS:
        return Facts(kind, *TEMPORAL_DEFAULTS[kind])
    return Facts(kind, grid=grid)


def _moment(bound: object) -> datetime:
    assert isinstance(bound, date)  # noqa: S101  (the policy loader checked the type)
    return bound if isinstance(bound, datetime) else datetime(bound.year, bound.month, bound.day)
