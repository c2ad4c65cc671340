"""What an answer leaves out, in words: NULL keys, what joins repeat, what noise helped to choose.

Everything is said by what is declared and asked, never by what the rows hold: whether there are such
rows is about somebody.
"""

from __future__ import annotations

from collections.abc import Iterator

from sanql.plan import (
    KeyColumn,
    Level,
    Plan,
    PublicKeys,
    column_of,
    repetitions_in_words,
)
from sanql.policy import ListedDomain, TableDomain
from sanql.question import AggregateRef, ColumnRef, Expr, IntervalEnd, KeyRef, Query, walk


def rows_left_out_in_words(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each kind of row that an answer leaves out; nothing where none can be."""
    if plan.outline.free:
        return ()
    names = dict.fromkeys(
        _name(plan.query, key)
        for level in plan.levels
        if level.outline.counts_for is None
        for key in _never_null(level)
    )
    named = " or ".join(names)
    missing = f"rows whose {named} is NULL are in no group (null_group = TRUE makes them one)"
    return (
        *((missing,) if names else ()),
        *_outside_domains(plan),
        *repetitions_in_words(plan.query, plan.outline.tables),
        *_chosen_by_noise(plan.query),
        *dict.fromkeys(_caveats(plan)),
    )


def _outside_domains(plan: Plan) -> tuple[str, ...]:
    """Return that rows with other values than a declared domain has are in no group, if there is one.

    Values that the question's own conditions leave out are nobody's surprise.
    """
    names = dict.fromkeys(
        _name(plan.query, key)
        for level in plan.levels
        if level.outline.counts_for is None and isinstance(level.outline.keys, PublicKeys)
        for key, column in zip(level.query.keys, level.outline.keys.columns, strict=True)
        if _has_whole_domain(key, column, plan)
    )
    if not names:
        return ()
    its = "its declared domain" if len(names) == 1 else "the domain declared of it"
    return (f"rows whose {' or '.join(names)} is not in {its} are in no group",)


def _has_whole_domain(key: Expr, column: KeyColumn, plan: Plan) -> bool:
    """Return whether a key is a column of units whose groups are all that its domain lists."""
    if not isinstance(key, ColumnRef) or key.origin is None:
        return False
    known = column_of(key, plan.outline.tables)
    private = not plan.outline.tables[key.origin[0]].public
    domain = known.domain if known is not None and private else None
    match domain:
        case ListedDomain(values):
            return isinstance(column.values, tuple) and len(column.values) >= len({*values})
        case TableDomain():
            return column.values == domain
        case None:
            return False


def _caveats(plan: Plan) -> Iterator[str]:
    """Yield what must be said of statistics whose error no interval tells."""
    for level in plan.levels:
        for aggregate, estimate in zip(level.query.aggregates, level.estimates, strict=True):
            if estimate.caveat():
                yield f"{aggregate.text} {estimate.caveat()}"


def _chosen_by_noise(query: Query) -> Iterator[str]:
    """Yield that intervals do not hold where noisy values decide which rows are left."""
    clauses = []
    if query.having is not None and _is_noisy(query.having):
        clauses.append("HAVING")
    ordered = any(_is_noisy(item.expression) for item in query.order)
    if ordered and (query.limit is not None or query.offset):
        clauses.append("LIMIT" if query.limit is not None else "OFFSET")
    if clauses:
        yield (
            f"intervals are not valid after selection by {' and '.join(clauses)}: noise helped to choose "
            "the rows that are left"
        )


def _is_noisy(expression: Expr) -> bool:
    return any(isinstance(node, AggregateRef | IntervalEnd) for node in walk(expression))


def _never_null(level: Level) -> Iterator[Expr]:
    """Yield the keys that may be NULL in a row while NULL is not among the groups that are known.

    A key that is selected privately has NULL among its values like any other. Where groups of NULL are
    asked for, what has none is NULL in no row that counts.
    """
    keys = level.outline.keys
    if isinstance(keys, PublicKeys) and not level.query.null_groups:
        for key, column in zip(level.query.keys, keys.columns, strict=True):
            if key.facts.nullable and not column.shows_null:
                yield key


def _name(query: Query, key: Expr) -> str:
    """Return what the analyst calls a key: its column, or its column of the answer.

    The columns of a subquery have names of San's own, which the analyst has never seen.
    """
    if isinstance(key, ColumnRef) and key.stored:
        return key.name
    for output in query.outputs:
        if isinstance(output.expression, KeyRef) and query.keys[output.expression.index] == key:
            return output.name
    return "key"
