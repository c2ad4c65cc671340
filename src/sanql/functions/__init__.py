"""The allow-list: every operator and function, with the rule that proves its result's facts.

A rule takes the operands' facts and returns the result's, or refuses. Each is total: whatever a row
holds, the operator yields a value or NULL, never an error (`compile/expressions` writes it that way).
An operator missing from `RULES` does not exist for an analyst.
"""

from __future__ import annotations

from sanql.functions.allowed import NAMES, call
from sanql.functions.calendar import CLOCK_MICROSECONDS, DIFFERENCES, EPOCH, later_moment
from sanql.functions.casts import CAST_RANGES
from sanql.functions.dates import DATE_PARTS, TRUNCATIONS, truncate
from sanql.functions.facts import (
    INTEGER_LIMIT,
    any_nullable,
    comparable,
    constant_number,
    interval_of,
    number_facts,
)
from sanql.functions.formats import from_c, from_letters, from_percent
from sanql.functions.patterns import PATTERN_LENGTH_MAX, TEXT_BYTES_MAX, replacement_growth
from sanql.functions.table import Function

__all__ = [
    "CAST_RANGES",
    "CLOCK_MICROSECONDS",
    "DATE_PARTS",
    "DIFFERENCES",
    "EPOCH",
    "INTEGER_LIMIT",
    "NAMES",
    "PATTERN_LENGTH_MAX",
    "TEXT_BYTES_MAX",
    "TRUNCATIONS",
    "Function",
    "any_nullable",
    "call",
    "comparable",
    "constant_number",
    "from_c",
    "from_letters",
    "from_percent",
    "interval_of",
    "later_moment",
    "number_facts",
    "replacement_growth",
    "truncate",
]
