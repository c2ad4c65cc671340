"""Parameters: values beside a question, which become constants of its tree once it has been read.

A value is never text that is read as SQL, and it takes the place of a constant only: where a name, a
position (GROUP BY 1) or a word of the grammar (IS NULL) could stand, a parameter is refused. So no value
changes the shape of a question, and a question with parameters is the question with its constants
written in: the same limits hold for it, and it has the same digest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.numbers import decimal_text
from sanql.options import no_constant, no_decimal, own_scalar, parameters_invalid
from sanql.parse.text.guard import BYTES_MAX, check_text, tokens_within_limits
from sanql.parse.text.options import split_options
from sanql.parse.text.other_words import reworded
from sanql.parse.text.places import at
from sanql.parse.text.proportions import WORDS_MAX
from sanql.question import number_literal

Value = None | bool | int | float | Decimal | Fraction | str | date | datetime
Parameters = Sequence[Value] | Mapping[str, Value]

WHOLE_MAX = 2**100
# what a placeholder of the text begins with
SIGNS = frozenset({TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.COLON})
# what holds the items of GROUP BY and ORDER BY, where a whole number is a position
LISTS = (exp.Tuple, exp.Paren, exp.Cube, exp.Rollup, exp.GroupingSets)

_REMEMBERED_MAX = 1_000
_REMEMBERED_LETTERS_MAX = 4_000
_REMEMBERING = threading.Lock()
_OPTIONS_READ: dict[str, dict[str, str]] = {}


@dataclass(frozen=True)
class QuestionText:
    """The text of a question and the values of its parameters."""

    sql: str
    parameters: Parameters | None = None

    @computed_once
    def tokens(self) -> list[Token]:
        """The words of the text, which are within limits, or it is refused."""
        return tokens_within_limits(self.sql)

    @computed_once
    def split(self) -> tuple[list[Token], dict[str, str]]:
        """The words of the question without the clause that carries its options, and these."""
        without, options = split_options(self.sql, self.tokens)
        return reworded(without, self.sql), options

    @property
    def options(self) -> dict[str, str]:
        """The options that the text itself carries; those of texts read lately are remembered."""
        plain = type(self.sql) is str  # whatever else was passed is refused when it is read
        known = _OPTIONS_READ.get(self.sql) if plain else None
        if known is None:
            known = self.split[1]
            if len(self.sql) <= _REMEMBERED_LETTERS_MAX:
                _remember(self.sql, known)
        return dict(known)


def _remember(text: str, options: dict[str, str]) -> None:
    """Keep the options of a text, in place of the one that has been kept longest."""
    with _REMEMBERING:
        _OPTIONS_READ[text] = options
        while len(_OPTIONS_READ) > _REMEMBERED_MAX:
            del _OPTIONS_READ[next(iter(_OPTIONS_READ))]


def put_in(tree: exp.Expression, asked: QuestionText) -> None:
    """Replace every placeholder of a tree by its value."""
    values = _given(asked.parameters)
    if not values and SIGNS.isdisjoint([token.token_type for token in asked.tokens]):
        return
    marks = _question_marks(asked.tokens)
    placeholders = sorted(
        tree.find_all(exp.Placeholder), key=lambda node: node.meta.get("start", 0)
    )
    named = list(_names(placeholders, marks))
    for node, name in named:
        with at(node):
            if name not in values:
                raise _missing(node, name, values)
            _check_place(node, name)
    used = {name for _, name in named}
    for name in values:
        if name not in used:
            raise Refused(
                "parameter_unused",
                f"a value is given for the parameter {name[:60]!r}, which the question does not have",
                "leave it out, or write $name, :name, $1 or ? where it belongs",
            )
    left = BYTES_MAX - len(asked.sql.encode())
    for node, name in named:
        with at(node):
            value = own_scalar(values[name])
            if isinstance(value, str):
                left -= check_text(value, f"the parameter {_shown(node, name)}")
            if left < 0:
                raise Refused(
                    "query_too_long",
                    f"the question and its parameters have more than {BYTES_MAX:,} bytes",
                    "shorten the texts that are passed",
                )
            constant = _constant(value, _shown(node, name))
        constant.meta.update(node.meta)
        node.replace(constant)


def _question_marks(tokens: Sequence[Token]) -> int:
    """Return how many ? of a text stand outside quotes."""
    return sum(token.token_type is TokenType.PLACEHOLDER for token in tokens)


def _given(parameters: object) -> Mapping[str, object]:
    """Return the values by name; those of a list are called 1, 2, 3 …"""
    if parameters is None:
        return {}
    if isinstance(parameters, Mapping | list | tuple) and len(parameters) > WORDS_MAX:
        raise Refused(
            "parameter_unused",
            f"{len(parameters):,} values are given, and no question has so many parameters",
            "pass one value for each parameter of the question",
        )
    if isinstance(parameters, Mapping) and all(isinstance(name, str) for name in parameters):
        return parameters
    if isinstance(parameters, list | tuple):
        return {str(number): value for number, value in enumerate(parameters, 1)}
    raise parameters_invalid(parameters)


def _names(
    placeholders: Sequence[exp.Expression], marks: int
) -> Iterator[tuple[exp.Expression, str]]:
    """Yield each placeholder with the name of its value; question marks are numbered as they stand."""
    places = list(
        dict.fromkeys(node.meta.get("start") for node in placeholders if node.this is None)
    )
    if len(places) != marks:
        raise Refused(
            "parameter_place",
            "a ? of the question is no parameter where it stands",
            "write ? where a constant could stand, as in WHERE age > ?",
        )
    for node in placeholders:
        if node.this is None:
            yield node, str(places.index(node.meta.get("start")) + 1)
            continue
        if marks and str(node.this).isdecimal():
            raise Refused(
                "parameter_mixed",
                f"the question has both ? and ${node.this}, which could mean the same value",
                "number them all: $1, $2, $3",
            )
        yield node, str(node.this)


def _shown(node: exp.Expression, name: str) -> str:
    return f"{node.meta['sign']}{name[:60]}" if node.this is not None else f"? number {name}"


def _missing(node: exp.Expression, name: str, values: Mapping[str, object]) -> Refused:
    near = get_close_matches(name, list(values)[:1000], n=1)
    hint = f"did you mean {near[0][:60]}? " if near else ""
    how = f"[…], {name} of them or more" if name.isdecimal() else f"{{{name[:60]!r}: …}}"
    return Refused(
        "parameter_missing",
        f"the parameter {_shown(node, name)} has no value",
        f"{hint}pass parameters={how}",
    )


def _check_place(node: exp.Expression, name: str) -> None:
    """Refuse a parameter where a name, a position or a word of the grammar belongs."""
    holder: exp.Expression = node
    while isinstance(holder.parent, LISTS):
        holder = holder.parent
    around, key = holder.parent, holder.arg_key
    names = isinstance(
        around, exp.Table | exp.TableAlias | exp.Column | exp.Dot | exp.DataTypeParam
    )
    alias = isinstance(around, exp.Alias | exp.Aliases) and key != "this"
    word = isinstance(around, exp.Is) and key == "expression"
    if names or alias or word or isinstance(around, exp.Group | exp.Ordered):
        raise Refused(
            "parameter_place",
            f"the parameter {_shown(node, name)} stands where no constant can: its value "
            "would decide what the question asks",
            "write names, positions and NULL into the question; a value is compared or computed with",
        )


def _constant(value: object, name: str) -> exp.Expression:
    """Return a value as the node that its constant would be, had it been typed."""
    kind = type(value)
    if value is None:
        return exp.Null()
    if kind is bool:
        return exp.Boolean(this=value)
    if kind is str:
        return exp.Literal.string(str(value))
    if isinstance(value, date) and kind in (date, datetime):
        return _moment(value, name)
    text = _digits(value, name)
    if text is None:
        raise no_constant(name, value)
    number_literal(text.removeprefix("-"))  # the limits on numbers that are typed hold here too
    literal = exp.Literal.number(text.removeprefix("-"))
    return exp.Neg(this=literal) if text.startswith("-") else literal


def _moment(value: date, name: str) -> exp.Expression:
    if isinstance(value, datetime) and value.tzinfo is not None:
        raise Refused(
            "parameter_invalid",
            f"the parameter {name} has a time zone, and timestamps have none",
            "pass the moment without it: moment.replace(tzinfo=None)",
        )
    text = value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    kind = "TIMESTAMP" if isinstance(value, datetime) else "DATE"
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb"))


def _digits(value: object, name: str) -> str | None:
    """Return a number as it would be typed; None of what is no number."""
    kind = type(value)
    if isinstance(value, int) and kind is int:
        if abs(value) >= WHOLE_MAX:
            raise Refused(
                "number_invalid", f"the parameter {name} is too large", "use a smaller number"
            )
        return str(value)
    if isinstance(value, float) and kind is float:
        return _finite(repr(value), name)
    if isinstance(value, Decimal) and kind is Decimal:
        return _finite(str(value), name)
    if isinstance(value, Fraction) and kind is Fraction:
        return _decimal(value, name)
    return None


def _finite(text: str, name: str) -> str:
    if any(letter in text.lower() for letter in "ni"):  # nan, snan and infinity
        raise Refused(
            "parameter_invalid",
            f"the parameter {name} is {text[:20]}, which is no number",
            "pass a finite number, or None for NULL",
        )
    return text


def _decimal(value: Fraction, name: str) -> str:
    """Return a fraction written out, which must end within forty digits."""
    _digits(int(abs(value)), name)  # it is no larger than may be
    text = decimal_text(value)
    if text is not None:
        _digits(int(text.replace(".", "")), name)
        return text
    raise no_decimal(name)
