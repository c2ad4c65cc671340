"""The grammar: DuckDB's, with what our readers need kept on its nodes.

Aggregates keep named arguments until `respelled` reads them; every placeholder of a parameter keeps its
place in the text, which is how the question marks are told apart; and every function keeps its name as
it was typed and the text of its call, for refusals are about what the analyst wrote. Reading ends
where a limit is broken: of words, and of words that are read again because a guess at what they are
was wrong.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenizerCore, TokenType

from sanql.errors import Refused
from sanql.parse.statistics.contributions import NAMES, PLAIN, clamped
from sanql.parse.text.places import place_of_token
from sanql.parse.text.proportions import WORDS_MAX, too_long

# What is written here is for people to read, and to be asked again. An engine without these would be told
# them in a page of SQL, which one INITCAP in another, and DATETIME of one operand, cannot be written as.
DuckDBGenerator.TRANSFORMS |= {
    exp.Initcap: lambda writer, node: writer.func("INITCAP", node.this),
    exp.Datetime: lambda writer, node: writer.func("DATETIME", node.this, node.expression),
}

AGAIN_MAX = WORDS_MAX  # ordinary questions read one word in four again, or fewer


def _keeping_names(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    def build(arguments: list[exp.Expression]) -> exp.Expression:
        if any(isinstance(argument, exp.Kwarg) for argument in arguments):
            return exp.Anonymous(this=name, expressions=arguments)
        return PLAIN[name](arguments)

    return build


# what the grammar puts around a function
AROUND = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def _keep(made: exp.Expr, first: Token, text: str) -> None:
    """Note on a function, and on what stands around it, how it was typed and where."""
    made.meta["fragment"] = text
    node = made
    while True:
        node.meta.setdefault("typed", first.text)
        if "line" not in node.meta:
            node.update_positions(first)
        if not isinstance(node, AROUND) or not isinstance(node.this, exp.Expression):
            return
        node = node.this


def _question_mark(parser: DuckDBParser) -> exp.Expression:
    return parser.expression(exp.Placeholder(), parser._prev)


def _named(parser: DuckDBParser) -> exp.Expression | None:
    """Return the placeholder $1, $name or :name, whose sign has just been read."""
    sign = parser._prev
    numbered = sign.token_type is TokenType.PARAMETER and parser._match(TokenType.NUMBER)
    if numbered or parser._match_set(parser.ID_VAR_TOKENS):
        made = parser.expression(exp.Placeholder(this=parser._prev.text), sign)
        made.meta["sign"] = sign.text
        return made
    return None


_SETTINGS = tuple(inspect.signature(TokenizerCore).parameters)


class ReadingLimit(Parser):
    """A parser that does not read for ever: words that are read again are counted."""

    def reset(self) -> None:
        super().reset()
        self._again = 0

    def _retreat(self, index: int) -> None:
        """Go back to an earlier word, as often as that is not a way to read for ever."""
        if index < self._index:
            self._again += self._index - index
        if self._again > AGAIN_MAX:
            raise Refused(
                "query_too_complex",
                "the question can be read in too many ways: after "
                f"{AGAIN_MAX:,} words read again it is still not clear which is meant",
                "write it more plainly: fewer brackets and types one in another",
                place_of_token(self._curr) if self._curr else None,
            )
        super()._retreat(index)


class _Words(TokenizerCore):
    """What cuts a text into words, and stops at the limit."""

    __slots__ = ("_number",)

    def reset(self) -> None:
        super().reset()
        self._number = 0

    def _add(self, token_type: TokenType, text: str | None = None) -> None:
        self._number += 1
        if self._number > WORDS_MAX:
            place = self._line, max(1, self._col - self._current + self._start + 1)
            raise too_long(self._start, self.size).at(place)
        super()._add(token_type, text)

    def _scan_string(self, start: str) -> bool:
        """Read a text in quotes, if one begins here; $1 is a parameter, whatever dollars follow it."""
        if start == "$" and self._peek.isdecimal():
            self._add(TokenType.PARAMETER)
            return True
        return super()._scan_string(start)


class Dialect(DuckDB):
    """DuckDB's grammar as questions are written in it."""

    class Tokenizer(DuckDB.Tokenizer):
        """The words of that grammar: ?::DATE is a parameter that is cast, and `a` is a name."""

        IDENTIFIERS: ClassVar = ['"', "`"]
        KEYWORDS: ClassVar = {
            word: kind for word, kind in DuckDB.Tokenizer.KEYWORDS.items() if word != "?::"
        }

        def _init_core(self) -> TokenizerCore:
            made = super()._init_core()
            return _Words(**{name: getattr(made, name) for name in _SETTINGS})

    class Parser(ReadingLimit, DuckDBParser):
        """The parser of that grammar."""

        FUNCTIONS = (
            DuckDBParser.FUNCTIONS
            | {name: _keeping_names(name) for name in NAMES}
            # elsewhere it is a choice, and no decoding of bytes
            | {"DECODE": lambda args: exp.Anonymous(this="DECODE", expressions=args)}
        )
        PLACEHOLDER_PARSERS = DuckDBParser.PLACEHOLDER_PARSERS | {
            TokenType.PLACEHOLDER: _question_mark,
            TokenType.PARAMETER: _named,
            TokenType.COLON: _named,
        }

        FUNC_TOKENS = DuckDBParser.FUNC_TOKENS | {TokenType.DIV}

        def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
            """Return an operand; ZetaSQL's CLAMPED BETWEEN behind it is a named argument with it."""
            made = super()._parse_lambda(alias)
            if made is None or not self._at_clamped():
                return made
            self._advance(2)
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.raise_error("Expecting AND")
            return clamped(made, low, self._parse_bitwise())

        def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
            return this if self._at_clamped() else super()._parse_alias(this, explicit)

        def _at_clamped(self) -> bool:
            words = self._curr, self._next
            return words[0].text.upper() == "CLAMPED" and words[1].token_type is TokenType.BETWEEN

        def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
            first = self._curr
            made = super()._parse_function_call(*args, **options)
            if made is not None:
                _keep(made, first, self.sql[first.start : self._prev.end + 1])
            return made


_SETTLED = Dialect()
_OF_THREAD = threading.local()


def words_of(sql: str) -> list[Token]:
    """Return the words of a text; what cuts them is made once for a thread, and begins anew."""
    tokenizer = getattr(_OF_THREAD, "tokenizer", None)
    if tokenizer is None:
        tokenizer = _OF_THREAD.tokenizer = _SETTLED.tokenizer()
    try:
        return list(tokenizer.tokenize(sql))
    finally:
        tokenizer._core.reset()  # nothing of the text stays


def parser() -> Parser:
    """Return what reads words by this grammar."""
    return _SETTLED.parser()
