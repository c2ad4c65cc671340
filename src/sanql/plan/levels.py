"""Levels: a question with several grouping sets, each of them measured like a question of its own.

A level has the keys of its set, its own limits, and the sensitivities that follow from them as for any
question; a unit may lose groups in one level and none in another. All measurements of all levels are
taken of the same data with independent noise and priced together (price.py), so what they cost composes
as that of one question's measurements does. Unknown keys are selected level by level.

*Which rows count.* Where keys are public, rows with other keys are left out. A row that one such level
leaves out is left out of all of them, also of those that are not grouped by that key (`beside`): else
the parts of a total would not be all of it. What is left out depends on the row alone, as with WHERE, so
nothing else changes, except that a unit need not have a row that counts (`always_present`).

A set that is asked for twice is one level, and shown twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import Charge
from sanql.errors import Refused
from sanql.mechanisms import Noise
from sanql.parse import Query
from sanql.parse.forms import expression_form
from sanql.parse.tree import AggregateRef, ColumnRef, Expr, KeyRef
from sanql.plan.digest import first_question_digest, question_digest
from sanql.plan.keys import Beside, OneGroup, PublicKeys, keys_of
from sanql.plan.plan import Outline, Plan, check_delta, outline, plan
from sanql.plan.price import price_together
from sanql.plan.reading import reading
from sanql.policy import Neighbours, Table
from sanql.policy.shapes import first_text

Set = tuple[int, ...]


@dataclass(frozen=True)
class LevelsOutline:
    """The outlines of a question's levels, one for each different grouping set."""

    query: Query
    sets: tuple[Set, ...]
    levels: tuple[Outline, ...]

    @property
    def table(self) -> Table:
        """What the question reads, seen as one table."""
        return self.levels[0].table

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the policy."""
        return self.levels[0].tables

    @property
    def neighbours(self) -> Neighbours:
        """What one unit more or less means."""
        return self.levels[0].neighbours

    @property
    def selects_keys(self) -> bool:
        """Whether unknown keys must be selected privately at some level."""
        return any(level.selects_keys for level in self.levels)

    @property
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit."""
        return all(level.free for level in self.levels)


@dataclass(frozen=True)
class LevelsPlan:
    """Bounded levels, priced together; `charge` is what the whole answer costs."""

    outline: LevelsOutline
    levels: tuple[Plan, ...]
    charge: Charge

    @property
    def query(self) -> Query:
        """The question."""
        return self.outline.query

    @property
    def sets(self) -> tuple[Set, ...]:
        """The grouping set of each level, as places of keys."""
        return self.outline.sets

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The noise of each measurement of each level."""
        return tuple(noise for level in self.levels for noise in level.noises)

    def level_of(self, chosen: Set) -> int:
        """Return the place of the level that has the keys of a set."""
        return next(n for n, own in enumerate(self.sets) if set(own) == set(chosen))

    @property
    def names(self) -> tuple[str, ...]:
        """The grouping set of each level, as SQL lists it."""
        return tuple(level_name(self.query, chosen) for chosen in self.sets)

    def digest(self, data: str) -> str:
        """Return the name of this question, asked of a version of the data (digest.py).

        Which sets are shown how often, and in what order, is not part of it.
        """
        return question_digest(self.levels, data)

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 gave this question."""
        return first_question_digest(self.levels, fingerprint)


Outlined = Outline | LevelsOutline
Planned = Plan | LevelsPlan


def outline_question(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups_asked: int | None = None,
    other: bool = False,
) -> Outlined:
    """Return what must be measured to answer a question with one grouping set or several."""
    if not query.sets:
        return outline(query, tables, neighbours, groups_asked, other)
    if other:
        raise Refused(
            "other_levels",
            "other adds up the groups that do not appear, and ROLLUP, CUBE and GROUPING SETS have "
            "rows for that already",
            "leave other out, or ask for one grouping at a time",
        )
    sets = _different(query)
    levels = [outline(_level(query, chosen), tables, neighbours, groups_asked) for chosen in sets]
    public = {
        key
        for chosen, level in zip(sets, levels, strict=True)
        if is_public(level)
        for key in chosen
    }
    for index, (chosen, level) in enumerate(zip(sets, levels, strict=True)):
        beside = _beside(query, public - set(chosen), tables)
        if beside and is_public(level):
            levels[index] = outline(level.query, tables, neighbours, groups_asked, beside=beside)
    return LevelsOutline(query, sets, tuple(levels))


def plan_question(outlined: Outlined, epsilon: Fraction, delta: Fraction) -> Planned:
    """Return the least noisy plan within (epsilon, delta)."""
    if isinstance(outlined, Outline):
        return plan(outlined, epsilon, delta)
    check_delta(outlined.selects_keys, delta)
    priced, charge = price_together([level.measuring for level in outlined.levels], epsilon, delta)
    levels = tuple(map(Plan, outlined.levels, priced))
    return LevelsPlan(outlined, levels, charge)


def level_name(query: Query, chosen: Set) -> str:
    """Return a grouping set as SQL lists it."""
    return f"({', '.join(_key_name(query, key) for key in sorted(chosen))})"


def _key_name(query: Query, index: int) -> str:
    for output in query.outputs:
        if isinstance(output.expression, KeyRef) and output.expression.index == index:
            return output.name
    key = query.keys[index]
    return key.name if isinstance(key, ColumnRef) and key.stored else f"key {index + 1}"


def _different(query: Query) -> tuple[Set, ...]:
    """Return each set once; neither their order nor that of their keys depends on the text's."""
    named = {index: _fixed_name(key) for index, key in enumerate(query.keys)}
    sets = {tuple(sorted(chosen, key=lambda index: named[index])) for chosen in query.sets}
    return tuple(sorted(sets, key=lambda chosen: (-len(chosen), [named[i] for i in chosen])))


def _fixed_name(key: Expr) -> str:
    """Return a text to order keys by: recorded levels are read back in the order of 0.1.0."""
    return first_text(expression_form(key))


def _level(query: Query, chosen: Set) -> Query:
    """Return the question that a level is; what is around the aggregates stays with the whole."""
    return replace(
        query,
        keys=tuple(query.keys[index] for index in chosen),
        sets=(),
        outputs=tuple(o for o in query.outputs if isinstance(o.expression, AggregateRef)),
        having=None,
        order=(),
        limit=None,
        offset=0,
        distinct=False,
    )


def _beside(query: Query, others: set[int], tables: Mapping[str, Table]) -> tuple[Beside, ...]:
    """Return those of other levels' keys that not every row has a public value of."""
    source = None if reading(query.source, tables).public else query.source
    found = []
    for index in sorted(others, key=lambda index: _fixed_name(query.keys[index])):
        keys = keys_of((query.keys[index],), tables, source, query.where)
        assert isinstance(keys, PublicKeys)  # noqa: S101  (it is one of several that are public)
        if keys.columns[0].filtered:
            found.append(Beside(query.keys[index], keys.columns[0]))
    return tuple(found)


def is_public(level: Outline) -> bool:
    """Return whether the groups of a level are known without the data."""
    return isinstance(level.keys, OneGroup | PublicKeys)
