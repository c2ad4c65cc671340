"""Bounding by norm once more, in plain Python, from its description and not from the code.

1. Rows are added up per unit and group: rows, rows with a value, sums of steps less their centre.
2. Where no more than L rows of a unit count in one group and it has n > L there, its numbers there are
   scaled to L/n, toward zero.
3. A unit whose rows r over all groups (or, where nothing is counted, whose sums) are longer than C has
   all its numbers scaled by C/|r|, toward zero, in parts of a step. Floating point is not used: the
   length is the least whole number that is long enough, in parts so small that C has 24 bits.
"""

from __future__ import annotations

from math import isqrt

Vector = tuple[int, ...]


def ceil_root(number: int) -> int:
    """Return the least whole number whose square is no less."""
    root = isqrt(number)
    return root if root * root == number else root + 1


def toward_zero(number: int, divisor: int) -> int:
    """Return a quotient without what is behind its point."""
    return number // divisor if number >= 0 else -(-number // divisor)


def kept_rows(order: int, bound: int, per_group: int | None) -> int:
    """Return how many rows of a unit count in one group: as declared, or some hundred times C."""
    size = bound if order == 1 else isqrt(bound)
    parts = 0
    while order == 2 and isqrt(bound << (2 + 2 * parts)) < 2**24:
        parts += 1
    while size >> (24 - parts):
        parts -= 1
    borne = 2 ** (31 - parts)
    return borne if per_group is None else min(borne, per_group)


def shared(number: int, rows: int, most: int) -> int:
    """Return a group's number as that of the rows that count there."""
    return number if rows <= most else toward_zero(number * most, rows)


def scaled(vector: Vector, deciding: Vector, order: int, bound: int, scale: int) -> Vector:
    """Return a unit's numbers in parts of a step, shortened where `deciding` is longer than it may be.

    `bound` is the norm, squared where the order is 2.
    """
    bits = 0
    while (bound if order == 1 else isqrt(bound)) >> (24 + bits):
        bits += 1  # parts that are larger than a step
    if order == 2 and bits == 0:
        while isqrt(bound << (2 - 2 * bits)) < 2**24:
            bits -= 1  # and smaller
    parts = [-(-abs(v) // (1 << bits)) if bits > 0 else abs(v) << -bits for v in deciding]
    allowed = bound >> bits * order if bits > 0 else bound << -bits * order
    length = sum(part**order for part in parts)
    if length <= allowed:
        return tuple(v * scale for v in vector)
    whole = length if order == 1 else ceil_root(length)
    short = allowed if order == 1 else isqrt(allowed)
    return tuple(toward_zero(v * scale * short, whole) for v in vector)
