"""Questions in other words: names that exist, types that fit, bounds that are stated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.policy import Table
from sanql.teach.nearest.days import fitting_values
from sanql.teach.nearest.keys import (
    coarser_values,
    rounded_keys,
    rounded_values,
    whole_quotients,
)
from sanql.teach.nearest.refused_parts import (
    Rewriter,
    refused_parts,
    standing_in,
    tables_read,
    without,
)
from sanql.teach.nearest.shape import windows_outside

Tables = Mapping[str, Table]
COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
# what puts values of many people together, or shows one of them
COLLECTED = (
    exp.GroupConcat, exp.ArrayAgg, exp.ArrayConcatAgg, exp.AnyValue, exp.First, exp.Last,
    exp.ArrayUniqueAgg, exp.ArgMax, exp.ArgMin,
)  # fmt: skip
HASHED = (exp.MD5, exp.SHA, exp.SHA2)
AROUND = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup, exp.Order, exp.Distinct)
NEAR_TYPES = ("BIGINT", "DOUBLE", "VARCHAR", "TIMESTAMP")


def near_names(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with the name that was probably meant, as the remedy has it."""
    hint = re.search(r"did you mean ([^?]+)\?", refused.remedy)
    if hint is None:
        return
    for node in refused_parts(select, refused, exp.Column, exp.Table, exp.Anonymous)[:1]:
        if isinstance(node, exp.Anonymous):
            node.set("this", hint[1])
        else:
            node.set("this", exp.to_identifier(hint[1]))
        yield select


def quoted_texts(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with the texts that names in double quotes are probably meant to be."""
    known = {name.lower() for read in tables_read(select, tables) for name in read.columns}
    quoted = [
        column
        for column in select.find_all(exp.Column)
        if column.this.args.get("quoted") and not column.args.get("table")
        if isinstance(column.parent, (*COMPARED, exp.Like)) and column.parent.this is not column
        if str(column.name).lower() not in known
    ]
    for column in quoted:
        column.replace(exp.Literal.string(str(column.name)))
    if quoted:
        yield select


def said_which(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with an ambiguous column of the first table that has it."""
    for column in refused_parts(select, refused, exp.Column)[:1]:
        for read in tables_read(select, tables):
            if str(column.name).lower() in {name.lower() for name in read.columns}:
                asked = select.copy()
                node = refused_parts(asked, refused, exp.Column)[0]
                node.set("table", exp.to_identifier(read.alias))
                yield asked


def another_alias(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with two names for two tables; a condition that says nothing is no link."""
    seen: set[str] = set()
    for node in select.find_all(exp.Table):
        name = node.alias_or_name.lower()
        if name in seen:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"{name}_2")))
        seen.add(name)
    yield select


def stated_bounds(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with bounds for the statistic at fault, then for the columns of that part.

    The numbers stand for the analyst's own, and are marked so.
    """
    asked = select.copy()
    for node in _at_fault(asked, refused):
        for value in _summed(node):
            value.replace(_held(value))
    yield asked
    for part in refused_parts(select, refused, exp.Expr):
        for column in list(part.find_all(exp.Column)):
            if column.find_ancestor(exp.Select) is part.find_ancestor(exp.Select):
                column.replace(_held(column))
    yield select


def _at_fault(select: exp.Select, refused: Refused) -> list[exp.Expr]:
    """Return the statistics that a refusal is about: by its place, or else by its words."""
    kinds = exp.AggFunc, exp.Anonymous, exp.WithinGroup
    nodes: list[exp.Expr] = list(refused_parts(select, refused, *kinds))
    if refused.place is None:
        nodes = [
            node
            for node in select.find_all(*kinds)
            if node.sql(dialect="duckdb", comments=False) in refused.message
        ]
    # what WITHIN GROUP stands behind has a share for its value
    return [node for node in nodes if not isinstance(node.parent, exp.WithinGroup)]


def _summed(node: exp.Expr) -> list[exp.Expr]:
    """Return the values that a statistic is about."""
    if isinstance(node, exp.WithinGroup):
        return [item.this for item in node.find_all(exp.Ordered)]
    if isinstance(node, exp.Anonymous):
        return [operand for operand in node.expressions[:1] if not isinstance(operand, exp.Kwarg)]
    values = [node.this, node.args.get("expression") if isinstance(node, exp.Corr) else None]
    if isinstance(node, exp.CovarPop | exp.CovarSamp):
        values = [node.this, node.args.get("expression")]
    return [value for value in values if isinstance(value, exp.Expr)]


def _held(value: exp.Expr) -> exp.Case:
    inside = exp.Between(
        this=exp.paren(value.copy()) if isinstance(value, exp.Binary) else value.copy(),
        low=exp.Literal.number(0),
        high=exp.Literal.number(100),
    )
    held = exp.Case(ifs=[exp.If(this=inside, true=value.copy())])
    return standing_in(held, "your own bounds instead of 0 and 100")


def counted_values(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield COUNT(DISTINCT a, b) over both texts, which leaves out pairs with NULL."""
    for distinct in list(select.find_all(exp.Distinct)):
        holder = distinct.parent
        values = list(distinct.expressions)
        if len(values) == 1 and isinstance(values[0], exp.Tuple):
            values = list(values[0].expressions)
        if isinstance(holder, exp.Count) and len(values) > 1:
            first, *others = [value.copy() for value in values]
            for other in others:
                between = exp.DPipe(this=first, expression=exp.Literal.string("|"), safe=True)
                first = exp.DPipe(this=between, expression=other, safe=True)
            pairs = "pairs without NULL, put together as texts, in place of all pairs"
            distinct.set("expressions", [standing_in(first, pairs)])
    yield select


def one_by_one(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield each quantile of a list as a column."""
    columns: list[exp.Expr] = []
    for item in select.expressions:
        node = item.this if isinstance(item, exp.Alias) else item
        listed = node.args.get("expression")
        quantiles: list[exp.Expr] = []
        if isinstance(node, exp.ApproxQuantiles) and listed is not None:
            number = str(listed.name)
            steps = int(number) if number.isdecimal() and int(number) <= 20 else 0
            ends = [exp.Literal.number(repr(step / steps)) for step in range(1, steps)]
            quantiles = [exp.PercentileCont(this=node.this.copy(), expression=end) for end in ends]
        elif isinstance(listed, exp.Array | exp.Tuple):
            for end in listed.expressions:
                made = node.copy()
                made.set("expression", end.copy())
                quantiles.append(made)
        columns += quantiles or [item.copy()]
    select.set("expressions", columns)
    yield select


def valid_quantile(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with a percentage as the share it is, or with the middle for no number."""
    for node in select.find_all(exp.PercentileCont, exp.PercentileDisc):
        key = "expression" if node.args.get("expression") is not None else "this"
        asked = str(node.args[key].this) if isinstance(node.args[key], exp.Literal) else ""
        if re.fullmatch(r"[1-9]\d?|100", asked):
            node.set(key, exp.Literal.number(f"{int(asked) / 100:g}"))
        elif not re.fullmatch(r"1|0?\.\d{1,6}", asked):
            middle = exp.Literal.number("0.5")
            node.set(key, standing_in(middle, "the share you mean instead of 0.5"))
    yield select


def fitting_types(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question with constants, or operands, of the type that is compared or taken."""
    for change in (_quoted, _unquoted):
        asked = select.copy()
        for node in refused_parts(asked, refused, *COMPARED)[:1]:
            for literal in list(node.find_all(exp.Literal)):
                change(literal)
        yield asked
    for target in NEAR_TYPES:
        asked = select.copy()
        for node in refused_parts(asked, refused, exp.EQ, exp.NEQ, exp.In, exp.Func)[:1]:
            if any(node.find_all(exp.Boolean)):
                return  # whether a text is true depends on what it is taken for
            operand = node.this if isinstance(node.this, exp.Expr) else None
            # the statistic of a text's number is hardly meant
            if operand is not None and not isinstance(node, exp.AggFunc):
                operand.replace(exp.cast(operand.copy(), target, dialect="duckdb"))
        yield asked


def _quoted(literal: exp.Literal) -> None:
    if not literal.args.get("is_string"):
        literal.replace(exp.Literal.string(str(literal.this)))


def _unquoted(literal: exp.Literal) -> None:
    if re.fullmatch(r"\d{1,15}(\.\d{1,9})?", str(literal.this)):
        literal.replace(exp.Literal.number(str(literal.this)))


def needed_condition(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield a number that stands for a condition compared with zero; a noisy count is hardly ever 0."""
    for clause, kind in (("where", exp.NEQ), ("having", exp.GT)):
        node = select.args.get(clause)
        if node is not None:
            asked = select.copy()
            inner = asked.args[clause].this
            inner.replace(kind(this=inner.copy(), expression=exp.Literal.number(0)))
            yield asked


def near_types(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield casts to a type that there is."""
    for target in NEAR_TYPES:
        asked = select.copy()
        for node in refused_parts(asked, refused, exp.Cast, exp.TryCast)[:1]:
            node.set("to", exp.DataType.build(target, dialect="duckdb"))
        yield asked


def chained(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield IN over expressions as comparisons chained with OR."""
    for node in refused_parts(select, refused, exp.In)[:1]:
        tests = [
            exp.EQ(this=node.this.copy(), expression=member.copy()) for member in node.expressions
        ]
        if tests:
            node.replace(exp.paren(exp.or_(*tests)))
            yield select


def _replaced(
    kinds: tuple[type[exp.Expr], ...], make: Callable[[exp.Expr], exp.Expr | None]
) -> Rewriter:
    """Return a rewriter that puts something else in the place of a refused function."""

    def rewrite(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
        for node in refused_parts(select, refused, *kinds)[:1]:
            made = make(node)
            if made is not None:
                node.replace(made)
                yield select

    return rewrite


def _value(node: exp.Expr) -> exp.Expr | None:
    while isinstance(node, AROUND):
        node = node.this
    return node.this.copy() if isinstance(node.this, exp.Expr) else None


def _how_many(node: exp.Expr) -> exp.Expr | None:
    """Return how many values there are; inside a subquery that would take the place of a value."""
    value = _value(node)
    if value is None or _inside(node):
        return None
    return exp.Count(this=exp.Distinct(expressions=[value]))


def _least(node: exp.Expr) -> exp.Expr | None:
    """Return the least value of one unit for any of its values, which is what a subquery can have."""
    value = _value(node)
    return exp.Min(this=value) if value is not None and _inside(node) else None


def _inside(node: exp.Expr) -> bool:
    """Return whether a part stands in a subquery."""
    around = node.find_ancestor(exp.Select)
    return around is not None and around.find_ancestor(exp.Select) is not None


def _agreeing(node: exp.Expr) -> exp.Expr | None:
    value = _value(node)
    return exp.CountIf(this=value) if value is not None else None


def _itself(node: exp.Expr) -> exp.Expr | None:
    return _value(node)


def _some_day(node: exp.Expr) -> exp.Expr:
    day = exp.cast(exp.Literal.string("2026-01-31"), "DATE", dialect="duckdb")
    return standing_in(day, "the day you mean instead of 2026-01-31")


def _some_moment(node: exp.Expr) -> exp.Expr:
    moment = exp.cast(exp.Literal.string("2026-01-31 12:00:00"), "TIMESTAMP", dialect="duckdb")
    return standing_in(moment, "the moment you mean instead of 2026-01-31 12:00:00")


def most_common(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the values in order of how often they are there, in place of the most common one."""
    kinds = (exp.Mode, exp.ApproxTopK)
    asked_for = refused_parts(select, refused, *kinds) if refused.place else select.find_all(*kinds)
    for node in list(asked_for)[:1]:
        value = _value(node)
        if value is not None and select.args.get("group") is None:
            counted = exp.Count(this=exp.Star())
            asked = without(select.copy(), "order", "limit", "offset", "having", "distinct")
            asked.set("expressions", [value, counted])
            asked.set("group", exp.Group(expressions=[value.copy()]))
            yield asked.order_by(exp.Ordered(this=counted.copy(), desc=True)).limit(1)


def without_chance(select: exp.Select, refused: Refused, tables: Tables) -> Iterator[exp.Expr]:
    """Yield the question without an order by chance, and without conditions on it."""
    order = select.args.get("order")
    if order is not None and any(order.find_all(exp.Rand)):
        yield without(select.copy(), "order", "limit", "offset")
    if any(select.find_all(exp.Rand)):
        yield without(select.copy(), "where", "order", "limit", "offset")


WORDS: dict[str, tuple[Rewriter, ...]] = {
    "table_unknown": (near_names,),
    "column_unknown": (quoted_texts, near_names),
    "column_ambiguous": (said_which,),
    "alias_twice": (another_alias,),
    "bounds_missing": (stated_bounds,),
    "bounds_too_wide": (stated_bounds,),
    "integer_overflow": (stated_bounds,),
    "rounding_unbounded": (stated_bounds,),
    "interval_unbounded": (stated_bounds,),
    "distinct_unsupported": (counted_values,),
    "distinct_real": (rounded_values,),
    "noise_too_large": (coarser_values,),
    "key_not_rounded": (whole_quotients, rounded_keys),
    "values_unknown": (most_common,),
    "quantile_list": (one_by_one,),
    "quantile_invalid": (valid_quantile,),
    "type_mismatch": (fitting_types, fitting_values, needed_condition),
    "cast_unsupported": (near_types,),
    "in_not_a_list": (chained,),
    "construct_unsupported": (
        near_names,
        windows_outside,
        without_chance,
        most_common,
        _replaced((exp.AnyValue,), _least),
        _replaced((*COLLECTED, exp.IgnoreNulls), _how_many),
        _replaced((exp.LogicalAnd, exp.LogicalOr), _agreeing),
        _replaced(HASHED, _itself),
        _replaced((exp.CurrentDate,), _some_day),
        _replaced((exp.CurrentTimestamp, exp.CurrentDatetime), _some_moment),
        near_types,
    ),
}
