"""Limits on length and nesting of a question, checked on its tokens before the grammar reads them.

Reading a word costs the grammar some microseconds wherever it stands, but for a few: each SELECT, each
JOIN and each level of nesting costs as much as many words. So these are counted by themselves, and the
length of names, which are compared with those that exist.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sanql.errors import Refused
from sanql.parse.text.places import place_of_token

WORDS_MAX = 2_200
NESTING_MAX = 30  # a level of functions takes the grammar 27 calls, and Python allows a thousand
OPERATORS_MAX = 100
SELECTS_MAX = 100
JOINS_MAX = 100
NAME_LETTERS_MAX = 255

OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
CHAINING = frozenset(
    {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.DCOLON}
)
QUOTED = frozenset(
    {kind for kind in TokenType if kind.name.endswith("STRING")} | {TokenType.NUMBER}
)


def check_proportions(tokens: Sequence[Token]) -> None:
    """Refuse a text by the limit that its words break."""
    _check_names(tokens)
    _check_nesting(tokens)
    _check_number(tokens, TokenType.SELECT, "SELECTs", SELECTS_MAX)
    _check_number(tokens, TokenType.JOIN, "JOINs", JOINS_MAX)


def too_long(letters: int, of: int) -> Refused:
    """Return the refusal of a text with more words than the limit, which so many letters hold."""
    return Refused(
        "query_too_long",
        f"the question has more than {WORDS_MAX:,} words and signs: the limit is reached after "
        f"{letters:,} of its {of:,} letters",
        "shorten it: replace long IN lists by a range, a LIKE pattern or a public table; or ask it "
        "in parts",
    )


def too_deep(levels: int | None = None) -> Refused:
    """Return the refusal of a question nested beyond the limit, with how deep it is where known."""
    found = f"{levels:,} levels deep" if levels is not None else "too deep to be read"
    return Refused(
        "query_too_deep",
        f"the question nests {found}; the limit is {NESTING_MAX} levels",
        "flatten it: chain conditions with AND and OR, use IN for lists, CASE with several WHENs",
    )


def too_many_operators() -> Refused:
    """Return the refusal of an expression in which operators stand one in another beyond the limit."""
    return Refused(
        "query_too_deep",
        f"an expression of the question has more than {OPERATORS_MAX} operators one in another, where "
        "a + b + c counts as (a + b) + c",
        "ask for its parts: SUM(a), SUM(b) and so on, and add up the answers; AND and OR may be "
        "chained at will",
    )


def _check_names(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if len(token.text) > NAME_LETTERS_MAX and token.token_type not in QUOTED:
            raise Refused(
                "query_too_long",
                f"a name in the question has {len(token.text):,} letters; the limit is "
                f"{NAME_LETTERS_MAX}",
                "use a shorter name; a text is written in single quotes",
                place_of_token(token),
            )


def _check_nesting(tokens: Sequence[Token]) -> None:
    """Refuse brackets, CASEs and runs of signs that nest, which the grammar reads by recursion."""
    depth = run = deepest = 0
    first: Token | None = None
    for token in tokens:
        kind = token.token_type
        depth = max(0, depth + (kind in OPENING) - (kind in CLOSING))
        run = run + 1 if kind in CHAINING else 0
        deepest = max(deepest, depth, run)
        if first is None and deepest > NESTING_MAX:
            first = token
    if first is not None:
        raise too_deep(deepest).at(place_of_token(first))


def _check_number(tokens: Sequence[Token], kind: TokenType, what: str, most: int) -> None:
    found = [token for token in tokens if token.token_type is kind]
    if len(found) > most:
        raise Refused(
            "query_too_complex",
            f"the question has {len(found):,} {what}; the limit is {most}",
            "ask it in parts",
            place_of_token(found[most]),
        )
