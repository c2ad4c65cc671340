"""Whose the rows of a FROM are, as SQL: the unit that joins, groups and windows stay within."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sanql.policy import RowUnit, Table
from sanql.question import Derived, From, Join, JoinKind, Listed, Rows, Scan, scans


class UnitWriter:
    """Writes the units of relations; `u` is what a relation calls the unit of its rows."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._scans: dict[int, Scan] = {}
        self._through: dict[int, int] = {}

    def register(self, scan: Scan) -> None:
        """Take note of a table that is read."""
        self._scans[scan.slot] = scan

    def lead(self, followed: Iterable[tuple[int, int]]) -> None:
        """Let tables have the unit of those that a join follows their foreign keys to."""
        for child, parent in followed:
            self._through.setdefault(child, parent)

    def is_elsewhere(self, slot: int) -> bool:
        """Return whether the unit of a table's rows is another table's, joined to it."""
        return slot in self._through

    def unit(self, source: From) -> str | None:
        """Return SQL for the unit of a FROM's rows; None where each row is its own, or nobody's."""
        match source:
            case Scan(slot, name, private):
                table = self._tables[name]
                if not private or isinstance(table.unit, RowUnit):
                    return None
                parent = self._through.get(slot)
                return self.unit(self._scans[parent]) if parent is not None else f"t{slot}.u"
            case Listed():
                return None
            case Derived(slot, rows):
                return f"t{slot}.u" if self.by_unit(rows) else None
            case Join(kind, left, right, _):
                ends = [self.unit(left), self.unit(right)]
                known = [end for end in ends if end is not None]
                if kind is JoinKind.FULL and len(known) == 2:
                    return f"coalesce({known[0]}, {known[1]})"
                if kind is JoinKind.RIGHT:
                    known.reverse()
                return known[0] if known else None

    def by_unit(self, rows: Rows) -> bool:
        """Return whether rows have a unit that is not each row itself."""
        private = [scan for scan in scans(rows) if scan.private]
        return any(not isinstance(self._tables[s.table].unit, RowUnit) for s in private)
