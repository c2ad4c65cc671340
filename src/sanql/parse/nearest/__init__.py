"""The nearest question that would be answered, found for one that is refused.

A refusal knows a rule; the rewriters here know how a question that breaks it is usually meant. They are
guesses, so nothing is shown before it has been asked: a candidate must be read, and planned, like any
question, and the first that passes is shown with the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.contributions import unclamped
from sanql.parse.nearest.finding import Rewriter
from sanql.parse.nearest.shape import SHAPE
from sanql.parse.nearest.units import UNITS
from sanql.parse.nearest.words import WORDS
from sanql.parse.parameters import Asked
from sanql.parse.question import Question, parse, read, statements
from sanql.policy import Table

# reading a question again and again takes long: a long one is not rewritten, others not without end
LENGTH_MAX = 2_000
LETTERS_MAX = 8_000
CANDIDATES_MAX = 12
AGAIN_MAX = 3
REWRITERS: Mapping[str, tuple[Rewriter, ...]] = {**SHAPE, **UNITS, **WORDS}

Accept = Callable[[Question], object]


def teach(
    refused: Refused, asked: str | Asked, tables: Mapping[str, Table], accept: Accept
) -> Refused:
    """Return the refusal, with the nearest question that is accepted where one is found.

    `accept` plans a question that has been read, and refuses it if it cannot be planned.
    """
    asked = asked if isinstance(asked, Asked) else Asked(asked)
    if refused.nearest or not isinstance(asked.sql, str) or len(asked.sql) > LENGTH_MAX:
        return refused
    found = _Search(tables, accept).find(refused, asked, steps=2)
    return refused.showing(found) if found else refused


class _Search:
    """A search among candidates that ends when so many letters have been read."""

    def __init__(self, tables: Mapping[str, Table], accept: Accept) -> None:
        self._tables = tables
        self._accept = accept
        self._left = LETTERS_MAX

    def find(self, refused: Refused, asked: Asked, steps: int) -> str:
        """Return the first candidate accepted; one refused for another reason is rewritten again."""
        others: list[tuple[Refused, str]] = []
        for candidate in islice(_candidates(refused, asked, self._tables), CANDIDATES_MAX):
            text = candidate.sql(dialect="duckdb", comments=False)
            self._left -= len(text)
            if self._left < 0:
                return ""
            try:
                self._accept(parse(text, self._tables))
            except Refused as other:
                if other.code != refused.code:
                    others.append((other, text))
            else:
                return text
        for again, text in others[:AGAIN_MAX] if steps > 1 else ():
            found = self.find(again, Asked(text), steps - 1)
            if found:
                return found
        return ""


def _candidates(refused: Refused, asked: Asked, tables: Mapping[str, Table]) -> Iterator[exp.Expr]:
    if refused.code in ("one_statement", "not_a_select"):
        yield from _first_select(asked, tables)
        return
    rewriters = REWRITERS.get(refused.code, ())
    if not rewriters:
        return
    try:
        select, _ = read(asked, tables)
    except Refused:
        return
    for node in list(select.find_all(exp.Anonymous)):
        node.set("expressions", unclamped(node.expressions))
    for rewrite in rewriters:
        for candidate in rewrite(select.copy(), refused, tables):
            if candidate != select:
                yield candidate


def _first_select(asked: Asked, tables: Mapping[str, Table]) -> Iterator[exp.Expr]:
    """Yield the first SELECT of several, or a count over a table that a statement names."""
    try:
        found = statements(asked.sql)
    except Refused:
        return
    for statement in found:
        for select in statement.find_all(exp.Select):
            yield select.copy()
    named = [str(table.name) for each in found for table in each.find_all(exp.Table)]
    for name in [*named[:2], *list(tables)[:1]]:
        yield exp.select(exp.Count(this=exp.Star())).from_(exp.to_identifier(name))
