"""Bodies of requests, read strictly: exact decimals, no key twice, nothing that is not understood."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from sanql.account import Door
from sanql.ask import AskedText, BatchRequest, Request, read_batch, read_request
from sanql.errors import Refused, ServerError
from sanql.numbers import parse_epsilon
from sanql.options import OPTIONS
from sanql.parse import Parameters, QuestionText, Value

PASSED = frozenset(option.name for option in OPTIONS if option.flags)
"""The options that may be passed beside a question, by whichever door."""

_DIGITS_MAX = 400
_DEPTH_MAX = 8
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def read_body(body: bytes, media: str) -> dict[str, Any]:
    """Return the object that a body is; numbers with a point are exact decimals."""
    if media.partition(";")[0].strip().lower() != "application/json":
        raise ServerError(
            "body_form",
            f"the body is {media[:80]!r}, and not JSON",
            "send `Content-Type: application/json`",
        )
    try:
        shape = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_no_key_twice,
            parse_float=_decimal,
            parse_int=_whole,
            parse_constant=_no_constant,
        )
    except _Unreadable as fault:
        raise _invalid(str(fault)) from None
    except (ValueError, RecursionError):
        raise _invalid("is not JSON in UTF-8") from None
    if not isinstance(shape, dict):
        raise _invalid("is not an object")
    return shape


def take_text(body: dict[str, Any], name: str, *, needed: bool = False) -> str | None:
    """Take a text out of a body; refuse anything else."""
    value = body.pop(name, None)
    if value is None and needed:
        raise _invalid(f"has no {name!r}")
    if value is not None and not isinstance(value, str):
        raise _invalid(f"has a {name!r} that is not a text")
    return value


def take_numbers(body: dict[str, Any], name: str) -> tuple[int, ...]:
    """Take a list of whole numbers out of a body; refuse anything else."""
    values = body.pop(name, None)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(map(_is_whole, values)):
        raise _invalid(f"has {name!r} that are no list of whole numbers")
    return tuple(map(int, values))


def take_texts(body: dict[str, Any], name: str) -> tuple[str, ...]:
    """Take a list of texts out of a body; refuse anything else."""
    values = body.pop(name, None)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _invalid(f"has {name!r} that are no list of texts")
    return tuple(values)


def _is_whole(value: object) -> bool:
    """Return whether JSON calls a value a whole number: 3 and 3.0, and not true."""
    return type(value) is int or (isinstance(value, Decimal) and value == int(value))


def check_taken(body: Mapping[str, object], known: frozenset[str]) -> None:
    """Refuse a body with a name that nobody has taken."""
    for name in body:
        raise Refused(
            "option_unknown",
            f"{name[:60]!r} is no part of such a request",
            f"there are: {', '.join(sorted(known))}",
        )


def read_question_request(
    body: dict[str, Any], analyst: str, key: str | None, door: Door = "http"
) -> Request:
    """Return the request that a body describes, asked by whoever the credential says."""
    sql = take_text(body, "sql", needed=True)
    parameters = body.pop("parameters", None)
    options = {name: plain_option(body.pop(name)) for name in PASSED if name in body}
    check_taken(body, PASSED | {"sql", "dataset", "parameters"})
    asked = QuestionText(cast(str, sql), _parameters(parameters))
    return read_request(asked, analyst, options, door=door, idempotency_key=key)


def read_batch_request(body: dict[str, Any], analyst: str, key: str | None) -> BatchRequest:
    """Return the batch that a body describes, asked by whoever the credential says."""
    questions = body.pop("questions", None)
    options = {name: plain_option(body.pop(name)) for name in PASSED if name in body}
    check_taken(body, PASSED | {"questions", "dataset"})
    listed = questions if isinstance(questions, list) else []
    asked = [_asked_text(question) for question in listed]
    return read_batch(asked, analyst, options, door="http", idempotency_key=key)


def _asked_text(question: object) -> AskedText:
    """Return one question of a batch: a text, or an object with its text and its parameters."""
    match question:
        case str():
            return question
        case {"sql": str(sql), **more} if more.keys() <= {"parameters"}:
            return sql, _parameters(more.get("parameters"))
        case _:
            raise _invalid('has a question that is neither a text nor {"sql": …, "parameters": …}')


def plain_option(value: object, depth: int = 0) -> object:
    """Return an option as San's readers take it: a decimal as its digits."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list) or depth > _DEPTH_MAX:
        raise _invalid("has a list, or objects in objects, where an option is one value")
    if isinstance(value, dict):
        return {name: plain_option(part, depth + 1) for name, part in value.items()}
    return value


def take_epsilon(body: dict[str, Any]) -> Fraction:
    """Take the epsilon out of a body that must have one."""
    value = body.pop("epsilon", None)
    if value is None:
        raise _invalid("has no 'epsilon'")
    return parse_epsilon(typed_number(value))


def typed_number(value: object) -> Any:
    """Return a number as San's readers take it: what was typed, whatever it is."""
    plain = plain_option(value)
    return plain if isinstance(plain, str | int) else str(plain)


def _parameters(written: object) -> Parameters | None:
    match written:
        case None:
            return None
        case list():
            return [_value(value) for value in written]
        case dict():
            return {name: _value(value) for name, value in written.items()}
        case _:
            raise _invalid("has parameters that are neither a list nor an object")


def _value(written: object) -> Value:
    """Return the value of a parameter; an object says its type: {"date": "2024-01-31"}."""
    match written:
        case None | bool() | int() | str() | Decimal():
            return written
        case dict() if len(written) == 1 and (name := next(iter(written))) in _TYPED:
            text = written[name]
            try:
                return _TYPED[name](text if isinstance(text, str) else "")
            except ValueError:
                raise _invalid(f"has a parameter that is no {name}") from None
        case _:
            raise _invalid(
                "has a parameter that is neither a number, a text, true, false, null nor one of"
                ' {"date": …}, {"timestamp": …} and {"decimal": …}'
            )


class _Unreadable(Exception):
    """Something in a body that JSON allows and San does not."""


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise _Unreadable("has a name twice")
    return read


def _decimal(text: str) -> Decimal:
    """Return a number as JSON writes them, all of whose digits could be written down."""
    _, _, exponent = text.lower().partition("e")
    if len(text) > _DIGITS_MAX or len(exponent.lstrip("+-0")) > 3:
        raise _Unreadable("has a number that is too long")
    return Decimal(text)


def _typed_decimal(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number as JSON writes them")
    try:
        return _decimal(text)
    except _Unreadable as fault:
        raise _invalid(str(fault)) from None


def _whole(text: str) -> int:
    if len(text) > _DIGITS_MAX:
        raise _Unreadable("has a number that is too long")
    return int(text)


_TYPED: dict[str, Callable[[str], Value]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": _typed_decimal,
}


def _no_constant(text: str) -> object:
    raise _Unreadable(f"has {text}, which is no number")


def _invalid(what: str) -> ServerError:
    return ServerError(
        "body_invalid", f"the body of the request {what}", "see /openapi.json for its form"
    )
