"""Options and parameters as they are sent: JSON that the server reads as what was typed here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sanql.errors import Refused
from sanql.numbers import decimal_text
from sanql.options import (
    Accuracy,
    no_constant,
    no_decimal,
    own_scalar,
    parameters_invalid,
    read_options,
)


def sent_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Return options as they are sent; what the server would refuse of them is refused here already."""
    read_options({}, options)
    return {name: _option(value, name) for name, value in options.items() if value is not None}


def sent_parameters(parameters: object) -> Any:
    """Return values of parameters as they are sent, each with its type where JSON has none."""
    if isinstance(parameters, Mapping):
        if not all(isinstance(name, str) for name in parameters):
            raise parameters_invalid(parameters)
        return {name: _value(value, f"${name[:60]}") for name, value in parameters.items()}
    if isinstance(parameters, list | tuple):
        return [_value(value, f"? number {place}") for place, value in enumerate(parameters, 1)]
    if parameters is None:
        return None
    raise parameters_invalid(parameters)


def _option(value: object, name: str) -> object:
    value = own_scalar(value)
    match value:
        case Accuracy(half_width, confidence, rows):
            wish = {"half_width": half_width, "confidence": confidence, "rows": rows}
            return {key: _option(part, name) for key, part in wish.items() if part is not None}
        case Mapping():
            return {str(key): _option(part, name) for key, part in value.items()}
        case Fraction():
            return _decimal_of(value, name)
        case Decimal():
            return str(value)
        case _:
            return value


def _decimal_of(value: Fraction, name: str) -> str:
    text = decimal_text(value)
    if text is None:
        raise Refused(
            "option_not_decimal",
            f"{name} is a fraction that no decimal number equals, and servers read decimals",
            "pass a decimal number, rounded down",
        )
    return text


def _value(value: object, name: str) -> object:
    """Return one value; a float is sent as the digits that Python shows of it."""
    value = own_scalar(value)
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if isinstance(value, float) and kind is float:
        return value if math.isfinite(value) else {"decimal": repr(value)}
    if isinstance(value, Decimal) and kind is Decimal:
        return {"decimal": str(value)}
    if isinstance(value, datetime) and kind is datetime:
        return {"timestamp": value.isoformat()}
    if isinstance(value, date) and kind is date:
        return {"date": value.isoformat()}
    text = decimal_text(value) if isinstance(value, Fraction) else None
    if text is not None:
        return {"decimal": text}
    raise no_decimal(name) if isinstance(value, Fraction) else no_constant(name, value)
