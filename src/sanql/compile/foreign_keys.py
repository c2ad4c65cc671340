"""Foreign keys that a question's own joins already follow on the way to the privacy unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanql.compile.tables import TableReader
from sanql.policy import Table, ViaUnit
from sanql.question import (
    Derived,
    Expr,
    From,
    Identifier,
    Join,
    JoinKind,
    Listed,
    SameIdentity,
    Scan,
    conjuncts,
    scans,
    slots,
)


def joined_foreign_keys(
    source: From, where: Expr | None, tables: Mapping[str, Table], readers: TableReader
) -> Iterator[tuple[int, int]]:
    """Yield each scan whose foreign key a join follows to the table which says whose its rows are,
    and the scan of that table.

    Only where the join drops rows that it does not match: on both sides of an inner join, and on the
    side of an outer join that it does not keep.
    """
    return _Follower(source, tables, readers).follow(source, [*conjuncts(where)])


class _Follower:
    def __init__(self, source: From, tables: Mapping[str, Table], readers: TableReader) -> None:
        self._tables = tables
        self._readers = readers
        self._scans = {scan.slot: scan for scan in _named(source)}

    def follow(self, source: From, inherited: list[Expr]) -> Iterator[tuple[int, int]]:
        if not isinstance(source, Join):
            return
        own = [*conjuncts(source.on)]
        left, right = slots(source.left), slots(source.right)
        match source.kind:
            case JoinKind.INNER:
                own += inherited
                yield from self._led(own, source.left, right)
                yield from self._led(own, source.right, left)
                yield from self.follow(source.left, own)
                yield from self.follow(source.right, own)
            case JoinKind.LEFT:
                yield from self._led(own, source.right, left)
                yield from self.follow(source.left, inherited)
                yield from self.follow(source.right, [])
            case JoinKind.RIGHT:
                yield from self._led(own, source.left, right)
                yield from self.follow(source.left, [])
                yield from self.follow(source.right, inherited)
            case JoinKind.FULL:
                yield from self.follow(source.left, [])
                yield from self.follow(source.right, [])

    def _led(
        self, conditions: list[Expr], side: From, parents: frozenset[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield a child on one side of a join whose parent is on the other.

        The child must be the only private table of its side: another one joined to it there would
        have to be compared with a unit that is not yet in sight.
        """
        if sum(scan.private for scan in scans(side)) != 1:
            return
        children = slots(side)
        for condition in conditions:
            if not isinstance(condition, SameIdentity):
                continue
            ends = condition.left, condition.right
            for child, parent in (ends, ends[::-1]):
                if child.slot in children and parent.slot in parents and self._leads(child, parent):
                    yield child.slot, parent.slot

    def _leads(self, child: Identifier, parent: Identifier) -> bool:
        child_scan, parent_scan = self._scans.get(child.slot), self._scans.get(parent.slot)
        if child_scan is None or parent_scan is None:
            return False
        unit = self._tables[child_scan.table].unit
        return (
            isinstance(unit, ViaUnit)
            and not self._readers.is_direct(unit)
            and parent_scan.table == unit.table
            and child.name.lower() == unit.column.lower()
            and parent.name.lower() == unit.key.lower()
        )


def _named(source: From) -> Iterator[Scan]:
    """Yield the tables that stand in FROM themselves, not those of its subqueries."""
    match source:
        case Scan():
            yield source
        case Join(_, left, right, _):
            yield from _named(left)
            yield from _named(right)
        case Derived() | Listed():
            pass
