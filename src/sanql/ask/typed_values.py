"""Options and parameters as they were typed, as plain JSON values that read back as the same.

What JSON does not have (decimals, fractions, dates) is an object with one name that says its type, and so
are values by name. A value of any other type is kept by its type's name alone, and does not read back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

_BY_NAME: Final = "by_name"
_READ: Mapping[str, Callable[[str], object]] = {
    "decimal": Decimal,
    "fraction": Fraction,
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
}


class NotReadable(ValueError):
    """A value that was typed is of a type that is not kept."""


def to_plain(value: object) -> object:
    """Return a value that was typed as plain JSON.

    >>> to_plain({"half_width": Decimal("2.5")})
    {'by_name': {'half_width': {'decimal': '2.5'}}}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return float(value)
        case Decimal():
            return {"decimal": str(value)}
        case Fraction():
            return {"fraction": str(value)}
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case Mapping():
            return {_BY_NAME: {str(name): to_plain(each) for name, each in value.items()}}
        case list() | tuple():
            return [*map(to_plain, value)]
        case _:
            return _of_a_library(value)


def from_plain(plain: object) -> Any:
    """Return the value that was typed; NotReadable where it was not kept.

    >>> from_plain(to_plain([1, {"since": date(2020, 2, 29)}]))
    [1, {'since': datetime.date(2020, 2, 29)}]
    """
    match plain:
        case {"by_name": dict(named)}:
            return {name: from_plain(each) for name, each in named.items()}
        case dict():
            ((name, text),) = plain.items()
            if name in _READ:
                return _READ[name](str(text))
            raise NotReadable(text)
        case list():
            return [*map(from_plain, plain)]
        case _:
            return plain


def _of_a_library(value: object) -> object:
    """Return a scalar of numpy as what it is in Python, and the name of anything else's type."""
    kind: Any = type(value)
    scalar: Any = value
    if kind.__module__.partition(".")[0] == "numpy" and not getattr(value, "shape", None):
        own = scalar.item()
        if type(own) in (bool, int, float, str):
            return to_plain(own)
    return {"other": kind.__name__}
