"""What a profile tells of the units of a table, and how long their rows are over groups of a question.

Over several columns rows are in no fewer groups than over one of them, so no unit is longer; and none is
longer in L2 than in L1. Where a condition leaves k values of a column, as many rows of a unit as pass are
no more than √k times its length over all values of that column (Cauchy and Schwarz).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sanql.plan.best_norm import Lengths
from sanql.question import Call, ColumnRef, Expr, Literal, Query, conjuncts


@dataclass(frozen=True)
class KnownUnits:
    """What a profile tells of the units of a table.

    How many there are with how many rows, of which L2 norms over the groups of columns, in how many of
    these groups; and how large an average value of a column is, which averages may rest on unless an
    accuracy is asked for: that is promised whatever the average is, also if it is as large as bounds.
    """

    rows: Lengths
    norms: Mapping[str, Lengths] = field(default_factory=dict)
    groups: Mapping[str, Lengths] = field(default_factory=dict)
    sizes: Mapping[str, Fraction] = field(default_factory=dict)
    accuracy_asked: bool = False

    @property
    def units(self) -> float:
        """How many units there are."""
        return sum(each.units for each in self.rows)

    def average_groups(self, column: str) -> float:
        """Return how many groups of a column an average unit is in; 0 where that is not known."""
        spread = self.groups.get(column, ())
        units = sum(each.units for each in spread)
        return sum(each.units * each.length for each in spread) / units if units else 0.0

    def most_groups(self, column: str) -> float:
        """Return how many groups of a column the largest units are in; 0 where that is not known."""
        return max((each.length for each in self.groups.get(column, ())), default=0.0)


def lengths_over_groups(query: Query, units: KnownUnits) -> tuple[Lengths, Lengths]:
    """Return how long units are in L1, and in L2 over the groups of a question, if that is known."""
    held = list(_held_to_values(query, units))
    over = [units.norms[name] for name in grouped_columns(query) if units.norms.get(name)]
    if len(over) > 1:
        over.append(_over_several(units.rows, over))
    rows = min([units.rows, *held], key=_all_in_all)
    return rows, min([*over, *held], key=_all_in_all, default=())


def _over_several(rows: Lengths, columns: Sequence[Lengths]) -> Lengths:
    """Return about how long units are over groups of several columns, by their lengths over each.

    Of n rows with the length v over a column, (v² - n) / (n² - n) is the chance that two of them are in
    one group. For several columns chances are multiplied, as if one told nothing of the other.
    """
    ratios = [sum(e.units * e.length for e in each) / _rows_of(each) for each in columns]
    found = []
    for each in rows:
        pairs, alike = each.rows**2 - each.rows, 1.0
        for ratio in ratios if pairs > 0 else ():
            alike *= max(0.0, (ratio * each.rows) ** 2 - each.rows) / pairs
        found.append(replace(each, length=math.sqrt(each.rows + max(0.0, pairs) * alike)))
    return tuple(found)


def _rows_of(lengths: Lengths) -> float:
    return sum(each.units * each.rows for each in lengths)


def _held_to_values(query: Query, units: KnownUnits) -> Iterator[Lengths]:
    """Yield how many rows units can have where WHERE leaves few values of a column."""
    for test in conjuncts(query.where):
        match test:
            case Call("equal", (ColumnRef(origin=(_, name)), Literal())):
                values = 1
            case Call("equal", (Literal(), ColumnRef(origin=(_, name)))):
                values = 1
            case Call("in", (ColumnRef(origin=(_, name)), *choices)):
                values = len(choices)
            case _:
                continue
        if name in units.norms:
            longer = tuple(each.times(math.sqrt(values)) for each in units.norms[name])
            yield tuple(replace(each, rows=each.length) for each in longer)


def _all_in_all(lengths: Lengths) -> float:
    return sum(each.units * each.length for each in lengths)


def grouped_columns(query: Query) -> list[str]:
    """Return the columns of the table that a question groups by."""
    origins = [key.origin for key in query.keys if isinstance(key, ColumnRef)]
    return [origin[1] for origin in origins if origin is not None and origin[0] == query.table]


def average_size(expression: Expr | None, query: Query, units: KnownUnits) -> Fraction | None:
    """Return how large an average value of a column is, if that is known."""
    match expression:
        case ColumnRef(origin=(table, column)) if table == query.table:
            return units.sizes.get(column)
        case _:
            return None
