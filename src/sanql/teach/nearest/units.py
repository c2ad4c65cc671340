"""Questions that keep units apart: joins and subqueries tied to one unit, or asked by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.policy import Table
from sanql.teach.nearest.refused_parts import (
    Read,
    Rewriter,
    add_tests,
    leave_only,
    refused_parts,
    shared_entities,
    tables_read,
    tests,
    unaliased,
)
from sanql.teach.nearest.shape import windows_outside

Tables = Mapping[str, Table]
TABLES_MAX = 8  # of one FROM, that are tied to each other
SUBQUERIES_MAX = 8  # that are looked at for one to tie


def joined_within_units(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the joins with equal identifiers added to the conditions they have."""
    for node in list(select.find_all(exp.Select)):
        reads = tables_read(node, tables)
        if len(reads) > TABLES_MAX:
            return
        links = [
            exp.EQ(this=other.column(other.identifiers[entity]), expression=read.column(name))
            for place, read in enumerate(reads)
            for other in reads[:place]
            for entity, name in _link(other, read)
        ]
        add_tests(node, links)
    yield select


def _link(first: Read, second: Read) -> list[tuple[str, str]]:
    """Return what ties two tables: the row that one names in the other, or else the unit."""
    shared = shared_entities(first, second)
    rows = [entity for entity in shared if entity != "unit"]
    return [(entity, second.identifiers[entity]) for entity in (rows or shared)[:1]]


def kept_rows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield outer, semi and anti joins as joins that can be had."""
    for join in list(select.find_all(exp.Join)):
        kind = str(join.args.get("kind") or "").upper()
        side = str(join.args.get("side") or "").upper()
        holder = join.find_ancestor(exp.Select)
        if "SEMI" in (kind, side) or "ANTI" in (kind, side):
            inner = exp.select("1").from_(join.this.copy())
            if join.args.get("on") is not None:
                inner = inner.where(join.args["on"].copy())
            exists: exp.Expr = exp.Exists(this=inner)
            if holder is not None:
                add_tests(holder, [exp.Not(this=exists) if "ANTI" in (kind, side) else exists])
                join.pop()
        else:
            join.set("side", None)
            join.set("kind", None)
            join.set("method", None)
    yield select


def joined_on_keys(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the joins with public tables on their declared keys."""
    reads = tables_read(select, tables)
    for join in select.args.get("joins") or ():
        public = next((r for r in reads if r.alias == join.this.alias_or_name), None)
        key = public.table.key if public is not None and public.table.public else None
        if public is None or key is None:
            continue
        for read in reads:
            same = [name for name in read.columns if _alike(name, key)]
            if read is not public and same:
                join.set("using", None)
                join.set("on", exp.EQ(this=public.column(key), expression=read.column(same[0])))
    yield select


def _alike(name: str, key: str) -> bool:
    """Return whether a column is probably meant to hold a key: region_code holds a code."""
    return name.lower() == key.lower() or name.lower().endswith(f"_{key.lower()}")


def one_table(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question over the first of its tables alone, without conditions on the others."""
    reads = tables_read(select, tables)
    others = {read.alias.lower() for read in reads[1:]}
    conditions = tests(select.args.get("where"))
    kept = [
        test
        for test in conditions
        if not any(str(column.table).lower() in others for column in test.find_all(exp.Column))
    ]
    leave_only(select, "where", [test.copy() for test in kept])
    select.set("joins", None)
    yield select


def distinct_outside(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield how many different values there are, counted outside."""
    for inner in list(select.find_all(exp.Select))[1:]:
        if inner.args.get("distinct") is None:
            continue
        first, *others = [unaliased(item).copy() for item in inner.expressions]
        for other in others:
            between = exp.DPipe(this=first, expression=exp.Literal.string("|"), safe=True)
            first = exp.DPipe(this=between, expression=other, safe=True)
        asked = inner.copy()
        asked.set("distinct", None)
        asked.set("expressions", [exp.Count(this=exp.Distinct(expressions=[first]))])
        yield asked


def tied_subqueries(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with EXISTS and IN tied to the unit of the row that asks."""
    for node in list(select.find_all(exp.Exists, exp.In))[:SUBQUERIES_MAX]:
        query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
        inner = query.this if isinstance(query, exp.Subquery) else query
        outer = node.find_ancestor(exp.Select)
        if not isinstance(inner, exp.Select) or outer is None:
            continue
        for own in tables_read(inner, tables):
            for asking in tables_read(outer, tables):
                for entity in sorted(shared_entities(own, asking), key="unit".__ne__)[:1]:
                    mine, theirs = own, asking
                    if own.alias.lower() == asking.alias.lower():
                        mine = _renamed(inner, own)
                    link = exp.EQ(
                        this=mine.column(own.identifiers[entity]),
                        expression=theirs.column(asking.identifiers[entity]),
                    )
                    add_tests(inner, [link])
                    yield select
                    return


def _renamed(select: exp.Select, read: Read) -> Read:
    """Give a table of a subquery another name than the one outside."""
    for node in select.find_all(exp.Table):
        if node.alias_or_name.lower() == read.alias.lower():
            node.set("alias", exp.TableAlias(this=exp.to_identifier("same")))
            break
    return Read("same", read.table, read.identifiers, read.columns)


def inner_question(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question that a subquery asks, to be asked by itself."""
    for inner in list(select.find_all(exp.Select))[1:]:
        if any(inner.find_all(exp.AggFunc)):
            asked = _grouped_by_links(inner.copy(), tables)
            if select.args.get("with_") is not None and asked.args.get("with_") is None:
                asked.set("with_", select.args["with_"].copy())
            yield asked
            yield inner.copy()


def _grouped_by_links(inner: exp.Select, tables: Tables) -> exp.Select:
    """Return a subquery grouped by what it compares with the row outside."""
    own = {read.alias.lower() for read in tables_read(inner, tables)}
    kept, keys = [], []
    for test in tests(inner.args.get("where")):
        columns = list(test.find_all(exp.Column))
        inside = [column for column in columns if str(column.table).lower() in (*own, "")]
        if len(inside) < len(columns):
            keys += [column.copy() for column in inside]
        else:
            kept.append(test.copy())
    if keys:
        leave_only(inner, "where", kept)
        inner.set("expressions", [*(key.copy() for key in keys), *inner.expressions])
        inner.set("group", exp.Group(expressions=keys))
    return inner


def one_row_a_unit(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with the unit among what a subquery groups by, or keeps apart."""
    for inner in list(select.find_all(exp.Select))[1:]:
        for read in tables_read(inner, tables)[:1]:
            if "unit" not in read.identifiers:
                continue
            unit = read.column(read.identifiers["unit"])
            if len(tables_read(inner, tables)) == 1:
                unit.set("table", None)
            group = inner.args.get("group")
            if group is not None:
                group.set("expressions", [unit.copy(), *group.expressions])
            elif any(inner.find_all(exp.AggFunc)):
                inner.set("group", exp.Group(expressions=[unit.copy()]))
            inner.set("expressions", [unit, *inner.expressions])
    yield select


def partitioned_by_unit(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with the unit in PARTITION BY."""
    for window in list(select.find_all(exp.Window)):
        holder = window.find_ancestor(exp.Select)
        for read in tables_read(holder, tables)[:1] if holder is not None else ():
            for column in list(read.identifiers.values())[:1]:
                partition = [key.copy() for key in window.args.get("partition_by") or ()]
                window.set("partition_by", [exp.column(column, table=read.alias), *partition])
    yield select


def units_counted(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with its units counted, or without the condition that names one."""
    for place, column in enumerate(refused_parts(select, refused, exp.Column)[:1]):
        count = exp.Count(this=exp.Distinct(expressions=[column.copy()]))
        for around in (exp.AggFunc, exp.Func):
            asked = select.copy()
            node = refused_parts(asked, refused, exp.Column)[place]
            holder = node.find_ancestor(around)
            if holder is not None and holder.find_ancestor(exp.Select) is asked:
                holder.replace(count.copy())
                yield asked
        for number, item in enumerate(select.expressions):
            if refused_parts(exp.Tuple(expressions=[item.copy()]), refused, exp.Column):
                asked = select.copy()
                asked.expressions[number].replace(count.copy())
                for clause in ("order", "limit", "offset", "distinct"):
                    asked.set(clause, None)
                yield asked.copy()
                for clause in ("group", "having", "order", "limit", "offset", "distinct"):
                    asked.set(clause, None)
                yield asked
    for inner in select.find_all(exp.Select):
        conditions = tests(inner.args.get("where"))
        kept = [
            test
            for test in conditions
            if not refused_parts(exp.Tuple(expressions=[test.copy()]), refused, exp.Column)
        ]
        if len(kept) < len(conditions):
            leave_only(inner, "where", [test.copy() for test in kept])
            yield select
            return
    yield from joined_within_units(_without_conditions(select.copy()), refused, tables)


def _without_conditions(select: exp.Select) -> exp.Select:
    for join in select.args.get("joins") or ():
        join.set("on", None)
        join.set("using", None)
        join.set("kind", None)
    return select


def matched_rows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield counts of a private table's column in place of counts of all rows."""
    for read in tables_read(select, tables):
        if read.table.public:
            continue
        for column in [*read.identifiers.values(), *read.columns][:3]:
            asked = select.copy()
            for count in list(asked.find_all(exp.Count)):
                if isinstance(count.this, exp.Star):
                    count.set("this", read.column(column))
            yield asked


def parts_by_themselves(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question over the first part of a UNION alone, then over the second."""
    for side in ("this", "expression"):
        asked = select.copy()
        for union in list(asked.find_all(exp.Union)):
            branch = union.args[side]
            union.replace(branch.copy())
        yield asked


UNITS: dict[str, tuple[Rewriter, ...]] = {
    "join_across_units": (joined_within_units, one_table),
    "join_condition": (joined_within_units,),
    "join_unsupported": (kept_rows,),
    "join_multiplies": (joined_on_keys,),
    "subquery_across_units": (
        tied_subqueries,
        inner_question,
        one_row_a_unit,
        parts_by_themselves,
    ),
    "subquery_unsupported": (parts_by_themselves,),
    "distinct_across_units": (distinct_outside, one_row_a_unit, parts_by_themselves),
    "window_across_units": (partitioned_by_unit, windows_outside),
    "unit_column": (units_counted,),
    "orphans_counted": (matched_rows,),
    "union_columns": (parts_by_themselves,),
}
