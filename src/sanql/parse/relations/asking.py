"""Subqueries as conditions and values: EXISTS, IN and one aggregate, about the asking row's unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import call
from sanql.parse.expressions.binder import Binder
from sanql.parse.relations.joins import CONDITION
from sanql.parse.relations.scope import Scope, Visible
from sanql.parse.relations.subqueries import across_units, bind_grouped, bind_rows, own_aggregates
from sanql.policy import RowUnit
from sanql.question import (
    Expr,
    Facts,
    Field,
    From,
    Rows,
    SameIdentity,
    Subquery,
    SubqueryKind,
    Type,
    Union,
    conjuncts,
    is_private,
    scans,
    slots,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader


def bind_exists(node: exp.Exists, scope: Scope, reader: Reader) -> Subquery:
    """Return EXISTS: whether a subquery has a row for the row around it."""
    inner = node.this
    if isinstance(inner, exp.Select) and not inner.args.get("group") and not own_aggregates(inner):
        # what EXISTS selects does not matter
        inner.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    rows = bind_rows(inner, scope, reader)
    unit_of = _asking(rows, scope, _linked_inside(rows), reader)
    return Subquery(SubqueryKind.EXISTS, rows, None, unit_of, Facts(Type.BOOLEAN, nullable=False))


def bind_member(node: exp.In, binder: Binder, reader: Reader) -> Subquery:  # type: ignore[type-arg]
    """Return IN: whether a value is among those of a subquery."""
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
        operand = asked if linked else _compared(binder.row(node.this), field)
        return Subquery(SubqueryKind.MEMBER, rows, operand, unit_of, CONDITION)
    kinds = {field.value.facts.type} if field.value is not None else set()
    with binder.identifiers_as(kinds):
        operand = binder.row(node.this)
    return Subquery(SubqueryKind.MEMBER, rows, _compared(operand, field), None, CONDITION)


def _compared(operand: Expr, field: Field) -> Expr:
    """Return what is looked for, or refuse to look for it among values of another type."""
    if field.value is None:
        raise _unrelated()
    call("equal", operand, field.value)
    return operand


def bind_value(node: exp.Subquery, scope: Scope, reader: Reader) -> Subquery:
    """Return the one value of a subquery: an aggregate over the same unit's rows, or public ones."""
    select = node.this
    if not isinstance(select, exp.Select) or select.args.get("group"):
        raise Refused(
            "subquery_unsupported",
            "a subquery used as a value must be one aggregate without GROUP BY",
            "use MIN, MAX, SUM, AVG or COUNT in it",
        )
    rows = bind_grouped(select, scope, reader)
    if len(rows.fields) != 1 or rows.fields[0].value is None or not rows.aggregates:
        raise Refused(
            "subquery_unsupported",
            "a subquery used as a value must be one aggregate",
            "select one aggregate in it",
        )
    if is_private(rows) and not _linked_inside(rows):
        raise across_units(rows)
    unit_of = _asking(rows, scope, True, reader)
    facts = replace(rows.fields[0].value.facts, nullable=True)
    return Subquery(SubqueryKind.VALUE, rows, None, unit_of, facts)


def _linked_inside(rows: Rows) -> bool:
    """Return whether a condition of the subquery ties its rows to the unit of the asking row."""
    if isinstance(rows, Union):
        return all(_linked_inside(branch) for branch in rows.branches)
    here = slots(rows.source)
    return any(
        isinstance(condition, SameIdentity)
        and (condition.left.slot in here) != (condition.right.slot in here)
        for condition in conjuncts(rows.where)
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
