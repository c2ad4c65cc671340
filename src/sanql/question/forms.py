"""The typed tree of a question, in the canonical form that digests are computed from."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from sanql.canonical import Named, Shape, WrittenOnce, word
from sanql.question.expressions import (
    AggregateRef,
    Call,
    ColumnRef,
    Expr,
    Facts,
    Grouping,
    Identifier,
    IntervalEnd,
    KeyRef,
    Literal,
    Ordering,
    SameIdentity,
    Subquery,
    Window,
)
from sanql.question.relations import (
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
)


def expression_form(node: Expr) -> Named | WrittenOnce:
    """Return an expression."""
    if isinstance(node, ColumnRef):
        return _column(node)
    facts = _facts(node.facts)
    match node:
        case Literal(value):
            return Named("Literal", {"value": value, "facts": facts})
        case Call(op, args):
            return Named("Call", {"op": op, "args": _all(args), "facts": facts})
        case KeyRef(index):
            return Named("KeyRef", {"index": index, "facts": facts})
        case Grouping(keys):
            return Named("Grouping", {"keys": keys, "facts": facts})
        case AggregateRef(index):
            return Named("AggregateRef", {"index": index, "facts": facts})
        case IntervalEnd(output, high):
            return Named("IntervalEnd", {"output": output, "high": high, "facts": facts})
        case Identifier(slot, name, entity):
            return Named(
                "Identifier", {"slot": slot, "name": name, "entity": entity, "facts": facts}
            )
        case SameIdentity(left, right):
            both = {"left": expression_form(left), "right": expression_form(right)}
            return Named("SameIdentity", both | {"facts": facts})
        case Subquery(ask, rows, operand, unit_of):
            return Named(
                "Subquery",
                {
                    "ask": word("Ask", ask, {}),
                    "rows": relation_form(rows),
                    "operand": optional_form(operand),
                    "unit_of": None if unit_of is None else relation_form(unit_of),
                    "facts": facts,
                },
            )
        case Window(function, args, partition, order, unit_of):
            parts: dict[str, Shape] = {
                "function": function,
                "args": _all(args),
                "partition": _all(partition),
                "order": tuple(map(_ordering, order)),
                "unit_of": relation_form(unit_of),
                "facts": facts,
            }
            return Named("Window", parts | ({"frame": node.frame} if node.frame else {}))
        case _:
            assert_never(node)


@lru_cache(maxsize=1024)  # the same few columns are in most questions
def _column(node: ColumnRef) -> WrittenOnce:
    facts = _facts(node.facts)
    fields: dict[str, Shape] = {"name": node.name, "facts": facts, "slot": node.slot}
    return WrittenOnce(Named("ColumnRef", fields | {"origin": node.origin, "stored": node.stored}))


def optional_form(node: Expr | None) -> Named | WrittenOnce | None:
    """Return an expression, where there is one."""
    return None if node is None else expression_form(node)


def relation_form(source: From | Rows) -> Named:
    """Return what FROM holds, or a subquery."""
    match source:
        case Scan(slot, table, private):
            return Named("Scan", {"slot": slot, "table": table, "private": private})
        case Derived(slot, rows):
            return Named("Derived", {"slot": slot, "rows": relation_form(rows)})
        case Join(kind, left, right, on):
            return Named(
                "Join",
                {
                    "kind": word("JoinKind", kind, {}),
                    "left": relation_form(left),
                    "right": relation_form(right),
                    "on": optional_form(on),
                },
            )
        case Selected() | Grouped():
            return _query(source)
        case Union(branches, fields, distinct):
            return Named(
                "Union",
                {
                    "parts": tuple(map(relation_form, branches)),
                    "fields": tuple(map(_field, fields)),
                    "distinct": distinct,
                },
            )
        case _:
            assert_never(source)


def _query(rows: Selected | Grouped) -> Named:
    read: dict[str, Shape] = {
        "source": relation_form(rows.source),
        "where": optional_form(rows.where),
    }
    fields: Shape = tuple(map(_field, rows.fields))
    match rows:
        case Selected(distinct=distinct, qualify=qualify):
            own = {"fields": fields, "distinct": distinct, "qualify": optional_form(qualify)}
            return Named("Selected", read | own)
        case Grouped(keys=keys, aggregates=aggregates, having=having, one_each=one_each):
            return Named(
                "Grouped",
                read
                | {
                    "keys": _all(keys),
                    "aggregates": tuple(map(_unit_aggregate, aggregates)),
                    "fields": fields,
                    "having": optional_form(having),
                    "one_each": one_each,
                },
            )
        case _:
            assert_never(rows)


@lru_cache(maxsize=1024)  # columns and conditions have the same facts in most questions
def _facts(facts: Facts) -> WrittenOnce:
    named = Named(
        "Facts",
        {
            "type": word("Type", facts.type, {}),
            "low": facts.low,
            "high": facts.high,
            "nullable": facts.nullable,
            "grid": facts.grid,
        },
    )
    return WrittenOnce(named)


def _field(field: Field) -> Named:
    value, identity = optional_form(field.value), optional_form(field.identity)
    return Named("Field", {"name": field.name, "value": value, "identity": identity})


def _unit_aggregate(aggregate: UnitAggregate) -> Named:
    return Named(
        "UnitAggregate",
        {
            "function": aggregate.function,
            "argument": optional_form(aggregate.argument),
            "distinct": aggregate.distinct,
            "facts": _facts(aggregate.facts),
        },
    )


def _ordering(item: Ordering) -> Named:
    return Named(
        "Ordering",
        {
            "expression": expression_form(item.expression),
            "descending": item.descending,
            "nulls_first": item.nulls_first,
        },
    )


def _all(expressions: tuple[Expr, ...]) -> tuple[Named | WrittenOnce, ...]:
    return tuple(map(expression_form, expressions))
