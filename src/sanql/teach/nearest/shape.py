"""Questions of another shape: statistics instead of rows, one row a group, clauses left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse import AGGREGATES
from sanql.policy import Table
from sanql.teach.nearest.refused_parts import (
    Rewriter,
    aggregated,
    identifies,
    leave_only,
    refused_parts,
    standing_in,
    tables_read,
    tests,
    unaliased,
    without,
)

Tables = Mapping[str, Table]
AROUND = ("order", "limit", "offset", "distinct")
# clauses that have no place in a question
STRANGE = (
    "qualify", "sample", "pivots", "laterals", "locks", "windows", "into", "hint", "kind", "connect",
    "match", "cluster", "sort",
)  # fmt: skip


def counts_of_rows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield how many rows there are: by all columns asked for, by all but one, by one, in all.

    What identifies is counted itself, and is no key.
    """
    reads = tables_read(select, tables)
    columns = [item for item in select.expressions if isinstance(item, exp.Column)][:6]
    columns = [column for column in columns if not isinstance(column.this, exp.Star)]
    whose = [column for column in columns if identifies(column, reads)]
    columns = [column for column in columns if column not in whose]
    counted = exp.Distinct(expressions=[whose[0].copy()]) if whose else exp.Star()
    for keys in [
        columns,
        *(_all_but(columns, i) for i in range(len(columns))),
        *map(_one, columns),
        [],
    ]:
        asked = without(select.copy(), *AROUND)
        asked.set("expressions", [*(key.copy() for key in keys), exp.Count(this=counted.copy())])
        asked.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
        yield asked


def _all_but(columns: list[exp.Column], index: int) -> list[exp.Column]:
    return columns[:index] + columns[index + 1 :]


def _one(column: exp.Column) -> list[exp.Column]:
    return [column]


def numbers_of_one(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield statistics over what GROUP BY makes of each individual, and counts of individuals."""
    keys = _keys(select)
    whose = _whose(select, keys, refused, tables)
    others = [key for key in keys if key not in whose]
    inner = without(select.copy(), *AROUND)
    names: list[str] = []
    counts: list[str] = []
    for number, item in enumerate(inner.expressions):
        if aggregated(unaliased(item)):
            names.append(str(item.alias) or f"n{number}")
            counts += names[-1:] if isinstance(unaliased(item), exp.Count) else []
            inner.expressions[number].replace(exp.alias_(unaliased(item).copy(), names[-1]))
    selected = {str(unaliased(item).name).lower() for item in inner.expressions}
    inner.set(
        "expressions",
        [
            *inner.expressions,
            *(key.copy() for key in others if str(key.name).lower() not in selected),
        ],
    )
    outside = [exp.column(str(key.name)) for key in others if isinstance(key, exp.Column)]
    counted = exp.Count(this=exp.Star())
    choices: list[tuple[list[exp.Expr], list[exp.Expr]]] = [
        ([exp.column(name), counted], [exp.column(name)]) for name in counts[:1]
    ]
    choices += [([exp.Avg(this=exp.column(name))], []) for name in names[:1]]
    for shown, more in choices:
        asked = exp.select(*outside, *shown).from_(inner.subquery("t"))
        by = [*outside, *more]
        yield asked.group_by(*by) if by else asked
    if whose and names:  # the same statistics, about many
        asked = without(select.copy(), *AROUND, "group", "having")
        kept = [item.copy() for item in select.expressions if unaliased(item) not in whose]
        asked.set("expressions", kept)
        yield asked.group_by(*(key.copy() for key in others)) if others else asked
    for column in whose:
        count = exp.Count(this=exp.Distinct(expressions=[column.copy()]))
        asked = without(select.copy(), *AROUND, "group", "having")
        asked.set("expressions", [*(key.copy() for key in others), count])
        yield asked.group_by(*(key.copy() for key in others)) if others else asked


def _keys(select: exp.Select) -> list[exp.Expr]:
    """Return what GROUP BY lists, positions as the columns they stand for."""
    group = select.args.get("group")
    shown = dict(enumerate(map(unaliased, select.expressions), start=1))
    return [
        shown.get(int(str(key.this)), key) if isinstance(key, exp.Literal) and key.is_int else key
        for key in (group.expressions if group is not None else ())
    ]


def _whose(
    select: exp.Select, keys: list[exp.Expr], refused: Refused, tables: Tables
) -> list[exp.Column]:
    """Return the keys that a refusal is about; one without a place is about those that identify."""
    if refused.place is not None:
        listed = exp.Group(expressions=[key.copy() for key in keys])
        return refused_parts(listed, refused, exp.Column)
    reads = tables_read(select, tables)
    return [key for key in keys if isinstance(key, exp.Column) and identifies(key, reads)]


def grouped_by_it(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with a column that stands alone in SELECT added to GROUP BY.

    What identifies is counted instead.
    """
    for column in refused_parts(select, refused, exp.Column)[:1]:
        if column.find_ancestor(exp.Order, exp.Having) is not None:
            return
        if identifies(column, tables_read(select, tables)):
            column.replace(exp.Count(this=exp.Distinct(expressions=[column.copy()])))
            yield select
            return
        asked = select.copy()
        group = asked.args.get("group")
        if group is None:
            asked.set("group", exp.Group(expressions=[column.copy()]))
        else:
            group.append("expressions", column.copy())
        yield asked


def ordered_otherwise(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the groups in the order of a statistic of what they were to be ordered by, or in none."""
    for column in refused_parts(select, refused, exp.Column)[:1]:
        if column.find_ancestor(exp.Order) is None:
            return
        shown = [unaliased(item) for item in select.expressions if aggregated(unaliased(item))]
        for item in [item for item in shown if column in item.find_all(exp.Column)][:1]:
            asked = select.copy()
            refused_parts(asked, refused, exp.Column)[0].replace(item.copy())
            yield asked
        yield without(select.copy(), "order", "limit", "offset")


def conditions_before(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with conditions on rows in WHERE, where HAVING has them."""
    conditions = tests(select.args.get("having"))
    early = [test for test in conditions if not any(test.find_all(exp.AggFunc))]
    if early:
        asked = select.copy()
        leave_only(asked, "having", [test.copy() for test in conditions if test not in early])
        where = [test.copy() for test in tests(select.args.get("where"))]
        leave_only(asked, "where", [*where, *(test.copy() for test in early)])
        yield asked


def without_windows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the groups with the statistics that windows were to be computed from."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        inner = [item]
        if item.find(exp.Window) is not None:
            own = [node for node in item.find_all(*AGGREGATES) if not any(_within(node))]
            known = [unaliased(each) for each in [*items, *select.expressions]]
            inner = [node for node in dict.fromkeys(own) if node not in known]
        items += [node for node in inner if node not in items]
    asked = select.copy()
    asked.set("expressions", [item.copy() for item in items])
    order = asked.args.get("order")
    if order is None or order.find(exp.Window) is None:
        yield asked.copy()
    yield without(asked, "order", "limit", "offset")


def _within(node: exp.Expr) -> Iterator[exp.Expr]:
    return (aggregate for aggregate in node.find_all(exp.AggFunc) if aggregate is not node)


def after_grouping(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with conditions on aggregates in HAVING; an aggregate in another stays."""
    conditions = tests(select.args.get("where"))
    late = [test for test in conditions if any(test.find_all(exp.AggFunc))]
    if late:
        asked = select.copy()
        leave_only(asked, "where", [t.copy() for t in conditions if t not in late])
        having = [t.copy() for t in tests(select.args.get("having"))]
        leave_only(asked, "having", [*having, *(t.copy() for t in late)])
        yield asked
    for node in refused_parts(select, refused, exp.AggFunc)[:1]:
        around = node.find_ancestor(exp.AggFunc)
        if around is not None:
            around.replace(node.copy())
            yield select


def clauses_left_out(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question without what has no place in it."""
    for node in list(select.find_all(exp.Select, exp.Table, exp.Subquery)):
        for clause in STRANGE if node is select else (*STRANGE, "limit", "offset"):
            node.set(clause, None)
        if isinstance(node, exp.Table):
            node.set("db", None)
            node.set("catalog", None)
            node.set("version", None)
            node.set("ordinality", None)
            if isinstance(node.args.get("alias"), exp.TableAlias):
                node.args["alias"].set("columns", None)
        distinct = node.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            node.set("distinct", None)
        named = node.args.get("with_")
        if named is not None:
            named.set("recursive", None)
    for sampled in list(select.find_all(exp.TableSample)):
        if isinstance(sampled.this, exp.Expr):
            sampled.replace(sampled.this)
    yield select


def conditions_of_rows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield QUALIFY without a window as WHERE."""
    for node in list(select.find_all(exp.Select)):
        qualify = node.args.get("qualify")
        if qualify is not None:
            kept = [t.copy() for t in tests(node.args.get("where"))]
            leave_only(node, "where", [*kept, qualify.this.copy()])
            node.set("qualify", None)
    yield select


def windows_outside(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield groups in place of a window over many, and a window within one unit put inside."""
    for window in refused_parts(select, refused, exp.Window)[:1]:
        keys = [part.copy() for part in window.args.get("partition_by") or ()]
        if isinstance(window.this, exp.AggFunc):
            asked = without(select.copy(), *AROUND, "qualify")
            asked.set("expressions", [*(key.copy() for key in keys), window.this.copy()])
            asked.set("group", exp.Group(expressions=keys) if keys else None)
            yield asked
        inner = without(select.copy(), *AROUND, "qualify")
        inner.set("expressions", [exp.alias_(window.copy(), "w")])
        for each in [window, *_within_units(window, select, tables)]:
            inner.set("expressions", [exp.alias_(each.copy(), "w")])
            yield (
                exp.select(exp.column("w"), exp.Count(this=exp.Star()))
                .from_(inner.copy().subquery("t"))
                .group_by(exp.column("w"))
            )


def _within_units(window: exp.Window, select: exp.Select, tables: Tables) -> Iterator[exp.Window]:
    for read in tables_read(select, tables):
        for column in list(read.identifiers.values())[:1]:
            made = window.copy()
            partition = made.args.get("partition_by") or []
            made.set("partition_by", [read.column(column), *partition])
            yield made


def whole_windows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with windows that run up to the current row."""
    for window in select.find_all(exp.Window):
        window.set("spec", None)
    yield select


def other_order(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question without an order that cannot be had."""
    for clause in ("order", "group", "limit", "offset"):
        node = select.args.get(clause)
        if node is None:
            continue
        for item in list(node.expressions):
            if refused_parts(exp.Tuple(expressions=[item.copy()]), refused, exp.Expr):
                asked = select.copy()
                kept = [ordered.copy() for ordered in node.expressions if ordered is not item]
                asked.args[clause].set("expressions", kept)
                if not kept:
                    asked.set(clause, None)
                yield asked
                yield without(asked.copy(), "order", "limit", "offset")


def ten_rows(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with a number where LIMIT or OFFSET has none."""
    asked = select.copy()
    if select.args.get("offset") is not None:
        asked.set("offset", None)
        yield asked.copy()
    ten = standing_in(exp.Literal.number(10), "your own number of rows instead of 10")
    asked.set("limit", exp.Limit(expression=ten))
    yield asked


def without_unread(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question without the WITH that nothing reads."""
    clause = select.args.get("with_")
    if clause is None:
        return
    kept = [
        item
        for item in clause.expressions
        if not refused_parts(item, refused, exp.TableAlias, exp.Identifier)
    ]
    clause.set("expressions", kept)
    if not kept:
        select.set("with_", None)
    yield select


def inside_alone(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question of SELECT (SELECT COUNT(*) FROM t) by itself: nothing else is asked."""
    inside = [unaliased(item) for item in select.expressions]
    if len(inside) == 1 and isinstance(inside[0], exp.Subquery):
        yield inside[0].this.copy()


SHAPE: dict[str, tuple[Rewriter, ...]] = {
    "returns_rows": (counts_of_rows,),
    "returns_individuals": (numbers_of_one, counts_of_rows),
    "column_not_grouped": (
        ordered_otherwise,
        conditions_before,
        grouped_by_it,
        other_order,
    ),
    "aggregate_inside": (after_grouping,),
    "clause_unsupported": (clauses_left_out,),
    "qualify_needs_window": (conditions_of_rows,),
    "window_over_aggregates": (without_windows,),
    "window_frame": (whole_windows,),
    "position_invalid": (other_order,),
    "limit_invalid": (ten_rows,),
    "no_table": (inside_alone,),
    "with_unread": (without_unread,),
}
