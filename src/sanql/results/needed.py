"""Libraries that only some forms of an answer need, imported when one of those is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sanql.errors import Refused

_EXTRAS = {
    "pyarrow": "local",
    "numpy": "local",
    "httpx": "client",
    "matplotlib": "plots",
}  # others are called as they are
_INSTEAD = {
    "pandas": "use to_arrow()",
    "polars": "use to_arrow()",
    "pyarrow": "use rows, to_csv() or to_dict()",
    "numpy": "use intervals",
    "matplotlib": "use to_vega_lite() or to_text_bars()",
    "httpx": "open a policy of your own with sanql.open(…)",
}


def need(library: str) -> Any:
    """Return a library, or refuse what needs it, with the extra that brings it."""
    try:
        return import_module(library)
    except ImportError:
        raise Refused(
            "extra_missing",
            f"{library} is not installed",
            f"install it (it is the extra sanql[{_EXTRAS.get(library, library)}]), or "
            f"{_INSTEAD[library]}",
        ) from None
