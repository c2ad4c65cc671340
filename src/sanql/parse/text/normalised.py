"""A question in one spelling: without comments, line ends, its clause of options and its own capitals."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from sanql.parse.text.parameters import QuestionText

_AS_TYPED = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER})
_NAMES = frozenset({TokenType.VAR})
_JOINED_BEFORE = frozenset({",", ")", ".", "::", ";", "]"})
_JOINED_AFTER = frozenset({"(", ".", "::", "$", ":", "["})


def normalised(asked: QuestionText) -> str:
    """Return the text of a question as it was understood: words in capitals, names in small letters.

    >>> normalised(QuestionText("select  count(*) -- all\\n from People where name='A b'"))
    "SELECT count(*) FROM people WHERE name = 'A b'"
    """
    parts: list[str] = []
    joined = True
    before = None
    for token in asked.split[0]:
        word = _word(asked.sql, token)
        called = word == "(" and before in _NAMES
        if not (joined or called or word in _JOINED_BEFORE):
            parts.append(" ")
        parts.append(word)
        joined, before = word in _JOINED_AFTER, token.token_type
    return "".join(parts)


def _word(sql: str, token: Token) -> str:
    if token.token_type in _AS_TYPED:
        return sql[token.start : token.end + 1]
    text = str(token.text)
    return text.lower() if token.token_type in _NAMES else text.upper()
