"""Sums over rows that belong to units of two kinds, as turns: whose each is, and what it has to add.

    held      for each group and each two units that have rows in it, what these add up to
    pairs     all groups once, with a number `g` for each
    turns     group, first unit and second as numbers, and what they have above and below zero, in order

First units are ordered by a hash under the answer's secret, those of equal hash by themselves; the turns
of one first unit by a hash of both its units, those of equal hash by the second. So the order of two
turns of a group hangs on nothing but whose they are. Numbers stand for units and groups, and not hashes.
The kernel goes through the turns (`kernel/pouring.py`); docs/kinds.md has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanql.compile.keyed_hash import keyed_hash
from sanql.compile.measured_values import value_column
from sanql.compile.tables import SECOND_UNIT
from sanql.kernel import POURED_MAX, PouredSum
from sanql.measurements import Measured, Measurement


def poured_sum(
    index: int,
    computed: Sequence[Measurement],
    keys: Sequence[str],
    secret: str,
    before: Sequence[str],
    parameters: Sequence[object],
) -> PouredSum:
    """Return how a measurement is poured, over the relation `input` that ends `before`."""
    measurement = computed[index]
    poured = measurement.poured
    assert poured is not None  # noqa: S101  (asked of those that are)
    above, below = poured.rooms(measurement.low, measurement.high)
    name = f"distinct{index}"
    held = f"temp.main.{name}_held"
    has = _has(index, computed, min(max(above), POURED_MAX), min(max(below), POURED_MAX))
    group = f"system.main.dense_rank() OVER (ORDER BY {', '.join(keys)}) - 1" if keys else "0"
    shown = "".join(f"{key}, " for key in keys)
    hashes = f"{keyed_hash(secret, 'u')} AS hu, {keyed_hash(secret, 'u', SECOND_UNIT)} AS hw"
    return PouredSum(
        name,
        held=f"WITH {', '.join(before)} SELECT {shown}u, {SECOND_UNIT}, {has} FROM input "
        f"GROUP BY {shown}u, {SECOND_UNIT}",
        pairs=f"SELECT DISTINCT {shown}({group})::BIGINT AS g FROM {held}",
        turns="SELECT g, first, second, a, b FROM (SELECT "
        f"({group})::BIGINT AS g, system.main.dense_rank() OVER (ORDER BY hu, u) AS first, "
        f"system.main.dense_rank() OVER (ORDER BY {SECOND_UNIT}) AS second, hw, a, b "
        f"FROM (SELECT *, {hashes} FROM {held})) ORDER BY g, first, hw, second",
        above=above,
        below=below,
        parameters=tuple(parameters),
    )


def _has(index: int, computed: Sequence[Measurement], above: int, below: int) -> str:
    """Return what the rows of two units have to add above zero and below, no more than has room."""
    measurement = computed[index]
    match measurement.kind:
        case Measured.ROWS:
            up, down = "system.main.count(*)", "0"
        case Measured.VALUES:
            up, down = f"system.main.count(x{value_column(computed, index)})", "0"
        case Measured.UNITS:
            one = "*" if measurement.expression is None else f"x{index}"
            up, down = f"system.main.least(system.main.count({one}), 1)", "0"
        case Measured.SUM:
            value = f"(x{index}::HUGEINT - ({measurement.centre}))"
            up, down = (
                f"coalesce(system.main.sum(system.main.greatest({sign}{value}, 0)), 0)"
                for sign in ("", "-")
            )
        case _:
            raise AssertionError(f"{measurement.kind} are not poured")
    return (
        f"system.main.least({up}, {above})::BIGINT AS a, "
        f"system.main.least({down}, {below})::BIGINT AS b"
    )
