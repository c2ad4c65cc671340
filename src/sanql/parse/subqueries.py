"""Subqueries: derived tables, EXISTS, IN and values, none of which looks at two units at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.bind import Binder
from sanql.parse.joins import CONDITION, check_joins, keeps_orphans
from sanql.parse.naming import column_name
from sanql.parse.narrow import narrow
from sanql.parse.places import at
from sanql.parse.relations import (
    Derived,
    Field,
    From,
    Grouped,
    Join,
    Rows,
    Scan,
    Selected,
    Union,
    UnitAggregate,
    conjuncts,
    is_private,
    scans,
    slots,
)
from sanql.parse.scope import UNIT, Scope, Visible
from sanql.parse.tree import (
    Ask,
    ColumnRef,
    Expr,
    Facts,
    Identifier,
    KeyRef,
    SameIdentity,
    Subquery,
    Type,
    Window,
    walk,
)
from sanql.parse.unit_aggregates import UNIT_AGGREGATES, bind_unit_aggregate
from sanql.policy import RowUnit

if TYPE_CHECKING:
    from sanql.parse.reader import Reader

ROW_CLAUSES = frozenset(
    ["expressions", "from_", "joins", "where", "with_", "distinct", "order", "qualify"]
)
GROUP_CLAUSES = frozenset(
    ["expressions", "from_", "joins", "where", "with_", "distinct", "order", "group", "having"]
)


def unit_binder(scope: Scope, reader: Reader) -> Binder[UnitAggregate]:
    """Return a binder whose aggregates are exact numbers about one unit."""
    limit = rows_limit(scope.source, reader) if scope.source is not None else None
    binder = Binder(
        scope,
        reader,
        UNIT_AGGREGATES,
        lambda node, binder: bind_unit_aggregate(node, binder, limit),
    )
    binder.values_allowed = True
    binder.intervals_allowed = False  # exact numbers have none
    return binder


def rows_limit(source: From | Rows, reader: Reader) -> int | None:
    """Return how many rows of one unit may count here; None where nobody's rows are read."""
    match source:
        case Scan(_, name, private):
            return (reader.tables[name].rows_per_unit_max or 1) if private else None
        case Derived(_, rows):
            return rows_limit(rows, reader)
        case Join(_, left, right, _):
            known = [rows_limit(left, reader), rows_limit(right, reader)]
            return max((limit for limit in known if limit is not None), default=None)
        case Selected():
            return rows_limit(source.source, reader)
        case Grouped():
            limit = rows_limit(source.source, reader)
            return 1 if limit is not None and source.one_each else limit
        case Union(parts):
            known = [rows_limit(part, reader) for part in parts]
            return sum(limit for limit in known if limit is not None) or None


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
            "use SELECT, UNION or UNION ALL",
        )
    aggregates = any(_own(node, (*UNIT_AGGREGATES, exp.AggFunc)))  # type: ignore[arg-type]
    if node.args.get("group") or node.args.get("having") or aggregates:
        rows, _ = _grouped(node, around, reader)
        if is_private(rows) and not rows.keys:
            raise _across_units(rows, reader)
        return rows
    return _selected(node, around, reader)


def _naming(node: exp.Expression, around: Scope, reader: Reader) -> Scope:
    """Return the scope around with what a WITH before a UNION or a bracket names."""
    return replace(around, named=reader.named(node, around.named))


def _own(select: exp.Select, kinds: tuple[type[exp.Expression], ...]) -> list[exp.Expression]:
    """Return the aggregates of this SELECT itself: not a window's, not a deeper subquery's."""
    found = []
    for item in [*select.expressions, select.args.get("having"), select.args.get("qualify")]:
        for part in item.find_all(*kinds) if item is not None else ():
            holder = part.find_ancestor(exp.Window, exp.Select)
            if holder is select:
                found.append(part)
    return found


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
    from sanql.parse.reader import refuse_clauses

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
    kept = binder.row(qualify.this) if qualify is not None else None
    if kept is not None and not any(
        isinstance(part, Window)
        for each in (kept, *(field.value for field in fields if field.value is not None))
        for part in walk(each)
    ):
        raise Refused("qualify_needs_window", "QUALIFY is about windows", "use WHERE instead")
    rows = Selected(scope.source, where, fields, _is_distinct(select), kept)
    if rows.distinct and by_row(rows, reader):
        raise _row_unit("DISTINCT", "distinct_across_units")
    if (
        rows.distinct
        and is_private(rows)
        and not any(_names_unit(field.identity) for field in fields)
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
            raise Refused("clause_unsupported", "* EXCEPT or REPLACE", "name the columns")
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


def _grouped(
    select: exp.Select, around: Scope, reader: Reader
) -> tuple[Grouped, Binder[UnitAggregate]]:
    from sanql.parse.grouping import group_nodes
    from sanql.parse.reader import refuse_clauses

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
        value: Expr | None = binder.outer(node)
        identity = _identity(node, binder)
        if identity not in identities:
            identity = None
        if isinstance(value, KeyRef) and isinstance(binder.keys[value.index], Identifier):
            value = None
        fields.append(Field(name, value, identity))
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
        one_each=bool(nodes) and all(_names_unit(identity) for identity in identities),
    )
    if private and by_row(rows, reader):
        raise _row_unit("GROUP BY" if nodes else "an aggregate")
    if private and nodes and not any(map(always_there, identities)):
        raise _left_out("GROUP BY") if any(identities) else _across_units(rows, reader)
    return rows, binder


def _identity(node: exp.Expression, binder: Binder[UnitAggregate]) -> Identifier | None:
    column = binder.visible(node)
    return column.identity if column is not None else None


def always_there(identity: Identifier | None) -> bool:
    """Return whether every row has an identifier: rows without one would form a group of strangers."""
    return identity is not None and not identity.facts.nullable


def _left_out(clause: str) -> Refused:
    return Refused(
        "subquery_across_units",
        f"{clause} names an identifier that an outer join may leave out; rows without it belong to "
        "several units and would form one group",
        "name the identifier of the table whose rows the join keeps",
    )


def _across_units(rows: Grouped, reader: Reader) -> Refused:
    names = ", ".join(dict.fromkeys(scan.table for scan in scans(rows) if scan.private))
    return Refused(
        "subquery_across_units",
        f"a subquery aggregates over several units of {names}; inside, numbers are exact, so they "
        "may be about one unit only",
        "GROUP BY the unit's column inside; or ask the inner question by itself and write its "
        "answer here as a number",
    )


def _row_unit(what: str, code: str = "subquery_across_units") -> Refused:
    return Refused(
        code,
        f"{what} in a subquery would merge rows, and each row is protected by itself",
        "aggregate outside",
    )


def by_row(rows: From | Rows, reader: Reader) -> bool:
    """Return whether rows are read each of which is a unit of its own."""
    return any(
        isinstance(reader.tables[scan.table].unit, RowUnit) for scan in scans(rows) if scan.private
    )


def _is_unit(identity: Identifier | None) -> bool:
    return identity is not None and identity.entity == UNIT


def _names_unit(identity: Identifier | None) -> bool:
    """Return whether every row has this identifier of its unit: then it makes one group of a unit."""
    return _is_unit(identity) and always_there(identity)


def _is_distinct(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise Refused("clause_unsupported", "DISTINCT ON is not supported", "use GROUP BY")
    return distinct is not None


def _union(node: exp.Union, around: Scope, reader: Reader) -> Union:
    extra = {n for n, v in node.args.items() if v} - {"this", "expression", "distinct", "with_"}
    if extra or type(node) is not exp.Union:
        raise Refused(
            "subquery_unsupported",
            f"{type(node).__name__.upper()} with {', '.join(sorted(extra)) or 'these parts'}",
            "use UNION ALL, with ORDER BY and LIMIT outside",
        )
    around = _naming(node, around, reader)
    parts = (bind_rows(node.this, around, reader), bind_rows(node.expression, around, reader))
    if len({len(part.fields) for part in parts}) > 1:
        raise Refused(
            "union_columns",
            f"the parts of UNION have {len(parts[0].fields)} and {len(parts[1].fields)} columns",
            "let both have the same",
        )
    if is_private(parts[0]) != is_private(parts[1]):
        raise Refused(
            "subquery_across_units",
            "UNION puts rows of somebody among rows of nobody",
            "ask about the private and the public tables in two questions",
        )
    if any(by_row(part, reader) for part in parts):
        raise _row_unit("UNION")
    fields = tuple(
        _united(one, other) for one, other in zip(parts[0].fields, parts[1].fields, strict=True)
    )
    distinct = bool(node.args.get("distinct"))
    rows = Union(parts, fields, distinct)
    if distinct and is_private(rows) and not any(_names_unit(field.identity) for field in fields):
        raise Refused(
            "distinct_across_units",
            "UNION would merge rows of different units",
            "use UNION ALL, or add the unit's column to both parts",
        )
    return rows


def _united(one: Field, other: Field) -> Field:
    identity = None
    if one.identity and other.identity and one.identity.entity == other.identity.entity:
        nullable = one.identity.facts.nullable or other.identity.facts.nullable
        identity = replace(one.identity, facts=replace(one.identity.facts, nullable=nullable))
    if one.value is None or other.value is None:
        return Field(one.name, None, identity)
    first, second = one.value.facts, other.value.facts
    origins = {
        part.origin if isinstance(part, ColumnRef) else None for part in (one.value, other.value)
    }
    origin = origins.pop() if len(origins) == 1 else None
    value = ColumnRef("united", _hull(first, second), origin=origin, stored=False)
    return Field(one.name, value, identity)


def _hull(one: Facts, other: Facts) -> Facts:
    """Return what holds for the values of both."""
    if Type.NULL in (one.type, other.type):
        return replace(other if one.type is Type.NULL else one, nullable=True)
    kinds = {one.type, other.type}
    kind = one.type
    if len(kinds) > 1:
        if kinds != {Type.INTEGER, Type.REAL}:
            raise Refused(
                "union_columns",
                f"the parts of UNION have {one.type} and {other.type} in one place",
                "CAST one of them",
            )
        kind = Type.REAL
    bounded = one.bounded and other.bounded
    return Facts(
        kind,
        min(one.low, other.low) if bounded else None,  # type: ignore[type-var]
        max(one.high, other.high) if bounded else None,  # type: ignore[type-var]
        one.nullable or other.nullable,
        one.grid if one.grid == other.grid else None,
    )


def bind_exists(node: exp.Exists, scope: Scope, reader: Reader) -> Subquery:
    """Return whether a subquery has a row for the row that asks."""
    inner = node.this
    aggregates = (*UNIT_AGGREGATES, exp.AggFunc)
    if (
        isinstance(inner, exp.Select)
        and not inner.args.get("group")
        and not _own(inner, aggregates)
    ):
        # what EXISTS selects does not matter
        inner = inner.copy()
        inner.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    rows = bind_rows(inner, scope, reader)
    unit_of = _asking(rows, scope, _linked_inside(rows), reader)
    return Subquery(Ask.EXISTS, rows, None, unit_of, Facts(Type.BOOLEAN, nullable=False))


def bind_member(node: exp.In, binder: Binder, reader: Reader) -> Subquery:  # type: ignore[type-arg]
    """Return whether a value is among those of a subquery."""
    rows = bind_rows(node.args["query"], binder.scope, reader)
    if len(rows.fields) != 1:
        raise Refused(
            "subquery_columns",
            f"IN compares with one column, and the subquery has {len(rows.fields)}",
            "select one column, or use EXISTS",
        )
    (field,) = rows.fields
    column: Visible | None = binder.visible(node.this)
    asked = column.identity if column is not None else None
    same = asked is not None and field.identity is not None
    if is_private(rows):
        linked = same and asked.entity == field.identity.entity  # type: ignore[union-attr]
        if linked and field.identity.facts.nullable:  # type: ignore[union-attr]
            raise Refused(
                "member_missing",
                "IN compares with an identifier that an outer join may leave out; one such row "
                "would decide for everybody",
                "join with INNER JOIN inside, or use EXISTS",
            )
        if linked and asked.facts.nullable:  # type: ignore[union-attr]
            raise Refused(
                "member_missing",
                "IN asks about an identifier that an outer join may leave out; whether anybody at all "
                "is in the subquery would decide for such rows",
                "join with INNER JOIN, name the identifier of the rows that the join keeps, or use "
                "EXISTS",
            )
        unit_of = _asking(rows, binder.scope, linked or _linked_inside(rows), reader)
        operand = asked if linked else binder.row(node.this)
        if not linked and field.value is None:
            raise _unrelated()
        return Subquery(Ask.MEMBER, rows, operand, unit_of, CONDITION)
    if field.value is None:
        raise _unrelated()
    return Subquery(Ask.MEMBER, rows, binder.row(node.this), None, CONDITION)


def bind_value(node: exp.Subquery, scope: Scope, reader: Reader) -> Subquery:
    """Return the one value of a subquery: an aggregate over the same unit's rows, or public ones."""
    select = node.this
    if not isinstance(select, exp.Select) or select.args.get("group"):
        raise Refused(
            "subquery_unsupported",
            "a subquery used as a value must be one aggregate without GROUP BY",
            "use MIN, MAX, SUM, AVG or COUNT in it",
        )
    rows, _ = _grouped(select, scope, reader)
    if len(rows.fields) != 1 or rows.fields[0].value is None or not rows.aggregates:
        raise Refused(
            "subquery_unsupported",
            "a subquery used as a value must be one aggregate",
            "select one aggregate in it",
        )
    if is_private(rows) and not _linked_inside(rows):
        raise _across_units(rows, reader)
    unit_of = _asking(rows, scope, True, reader)
    facts = replace(rows.fields[0].value.facts, nullable=True)
    return Subquery(Ask.VALUE, rows, None, unit_of, facts)


def _linked_inside(rows: Rows) -> bool:
    """Return whether a condition of the subquery ties its rows to the unit of the asking row."""
    if isinstance(rows, Union):
        return all(_linked_inside(part) for part in rows.parts)
    here = slots(rows.source)
    return any(
        isinstance(part, SameIdentity) and (part.left.slot in here) != (part.right.slot in here)
        for part in conjuncts(rows.where)
    )


def _asking(rows: Rows, scope: Scope, linked: bool, reader: Reader) -> From | None:
    """Return the FROM whose unit a private subquery must share, or refuse to look at others."""
    if not is_private(rows):
        return None
    for scan in [*scans(rows), *(scans(scope.source) if scope.source is not None else ())]:
        if scan.private and isinstance(reader.tables[scan.table].unit, RowUnit):
            raise Refused(
                "subquery_across_units",
                f"each row of {scan.table} is protected by itself, so no row can look at others",
                "ask over one of the private tables; a subquery may read public ones",
            )
    if scope.source is None or not is_private(scope.source) or not linked:
        raise _unrelated()
    return scope.source


def _unrelated() -> Refused:
    return Refused(
        "subquery_across_units",
        "a subquery looks at rows that need not belong to the same unit",
        "tie it to the row outside by the unit's column (… WHERE inner.person_id = "
        "outer.person_id), or along a declared foreign key",
    )


def renamed(columns: Sequence[Visible], names: Sequence[str]) -> tuple[Visible, ...]:
    """Return columns under the names an alias lists for them."""
    if len(columns) != len(names):
        raise Refused(
            "alias_columns",
            f"{len(names)} names are given for {len(columns)} columns",
            "give each column a name, or none",
        )
    return tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True))
