"""Exact cells from DuckDB: sources made ready, and the locked-down processes that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanql.execute.data import Data, Opened
    from sanql.execute.pool import Workers
    from sanql.execute.sources import Description, Source, describe, prepare

__all__ = ["Data", "Description", "Opened", "Source", "Workers", "describe", "prepare"]


def __getattr__(name: str) -> object:
    """Import late: a worker is a part of this package, and starts without what watches it."""
    if name in __all__:
        from sanql.execute import data

        return getattr(data, name)
    raise AttributeError(f"module 'sanql.execute' has no attribute {name!r}")
