"""Counts of identifiers: of privacy units, and of other columns that say whose a row is.

An identifier is never shown, but how many there are is a statistic like any other. Where an outer
join leaves a row without one, it is not counted, as SQL says of NULL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.parse.expressions.refusals import as_typed
from sanql.parse.relations.scope import UNIT
from sanql.parse.statistics.aggregates import bind_aggregate
from sanql.parse.statistics.spellings import canonical_spelling
from sanql.question import Aggregate, Identifier
from sanql.statistics import count_of, distinct_of

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder


def bind_statistic(node: exp.Expression, binder: Binder[Aggregate]) -> Aggregate:
    """Return the noisy aggregate a node asks for; identifiers can be counted too."""
    return _count_of_identifiers(canonical_spelling(node), binder) or bind_aggregate(node, binder)


def _count_of_identifiers(node: exp.Expression, binder: Binder[Aggregate]) -> Aggregate | None:
    if not isinstance(node, exp.Count) or node.this is None or "per_group" in node.args:
        return None
    if not isinstance(node.this, exp.Distinct):
        identity = _identity(node.this, binder) or _unit(node.this, binder)
        if identity is None or not _may_be_missing(identity):
            return None
        # a key's column may hold NULL without an outer join
        missing = replace(identity, facts=replace(identity.facts, nullable=True))
        return count_of(missing, as_typed(node))
    if len(node.this.expressions) != 1:
        return None
    (value,) = node.this.expressions
    identity = _identity(value, binder)
    if identity is not None and identity.entity != UNIT:
        return distinct_of(identity, as_typed(node))
    shown = _where_present(value, binder)
    if shown is None:
        return None
    return bind_aggregate(exp.Count(this=exp.Distinct(expressions=[shown])), binder)


def _identity(node: exp.Expression, binder: Binder[Aggregate]) -> Identifier | None:
    """Return the identifier an expression is, unless its value may be used as well."""
    column = binder.visible(node)
    return column.identity if column is not None and column.value is None else None


def _unit(node: exp.Expression, binder: Binder[Aggregate]) -> Identifier | None:
    """Return the unit that an expression is, also if its value may be used as well."""
    column = binder.visible(node)
    return column.identity if column is not None and binder.is_bare_unit(node) else None


def _may_be_missing(identity: Identifier) -> bool:
    """Return whether a row may lack it: a key's column may hold NULL, a unit's is never read so."""
    return identity.facts.nullable or identity.entity != UNIT


def _where_present(node: exp.Expression, binder: Binder[Aggregate]) -> exp.Expression | None:
    """Return a unit, or CASE WHEN condition THEN unit END, counted only where a row has one.

    None where every row does.
    """
    while isinstance(node, exp.Paren):
        node = node.this
    condition = None
    unit = node
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        (branch,) = node.args["ifs"]
        condition, unit = branch.this, branch.args["true"]
    column = binder.visible(unit)
    if column is None or column.identity is None or column.identity.entity != UNIT:
        return None
    if not column.identity.facts.nullable:
        return None
    present: exp.Expression = exp.Not(this=exp.Is(this=unit.copy(), expression=exp.Null()))
    if condition is not None:
        present = exp.And(this=exp.Paren(this=condition.copy()), expression=present)
    return exp.Case(ifs=[exp.If(this=present, true=unit.copy())], default=node.args.get("default"))
