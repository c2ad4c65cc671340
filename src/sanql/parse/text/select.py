"""From a text to the grammar's tree of its one SELECT, parameters put in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sanql.errors import Refused
from sanql.parse.text.grammar import parser
from sanql.parse.text.listing import not_a_select
from sanql.parse.text.parameters import QuestionText, put_in
from sanql.parse.text.pivots import PIVOT_WORDS_MAX, pivots_written_out
from sanql.parse.text.places import at, place_of_token
from sanql.parse.text.proportions import too_deep
from sanql.parse.text.schemas import without_schemas
from sanql.policy import Table


def read_select(asked: str | QuestionText, tables: Mapping[str, Table]) -> exp.Select:
    """Return the tree of a text, its parameters put in."""
    asked = asked if isinstance(asked, QuestionText) else QuestionText(asked)
    return _read(asked, tables, with_values=True)


def read_tree(asked: QuestionText, tables: Mapping[str, Table]) -> exp.Select:
    """Return the tree of a text whose parameters have no values yet."""
    return _read(asked, tables, with_values=False)


def _read(asked: QuestionText, tables: Mapping[str, Table], *, with_values: bool) -> exp.Select:
    tokens, _ = asked.split
    start = place_of_token(asked.tokens[0]) if asked.tokens else (1, 1)
    try:
        select = _select(_only_statement(tokens), asked.sql, tables)
        if with_values:
            with at(select):
                put_in(select, asked)
    except RecursionError:
        raise too_deep().at(start) from None
    except Refused as refused:
        raise (refused if refused.place is not None else refused.at(start)) from None
    return select


def statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the words of a text statement by statement; nothing between semicolons is none."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]


def syntax_tree(tokens: list[Token], sql: str) -> exp.Expr | None:
    """Return a statement as the grammar reads it."""
    try:
        return next(iter(parser().parse(tokens, sql)), None)
    except sqlglot.errors.SqlglotError as error:
        raise _unreadable(error) from None


def _only_statement(tokens: Sequence[Token]) -> list[Token]:
    found = statements(tokens)
    if len(found) != 1:
        raise Refused(
            "one_statement",
            f"a question is one SELECT, and {len(found):,} statements were given",
            "ask one question at a time",
            place_of_token(found[1][0]) if len(found) > 1 else None,
        )
    return found[0]


def _select(tokens: list[Token], sql: str, tables: Mapping[str, Table]) -> exp.Select:
    statement = syntax_tree(tokens, sql)
    while isinstance(statement, exp.Subquery) and not statement.args.get("alias"):
        statement = statement.this
    if "PIVOT" in sql.upper() and len(tokens) <= PIVOT_WORDS_MAX:
        statement = pivots_written_out(statement, tables)
    if isinstance(statement, exp.Union):
        statement = rows_of_union(statement)
    if not isinstance(statement, exp.Select):
        raise not_a_select(statement, tables)
    without_schemas(statement, tables)
    return statement


def rows_of_union(union: exp.Union) -> exp.Select:
    """Return a SELECT from a UNION, with the names, the order and the limit that stood around it."""
    around = exp.Select(expressions=[exp.Star()])
    for clause in ("with_", "order", "limit", "offset"):
        value = union.args.get(clause)
        if value is not None:
            around.set(clause, value.copy())
            union.set(clause, None)
    around.set("from_", exp.From(this=union.subquery("rows")))
    return around


def _unreadable(error: sqlglot.errors.SqlglotError) -> Refused:
    details = (getattr(error, "errors", None) or [{}])[0]
    word = str(details.get("highlight") or "")
    line, column = details.get("line"), details.get("col")
    place = (line, max(1, column - len(word) + 1)) if line and column else None
    if "number of provided arguments" in str(details.get("description")):
        name = re.search(r"(\w+)\s*\([^()]*$", str(details.get("start_context")))
        what = name[1][:60] if name is not None else "a function"
        return Refused(
            "arguments_wrong",
            f"{what} has too many operands",
            "docs/functions.md lists what each function takes",
            place,
        )
    near = f" at {word[:60]!r}" if word else ""
    hint = _misspelt(str(details.get("start_context"))) if line == 1 else ""
    return Refused(
        "not_sql",
        f"the question cannot be read as SQL{near}",
        f"{hint}check spelling, commas, quotes and brackets",
        place,
    )


def _misspelt(context: str) -> str:
    """Return a hint where the first word of what was read is nearly SELECT."""
    first = re.match(r"\s*([A-Za-z]+)\b", context)
    word = first[1][:20].upper() if first is not None else "SELECT"
    near = word != "SELECT" and get_close_matches(word, ["SELECT"], cutoff=0.75)
    return "did you mean SELECT? " if near else ""
