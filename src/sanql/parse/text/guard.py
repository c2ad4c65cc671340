"""Limits on the text of a question, checked before anything tries to understand it.

Parsers can be made to run for minutes by short texts; so bytes and words are limited first, then what
the words make up (`proportions`), and everything outside quotes must be plain ASCII (look-alike letters
and digits end here).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.parse.text.places import place_of, place_of_letter, place_of_token
from sanql.parse.text.proportions import check_proportions

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")  # all but tab, line ends and form feed
CLOSED = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|(?P<open>['"`]|/\*|\$\w*\$)|.""",
    re.DOTALL | re.ASCII,
)
BYTES_MAX = 64 * 1024


def tokens_within_limits(sql: str) -> list[Token]:
    """Return the tokens of a text that is safe to parse, or refuse it by the limit it breaks."""
    if not isinstance(sql, str):
        raise Refused(
            "not_text",
            f"a question is SQL text, and was given as {type(sql).__name__}",
            "pass the SQL as a string",
        )
    _check_question(sql)
    tokens = _tokenize(sql)
    _check_letters(tokens)
    check_proportions(tokens)
    return tokens


def _check_question(sql: str) -> None:
    try:
        check_text(sql, "the question")
    except Refused as refused:
        raise refused.at(place_of_letter(sql, _unfit(sql))) from None


def _unfit(sql: str) -> int:
    """Return where the letter stands that breaks a limit on texts."""
    try:
        start = len(sql.encode()[:BYTES_MAX].decode(errors="ignore"))
    except UnicodeEncodeError as error:
        return error.start
    control = CONTROL.search(sql)
    return control.start() if control is not None and start == len(sql) else start


def check_text(text: str, what: str) -> int:
    """Return how many bytes a text has, or refuse one that is too long or cannot be read."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refused(
            "not_text",
            f"{what} holds half of a character (a lone surrogate), which no engine can read",
            "pass well-formed Unicode text",
        ) from None
    if size > BYTES_MAX:
        raise Refused(
            "query_too_long",
            f"{what} has {size:,} bytes; the limit is {BYTES_MAX:,}",
            "shorten it: replace long IN lists by a range, a LIKE pattern or a public table",
        )
    if CONTROL.search(text) is not None:
        raise Refused(
            "control_character",
            f"{what} contains a control character",
            "remove it; only tabs and line ends are taken",
        )
    return size


def _tokenize(sql: str) -> list[Token]:
    from sqlglot.errors import SqlglotError

    from sanql.parse.text.grammar import words_of

    try:
        return words_of(sql)
    except (SqlglotError, RecursionError, ValueError) as error:
        if isinstance(error.__cause__, Refused):  # the limit on words ends the reading of them
            raise error.__cause__ from None
        raise Refused(
            "not_sql",
            "the question cannot be read as SQL: a quote or a comment is not closed",
            "check quotes and comments: each must be closed",
            place_of_letter(sql, _unclosed(sql)),
        ) from None


def _unclosed(sql: str) -> int:
    """Return where the first quote or comment begins that does not end, or the end of the text."""
    return next((quoted.start() for quoted in CLOSED.finditer(sql) if quoted["open"]), len(sql))


def _check_letters(tokens: list[Token]) -> None:
    from sqlglot.tokenizer_core import TokenType

    quoted = {TokenType.STRING, TokenType.IDENTIFIER}
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER and not token.text:
            raise Refused(
                "not_sql",
                "a name in quotes has no letters, and names have at least one",
                'write a name between the quotes, such as AS "total", or leave them out',
                place_of_token(token),
            )
        if token.token_type not in quoted and not token.text.isascii():
            raise Refused(
                "not_ascii",
                f"{token.text[:60]!r} has letters outside ASCII and stands outside quotes",
                "write values in single quotes and names in double quotes, and use the digits 0-9",
                place_of_token(token),
            )


def whole_number(node: exp.Expression | None, clause: str) -> int | None:
    """Return the constant of LIMIT or OFFSET."""
    from sqlglot import exp

    if node is None:
        return None
    value = node.args.get("expression")
    extra = [name for name, argument in node.args.items() if argument and name != "expression"]
    if isinstance(node, exp.Fetch):  # FETCH FIRST 3 ROWS ONLY is the standard's LIMIT 3
        options = node.args.get("limit_options")
        extra = [name for name in ("percent", "with_ties") if options and options.args.get(name)]
        value = node.args.get("count") or exp.Literal.number(1)
    if (
        extra
        or not isinstance(value, exp.Literal)
        or value.args.get("is_string")
        or not str(value.this).isdecimal()
        or len(str(value.this)) > 15
    ):
        raise Refused(
            "limit_invalid",
            f"{clause} takes a constant whole number",
            f"write {clause} 10",
            place_of(node),
        )
    return int(str(value.this))
