"""The clause `WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` that travels inside a question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.options import ClauseOption, read_clause
from sanql.parse.text.places import place_of_token

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


def split_options(sql: str, tokens: list[Token]) -> tuple[list[Token], dict[str, str]]:
    """Return the words of a question without its clause, and the clause's options.

    >>> from sanql.parse.text.guard import tokens_within_limits
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> split_options(text, tokens_within_limits(text))[1]
    {'epsilon': '0.5'}
    """
    words = [token.text.upper() for token in tokens[:3]]
    if words != ["SELECT", "WITH", "DIFFERENTIAL_PRIVACY"]:
        return tokens, {}
    if len(tokens) < 5 or tokens[3].text.upper() != "OPTIONS" or tokens[4].text != "(":
        return [tokens[0], *tokens[3:]], {}
    end = next((i for i, token in enumerate(tokens[5:], 5) if _is_sign(token, ")")), None)
    if end is None:
        raise _malformed().at(place_of_token(tokens[1]))
    return [tokens[0], *tokens[end + 1 :]], read_clause(_options(sql, tokens[5:end]))


def with_options_of(rewritten: str, sql: str, tokens: list[Token]) -> str:
    """Return a question with the clause of the one that it was made from, where that has one.

    >>> from sanql.parse.text.guard import tokens_within_limits
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) age FROM people"
    >>> with_options_of("SELECT COUNT(*) FROM people", text, tokens_within_limits(text))
    'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people'
    """
    without, _ = split_options(sql, tokens)
    removed = len(tokens) - len(without)
    first, space, rest = rewritten.partition(" ")
    if not removed or first.upper() != "SELECT":
        return rewritten
    clause = sql[tokens[1].start : tokens[removed].end + 1]
    return f"{first} {clause}{space}{rest}"


def _options(sql: str, tokens: list[Token]) -> Iterator[ClauseOption]:
    while tokens:
        stop = next((i for i, token in enumerate(tokens) if _is_sign(token, ",")), len(tokens))
        place = place_of_token(tokens[0])
        if stop < 3 or tokens[1].text not in ("=", "=>"):
            raise _malformed().at(place)
        value = tokens[2:stop]
        name = str(tokens[0].text)
        yield ClauseOption(name, _as_typed(sql, value), [*map(_is_text, value)] == [True], place)
        tokens = tokens[stop + 1 :]


def _is_sign(token: Token, sign: str) -> bool:
    return str(token.text) == sign and not _is_text(token)


def _is_text(token: Token) -> bool:
    return bool(token.token_type.name == "STRING")


def _as_typed(sql: str, tokens: list[Token]) -> str:
    """Return a value as it stands in the text, so that `1 2` is not read as 12."""
    if len(tokens) == 1:
        return str(tokens[0].text)
    return sql[tokens[0].start : tokens[-1].end + 1]


def _malformed() -> Refused:
    return Refused(
        "options_malformed",
        "the clause WITH DIFFERENTIAL_PRIVACY OPTIONS(…) cannot be read",
        "write it as SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6) …",
    )
