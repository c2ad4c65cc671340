"""Words of other systems that are put in another order, or quoted otherwise, before they are parsed.

`[a name]` is a name in double quotes, `SELECT TOP 5 …` ends in LIMIT 5, `t SAMPLE (10)` is TABLESAMPLE,
and r'^a' a text like any other. Only whole words move: each keeps its place in the text, so that
refusals show where it was typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sanql.errors import Refused
from sanql.parse.text.places import place_of_token

CONSTANTS = frozenset({TokenType.TRUE, TokenType.FALSE, TokenType.NULL})
NOT_NAMES = frozenset(
    {TokenType.STRING, TokenType.NUMBER, TokenType.PLACEHOLDER, TokenType.PARAMETER, *CONSTANTS}
)
VALUES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING})
SETS = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})
BEFORE_TOP = ("DISTINCT", "ALL")


def reworded(tokens: list[Token], sql: str) -> list[Token]:
    """Return the words of a question in the order, and with the quotes, that the grammar has.

    >>> from sanql.parse.text.guard import tokens_within_limits
    >>> text = "SELECT TOP 5 [home town] FROM people"
    >>> [token.text for token in reworded(tokens_within_limits(text), text)]
    ['SELECT', 'home town', 'FROM', 'people', 'LIMIT', '5']
    """
    if "[" in sql:
        tokens = list(_names_in_brackets(tokens, sql))
    upper = sql.upper()
    if "SAMPLE" in upper:
        tokens = [_sampling(tokens, place) for place in range(len(tokens))]
    if "R'" in upper:
        tokens = [token for place, token in enumerate(tokens) if not _marks_raw(tokens, place)]
    if "TOP" in upper:
        tokens = _limits_behind(tokens)
    return tokens


def _sampling(tokens: Sequence[Token], place: int) -> Token:
    """Return a word, SAMPLE (10) behind a table as TABLESAMPLE (10): it is no name of the table."""
    token, behind = tokens[place], [each.token_type for each in tokens[place + 1 : place + 3]]
    named = place > 0 and tokens[place - 1].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    if token.text.upper() != "SAMPLE" or token.token_type is not TokenType.VAR or not named:
        return token
    if behind != [TokenType.L_PAREN, TokenType.NUMBER]:
        return token
    return Token(
        TokenType.TABLE_SAMPLE, "TABLESAMPLE", token.line, token.col, token.start, token.end
    )


def _marks_raw(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word is the r of r'^a', a text whose backslashes are letters, as here in all."""
    marked = tokens[place].text in ("r", "R") and tokens[place].token_type is TokenType.VAR
    behind = tokens[place + 1] if marked and place + 1 < len(tokens) else None
    return (
        behind is not None
        and behind.token_type is TokenType.STRING
        and behind.start == tokens[place].end + 1
    )


def _names_in_brackets(tokens: Sequence[Token], sql: str) -> Iterator[Token]:
    """Yield the words, those of a name in square brackets as one; x[1] and [1, 2] stay as they are."""
    place, before = 0, None
    while place < len(tokens):
        token = tokens[place]
        end = _end_of_name(tokens, place) if _begins_name(token, before) else None
        if end is not None:
            inside = sql[token.end + 1 : tokens[end].start]
            token = Token(
                TokenType.IDENTIFIER, inside, token.line, token.col, token.start, tokens[end].end
            )
            place = end
        yield token
        before, place = token, place + 1


def _begins_name(token: Token, before: Token | None) -> bool:
    """Return whether a bracket can begin a name: behind a value it asks for an element."""
    if token.token_type is not TokenType.L_BRACKET:
        return False
    return before is None or not (before.token_type in VALUES or before.text in (")", "]"))


def _end_of_name(tokens: Sequence[Token], start: int) -> int | None:
    """Return where the bracket closes, if there are words between and nothing else."""
    for place in range(start + 1, len(tokens)):
        token = tokens[place]
        if token.token_type is TokenType.R_BRACKET:
            return place if place > start + 1 else None
        if token.token_type in NOT_NAMES or not token.text[:1].isalpha():
            return None
    return None


def _limits_behind(tokens: list[Token]) -> list[Token]:
    """Return the words with TOP n behind a SELECT as LIMIT n at its end."""
    place = 0
    while place < len(tokens):
        if tokens[place].token_type is TokenType.SELECT:
            first = place + 1
            while first < len(tokens) and tokens[first].text.upper() in BEFORE_TOP:
                first += 1
            number = _number_behind(tokens, first)
            if number is not None:
                count, behind = number
                _check_top(tokens, first, behind)
                end = _end_of_select(tokens, behind)
                top = tokens[first]
                limit = Token(TokenType.LIMIT, "LIMIT", top.line, top.col, top.start, top.end)
                tokens = [*tokens[:first], *tokens[behind:end], limit, count, *tokens[end:]]
        place += 1
    return tokens


def _number_behind(tokens: Sequence[Token], place: int) -> tuple[Token, int] | None:
    """Return the number of TOP n or TOP (n), and where the words behind it begin."""
    words = tokens[place : place + 5]
    if len(words) < 3 or words[0].text.upper() != "TOP" or words[0].token_type is not TokenType.VAR:
        return None
    if words[1].token_type is TokenType.NUMBER:
        return words[1], place + 2
    bracketed = words[1].text == "(" and words[2].token_type is TokenType.NUMBER
    if len(words) < 5 or not bracketed or words[3].text != ")":
        return None
    # TOP (3), x and TOP (3) FROM t call a function
    if words[4].token_type in (TokenType.COMMA, TokenType.FROM, TokenType.ALIAS):
        return None
    return words[2], place + 4


def _check_top(tokens: Sequence[Token], top: int, behind: int) -> None:
    words = [token.text.upper() for token in tokens[behind : behind + 2]]
    if words[0] == "PERCENT" or words == ["WITH", "TIES"]:
        raise Refused(
            "limit_invalid",
            f"TOP … {' '.join(words[: 1 + (words[0] == 'WITH')])} is not supported: how many rows that "
            "is would depend on the rows",
            "write TOP 10, or LIMIT 10 at the end of the question",
            place_of_token(tokens[top]),
        )


def _end_of_select(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for place in range(start, len(tokens)):
        token = tokens[place]
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
            if depth < 0:
                return place
        elif depth == 0 and token.token_type is TokenType.SEMICOLON:
            return place
        elif depth == 0 and token.token_type in SETS:
            raise Refused(
                "limit_invalid",
                "TOP limits one part of a UNION, whose rows have no order of their own",
                "leave it out, and write LIMIT at the end of the question",
                place_of_token(tokens[start - 1]),
            )
    return len(tokens)
