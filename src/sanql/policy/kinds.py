"""Several kinds of privacy unit in one dataset: what each may spend, and whose rows a table holds.

A dataset of patients and doctors promises something to each patient and something to each doctor. Each
kind has a budget of its own, and each private table says of which kind the units are that its rows belong
to. A row can belong to a patient and to a doctor at once; docs/kinds.md says what is promised then, and
why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sanql.policy.budgets import require_budget
from sanql.policy.keys import KEYS, ROWS_MOST
from sanql.policy.limits import LIMIT_KEYS, DeclaredLimits, read_limits
from sanql.policy.model import (
    Accounting,
    ColumnUnit,
    Kind,
    Neighbours,
    SecondKind,
    Table,
    Unit,
    ViaUnit,
)
from sanql.policy.section import Mistake, Section, fold, quote, suggest
from sanql.policy.units import read_unit, read_via
from sanql.policy.values import integer_between, parse_column_name, parse_name
from sanql.results import Budget

MARKS = (" (", "), ")
"""What stands between columns and kinds where an account's terms name them."""

_KIND_REMEDY = "write [unit.NAME] for each kind of unit, with budget = { epsilon = …, delta = … }"
_WHOSE_REMEDY = (
    'write privacy_unit = { KIND = "column" }, or { KIND = { via = "column", references = "table" } };'
    ' of a table whose rows belong to units of two kinds { KIND = "column", OTHER = "column" }'
)
_RESERVED = ("row", "via", "references")


@dataclass(frozen=True)
class Whose:
    """Whose the rows of a table are: a unit of one kind, or of two at once, with the limits of both."""

    unit: Unit
    limits: DeclaredLimits
    kind: str | None = None
    second: SecondKind | None = None


def names_of_kinds(root: Section) -> tuple[str, ...]:
    """Return the kinds that a policy declares, whether or not they are declared well."""
    declared = root.content.get("unit")
    return tuple(map(str, declared)) if isinstance(declared, dict) else ()


def read_kinds(
    root: Section, accounting: Accounting | None, neighbours: Neighbours | None
) -> dict[str, Kind]:
    """Return the kinds of unit that there are, with their budgets; none where there is one kind only."""
    section = root.section("unit", _KIND_REMEDY)
    kinds: dict[str, Kind] = {}
    if section is None:
        return kinds
    for name, declared in section.named_sections(parse_name, _KIND_REMEDY):
        declared.allow(KEYS["unit"])
        if fold(name) in _RESERVED or set("(),/") & set(name):
            section.fault(name, f"{quote(name)} cannot be what a kind is called", "rename it")
        budget = require_budget(declared, accounting, neighbours)
        if budget is not None:
            kinds[name] = Kind(name, budget)
    if len(section.content) < 2:
        section.fault(
            (), "one kind of unit needs no name", "leave [unit] out, or declare a second kind"
        )
    return kinds


def within_all(kinds: Mapping[str, Kind]) -> Budget | None:
    """Return what is within the budget of every kind."""
    if not kinds:
        return None
    budgets = [kind.budget for kind in kinds.values()]
    return Budget(min(b.epsilon for b in budgets), min(b.delta for b in budgets))


def largest_of(kinds: Mapping[str, Kind]) -> Budget | None:
    """Return the most that any kind may spend: of more than that nobody could spend all."""
    if not kinds:
        return None
    budgets = [kind.budget for kind in kinds.values()]
    return Budget(max(b.epsilon for b in budgets), max(b.delta for b in budgets))


def read_whose(section: Section, kinds: tuple[str, ...]) -> Whose | None:
    """Return whose the rows of a private table are, and how much of one unit may count."""
    if not kinds:
        unit = read_unit(section)
        limits = read_limits(section, unit)
        return None if unit is None or limits is None else Whose(unit, limits)
    written = section.require("privacy_unit", _by_kind(kinds), _WHOSE_REMEDY)
    if written is None:
        return None
    named = Section((*section.path, "privacy_unit"), written, section.faults)
    if len(written) == 2:
        return _read_both(section, named)
    (kind,) = written
    found = _read_one(named, kind)
    limits = read_limits(section, found)
    return None if found is None or limits is None else Whose(found, limits, kind)


def _by_kind(kinds: tuple[str, ...]) -> Callable[[object], Mapping[str, object]]:
    def parse(written: object) -> Mapping[str, object]:
        if not isinstance(written, dict) or not written:
            raise Mistake(f"{quote(written)} does not say of which kind the units are")
        for name in written:
            if name not in kinds:
                raise Mistake(f"no kind {quote(name)} is declared", suggest(name, kinds))
        if len(written) > 2:
            raise Mistake(
                "the rows of a table belong to units of one kind or of two",
                "name two at most: what is promised to three at once is not proved",
            )
        return written

    return parse


def _read_one(named: Section, kind: str) -> Unit | None:
    if isinstance(named.content[kind], dict):
        return read_via(named, kind)
    column = _read_column(named, kind)
    return None if column is None else ColumnUnit(column)


def _read_column(named: Section, kind: str) -> str | None:
    column = named.read(kind, parse_column_name, _WHOSE_REMEDY)
    if column is None:
        return None
    if fold(column) == "row":
        named.fault(
            kind,
            'a row is no unit of a kind that other tables have, too: "row" protects rows of one table',
            "name the column that identifies whoever is protected",
        )
        return None
    if any(mark in column for mark in MARKS):
        named.fault(
            kind,
            f"{quote(column)} could be taken for a column and its kind",
            "rename the column in the source",
        )
        return None
    return column


def _read_both(section: Section, named: Section) -> Whose | None:
    """Return two kinds at once; each has a column of its own, and a limit on rows in one group."""
    first, second = named.content
    for kind in named.content:
        if isinstance(named.content[kind], dict):
            named.fault(
                kind,
                "in a table of two kinds each is named by a column of the table itself",
                'write { KIND = "column", OTHER = "column" }',
            )
            return None
    columns = _read_column(named, first), _read_column(named, second)
    rows = _rows_in_group(section, (first, second))
    for key in ("unique", "summaries", "key", *LIMIT_KEYS):
        if key in section.content and key != "rows_per_group_max":
            section.fault(
                key,
                f"a table of two kinds has no {key}: its limits are on the rows of a unit in one group",
                f"remove {key}, and write rows_per_group_max = {{ {first} = …, {second} = … }}",
            )
    if columns[0] is None or columns[1] is None or rows is None:
        return None
    if fold(columns[0]) == fold(columns[1]):
        named.fault(second, "two kinds have the same column", "name another column for one of them")
        return None
    most = rows[0]
    return Whose(
        ColumnUnit(columns[0]),
        DeclaredLimits(most, most, most),
        first,
        SecondKind(second, columns[1], rows[1]),
    )


def _rows_in_group(section: Section, kinds: tuple[str, str]) -> tuple[int, int] | None:
    remedy = (
        f"write rows_per_group_max = {{ {kinds[0]} = …, {kinds[1]} = … }}: how many rows of one unit"
        " of each kind may count in a group of an answer"
    )
    if "rows_per_group_max" not in section.content:
        section.fault("rows_per_group_max", "rows_per_group_max is missing", remedy)
        return None
    written = section.section("rows_per_group_max", remedy)
    if written is None:
        return None
    written.allow(kinds)
    first, second = (written.require(k, integer_between(1, ROWS_MOST), remedy) for k in kinds)
    return None if first is None or second is None else (first, second)


def check_references(section: Section, tables: Mapping[str, Table]) -> None:
    """Note references that lead to units of another kind, or to a row that belongs to two."""
    for name, table in tables.items():
        if not isinstance(table.unit, ViaUnit) or table.unit.table not in tables:
            continue
        referred = tables[table.unit.table]
        if referred.public or (table.kind == referred.kind and referred.second is None):
            continue
        section.fault(
            (name, "privacy_unit"),
            f"the table {quote(referred.name)} holds rows of units of another kind, or of two kinds",
            "refer to a table of the same kind, or name the column that identifies the unit",
        )
