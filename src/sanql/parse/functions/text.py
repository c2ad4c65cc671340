"""Text: patterns are constants, so that no row decides how long matching takes."""

from __future__ import annotations

from fractions import Fraction

from sanql.errors import Refused
from sanql.parse.functions.facts import Rule, any_nullable, need, number
from sanql.parse.tree import Expr, Facts, Literal, Type

PATTERN_LENGTH_MAX = 200


def _like(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.TEXT}), "LIKE")
    if not all(isinstance(arg, Literal) and isinstance(arg.value, str) for arg in args[1:]):
        raise Refused(
            "pattern_not_constant",
            "LIKE takes a constant pattern",
            "write the pattern as a string, for example city LIKE 'San %'",
        )
    if len(str(args[1].value)) > PATTERN_LENGTH_MAX:  # type: ignore[union-attr]
        raise Refused(
            "pattern_too_long",
            f"the pattern has more than {PATTERN_LENGTH_MAX} characters",
            "shorten it: matching long patterns takes time that depends on the rows",
        )
    if len(args) == 3 and _ends_escaping(args[1], args[2]):
        raise Refused(
            "pattern_invalid",
            "the pattern ends with its own escape character",
            "write a character after the escape, or leave ESCAPE out",
        )
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _ends_escaping(pattern: Expr, escape: Expr) -> bool:
    assert isinstance(pattern, Literal) and isinstance(escape, Literal)  # noqa: S101
    text, sign = str(pattern.value), str(escape.value)
    position = 0
    while position < len(text):
        if text[position] == sign and position == len(text) - 1:
            return True
        position += 2 if text[position] == sign else 1
    return False


def _text_function(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, frozenset({Type.TEXT}), name)
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _length(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.TEXT}), "LENGTH")
    return number(Type.INTEGER, (Fraction(0), Fraction(2**32)), any_nullable(args))


TEXT: dict[str, Rule] = {
    "like": _like,
    "ilike": _like,
    "lower": _text_function("LOWER"),
    "upper": _text_function("UPPER"),
    "trim": _text_function("TRIM"),
    "length": _length,
}
