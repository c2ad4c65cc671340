"""SanQL: a private statistical database.

>>> import sanql
>>> sanql.open  # doctest: +ELLIPSIS
<function open_policy at ...>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.errors import (
    AccessDenied,
    BudgetExceeded,
    LedgerError,
    PolicyError,
    Refused,
    SanqlError,
    ServerError,
    Unavailable,
)

if TYPE_CHECKING:
    from sanql.ask import Session
    from sanql.client import RemoteSan
    from sanql.client import connect_to_server as connect
    from sanql.options import Accuracy
    from sanql.results import Answer, Explanation
    from sanql.san import San
    from sanql.san import open_policy as open

__version__ = "0.1.0"
__all__ = [
    "AccessDenied",
    "Accuracy",
    "Answer",
    "BudgetExceeded",
    "Explanation",
    "LedgerError",
    "PolicyError",
    "Refused",
    "RemoteSan",
    "San",
    "SanqlError",
    "ServerError",
    "Session",
    "Unavailable",
    "__version__",
    "connect",
    "open",
]

_LATE = {
    "Accuracy": ("sanql.options", "Accuracy"),
    "Answer": ("sanql.results", "Answer"),
    "Explanation": ("sanql.results", "Explanation"),
    "RemoteSan": ("sanql.client", "RemoteSan"),
    "San": ("sanql.san", "San"),
    "Session": ("sanql.ask", "Session"),
    "load_ipython_extension": ("sanql.cli.notebook", "load_ipython_extension"),
    "connect": ("sanql.client", "connect_to_server"),
    "open": ("sanql.san", "open_policy"),
}


def __getattr__(name: str) -> object:
    """Import the heavy parts when they are first used: `sanql --help` needs none of them."""
    if name in _LATE:
        from importlib import import_module

        module, attribute = _LATE[name]
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                f"sanql.{name} needs {missing.name}, which is not installed: install the extra"
                " sanql[local], or ask a server with sanql.connect",
                name=missing.name,
            ) from None
    raise AttributeError(f"module 'sanql' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what the package offers, also what has not been imported yet."""
    return sorted(__all__)
