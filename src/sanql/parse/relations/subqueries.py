"""Subqueries: derived tables, EXISTS, IN and values, none of which looks at two units at once."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.binder import Binder
from sanql.parse.expressions.naming import column_name
from sanql.parse.expressions.refusals import as_typed
from sanql.parse.relations.joins import check_joins, keeps_orphans
from sanql.parse.relations.narrow import narrow
from sanql.parse.relations.own_rows import check_own_rows
from sanql.parse.relations.scope import Scope, Visible
from sanql.parse.relations.unions import united
from sanql.parse.relations.units import always_there, by_row, merges_rows, names_unit, rows_limit
from sanql.parse.statistics.unit_aggregates import UNIT_AGGREGATES, bind_unit_aggregate
from sanql.parse.text.places import at
from sanql.question import (
    Call,
    ColumnRef,
    Derived,
    Expr,
    Field,
    From,
    Grouped,
    Identifier,
    Join,
    JoinKind,
    Listed,
    Literal,
    Rows,
    Scan,
    Selected,
    Type,
    Union,
    UnitAggregate,
    Window,
    is_private,
    scans,
    walk,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader

ROW_CLAUSES = frozenset(
    ["expressions", "from_", "joins", "where", "with_", "distinct", "order", "qualify"]
)
GROUP_CLAUSES = frozenset(
    ["expressions", "from_", "joins", "where", "with_", "distinct", "order", "group", "having"]
)


def unit_binder(scope: Scope, reader: Reader) -> Binder[UnitAggregate]:
    """Return a binder whose aggregates are exact numbers about one unit."""
    limit = rows_limit(scope.source, reader) if scope.source is not None else None

    def aggregate(node: exp.Expression, binder: Binder[UnitAggregate]) -> UnitAggregate:
        bound = bind_unit_aggregate(node, binder, limit)
        assert scope.source is not None  # noqa: S101  (what has no FROM has no aggregates)
        check_own_rows(bound.argument, scope.source, as_typed(node))
        return bound

    binder = Binder(scope, reader, UNIT_AGGREGATES, aggregate)
    binder.values_allowed = True
    binder.intervals_allowed = False  # exact numbers have none
    return binder


def bind_rows(node: exp.Expression, around: Scope, reader: Reader) -> Rows:
    """Return the rows a subquery yields; each belongs to the unit of the rows it is made from."""
    while isinstance(node, exp.Subquery | exp.Paren):
        extra = {name for name, value in node.args.items() if value} - {"this", "alias", "with_"}
        if extra:
            raise Refused(
                "clause_unsupported",
                f"{sorted(extra)[0].strip('_').upper()} behind a subquery is not supported",
                "leave it out",
            )
        around = _naming(node, around, reader)
        node = node.this
    if isinstance(node, exp.Union):
        return _union(node, around, reader)
    if not isinstance(node, exp.Select):
        raise Refused(
            "subquery_unsupported",
            f"{type(node).__name__.upper()} cannot stand in a subquery",
            "use SELECT, UNION or UNION ALL; for INTERSECT write SELECT DISTINCT x … WHERE x IN "
            "(SELECT x …), for EXCEPT x NOT IN (SELECT x …)",
        )
    if node.args.get("group") or node.args.get("having") or own_aggregates(node):
        rows = bind_grouped(node, around, reader)
        if is_private(rows) and not rows.keys:
            raise across_units(rows)
        return rows
    return _selected(node, around, reader)


def _union(node: exp.Union, around: Scope, reader: Reader) -> Union:
    extra = {n for n, v in node.args.items() if v} - {"this", "expression", "distinct", "with_"}
    if extra or type(node) is not exp.Union:
        raise Refused(
            "subquery_unsupported",
            f"{type(node).__name__.upper()} with {', '.join(sorted(extra)) or 'these parts'}",
            "use UNION ALL, with ORDER BY and LIMIT outside",
        )
    around = _naming(node, around, reader)
    branches = (bind_rows(node.this, around, reader), bind_rows(node.expression, around, reader))
    return united(branches, bool(node.args.get("distinct")), reader)


def _naming(node: exp.Expression, around: Scope, reader: Reader) -> Scope:
    """Return the scope around with what a WITH before a UNION or a bracket names."""
    return replace(around, named=reader.named(node, around.named))


def own_aggregates(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of this SELECT itself: not a window's, not a deeper subquery's."""
    items: list[exp.Expression | None] = [
        *select.expressions,
        select.args.get("having"),
        select.args.get("qualify"),
    ]
    return [
        node
        for item in items
        if item is not None
        for node in item.walk(prune=_others_begin)
        if isinstance(node, (*UNIT_AGGREGATES, exp.AggFunc))
    ]


def _others_begin(node: exp.Expr) -> bool:
    """Return whether aggregates inside a node are another's: a window's, or a subquery's."""
    return isinstance(node, exp.Window | exp.Select)


def _scope(select: exp.Select, around: Scope, reader: Reader) -> Scope:
    inner = reader.scope(select, around)
    assert inner.source is not None  # noqa: S101  (a scope that was read has one)
    if keeps_orphans(inner.source):
        raise Refused(
            "join_unsupported",
            "rows of a public table without a match belong to nobody and cannot be kept here",
            "keep the rows of the private table: put it first, with LEFT JOIN",
        )
    return inner


def _where(select: exp.Select, binder: Binder[UnitAggregate]) -> Expr | None:
    where = select.args.get("where")
    condition = binder.row(where.this) if where is not None else None
    if condition is not None and condition.facts.type not in (Type.BOOLEAN, Type.NULL):
        with at(where):
            raise Refused(
                "type_mismatch", "WHERE needs a condition", "compare, for example age > 40"
            )
    assert binder.scope.source is not None  # noqa: S101
    return condition


def _selected(select: exp.Select, around: Scope, reader: Reader) -> Selected:
    from sanql.parse.relations.reader import refuse_clauses

    refuse_clauses(select, ROW_CLAUSES)
    scope = _scope(select, around, reader)
    assert scope.source is not None  # noqa: S101
    binder = unit_binder(scope, reader)
    where = _where(select, binder)
    with at(select.args.get("joins") or select.args.get("from_")):
        check_joins(scope.source, where, reader.tables)
    narrow(scope, where)
    binder.windows_allowed = True
    fields = _unique([field for item in select.expressions for field in _fields(item, binder)])
    qualify = select.args.get("qualify")
    condition = binder.row(qualify.this) if qualify is not None else None
    if condition is not None and not any(
        isinstance(node, Window)
        for expression in (condition, *(field.value for field in fields if field.value is not None))
        for node in walk(expression)
    ):
        raise Refused("qualify_needs_window", "QUALIFY is about windows", "use WHERE instead")
    rows = Selected(scope.source, where, fields, _is_distinct(select), condition)
    if rows.distinct and by_row(rows, reader):
        raise merges_rows("DISTINCT", "distinct_across_units")
    if (
        rows.distinct
        and is_private(rows)
        and not any(names_unit(field.identity) for field in fields)
    ):
        raise Refused(
            "distinct_across_units",
            "SELECT DISTINCT in a subquery would merge rows of different units",
            "add the unit's column to it, or ask COUNT(DISTINCT …) outside",
        )
    return rows


def _fields(item: exp.Expression, binder: Binder[UnitAggregate]) -> list[Field]:
    """Return the columns a SELECT item yields; a star yields all there are."""
    node = item.this if isinstance(item, exp.Alias) else item
    if isinstance(node, exp.Star) or (
        isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    ):
        star = node if isinstance(node, exp.Star) else node.this
        if any(star.args.values()):
            raise Refused(
                "clause_unsupported",
                "* with EXCEPT, EXCLUDE, REPLACE or RENAME is not supported",
                "name the columns",
            )
        prefix = str(node.table).lower() if isinstance(node, exp.Column) else None
        items = [i for i in binder.scope.items if prefix in (None, i.alias.lower())]
        return [Field(c.name, c.value, c.identity) for i in items for c in i.columns]
    column = binder.visible(node)
    name = str(item.alias) if isinstance(item, exp.Alias) else column_name(node)
    if column is not None:
        return [Field(name, column.value, column.identity)]
    return [Field(name, binder.row(node), None)]


def _unique(fields: Sequence[Field]) -> tuple[Field, ...]:
    """Return the fields; a name that is there twice cannot be told apart, so neither is kept."""
    names = [field.name.lower() for field in fields]
    return tuple(
        field if names.count(field.name.lower()) == 1 else replace(field, name=f"{field.name} #{i}")
        for i, field in enumerate(fields)
    )


def bind_grouped(select: exp.Select, around: Scope, reader: Reader) -> Grouped:
    """Return the groups of a subquery with their exact numbers, each about one unit."""
    from sanql.parse.relations.reader import refuse_clauses
    from sanql.parse.statistics.grouping import group_nodes

    refuse_clauses(select, GROUP_CLAUSES)
    if _is_distinct(select):
        raise Refused(
            "clause_unsupported",
            "DISTINCT over groups is not supported in a subquery",
            "leave it out, or use SELECT DISTINCT over the grouped subquery",
        )
    scope = _scope(select, around, reader)
    assert scope.source is not None  # noqa: S101
    binder = unit_binder(scope, reader)
    where = _where(select, binder)
    with at(select.args.get("joins") or select.args.get("from_")):
        check_joins(scope.source, where, reader.tables)
    narrow(scope, where)
    nodes = group_nodes(select, binder)
    identities = [_identity(node, binder) for node in nodes]
    binder.keys = tuple(dict.fromkeys(binder.key(node) for node in nodes))
    fields = []
    for item in select.expressions:
        node = item.this if isinstance(item, exp.Alias) else item
        name = str(item.alias) if isinstance(item, exp.Alias) else column_name(node)
        identity = _identity(node, binder)
        value = None if identity in binder.keys else binder.outer(node)
        fields.append(Field(name, value, identity if identity in identities else None))
    having = select.args.get("having")
    condition = binder.outer(having.this, aliases=True) if having is not None else None
    private = is_private(scope.source)
    rows = Grouped(
        scope.source,
        where,
        binder.keys,
        tuple(binder.aggregates),
        _unique(fields),
        condition,
        one_each=_one_each(identities, binder.keys, scope, reader),
    )
    if private and by_row(rows, reader):
        raise merges_rows("GROUP BY" if nodes else "an aggregate")
    if private and nodes and not any(map(always_there, identities)):
        raise _left_out("GROUP BY") if any(identities) else across_units(rows)
    return rows


def _one_each(
    identities: Sequence[Identifier | None], keys: Sequence[Expr], scope: Scope, reader: Reader
) -> bool:
    """Return whether a unit has one group: it is a key, and the others are what the unit's one row says.

    A unit's own column is the same in all rows of the unit, whether or not the policy declares it as
    a column with values, and so is whatever is computed from it alone.

    A limit, not a fact: where the data have two rows after all, one of the groups counts.
    """
    assert scope.source is not None  # noqa: S101
    ones = {
        scan.slot
        for scan in _never_missing(scope.source)
        if scan.private and reader.tables[scan.table].rows_per_unit_max == 1
    }
    own = _unit_columns(scope)
    return any(map(names_unit, identities)) and all(
        names_unit(key) if isinstance(key, Identifier) else _only_of(key, ones, own) for key in keys
    )


def _unit_columns(scope: Scope) -> set[tuple[int, str]]:
    """Return the columns of FROM that have values and name the unit of every row."""
    columns = [column for item in scope.items for column in item.columns]
    return {
        (column.value.slot, column.value.name)
        for column in [*columns, *scope.merged.values()]
        if isinstance(column.value, ColumnRef) and names_unit(column.identity)
    }


def _never_missing(source: From) -> Iterator[Scan]:
    """Yield the tables of FROM that have a row beside every row of it."""
    match source:
        case Scan():
            yield source
        case Join(kind, left, right):
            if kind in (JoinKind.INNER, JoinKind.LEFT):
                yield from _never_missing(left)
            if kind in (JoinKind.INNER, JoinKind.RIGHT):
                yield from _never_missing(right)
        case Derived() | Listed():
            pass


def _only_of(key: Expr, allowed: Container[int], columns: Container[tuple[int, str]]) -> bool:
    """Return whether an expression is made of columns of these tables and of these columns alone."""
    nodes = list(walk(key))
    return all(isinstance(node, ColumnRef | Literal | Call) for node in nodes) and all(
        node.slot in allowed or (node.slot, node.name) in columns
        for node in nodes
        if isinstance(node, ColumnRef)
    )


def _identity(node: exp.Expression, binder: Binder[UnitAggregate]) -> Identifier | None:
    column = binder.visible(node)
    return column.identity if column is not None else None


def _left_out(clause: str) -> Refused:
    return Refused(
        "subquery_across_units",
        f"{clause} names an identifier that an outer join may leave out; rows without it belong to "
        "several units and would form one group",
        "name the identifier of the table whose rows the join keeps",
    )


def across_units(rows: Grouped) -> Refused:
    """Return the refusal of a number about several units."""
    names = ", ".join(dict.fromkeys(scan.table for scan in scans(rows) if scan.private))
    return Refused(
        "subquery_across_units",
        f"a subquery aggregates over several units of {names}; inside, numbers are exact, so they "
        "may be about one unit only",
        "GROUP BY the unit's column inside; or ask the inner question by itself and write its "
        "answer here as a number",
    )


def _is_distinct(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Refused("clause_unsupported", "DISTINCT ON is not supported", "use GROUP BY")
    return distinct is not None


def renamed(columns: Sequence[Visible], names: Sequence[str]) -> tuple[Visible, ...]:
    """Return columns under the names an alias lists for them."""
    if len(columns) != len(names):
        raise Refused(
            "alias_columns",
            f"{len(names)} names are given for {len(columns)} columns",
            "give each column a name, or none",
        )
    return tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True))
