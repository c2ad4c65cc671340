"""From SQL text to a Query: one SELECT over one table, clause by clause."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.binder import Binder
from sanql.parse.expressions.naming import column_name
from sanql.parse.expressions.refusals import as_typed, typed_name, unknown_construct
from sanql.parse.expressions.type_ranges import (
    bounded_by_type,
    may_be_bounded_by_type,
    tables_with_smaller_ranges,
)
from sanql.parse.over import may_be_over_statistics, read_over_statistics
from sanql.parse.relations.equivalents import REPLACED, with_equivalents
from sanql.parse.relations.joins import check_joins, is_null_without, keeps_orphans
from sanql.parse.relations.narrow import narrow
from sanql.parse.relations.public_query import public_query
from sanql.parse.relations.reader import Reader, refuse_clauses
from sanql.parse.relations.scope import Scope
from sanql.parse.relations.series import SERIES, with_series_listed
from sanql.parse.relations.sets_of_units import SETS, with_sets_of_units
from sanql.parse.relations.units import groups_of_individuals
from sanql.parse.relations.windows import check_no_windows
from sanql.parse.statistics.aggregates import AGGREGATES, written_out
from sanql.parse.statistics.counting import bind_statistic
from sanql.parse.statistics.grouping import (
    bad_position,
    bind_grouping,
    group_sets,
    unaliased,
    without_repeats,
)
from sanql.parse.statistics.per_unit import per_unit
from sanql.parse.statistics.ranked_values import of_numbers
from sanql.parse.statistics.shares import shares_as_sums
from sanql.parse.statistics.spellings import respelled
from sanql.parse.text.guard import whole_number
from sanql.parse.text.parameters import QuestionText
from sanql.parse.text.places import at, located, place_of
from sanql.parse.text.proportions import too_deep
from sanql.parse.text.select import read_select
from sanql.policy import Table
from sanql.question import (
    Aggregate,
    Expr,
    From,
    Identifier,
    Ordering,
    Output,
    OverStatistics,
    PublicQuery,
    Query,
    Type,
    is_private,
)
from sanql.statistics import no_bounds, statistic_of

# the grammar library reports what it cannot read to its logger, quoting the text
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

# what no other reading of a question helps against
MISNAMED = frozenset({"table_unknown", "column_unknown", "column_ambiguous"})
# what a window over statistics is refused for, rather than for standing there
OF_WINDOWS = frozenset({"window_frame", "window_order", "window_offset", "construct_unsupported"})
CLAUSES = frozenset(
    [
        "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit",
        "offset", "distinct",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A parsed question: over private tables, over public ones alone, or over answers."""

    query: Query | PublicQuery | OverStatistics

    @property
    def private(self) -> Query:
        """The query over private tables; a question over public tables alone has none."""
        if isinstance(self.query, PublicQuery):
            raise Refused(
                "public_only",
                "the question reads public tables only: it costs nothing and has no noise",
                "ask it without epsilon, accuracy and exact",
            )
        if isinstance(self.query, OverStatistics):
            raise Refused(
                "over_statistics",
                "the question computes with the noisy answers of other questions, and this asks for one "
                "statistic by itself",
                "ask for its statistics one by one",
            )
        return self.query


def parse(asked: str | QuestionText, tables: Mapping[str, Table]) -> Question:
    """Return the question a text asks of these tables, or refuse it by name with a remedy."""
    asked = QuestionText(asked) if isinstance(asked, str) else asked
    select = read_select(asked, tables)
    several = may_be_over_statistics(asked)
    as_typed = select.copy() if several else select
    with at(select):
        try:
            return Question(_read(select, tables))
        except RecursionError:
            raise too_deep() from None
        except Refused as refused:
            if not several or refused.code in {*MISNAMED, "with_unread"}:
                raise
            return Question(_over_statistics(as_typed, tables, refused))


def _read(select: exp.Select, tables: Mapping[str, Table]) -> Query | PublicQuery:
    """Return the one question that a SELECT is."""
    # one look at the whole tree is enough where nothing is respelled
    nodes = list(select.find_all(exp.Anonymous, *REPLACED, *SETS))
    if any(isinstance(node, exp.Anonymous) for node in nodes):
        nodes = list(respelled(select).find_all(*REPLACED, *SETS))
    with_sets_of_units(nodes, tables)
    select = per_unit(with_equivalents(select, nodes), tables)
    query = _question(select, Reader(tables))
    if isinstance(query, Query) and may_be_bounded_by_type(query, tables):
        _check_ranges(select, query, tables)
    return query


def _over_statistics(
    select: exp.Select, tables: Mapping[str, Table], refused: Refused
) -> OverStatistics:
    """Return the question over statistics that a SELECT is, which was refused as a question by itself."""
    try:
        with_series_listed(list(respelled(select).find_all(*SERIES)))
        return read_over_statistics(select, tables, _read)
    except RecursionError:
        raise too_deep() from None
    except Refused as inside:
        if refused.code == "window_over_aggregates" and inside.code in OF_WINDOWS:
            raise located(inside, select) from None
        raise refused from None


def _check_ranges(select: exp.Select, query: Query, tables: Mapping[str, Table]) -> None:
    """Refuse a statistic of a value that its type bounds, and nothing else."""
    held = _question(select, Reader(tables_with_smaller_ranges(tables), held=True))
    assert isinstance(held, Query)  # noqa: S101  (the same tables are private)
    unbounded = bounded_by_type(query, held)
    if unbounded is None:
        return
    for node in select.find_all(*AGGREGATES):
        if node.sql(dialect="duckdb", comments=False) == unbounded.text:
            raise no_bounds(unbounded.text, typed_name(node)).at(place_of(node))
    raise no_bounds(unbounded.text, unbounded.text.split("(")[0])


def _question(select: exp.Select, reader: Reader) -> Query | PublicQuery:
    scope = reader.scope(select, None)
    assert scope.source is not None  # noqa: S101  (a scope that was read has one)
    try:
        query = _query(select, scope, scope.source, reader)
    except Refused as refused:
        if is_private(scope.source) or refused.code in MISNAMED:
            raise
        return public_query(select, Reader(reader.tables))
    if not is_private(scope.source) and any(
        aggregate.fraction is not None for aggregate in query.aggregates
    ):
        # a quantile is picked among steps of its value, for the sake of noise that is not needed here
        with suppress(Refused):
            return public_query(select, Reader(reader.tables))
    return query


def _query(select: exp.Select, scope: Scope, source: From, reader: Reader) -> Query:
    refuse_clauses(select, CLAUSES)
    binder = Binder(scope, reader, AGGREGATES, bind_statistic)
    where = select.args.get("where")
    condition = binder.row(where.this) if where is not None else None
    if condition is not None and condition.facts.type not in (Type.BOOLEAN, Type.NULL):
        with at(where):
            raise Refused(
                "type_mismatch", "WHERE needs a condition", "compare, for example age > 40"
            )
    with at(select.args.get("joins") or select.args.get("from_")):
        check_joins(source, condition, reader.tables)
    narrow(scope, condition)
    if is_private(source):
        _group_distinct(select)
    binder.keys, binder.sets = _keys(select, binder)
    binder.grouping = partial(bind_grouping, select=select, binder=binder)
    binder.rewritten = partial(of_numbers, binder=binder, tables=reader.tables)
    check_no_windows(select, grouped=bool(binder.keys))
    _no_rows(select, binder)
    _bind_outputs(select, binder)
    having = select.args.get("having")
    order = select.args.get("order")
    query = Query(
        source=source,
        where=condition,
        keys=binder.keys,
        sets=binder.sets,
        having=_condition(having.this, binder) if having is not None else None,
        order=tuple(_orderings(order, binder)) if order else (),
        limit=whole_number(select.args.get("limit"), "LIMIT"),
        offset=whole_number(select.args.get("offset"), "OFFSET") or 0,
        distinct=_distinct(select),
        outputs=tuple(binder.outputs),
        aggregates=tuple(map(written_out, binder.aggregates, binder.typed)),
    )
    _check_orphans(query)
    reader.check_read()
    return shares_as_sums(query)


def _check_orphans(query: Query) -> None:
    """Refuse statistics that would count public rows without a match: they belong to nobody."""
    missing = keeps_orphans(query.source)
    if not missing:
        return
    for aggregate in query.aggregates:
        if statistic_of(aggregate).by_unit:
            continue
        if not is_null_without(aggregate.argument, missing):
            raise Refused(
                "orphans_counted",
                f"{aggregate.text} would also count rows of a public table that match nobody",
                "count a column of the private table, such as COUNT(v.x); every key of the public "
                "table appears anyway",
            )


def _group_distinct(select: exp.Select) -> None:
    """Read SELECT DISTINCT a, b as the groups that it lists: SELECT a, b … GROUP BY a, b."""
    items = [unaliased(item) for item in select.expressions]
    if not select.args.get("distinct") or select.args.get("group") or select.args.get("having"):
        return
    if any(item.is_star or any(item.find_all(*AGGREGATES, exp.Window)) for item in items):
        return
    select.set("group", exp.Group(expressions=[item.copy() for item in items]))


def _keys(
    select: exp.Select, binder: Binder[Aggregate]
) -> tuple[tuple[Expr, ...], tuple[tuple[int, ...], ...]]:
    """Return the keys, and the grouping sets over them where there are several."""
    group = select.args.get("group")
    for item in group.expressions if group is not None else ():
        _refuse_individuals(item, binder)  # before another fault of the same list is named
    keys: dict[Expr, int] = {}
    sets: list[tuple[int, ...]] = []
    for nodes in group_sets(select, binder):
        chosen = {_key_place(node, keys, binder) for node in nodes}
        sets.append(tuple(sorted(chosen)))
    if without_repeats(select):
        sets = list(dict.fromkeys(sets))
    return tuple(keys), tuple(sets) if len(sets) > 1 else ()


def _key_place(node: exp.Expression, keys: dict[Expr, int], binder: Binder[Aggregate]) -> int:
    """Return the place of a key among the others, where it is put if it is not there yet."""
    _refuse_individuals(node, binder)
    key = binder.row(node)
    if key.facts.type is Type.REAL and key.facts.grid is None:
        raise Refused(
            "key_not_rounded",
            f"{as_typed(node)} is a number with no fixed precision, so equal groups would hardly exist",
            "round it: GROUP BY ROUND(x, 1), or FLOOR(x / 10) * 10",
            place_of(node),
        )
    place = keys.setdefault(key, len(keys))
    if node.find(exp.Query) is not None:
        binder.keys_with_subqueries.setdefault(node, place)
    return place


def _refuse_individuals(node: exp.Expression, binder: Binder[Aggregate]) -> None:
    """Refuse a key that has one value for each individual."""
    if isinstance(node, exp.Column) and isinstance(_key_of(node, binder), Identifier):
        raise groups_of_individuals(node.name).at(place_of(node))


def _key_of(item: exp.Column, binder: Binder[Aggregate]) -> Expr | None:
    try:
        return binder.key(item)
    except Refused:
        return None


def _no_rows(select: exp.Select, binder: Binder[Aggregate]) -> None:
    """Refuse what would return individual rows."""
    star = any(isinstance(unaliased(item), exp.Star) for item in select.expressions)
    aggregates = any(
        any(item.find_all(exp.AggFunc)) for item in select.expressions
    ) or select.args.get("having")
    if star or (not aggregates and not binder.keys):
        for item in select.expressions if not star else ():
            binder.row(unaliased(item))  # what cannot be asked at all is refused as such
        raise Refused(
            "returns_rows",
            "the question returns individual rows; San answers with statistics only",
            "ask for statistics, such as COUNT(*), SUM(x) or AVG(x)",
        )


def _bind_outputs(select: exp.Select, binder: Binder[Aggregate]) -> None:
    names: dict[str, int] = {}
    for item in select.expressions:
        if isinstance(item, exp.Alias) and set(item.args) - {"this", "alias"}:
            raise unknown_construct(item).at(place_of(item))
        node = unaliased(item)
        expression = binder.outer(node)
        given = str(item.alias) if isinstance(item, exp.Alias) else column_name(node)
        name = _fresh_name(given, names)
        names[name.lower()] = 2
        binder.outputs.append(Output(name, expression))


def _fresh_name(name: str, taken: dict[str, int]) -> str:
    """Return a name that no other column has; those taken say which number to try behind them next."""
    if name.lower() not in taken:
        return name
    number = taken[name.lower()]
    while f"{name}_{number}".lower() in taken:
        number += 1
    taken[name.lower()] = number + 1
    return f"{name}_{number}"


def _condition(node: exp.Expression, binder: Binder[Aggregate]) -> Expr:
    condition = binder.outer(node, aliases=True)
    if condition.facts.type not in (Type.BOOLEAN, Type.NULL):
        raise Refused(
            "type_mismatch",
            "HAVING needs a condition",
            "compare, for example COUNT(*) > 10",
            place_of(node),
        )
    return condition


def _orderings(order: exp.Order, binder: Binder[Aggregate]) -> Iterator[Ordering]:
    for item in order.expressions:
        if isinstance(item.this, exp.Var) and str(item.this.this).upper() == "ALL":
            for output in binder.outputs:
                yield Ordering(output.expression, *_direction(item))
        else:
            yield _ordering(item, binder)


def _direction(item: exp.Expression) -> tuple[bool, bool]:
    return bool(item.args.get("desc")), bool(item.args.get("nulls_first"))


def _ordering(item: exp.Expression, binder: Binder[Aggregate]) -> Ordering:
    if {name for name, value in item.args.items() if value} - {"this", "desc", "nulls_first"}:
        raise unknown_construct(item).at(place_of(item))
    node = item.this
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        position = str(node.this)
        if not position.isdecimal() or not 1 <= int(position) <= len(binder.outputs):
            raise bad_position("ORDER BY", position, len(binder.outputs)).at(place_of(node))
        expression = binder.outputs[int(position) - 1].expression
    else:
        expression = _alias_first(node, binder)
    return Ordering(expression, *_direction(item))


def _alias_first(node: exp.Expression, binder: Binder[Aggregate]) -> Expr:
    if isinstance(node, exp.Column) and not node.args.get("table"):
        for output in binder.outputs:
            if output.name.lower() == str(node.name).lower():
                return output.expression
    return binder.outer(node, aliases=True)


def _distinct(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    if distinct is None:
        return False
    if distinct.args.get("on"):
        raise Refused(
            "clause_unsupported",
            "DISTINCT ON is not supported",
            "use GROUP BY",
            place_of(distinct),
        )
    return True
