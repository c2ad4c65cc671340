"""Finding the refused part of a question, and the identifiers of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse import places_within, table_item
from sanql.policy import Table

N = TypeVar("N", bound=exp.Expr)
STANDS_IN = "stands_in"
Rewriter = Callable[[exp.Select, Refused, Mapping[str, Table]], Iterator[exp.Expr]]


def refused_parts(tree: exp.Expr, refused: Refused, *kinds: type[N]) -> list[N]:
    """Return the nodes of these kinds that begin where a refusal says it is about."""
    places = places_within(tree)
    return [node for node in tree.find_all(*kinds) if places.get(id(node)) == refused.place]


def without(select: exp.Select, *clauses: str) -> exp.Select:
    """Return a question without some of its clauses."""
    for clause in clauses:
        select.set(clause, None)
    return select


def standing_in(node: N, words: str) -> N:
    """Return a part that nobody asked for, marked with what it stands for."""
    node.meta[STANDS_IN] = words
    return node


def stand_ins(tree: exp.Expr) -> list[str]:
    """Return what the parts of a candidate stand for that nobody asked for."""
    return [str(node.meta[STANDS_IN]) for node in tree.walk() if STANDS_IN in node.meta]


def unaliased(node: exp.Expr) -> exp.Expr:
    """Return an expression without the name it is given."""
    return node.this if isinstance(node, exp.Alias) else node


def aggregated(node: exp.Expr) -> bool:
    """Return whether an expression has an aggregate of its own."""
    return any(
        aggregate.find_ancestor(exp.Window, exp.Select)
        is node.find_ancestor(exp.Window, exp.Select)
        for aggregate in node.find_all(exp.AggFunc)
    )


def tests(where: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND joins in a clause."""
    if where is None:
        return []
    condition = where.this
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def leave_only(select: exp.Select, clause: str, kept: list[exp.Expr]) -> None:
    """Let a clause have only these conditions; without any there is no clause."""
    kinds = {"where": exp.Where, "having": exp.Having}
    select.set(clause, kinds[clause](this=exp.and_(*kept)) if kept else None)


def add_tests(select: exp.Select, more: Sequence[exp.Expr]) -> None:
    """Add conditions to WHERE."""
    if more:
        leave_only(select, "where", [*(t.copy() for t in tests(select.args.get("where"))), *more])


@dataclass(frozen=True)
class Read:
    """A table that a FROM names: what it is called there, and its identifiers by what they identify."""

    alias: str
    table: Table
    identifiers: Mapping[str, str]
    columns: tuple[str, ...]

    def column(self, name: str) -> exp.Column:
        """Return one of its columns, qualified."""
        return exp.column(name, table=self.alias)


def tables_read(select: exp.Expr, tables: Mapping[str, Table]) -> list[Read]:
    """Return the policy's tables that a SELECT names in its own FROM."""
    by_name = {name.lower(): table for name, table in tables.items()}
    source = select.args.get("from_")
    nodes = [source.this] if source is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    nodes += [join.this for node in list(nodes) for join in node.args.get("joins") or ()]
    reads = []
    for node in nodes:
        table = by_name.get(str(node.name).lower()) if isinstance(node, exp.Table) else None
        if table is None:
            continue
        item = table_item(table, str(node.alias) or table.name, 0, tables)
        identifiers = {c.identity.entity: c.name for c in item.columns if c.identity is not None}
        usable = tuple(c.name for c in item.columns if c.value is not None)
        reads.append(Read(item.alias, table, identifiers, usable))
    return reads


def identifies(column: exp.Expr, reads: Sequence[Read]) -> bool:
    """Return whether a column says who or which row it is, be it usable or not."""
    prefix, name = str(column.args.get("table") or "").lower(), str(column.name).lower()
    return any(
        name in {known.lower() for known in read.identifiers.values()}
        for read in reads
        if prefix in ("", read.alias.lower())
    )


def shared_entities(first: Read, second: Read) -> list[str]:
    """Return what both tables identify, the unit first."""
    return [entity for entity in first.identifiers if entity in second.identifiers]
