"""Reading the column and the adversary of an exact release: a grid, and beliefs on that grid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sanql.mechanisms.noiseless import POINTS_MAX
from sanql.policy.exact.model import BinaryColumn, LatticePart, UniformComponent, ValueClass
from sanql.policy.model import Column, Table
from sanql.policy.section import Mistake, Section, quote, suggest
from sanql.policy.values import parse_number, show_number

SUM_MOST = 2**62
RECORDS_MOST = 10**9
"""Sums of so many records must fit the engine's whole numbers."""

Steps = tuple[Fraction, int, int]
"""A step, and the bounds as whole numbers of it."""


def read_grid(section: Section, column: Column) -> Steps | None:
    """Return the step of a column's values and its bounds in steps."""
    if column.type == "boolean":
        return Fraction(1), 0, 1
    place = "column" if "column" in section.content else ()
    if column.type not in ("integer", "decimal", "float"):
        section.fault(
            place, f"{quote(column.name)} is a {column.type}, which has no sums", "name a number"
        )
        return None
    grid = Fraction(1) if column.type == "integer" else column.precision
    if column.bounds is None or grid is None:
        section.fault(
            place,
            f"{quote(column.name)} has no {'bounds' if column.bounds is None else 'precision'}",
            "declare bounds and, for decimals and floats, a precision",
        )
        return None
    low, high = (int(_number(end) / grid) for end in column.bounds)
    if low == high:
        section.fault(place, "the column's bounds are one value", "declare bounds that differ")
        return None
    if max(abs(low), abs(high)) * RECORDS_MOST >= SUM_MOST:
        section.fault(
            place,
            f"sums over {RECORDS_MOST:.0e} records reach beyond 2**62 steps of {show_number(grid)}",
            "narrow the bounds, or use a coarser precision",
        )
        return None
    return grid, low, high


def read_missing(section: Section, steps: Steps) -> int | None:
    """Return the value, in grid steps, that a record without one counts as."""
    grid, low, high = steps

    def parse(written: object) -> int:
        value = parse_number(written) / grid
        if value.denominator != 1 or not low <= value <= high:
            raise Mistake(f"{quote(written)} is not a value the column could have")
        return int(value)

    if "missing" not in section.content:
        return min(max(0, low), high)
    return section.read("missing", parse, "write the value that stands for a missing one")


def read_class(
    adversary: Section, kind: str, column: Column | None, steps: Steps | None
) -> ValueClass | None:
    """Return the class of adversaries that a section declares, by its kind."""
    match kind:
        case "uniform-component":
            return _read_uniform(adversary, steps)
        case "lattice":
            return _read_lattice(adversary, steps)
        case _:
            beta = adversary.require(
                "beta",
                share(Fraction(1, 2)),
                "write the least probability of either value, at most 0.5",
            )
            if column is not None and steps is not None and steps[1:] != (0, 1):
                adversary.fault(
                    "class",
                    f"{quote(column.name)} is neither boolean nor an integer within [0, 1]",
                    'use "lattice" or "uniform-component"',
                )
                return None
            return None if beta is None else BinaryColumn(beta)


def _read_uniform(adversary: Section, steps: Steps | None) -> UniformComponent | None:
    eta = adversary.read(
        "eta",
        share(Fraction(1, 2)),
        "declare the least density after scaling the bounds to [-1, 1], at most 0.5",
    )
    alpha = adversary.read("alpha", share(Fraction(1)), "declare a probability of at most 1")
    width = adversary.read("width", parse_number, "declare how wide the uniform part is")
    given = {key for key in ("eta", "alpha", "width") if key in adversary.content}
    if given not in ({"eta"}, {"alpha", "width"}):
        adversary.fault(
            (),
            "the uniform part is described by eta alone, or by alpha and width",
            "write eta = …, or alpha = …, width = …",
        )
        return None
    if steps is None:
        return None
    grid, low, high = steps
    most = (high - low) * grid
    if eta is not None:
        alpha, width = 2 * eta, most
    if alpha is None or width is None:
        return None
    if not 3 * grid <= width <= most or width / grid > POINTS_MAX:
        adversary.fault(
            "eta" if eta is not None else "width",
            f"a uniform part {show_number(width)} wide is not between three steps of"
            f" {show_number(grid)} and the distance {show_number(most)} between the bounds, or has"
            f" over {POINTS_MAX:.0e} steps",
            "declare a width within the bounds, or another precision of the column",
        )
        return None
    return UniformComponent(alpha, width)


def _read_lattice(adversary: Section, steps: Steps | None) -> LatticePart | None:
    if steps is None:
        adversary.require("mass", share(Fraction(1, 2)), "write the least probability of a value")
        return None
    grid, low, high = steps

    def parse(written: object) -> int:
        value = parse_number(written) / grid
        if value.denominator != 1 or not low <= value <= high:
            raise Mistake(f"{quote(written)} is not a value the column could have")
        return int(value)

    remedy = "write the first and last value of the uniform part, within the bounds"
    first = low if "first" not in adversary.content else adversary.read("first", parse, remedy)
    last = high if "last" not in adversary.content else adversary.read("last", parse, remedy)
    if first is None or last is None:
        return None
    points = last - first + 1
    if not 2 <= points <= POINTS_MAX:
        adversary.fault(
            "last" if "last" in adversary.content else (),
            f"the uniform part has {points} values",
            f"declare from 2 to {POINTS_MAX:.0e} values",
        )
        return None
    mass = adversary.require(
        "mass",
        share(Fraction(1, points)),
        f"write the least probability of each of the {points} values; together they are at most 1",
    )
    return None if mass is None else LatticePart(points, mass)


def read_known_columns(
    adversary: Section | None, table: Table | None, column: Column | None
) -> tuple[str, ...] | None:
    """Return the other columns that the adversary may know."""

    def parse(written: object) -> tuple[str, ...]:
        if not isinstance(written, list) or not all(isinstance(item, str) for item in written):
            raise Mistake(f"expected a list of columns, not {quote(written)}")
        for item in written:
            if table is not None and item not in table.columns:
                raise Mistake(
                    f"{quote(table.name)} declares no column {quote(item)}",
                    suggest(item, table.columns),
                )
            if column is not None and item == column.name:
                raise Mistake(
                    f"{quote(item)} is the column itself", "an exact sum hides nothing then"
                )
        return tuple(sorted(set(written)))

    if adversary is None or "known_columns" not in adversary.content:
        return ()
    return adversary.read("known_columns", parse, 'write known_columns = ["age"]')


def share(most: Fraction, *, open_end: bool = False) -> Callable[[object], Fraction]:
    """Return a parser of shares above 0 and up to `most`, which itself is left out with `open_end`."""

    def parse(written: object) -> Fraction:
        number = parse_number(written)
        if not 0 < number <= most or (open_end and number == most):
            end = "below" if open_end else "at most"
            shown = show_number(most) if most.denominator <= 1000 else f"{float(most):.6g}"
            raise Mistake(f"{quote(written)} is not above 0 and {end} {shown}")
        return number

    return parse


def _number(value: object) -> Fraction:
    assert isinstance(value, int | Fraction)  # noqa: S101  (bounds of numbers are numbers)
    return Fraction(value)
