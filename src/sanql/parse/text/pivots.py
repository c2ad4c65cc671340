"""PIVOT as the SELECT that it stands for, where the text itself says which columns there are.

`p PIVOT (SUM(n) FOR k IN ('a', 'b'))` is SELECT g, SUM(n) FILTER (WHERE k = 'a') AS a, … FROM p
GROUP BY g, for every column g that the clause does not read. What is not listed with IN stays as
it is, and is refused: rows would decide which columns there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.policy import Table

VALUES_MAX = 200
PIVOT_WORDS_MAX = 1_200  # of a text: one that is longer would have too many columns
_STATEMENT = frozenset({"this", "expressions", "using", "group", "with_"})
_CLAUSE = frozenset(
    {
        "expressions", "fields", "group", "alias", "columns", "default_on_null", "identify_pivot_strings",
        "prefixed_pivot_columns", "pivot_column_naming",
    }
)  # fmt: skip


def pivots_written_out(statement: exp.Expr | None, tables: Mapping[str, Table]) -> exp.Expr | None:
    """Return a statement in which every PIVOT that names its columns is a SELECT with GROUP BY."""
    for pivot in [] if statement is None else list(statement.find_all(exp.Pivot)):
        source = pivot.parent
        if isinstance(source, exp.Subquery | exp.Table) and len(source.args["pivots"]) == 1:
            _write_out(source, pivot, tables)
    if isinstance(statement, exp.Pivot) and _has_only(statement, _STATEMENT):
        return _statement(statement, tables) or statement
    return statement


def _write_out(source: exp.Expr, pivot: exp.Pivot, tables: Mapping[str, Table]) -> None:
    """Put a SELECT in the place of an item of FROM and its clause."""
    if pivot.args.get("unpivot") or not _has_only(pivot, _CLAUSE):
        return
    bare = source.copy()
    bare.set("pivots", None)
    fields = pivot.args.get("fields") or []
    select = _select(bare, fields, pivot.expressions, pivot.args.get("group"), tables)
    if select is None:
        return
    alias = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier("pivoted"))
    source.replace(exp.Subquery(this=select, alias=alias.copy()))


def _statement(pivot: exp.Pivot, tables: Mapping[str, Table]) -> exp.Select | None:
    """Return the SELECT that PIVOT … ON … USING … is."""
    select = _select(
        pivot.this.copy(),
        pivot.expressions,
        pivot.args.get("using") or [],
        pivot.args.get("group"),
        tables,
    )
    if select is not None and pivot.args.get("with_") is not None:
        select.set("with_", pivot.args["with_"].copy())
    return select


def _select(
    source: exp.Expr,
    fields: list[exp.Expr],
    aggregates: list[exp.Expr],
    group: exp.Expr | None,
    tables: Mapping[str, Table],
) -> exp.Select | None:
    listed = fields[0] if len(fields) == 1 else None
    if not isinstance(listed, exp.In) or not isinstance(listed.this, exp.Column):
        return None
    if len(listed.expressions) > VALUES_MAX:
        return None
    values = list(_values(listed))
    bare = [each.this if isinstance(each, exp.Alias) else each for each in aggregates]
    if None in values or not bare or not all(isinstance(each, exp.AggFunc) for each in bare):
        return None
    if group is not None:
        keys = [each.copy() for each in group.expressions]
        if not _has_only(group, frozenset({"expressions"})):
            return None
    else:
        names = _columns(source, tables)
        if names is None:
            return None
        read = {str(c.name).lower() for each in [listed, *bare] for c in each.find_all(exp.Column)}
        keys = [exp.column(name, quoted=True) for name in names if name.lower() not in read]
    items = [*keys]
    for value, name in filter(None, values):
        for typed, aggregate in zip(aggregates, bare, strict=True):
            where = exp.EQ(this=listed.this.copy(), expression=value.copy())
            filtered = exp.Filter(this=aggregate.copy(), expression=exp.Where(this=where))
            called = f"{name}_{_called(typed)}" if _is_named(typed, aggregates) else name
            items.append(exp.alias_(filtered, called, quoted=True))
    select = exp.Select(expressions=items, from_=exp.From(this=_named(source)))
    if keys:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return select


def _values(listed: exp.In) -> Iterator[tuple[exp.Expr, str] | None]:
    """Yield each value with the name of its columns; None for what is no constant."""
    for each in listed.expressions:
        value = each.this if isinstance(each, exp.PivotAlias) else each
        if not isinstance(value, exp.Literal):
            yield None
        elif isinstance(each, exp.PivotAlias):
            yield value, str(each.args["alias"].name)
        else:
            yield value, str(value.this)


def _is_named(typed: exp.Expr, aggregates: list[exp.Expr]) -> bool:
    return isinstance(typed, exp.Alias) or len(aggregates) > 1


def _called(typed: exp.Expr) -> str:
    """Return what is put behind the value in the name of a column."""
    if isinstance(typed, exp.Alias):
        return str(typed.alias)
    if isinstance(typed.this, exp.Star):
        return f"{typed.key}_star()"
    operands = ", ".join(each.sql(dialect="duckdb") for each in typed.iter_expressions())
    return f"{typed.key}({operands})"


def _columns(source: exp.Expr, tables: Mapping[str, Table]) -> list[str] | None:
    """Return the names of an item of FROM, where the text or the policy says them."""
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
        items = source.this.expressions
        if all(isinstance(each, exp.Alias | exp.Column) and not each.is_star for each in items):
            return [str(each.alias_or_name) for each in items]
    if isinstance(source, exp.Table):
        table = {name.lower(): each for name, each in tables.items()}.get(str(source.name).lower())
        if table is not None and table.public and table.columns:
            return list(table.columns)
    return None


def _named(source: exp.Expr) -> exp.Expr:
    """Return an item of FROM with a name, which a subquery must have."""
    if isinstance(source, exp.Subquery) and not source.args.get("alias"):
        source.set("alias", exp.TableAlias(this=exp.to_identifier("rows")))
    return source


def _has_only(node: exp.Expr, parts: frozenset[str]) -> bool:
    return all(name in parts for name, value in node.args.items() if value)
