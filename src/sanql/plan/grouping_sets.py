"""The grouping sets of a question; each is a level, measured like a question of its own.

A level has the keys of its set, its own limits, and the sensitivities that follow from them as for any
question; a unit may lose groups in one level and none in another. All measurements of all levels are
taken of the same data with independent noise and priced together (price.py), so what they cost composes
as that of one question's measurements does. Unknown keys are selected level by level. A question without
ROLLUP, CUBE or GROUPING SETS has one level: the set of all its keys.

*Which rows count.* Where keys are public, rows with other keys are left out. A row that one such level
leaves out is left out of all of them, also of those that are not grouped by that key
(`filtering_keys`): else the parts of a total would not be all of it. What is left out depends on the row
alone, as with WHERE, so nothing else changes, except that a unit need not have a row that counts
(`always_present`).

A set that is asked for twice is one level, and shown twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sanql.canonical import first_text
from sanql.plan.keys import FilteringKey, OneGroup, PublicKeys, keys_of
from sanql.plan.level import CountsApart, LevelOutline, outline_level
from sanql.plan.reading import reading
from sanql.policy import Neighbours, Table
from sanql.question import AggregateRef, ColumnRef, Expr, KeyRef, Query, expression_form
from sanql.statistics import count_of

GroupingSet = tuple[int, ...]
"""The keys of a level, as their places among those of the question."""


def grouping_sets(query: Query) -> tuple[GroupingSet, ...]:
    """Return each grouping set of a question once; without GROUPING SETS, the one set of all keys."""
    return _different(query) if query.sets else (tuple(range(len(query.keys))),)


def outline_levels(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups_asked: int | None,
    other: bool,
    rows_asked: int | None = None,
    values_asked: int | None = None,
) -> tuple[LevelOutline, ...]:
    """Return the outline of every grouping set, in the order of `grouping_sets`."""
    if not query.sets:
        return (
            outline_level(
                query,
                tables,
                neighbours,
                groups_asked,
                other,
                rows_asked=rows_asked,
                values_asked=values_asked,
            ),
        )
    sets = grouping_sets(query)
    levels = [
        outline_level(
            _level(query, chosen),
            tables,
            neighbours,
            groups_asked,
            rows_asked=rows_asked,
            values_asked=values_asked,
        )
        for chosen in sets
    ]
    public = {
        key
        for chosen, level in zip(sets, levels, strict=True)
        if is_public(level)
        for key in chosen
    }
    for index, (chosen, level) in enumerate(zip(sets, levels, strict=True)):
        filtering_keys = _filtering_keys(query, public - set(chosen), tables)
        if filtering_keys and is_public(level):
            levels[index] = outline_level(
                level.query,
                tables,
                neighbours,
                groups_asked,
                filtering_keys=filtering_keys,
                rows_asked=rows_asked,
                values_asked=values_asked,
            )
    return tuple(levels)


def outline_counts_apart(
    levels: Sequence[LevelOutline], groups_asked: int | None, rows_asked: int | None = None
) -> Iterator[LevelOutline]:
    """Yield a level for each value that statistics of the shown levels have counted apart.

    It is grouped by the keys of the level that it serves and by that value, whose values are selected
    privately as any unknown keys are, and counts rows.
    """
    for number, level in enumerate(levels):
        for place, value in enumerate(level.measuring.counted_apart):
            keys = (*level.query.keys, value)
            counted = replace(
                level.query, keys=keys, aggregates=(count_of(None, "COUNT(*)"),), outputs=()
            )
            outlined = outline_level(
                _alone(counted),
                level.tables,
                level.neighbours,
                groups_asked,
                filtering_keys=level.filtering_keys,
                rows_asked=rows_asked,
            )
            yield replace(outlined, counts_for=CountsApart(number, place))


def level_name(query: Query, chosen: GroupingSet) -> str:
    """Return a grouping set as SQL lists it."""
    return f"({', '.join(_key_name(query, key) for key in sorted(chosen))})"


def name_of_counts_apart(shown: str, value: Expr) -> str:
    """Return the name of a level that counts rows by one value more than a level that is shown."""
    keys = shown.removeprefix("(").removesuffix(")")
    own = value.name if isinstance(value, ColumnRef) and value.stored else "its value"
    return f"({keys}, {own})" if keys else f"({own})"


def _key_name(query: Query, index: int) -> str:
    for output in query.outputs:
        if isinstance(output.expression, KeyRef) and output.expression.index == index:
            return output.name
    key = query.keys[index]
    return key.name if isinstance(key, ColumnRef) and key.stored else f"key {index + 1}"


def _different(query: Query) -> tuple[GroupingSet, ...]:
    """Return each set once; neither their order nor that of their keys depends on the text's."""
    named = {index: _fixed_name(key) for index, key in enumerate(query.keys)}
    sets = {tuple(sorted(chosen, key=lambda index: named[index])) for chosen in query.sets}
    return tuple(sorted(sets, key=lambda chosen: (-len(chosen), [named[i] for i in chosen])))


def _fixed_name(key: Expr) -> str:
    """Return a text to order keys by: recorded levels are read back in the order of 0.1.0."""
    return first_text(expression_form(key))


def _level(query: Query, chosen: GroupingSet) -> Query:
    """Return the question that a level is; what is around the aggregates stays with the whole."""
    return replace(
        _alone(query),
        keys=tuple(query.keys[index] for index in chosen),
        outputs=tuple(o for o in query.outputs if isinstance(o.expression, AggregateRef)),
    )


def _alone(query: Query) -> Query:
    """Return a question without sets, and without what is computed from its noisy cells."""
    return replace(query, sets=(), having=None, order=(), limit=None, offset=0, distinct=False)


def _filtering_keys(
    query: Query, others: set[int], tables: Mapping[str, Table]
) -> tuple[FilteringKey, ...]:
    """Return those of other levels' keys that not every row has a public value of."""
    source = None if reading(query.source, tables).public else query.source
    filtering = []
    for index in sorted(others, key=lambda index: _fixed_name(query.keys[index])):
        keys = keys_of((query.keys[index],), tables, source, query.where, query.null_groups)
        assert isinstance(keys, PublicKeys)  # noqa: S101  (it is one of several that are public)
        if keys.columns[0].filtered:
            filtering.append(FilteringKey(query.keys[index], keys.columns[0]))
    return tuple(filtering)


def is_public(level: LevelOutline) -> bool:
    """Return whether the groups of a level that is shown are known without the data."""
    return level.counts_for is None and isinstance(level.keys, OneGroup | PublicKeys)
