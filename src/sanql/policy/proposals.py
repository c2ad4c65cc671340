"""What was seen in rows → proposals for a draft, as a policy has them: wider and rounder than the data.

Nothing is read here. Whoever reads rows says what was seen of a column, and the draft says of each
proposal that it was made by looking at the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sanql.kernel import ColumnType
from sanql.policy.model import Value
from sanql.policy.values import show_number
from sanql.visible import toml_text

DOMAIN_PROPOSED_MOST = 20
"""A column with more values than that is not proposed to be a list of public keys."""
_REACH = Fraction(2**40)  # further than that, bounds are left to whoever knows what they can be
_FINEST = Fraction(1, 10**9)


@dataclass(frozen=True)
class SeenColumn:
    """What was seen of a column: its type, its ends, its few values, and whether one was missing.

    `values` are None where they are many, or where one of them is so rare that it may say who has it.
    Ends of dates and timestamps are years. A `likely_unit` is different enough to be whoever is
    protected.
    """

    type: ColumnType
    ends: tuple[Fraction, Fraction] | None = None
    values: tuple[Value, ...] | None = None
    missing: bool = True
    likely_unit: bool = False


SeenTables = Mapping[str, Mapping[str, SeenColumn]]
"""What was seen, by the names of tables and columns."""


def proposals_for(seen: SeenColumn, precision: Fraction | None) -> dict[str, str]:
    """Return what is proposed for a column besides its type: by key, as TOML has it."""
    proposed: dict[str, str] = {}
    bounds = None if seen.ends is None else _bounds(seen.type, *seen.ends, precision)
    if bounds is not None:
        proposed["bounds"] = f"[{bounds[0]}, {bounds[1]}]"
        if not seen.missing:
            proposed["nullable"] = "false"
    if seen.values:
        proposed["domain"] = f"[{', '.join(map(_written, seen.values))}]"
    return proposed


def _bounds(
    type: ColumnType, low: Fraction, high: Fraction, precision: Fraction | None
) -> tuple[str, str] | None:
    match type:
        case "integer" | "decimal" | "float":
            least = Fraction(1) if type == "integer" else (precision or _FINEST)
            ends = round_beyond(low, high, least)
            if max(map(abs, ends)) / (precision or 1) >= _REACH:
                return None
            return show_number(ends[0]), show_number(ends[1])
        case "date" | "timestamp" if 1 <= low <= high <= 9999:
            first, last = f"{int(low):04}-01-01", f"{int(high):04}-12-31"
            return (first, last) if type == "date" else (f"{first}T00:00:00", f"{last}T23:59:59")
        case _:
            return None


def round_beyond(low: Fraction, high: Fraction, least: Fraction) -> tuple[Fraction, Fraction]:
    """Return round numbers beyond two ends, whole steps of `least`; no sign that was not seen.

    >>> [show_number(end) for end in round_beyond(Fraction(5), Fraction(77), Fraction(1))]
    ['0', '80']
    """
    span = (high - low) or abs(high) or Fraction(1)
    step = max(_power_of_ten(span), least)
    below, above = (-(-low // step) - 1) * step, (high // step + 1) * step
    return max(below, Fraction(0)) if low >= 0 else below, (
        min(above, Fraction(0)) if high <= 0 else above
    )


def _power_of_ten(number: Fraction) -> Fraction:
    """Return the largest power of ten that is no larger than a number above zero, or the finest."""
    power = Fraction(1)
    while power * 10 <= number:
        power *= 10
    while power > number and power > _FINEST:
        power /= 10
    return power


def _written(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return toml_text(value)
        case _:
            return str(value)
