"""Dates printed and read: STRFTIME, TO_CHAR, STRPTIME, TO_DATE, TO_TIMESTAMP and their sisters."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sanql.functions import from_c, from_letters, from_percent
from sanql.parse.expressions.calls import Bind, Build, applied
from sanql.parse.expressions.dates import moment_of
from sanql.parse.expressions.refusals import unknown_construct, wrong_number
from sanql.question import TEMPORAL, Expr, Literal, Type, integer_literal, text_literal


def printed(node: exp.Expression, bind: Bind) -> Expr:
    """Return STRFTIME(d, format), in either order."""
    moment, form = node.this, node.args["format"]
    if isinstance(moment, exp.Literal) and moment.args.get("is_string"):
        moment, form = form, moment
    return _print(node, moment, form, from_c, bind)


def to_char(node: exp.Expression, bind: Bind) -> Expr:
    """Return TO_CHAR(d, 'YYYY-MM')."""
    form = node.args.get("format")
    if form is None:
        return applied(node, "cast_text", bind(node.this))
    return _print(node, node.this, form, from_letters, bind)


def _print(
    node: exp.Expression, moment: exp.Expression, form: exp.Expression,
    translate: Callable[[str], str], bind: Bind,
) -> Expr:  # fmt: skip
    return applied(node, "strftime", moment_of(moment, bind), _format(form, translate, bind))


def _format(form: exp.Expression, translate: Callable[[str], str], bind: Bind) -> Expr:
    value = bind(form)
    if isinstance(value, Literal) and isinstance(value.value, str):
        return text_literal(translate(value.value))
    return value


def bind_strptime(node: exp.Expression, bind: Bind) -> Expr:
    """Return STRPTIME(x, format)."""
    return applied(node, "strptime", bind(node.this), _format(node.args["format"], from_c, bind))


def read_date(node: exp.Expression, bind: Bind) -> Expr:
    """Return MySQL's STR_TO_DATE(x, format)."""
    if node.args.get("format") is None:
        raise wrong_number(node, "STR_TO_DATE(x, '%d.%m.%Y')")
    form = _format(node.args["format"], from_percent, bind)
    return applied(node, "cast_date", applied(node, "strptime", bind(node.this), form))


def from_epoch(node: exp.Expression, bind: Bind) -> Expr:
    """Return TO_TIMESTAMP(seconds), TO_TIMESTAMP(x, format) or EPOCH_MS(d)."""
    value, scale = bind(node.this), node.args.get("scale")
    if scale is None:
        if value.facts.type is Type.TEXT:
            return applied(node, "cast_timestamp", value)
        return applied(node, "to_timestamp", value)
    if scale == exp.UnixToTime.MILLIS:
        if value.facts.type in TEMPORAL:
            return applied(node, "epoch_ms", value)
        return applied(node, "to_timestamp", applied(node, "divide", value, integer_literal(1000)))
    if isinstance(scale, exp.Literal) and scale.args.get("is_string"):
        return applied(node, "strptime", value, _format(scale, _either, bind))
    raise unknown_construct(node)


def _either(text: str) -> str:
    return from_c(text) if "%" in text else from_letters(text)


def _format_first(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) != 2:
        raise wrong_number(node, "FORMAT_DATE('%Y-%m', d)")
    return _print(node, arguments[1], arguments[0], from_c, bind)


def _format_last(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) != 2:
        raise wrong_number(node, "DATE_FORMAT(d, '%Y-%m')")
    return _print(node, arguments[0], arguments[1], from_percent, bind)


def _to_varchar(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) not in (1, 2):
        raise wrong_number(node, "TO_VARCHAR(d, 'YYYY-MM')")
    if len(arguments) == 1:
        return applied(node, "cast_text", bind(arguments[0]))
    return _print(node, arguments[0], arguments[1], from_letters, bind)


def _parse_first(op: str | None) -> Build:
    def build(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
        if len(arguments) != 2:
            raise wrong_number(node, "PARSE_DATE('%d.%m.%Y', x)")
        value = applied(node, "strptime", bind(arguments[1]), _format(arguments[0], from_c, bind))
        return applied(node, op, value) if op is not None else value

    return build


def _to_date(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) not in (1, 2):
        raise wrong_number(node, "TO_DATE(x, 'DD.MM.YYYY')")
    value = bind(arguments[0])
    if len(arguments) == 2:
        value = applied(node, "strptime", value, _format(arguments[1], _either, bind))
    return applied(node, "cast_date", value)


def _try_strptime(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) != 2:
        raise wrong_number(node, "STRPTIME(x, '%d.%m.%Y')")
    return applied(node, "strptime", bind(arguments[0]), _format(arguments[1], from_c, bind))


FORMAT_CALLS: dict[str, Build] = {
    "FORMAT_DATE": _format_first,
    "FORMAT_TIMESTAMP": _format_first,
    "FORMAT_DATETIME": _format_first,
    "DATE_FORMAT": _format_last,
    "TO_VARCHAR": _to_varchar,
    "PARSE_DATE": _parse_first("cast_date"),
    "PARSE_TIMESTAMP": _parse_first(None),
    "PARSE_DATETIME": _parse_first(None),
    "TO_DATE": _to_date,
    "TRY_TO_DATE": _to_date,
    "TRY_STRPTIME": _try_strptime,
}
