"""The clause `WITH DIFFERENTIAL_PRIVACY OPTIONS(…)` that travels inside a question.

`WITH ANONYMIZATION` is its older name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sanql.errors import Refused
from sanql.numbers import decimal_text, parse_delta, parse_epsilon
from sanql.options import ClauseOption, read_clause
from sanql.parse.text.places import place_of_token

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

CLAUSES = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
SPENT = frozenset({"epsilon", "delta"})


def split_options(sql: str, tokens: list[Token]) -> tuple[list[Token], dict[str, str]]:
    """Return the words of a question without its clause, and the clause's options.

    A clause may stand in every SELECT of the question, and what each may cost is added up.

    >>> from sanql.parse.text.guard import tokens_within_limits
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> split_options(text, tokens_within_limits(text))[1]
    {'epsilon': '0.5'}
    """
    typed = sql.upper()
    if not any(name in typed for name in CLAUSES):
        return tokens, {}
    kept: list[Token] = []
    clauses: list[dict[str, str]] = []
    place = 0
    while place < len(tokens):
        kept.append(tokens[place])
        end = _end_of_clause(tokens, place + 1) if _is_select(tokens[place]) else None
        if end is None:
            place += 1
            continue
        if end > place + 3:
            clauses.append(read_clause(_options(sql, tokens[place + 5 : end - 1])))
        place = end
    return kept, _together(clauses)


def _is_select(token: Token) -> bool:
    return token.token_type.name == "SELECT"


def _end_of_clause(tokens: list[Token], start: int) -> int | None:
    """Return where the words behind a clause begin; None where no clause stands."""
    words = [token.text.upper() for token in tokens[start : start + 2]]
    if words[:1] != ["WITH"] or words[1:] not in ([name] for name in CLAUSES):
        return None
    behind = tokens[start + 2 : start + 4]
    if len(behind) < 2 or behind[0].text.upper() != "OPTIONS" or behind[1].text != "(":
        return start + 2
    places = range(start + 4, len(tokens))
    end = next((place for place in places if _is_sign(tokens[place], ")")), None)
    if end is None:
        raise _malformed().at(place_of_token(tokens[start]))
    return end + 1


def _together(clauses: list[dict[str, str]]) -> dict[str, str]:
    """Return what all clauses of a text say: their prices are added up, in all else they agree."""
    options: dict[str, str] = {}
    for clause in clauses:
        for name, text in clause.items():
            if name in SPENT and name in options:
                options[name] = _sum(name, options[name], text)
            elif options.setdefault(name, text) != text:
                raise Refused(
                    "option_twice",
                    f"the privacy option {name} is {options[name][:40]} in one SELECT and {text[:40]} in "
                    "another, and one question has one",
                    "say the same in all, or ask them by themselves",
                )
    return options


def _sum(name: str, one: str, other: str) -> str:
    read = {"epsilon": parse_epsilon, "delta": parse_delta}[name]
    total = decimal_text(read(one) + read(other))
    if total is None:
        raise Refused(
            "option_twice",
            f"the {name}s of the question cannot be added up: {one[:40]} and {other[:40]}",
            "give it once",
        )
    return total


def with_options_of(rewritten: str, sql: str, tokens: list[Token]) -> str:
    """Return a question with the clause of the one that it was made from, where that has one.

    >>> from sanql.parse.text.guard import tokens_within_limits
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) age FROM people"
    >>> with_options_of("SELECT COUNT(*) FROM people", text, tokens_within_limits(text))
    'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people'
    """
    end = _end_of_clause(tokens, 1) if tokens and _is_select(tokens[0]) else None
    first, space, rest = rewritten.partition(" ")
    if end is None or first.upper() != "SELECT":
        return rewritten
    clause = sql[tokens[1].start : tokens[end - 1].end + 1]
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
