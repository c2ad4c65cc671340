"""How many rows of one unit joins can make, by what the policy declares, and how many of them count.

A join pairs rows of one unit with each other and with public rows. Limits on rows of a unit are those of
the tables joined and are enforced after the join, so what a join repeats beyond them does not count.
That is safe whatever the join does; but a count that is smaller than the join must say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanql.parse import UNIT, names_key
from sanql.plan.reading import limits_joined
from sanql.policy import ColumnUnit, Table, ViaUnit, root_unit
from sanql.question import (
    Derived,
    Expr,
    From,
    Grouped,
    Join,
    JoinKind,
    Listed,
    Query,
    Rows,
    SameIdentity,
    Scan,
    Selected,
    Subquery,
    Union,
    conjuncts,
    is_private,
    scans,
    slots,
    walk,
)
from sanql.statistics import statistic_of


def repetitions_in_words(query: Query, tables: Mapping[str, Table]) -> tuple[str, ...]:
    """Return a sentence for each FROM whose joins can give a unit more rows than its limit lets count."""
    sentences = []
    units_only = all(statistic_of(aggregate).by_unit for aggregate in query.aggregates)
    for source, where, inner in _froms(query):
        if units_only and not inner:
            continue  # a unit counts once, however many rows it has
        if not isinstance(source, Join) or not _by_column(source, tables):
            continue
        most = rows_joined(source, [*conjuncts(where)], tables)
        kept = limits_joined(source, tables)[0]
        if most is None or most > kept:
            many = "any number of" if most is None else f"up to {most:,}"
            where_ = "a join inside a subquery" if inner else "the join"
            how = (
                "what is counted and summed up there is held within that"
                if inner
                else "beyond that its counts and sums are scaled down in proportion"
            )
            sentences.append(
                f"{where_} can give one unit {many} rows, and {kept:,} of them count: {how}"
            )
    return tuple(dict.fromkeys(sentences))


def rows_joined(
    source: From | Rows, inherited: Sequence[Expr], tables: Mapping[str, Table]
) -> int | None:
    """Return the most rows one unit can have in a relation; None where nothing declared limits it."""
    match source:
        case Scan(_, name, private):
            return (tables[name].rows_per_unit_max or 1) if private else None
        case Listed():
            return None
        case Derived(_, rows):
            return rows_joined(rows, [], tables)
        case Selected():
            return rows_joined(source.source, [*conjuncts(source.where)], tables)
        case Grouped():
            inner = rows_joined(source.source, [*conjuncts(source.where)], tables)
            return 1 if source.one_each and inner is not None else inner
        case Union(branches):
            known = [rows_joined(branch, [], tables) for branch in branches]
            return None if None in known else sum(rows for rows in known if rows is not None)
        case Join():
            return _pairs(source, inherited, tables)


def _pairs(join: Join, inherited: Sequence[Expr], tables: Mapping[str, Table]) -> int | None:
    """Return the most pairs: a public row is found by its key, a parent by the child's foreign key."""
    own = [*conjuncts(join.on), *(inherited if join.kind is JoinKind.INNER else [])]
    below = {
        JoinKind.INNER: (own, own),
        JoinKind.LEFT: (inherited, []),
        JoinKind.RIGHT: ([], inherited),
        JoinKind.FULL: ([], []),
    }[join.kind]
    left, right = (
        rows_joined(side, conditions, tables)
        for side, conditions in zip((join.left, join.right), below, strict=True)
    )
    if is_private(join.left) != is_private(join.right):
        whose, other, known = join.left, join.right, left
        if is_private(join.right):
            whose, other, known = join.right, join.left, right
        seen = slots(whose)
        keyed = isinstance(other, Scan) and any(
            names_key(condition, other.slot, tables[other.table].key, seen) for condition in own
        )
        return known if keyed else None
    if left is None or right is None:
        return None
    # an outer join keeps a row without a match: a pair at most where the other side has a row
    most = max(left * right, left + right) if join.kind is JoinKind.FULL else left * right
    sides = ((JoinKind.LEFT, join.left, left), (JoinKind.RIGHT, join.right, right))
    for (_, child, rows), (keeps, parent, kept) in (sides, sides[::-1]):
        if any(_follows(condition, child, parent, tables) for condition in own):
            alone = kept if join.kind in (keeps, JoinKind.FULL) else 0
            most = min(most, rows + alone)
    return most


def _follows(condition: Expr, child: From, parent: From, tables: Mapping[str, Table]) -> bool:
    """Return whether a condition ties each row of one side to the one row its foreign key names."""
    if not isinstance(condition, SameIdentity) or not isinstance(parent, Scan):
        return False
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if one.entity != UNIT and other.slot == parent.slot and one.slot in slots(child):
            return one.entity == f"{parent.table}.{other.name.lower()}"
    return False


def _by_column(source: From, tables: Mapping[str, Table]) -> bool:
    """Return whether a unit is somebody who may have several rows."""
    units = [root_unit(tables[s.table], tables) for s in scans(source) if s.private]
    return any(isinstance(unit, ColumnUnit | ViaUnit) for unit in units)


def _froms(query: Query) -> Iterator[tuple[From, Expr | None, bool]]:
    """Yield every FROM of a question with its WHERE, and whether exact numbers are made of it."""
    yield query.source, query.where, False
    pending: list[Rows] = [*_inside(query.source, query.where)]
    while pending:
        rows = pending.pop()
        if isinstance(rows, Union):
            pending += rows.branches
            continue
        if isinstance(rows, Grouped) and rows.aggregates:
            yield rows.source, rows.where, True
        pending += _inside(rows.source, rows.where)


def _inside(source: From, where: Expr | None) -> Iterator[Rows]:
    match source:
        case Derived(_, rows):
            yield rows
        case Join(_, left, right, on):
            yield from _inside(left, on)
            yield from _inside(right, None)
        case _:
            pass
    for node in walk(where) if where is not None else ():
        if isinstance(node, Subquery):
            yield node.rows
