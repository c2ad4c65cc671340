"""Subqueries in conditions and values as SQL: EXISTS, IN and values, of the asking row's own unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.compile.public_first import PublicTables, stands_alone
from sanql.errors import Refused
from sanql.question import Expr, Grouped, Identifier, Selected, Subquery, SubqueryKind, walk

if TYPE_CHECKING:
    from sanql.compile.relations import RelationWriter


def subquery_sql(writer: RelationWriter, asked: Subquery) -> str:
    """Return SQL for a subquery in an expression, over rows of the same unit as the row around it."""
    if writer.public is not None and stands_alone(asked.rows):
        return _looked_up(writer, asked, writer.public)
    outer = writer.unit(asked.unit_of) if asked.unit_of is not None else None
    rows = writer.tied(asked.rows)
    if asked.ask is SubqueryKind.VALUE:
        assert isinstance(rows, Grouped)  # noqa: S101  (the binder made it one aggregate)
        writer.enter(rows.source, rows.where)
        return f"({writer.grouped(rows, _tie(writer, rows, outer))})"
    if asked.ask is SubqueryKind.EXISTS and isinstance(rows, Selected) and rows.qualify is None:
        writer.enter(rows.source, rows.where)
        tie = _tie(writer, rows, outer)
        return f"EXISTS ({writer.once(writer.select(rows.source, rows.where, ['1'], tie))})"
    name = writer.fresh("w")
    conditions = [f"{name}.u = {outer}"] if outer is not None else []
    column = "i0" if isinstance(asked.operand, Identifier) else "c0"
    if isinstance(asked.operand, Identifier):  # NULL identifies nobody
        conditions.append(f"{name}.i0 IS NOT NULL")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows_text = f"({writer.rows(rows)}) AS {name}{where}"
    if asked.operand is None:
        return f"EXISTS (SELECT 1 FROM {rows_text})"
    return f"({writer.emitter.sql(asked.operand)} IN (SELECT {name}.{column} FROM {rows_text}))"


def _tie(writer: RelationWriter, rows: Selected | Grouped, outer: str | None) -> list[str]:
    return [f"{writer.unit(rows.source)} = {outer}"] if outer is not None else []


def _looked_up(writer: RelationWriter, asked: Subquery, public: PublicTables) -> str:
    """Return what is asked of public tables alone: a constant, or a list that is finished."""
    if asked.operand is not None:
        place = writer.finished(asked.rows, public)
        return f"({writer.emitter.sql(asked.operand)} IN (SELECT c0 FROM {place}))"
    apart = writer.apart()
    sql = f"SELECT {subquery_sql(apart, asked)} AS c0"
    return f"(SELECT c0 FROM {public.add(sql, apart.emitter.parameters)})"


def asks(condition: Expr) -> bool:
    """Return whether a condition contains a subquery."""
    return any(isinstance(node, Subquery) for node in walk(condition))


def within_length(text: str, length_max: int) -> str:
    """Return a subquery's SQL; clamps repeat what they clamp, so nesting can double it many times."""
    if len(text) > length_max:
        raise Refused(
            "query_too_complex",
            "a subquery of this question becomes too long for the engine",
            "nest fewer subqueries in each other's values; use subqueries in FROM",
        )
    return text
