"""Forms of SQL over answers, written as those that questions over public tables have."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sanql.parse.expressions.naming import column_name
from sanql.parse.over.correlated import Tied
from sanql.parse.relations.subqueries import own_aggregates
from sanql.parse.text.guard import whole_number
from sanql.policy import Column, Table
from sanql.question import Output, Query, Type

_COLUMN_TYPES = {
    Type.INTEGER: "integer",
    Type.REAL: "float",
    Type.TEXT: "text",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
    Type.TIMESTAMP: "timestamp",
}

ROWS = "rows"
TIED = "tied"


def reference(name: str, columns: Sequence[str]) -> exp.Select:
    """Return a SELECT of all columns of a statistic."""
    listed = [exp.column(exp.to_identifier(each, quoted=True)) for each in columns]
    return exp.Select(expressions=listed).from_(exp.table_(exp.to_identifier(name, quoted=True)))


def limited(select: exp.Select) -> exp.Select:
    """Return a subquery that has LIMIT or OFFSET as one that numbers its rows.

    Rows that its order leaves equal are told apart by the columns of the answer.
    """
    limit = whole_number(select.args.get("limit"), "LIMIT")
    offset = whole_number(select.args.get("offset"), "OFFSET") or 0
    order = select.args.get("order")
    inner = select.copy()
    for clause in ("limit", "offset", "order"):
        inner.set(clause, None)
    names: list[str] = []
    starred = any(item.is_star for item in inner.expressions)
    if not starred:
        names = [_output_name(item, place) for place, item in enumerate(inner.expressions)]
        bare = [item.this if isinstance(item, exp.Alias) else item for item in inner.expressions]
        inner.set(
            "expressions",
            [exp.alias_(node.copy(), n, quoted=True) for node, n in zip(bare, names, strict=True)],
        )
    orderings = []
    for number, item in enumerate(order.expressions if order is not None else []):
        ordered = item.copy()
        name = _ordered_by(item.this, names)
        if name is None:
            name = f"order {number}"
            inner.append("expressions", exp.alias_(item.this.copy(), name, quoted=True))
        ordered.set("this", _column(name))
        orderings.append(ordered)
    orderings += [exp.Ordered(this=_column(name), nulls_first=False) for name in names]
    place = exp.Window(
        this=exp.RowNumber(),
        order=exp.Order(expressions=orderings) if orderings else None,
        over="OVER",
    )
    within: exp.Expr = exp.GT(this=place, expression=exp.Literal.number(offset))
    if limit is not None:
        last = exp.LTE(this=place.copy(), expression=exp.Literal.number(offset + limit))
        within = exp.And(this=within, expression=last)
    outer = exp.Select(
        expressions=[_column(name) for name in names] if names else [exp.Star()],
        qualify=exp.Qualify(this=within),
    )
    outer.set("from_", exp.From(this=inner.subquery(ROWS)))
    return outer


def one_value(query: exp.Expr) -> exp.Subquery | None:
    """Return a subquery used as a value as one aggregate; NULL where it has no row, or several.

    One that is an aggregate already is as it must be.
    """
    if isinstance(query, exp.Select) and own_aggregates(query) and not query.args.get("group"):
        return None
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    inner = query.copy()
    item = inner.expressions[0]
    inner.set("expressions", [exp.alias_(item.this if isinstance(item, exp.Alias) else item, "v")])
    if item.is_star:
        return None
    alone = exp.EQ(this=exp.Count(this=exp.Star(), big_int=True), expression=exp.Literal.number(1))
    largest = exp.Max(this=exp.column("v", table=ROWS))
    value = exp.Case(ifs=[exp.If(this=alone, true=largest)])
    named = inner.args.get("with_")
    inner.set("with_", None)
    around = exp.Select(expressions=[exp.alias_(value, "v")])
    around.set("from_", exp.From(this=inner.subquery(ROWS)))
    if named is not None:
        around.set("with_", named)
    return around.subquery()


def joined_value(tied: Tied, table: exp.Select) -> exp.Expr:
    """Return the value of a subquery that was tied to the row outside, read from a statistic by key."""

    def of_group(name: str, *, counts: bool) -> exp.Expr:
        rows = exp.Select(expressions=[exp.Max(this=exp.column(name, table=TIED, quoted=True))])
        rows.set("from_", exp.From(this=table.copy().subquery(TIED)))
        for place, outside in enumerate(tied.outside):
            rows = rows.where(
                exp.EQ(
                    this=exp.column(f"key {place}", table=TIED, quoted=True),
                    expression=outside.copy(),
                )
            )
        value: exp.Expr = rows.subquery()
        # a group that does not appear has no rows as far as anybody is told
        return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)]) if counts else value

    value = tied.value.copy()
    if isinstance(value, exp.Column):
        return of_group(str(value.name), counts=tied.counts[0])
    for column in list(value.find_all(exp.Column)):
        number = int(str(column.name).removeprefix("measure "))
        column.replace(of_group(str(column.name), counts=tied.counts[number]))
    return value


def _output_name(item: exp.Expr, place: int) -> str:
    name = str(item.alias) if isinstance(item, exp.Alias) else column_name(item)
    return name or f"column {place}"


def _ordered_by(node: exp.Expr, names: Sequence[str]) -> str | None:
    """Return the column of the answer that an item of ORDER BY names, by place or by name."""
    if isinstance(node, exp.Literal) and str(node.this).isdecimal():
        place = int(str(node.this)) - 1
        return names[place] if 0 <= place < len(names) else None
    if isinstance(node, exp.Column) and not node.args.get("table"):
        return next((name for name in names if name.lower() == str(node.name).lower()), None)
    return None


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def as_table(name: str, query: Query) -> Table:
    """Return what the answer to a statistic looks like as a public table."""
    columns = {output.name: _as_column(output) for output in query.outputs}
    return Table(name, None, columns)


def _as_column(output: Output) -> Column:
    facts = output.expression.facts
    return Column(output.name, _COLUMN_TYPES.get(facts.type, "integer"))  # type: ignore[arg-type]
