"""The parts of a table's profile: each is a question of San's own, asked in the dataset's name.

| part | what is measured | one unit moves it in L1 by (add-remove, change-one) |
|---|---|---|
| `rows` | units by their number of rows, and places within bins | 1, 2 each: it is in one bin |
| `groups` of a column | the same by how many of its values they have | 1, 2 each: it is in one bin |
| `norms` of a column | units by the L2 norm of their rows over its groups | 1, 2: it is in one bin |
| `values` of a number | units by how many rows have one, if some may not | 1, 2: it is in one bin |
| `ranges` of a number | units by the order of magnitude of a value | 1, 2: in one bin, drawn at random |
| `sizes` of a column with public values | units in each group | G, 2G, by the policy's limit |

A part is named by its plan's digest like any question, so that the same part at the same price is
measured once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, assert_never, cast, get_args

from sanql.errors import Refused
from sanql.numbers import parse_rational, rational_text
from sanql.parse import table_item
from sanql.plan import (
    Plan,
    PublicKeys,
    grouping_column,
    keys_of,
    norms_of_units,
    plan_bounds_search,
    spread_of_units,
    units_by_group,
    unlimited,
    values_of_units,
)
from sanql.policy import Column, Neighbours, RowUnit, Table
from sanql.question import Expr

PartKind = Literal["rows", "groups", "norms", "values", "ranges", "sizes"]
_NUMBERS = ("integer", "decimal", "float")
KEYS_MOST = 400
"""A number with more values is measured and not grouped by: there are days of a year, and hardly more."""
OF_ROWS = Fraction(1, 4)
"""The share of a profile's price that the rows of units have, where columns are looked at besides."""
_PURPOSES = {
    "rows": "rows of units",
    "groups": "groups of units by {}",
    "norms": "norms of units over {}",
    "values": "rows of units with {}",
    "ranges": "range of {}",
    "sizes": "sizes of groups by {}",
}


@dataclass(frozen=True)
class ProfilePart:
    """One question of a profile, at a price; `column` is empty where it is about none."""

    table: str
    kind: PartKind
    column: str
    epsilon: Fraction

    @property
    def purpose(self) -> str:
        """What it is measured for, in words."""
        return f"profile of {self.table}: {_PURPOSES[self.kind].format(self.column)}"

    def to_dict(self) -> dict[str, object]:
        """Return the part as the ledger keeps it beside its charge."""
        epsilon = rational_text(self.epsilon)
        return {"profile": self.table, "part": self.kind, "of": self.column, "epsilon": epsilon}

    @classmethod
    def from_dict(cls, shape: Mapping[str, object]) -> ProfilePart | None:
        """Return the part that `to_dict` wrote; None where it is something else."""
        match dict(shape):
            case {"profile": str(table), "part": kind, "of": str(of), "epsilon": str(epsilon)} if (
                kind in get_args(PartKind)
            ):
                try:
                    return cls(table, cast(PartKind, kind), of, parse_rational(epsilon))
                except ValueError:
                    return None
            case _:
                return None


def has_profile(table: Table) -> bool:
    """Return whether units of a table may have several rows, so that there is something to tell."""
    return not table.public and not isinstance(table.unit, RowUnit)


def parts_of(
    name: str, columns: Sequence[str], tables: Mapping[str, Table], epsilon: Fraction
) -> tuple[ProfilePart, ...]:
    """Return the parts of a table's profile, among which its price is divided.

    What there is to be told of a column is decided by what the policy declares of it. How many rows units
    have decides about every question, so that a quarter is for it; what is told of columns has the rest.
    """
    unlimited(name, tables)  # refuses a table that has nothing to limit
    kinds: list[tuple[PartKind, str]] = [("rows", "")]
    for typed in dict.fromkeys(columns):
        kinds += _of_column(name, typed, tables)
    of_rows = max(OF_ROWS, Fraction(1, len(kinds)))
    shares = [of_rows, *[(1 - of_rows) / (len(kinds) - 1) for _ in kinds[1:]]]
    return tuple(
        ProfilePart(name, kind, column, share * epsilon)
        for (kind, column), share in zip(kinds, shares, strict=True)
    )


def plan_part(part: ProfilePart, tables: Mapping[str, Table], neighbours: Neighbours) -> Plan:
    """Return the plan by which a part is measured; refused where there can be no such part."""
    name, column, epsilon = part.table, part.column, part.epsilon
    match part.kind:
        case "rows":
            return spread_of_units(name, None, tables, neighbours, epsilon)
        case "groups":
            by = grouping_column(name, column, tables)
            return spread_of_units(name, by, tables, neighbours, epsilon)
        case "norms":
            by = grouping_column(name, column, tables)
            return norms_of_units(name, by, tables, neighbours, epsilon)
        case "values":
            return values_of_units(name, _value(name, column, tables), tables, neighbours, epsilon)
        case "ranges":
            return plan_bounds_search((name, column), tables, neighbours, epsilon).plan
        case "sizes":
            by = grouping_column(name, column, tables)
            return units_by_group(name, by, tables, neighbours, epsilon)
        case _:
            assert_never(part.kind)


def _of_column(name: str, typed: str, tables: Mapping[str, Table]) -> list[tuple[PartKind, str]]:
    table = tables[name]
    named = next((column for column in table.columns if column.lower() == typed.lower()), typed)
    declared = table.columns.get(named)
    number = declared is not None and declared.type in _NUMBERS and declared.domain is None
    kinds: list[tuple[PartKind, str]] = [("ranges", named)] if number else []
    added: list[tuple[PartKind, str]] = (
        [("values", named)] if declared and declared.nullable else []
    )
    if number and declared is not None and _has_many_values(declared):
        return kinds + added
    try:
        by = grouping_column(name, named, tables)
    except Refused:
        if not number:
            raise
        return kinds + added  # a number without precision has a range and no groups
    kinds += [("groups", named), ("norms", named)]
    if isinstance(keys_of((by,), tables), PublicKeys) and table.rows_per_unit_max is not None:
        kinds.append(("sizes", named))
    return kinds


def _value(name: str, column: str, tables: Mapping[str, Table]) -> Expr:
    found = table_item(tables[name], name, 0, tables).find(column)
    assert found is not None and found.value is not None  # noqa: S101  (the policy has it)
    return found.value


def _has_many_values(column: Column) -> bool:
    """Return whether a number can have more values than anybody would group by."""
    step = Fraction(1) if column.type == "integer" else column.precision
    match column.bounds:
        case (int() | Fraction() as low, int() | Fraction() as high) if step is not None:
            return (high - low) / step >= KEYS_MOST
        case _:
            return False
