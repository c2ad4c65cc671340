"""The nearest question that would be answered, found for one that is refused.

A refusal knows a rule; the rewriters here know how a question that breaks it is usually meant. They are
guesses, so nothing is shown before it has been asked: a candidate must be read, and planned, like any
question, and mean nothing else (`meaning`); the first that passes is shown with the refusal. What a
rewriter had to invent, such as bounds, is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse import (
    Question,
    QuestionText,
    asks_what_there_is,
    canonical_spelling,
    parse,
    read_select,
    statements,
    syntax_tree,
    unclamped,
    with_options_of,
)
from sanql.policy import Table
from sanql.teach.nearest.changes import changes, means_nothing
from sanql.teach.nearest.meaning import groups_by_identifier, statistics_allowed, statistics_of
from sanql.teach.nearest.refused_parts import Rewriter, stand_ins
from sanql.teach.nearest.shape import SHAPE
from sanql.teach.nearest.units import UNITS
from sanql.teach.nearest.words import WORDS

# reading a question again and again takes long: a long one is not rewritten, others not without end
WORDS_MAX = 250  # of a question
WORDS_READ_MAX = 600  # of all candidates together
CANDIDATES_MAX = 12
AGAIN_MAX = 3
STATEMENTS_MAX = 4  # of several, that are looked at
REWRITERS: Mapping[str, tuple[Rewriter, ...]] = {**SHAPE, **UNITS, **WORDS}
SEVERAL = ("one_statement", "not_a_select")
REWRITTEN = frozenset({*REWRITERS, *SEVERAL})

Accept = Callable[[Question], object]


def teach(
    refused: Refused, asked: str | QuestionText, tables: Mapping[str, Table], accept: Accept
) -> Refused:
    """Return the refusal, with the nearest question that is accepted where one is found.

    `accept` plans a question that has been read, and refuses it if it cannot be planned.
    """
    asked = asked if isinstance(asked, QuestionText) else QuestionText(asked)
    if refused.nearest or refused.code not in REWRITTEN or len(asked.tokens) > WORDS_MAX:
        return refused
    trees = _trees(asked)
    tree = trees[0] if len(trees) == 1 and isinstance(trees[0], exp.Select) else None
    nearest = _Search(tables, accept, statistics_allowed(trees), tree).find(refused, asked, steps=2)
    if nearest is None:
        return refused
    sql = with_options_of(nearest.sql, asked.sql, asked.tokens)
    changed = [] if tree is None else changes(tree, nearest.tree)
    return refused.showing(sql, " and ".join(dict.fromkeys([*nearest.stand_ins, *changed])))


def _trees(asked: QuestionText) -> list[exp.Expr]:
    """Return the statements of a text as the grammar reads them; none of what cannot be read."""
    with suppress(Refused, RecursionError):
        trees = [
            syntax_tree(statement, asked.sql)
            for statement in statements(asked.split[0])[:STATEMENTS_MAX]
        ]
        return [tree for tree in trees if tree is not None]
    return []


@dataclass(frozen=True)
class _Candidate:
    """A candidate that is accepted, and what in it stands for something of the analyst's own."""

    sql: str
    stand_ins: tuple[str, ...]
    tree: exp.Expr


class _Search:
    """A search among candidates that ends when so many of them, or so many words, have been read."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        accept: Accept,
        statistics: frozenset[str],
        asked: exp.Expr | None,
    ) -> None:
        self._asked = asked
        self._tables = tables
        self._accept = accept
        self._statistics = statistics
        self._candidates_left = CANDIDATES_MAX
        self._words_left = WORDS_READ_MAX

    def find(
        self, refused: Refused, asked: QuestionText, steps: int, known: tuple[str, ...] = ()
    ) -> _Candidate | None:
        """Return the first candidate accepted; one refused for another reason is rewritten again.

        `known` is what stands in the question already for something of the analyst's own.
        """
        others: list[tuple[Refused, _Candidate]] = []
        for candidate in _candidates(refused, asked, self._tables):
            if not statistics_of(candidate) <= self._statistics:
                continue
            if means_nothing(candidate, self._asked):
                continue
            again = QuestionText(candidate.sql(dialect="duckdb", comments=False))
            rewritten = _Candidate(again.sql, (*known, *stand_ins(candidate)), candidate)
            if not self._affords(again):
                return None
            try:
                question = parse(again, self._tables)
                self._accept(question)
            except Refused as other:
                if other.code != refused.code:
                    others.append((other, rewritten))
            else:
                if not groups_by_identifier(question, self._tables):
                    return rewritten
        for reason, rewritten in others[:AGAIN_MAX] if steps > 1 else ():
            better = self.find(reason, QuestionText(rewritten.sql), steps - 1, rewritten.stand_ins)
            if better is not None:
                return better
        return None

    def _affords(self, asked: QuestionText) -> bool:
        try:
            self._words_left -= len(asked.tokens)
        except Refused:
            return False
        self._candidates_left -= 1
        return self._words_left >= 0 and self._candidates_left >= 0


def _candidates(
    refused: Refused, asked: QuestionText, tables: Mapping[str, Table]
) -> Iterator[exp.Expr]:
    if refused.code in SEVERAL:
        yield from _first_select(asked, tables)
        return
    rewriters = REWRITERS.get(refused.code, ())
    if not rewriters:
        return
    try:
        select = read_select(asked, tables)
    except Refused:
        return
    for node in list(select.find_all(exp.Anonymous)):
        node.set("expressions", unclamped(node.expressions))
    for rewrite in rewriters:
        for candidate in rewrite(select.copy(), refused, tables):
            if candidate != select:
                yield _readable(candidate)


def _readable(candidate: exp.Expr) -> exp.Expr:
    """Return a candidate that is read as it is meant once it is written out.

    The grammar writes WITHIN GROUP in a way that we do not read.
    """
    for node in list(candidate.find_all(exp.WithinGroup)):
        node.replace(canonical_spelling(node))
    return candidate


def _first_select(asked: QuestionText, tables: Mapping[str, Table]) -> Iterator[exp.Expr]:
    """Yield the first SELECT of several, or a count over a table that a statement names.

    Of a UNION all rows are asked for first, as public tables and rows without statistics allow.
    """
    trees = []
    for tokens in statements(asked.split[0])[:STATEMENTS_MAX]:
        with suppress(Refused, RecursionError):
            tree = syntax_tree(tokens, asked.sql)
            trees += [tree] if tree is not None else []
    for statement in trees:
        if isinstance(statement, exp.SetOperation):
            yield _in_from(statement)
        for select in statement.find_all(exp.Select):
            yield select.copy()
    if any(map(asks_what_there_is, trees)):
        return
    named = [str(table.name) for tree in trees for table in tree.find_all(exp.Table)]
    for name in [*named[:2], *list(tables)[:1]]:
        yield exp.select(exp.Count(this=exp.Star())).from_(exp.to_identifier(name))


def _in_from(union: exp.SetOperation) -> exp.Select:
    """Return all rows of a UNION, in its order."""
    inner = union.copy()
    outer = exp.select("*")
    for clause in ("order", "limit", "offset"):
        outer.set(clause, inner.args.get(clause))
        inner.set(clause, None)
    return outer.from_(inner.subquery("t"))
