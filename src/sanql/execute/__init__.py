"""Exact cells from DuckDB: sources made ready, and the locked-down processes that read them."""

from sanql.execute.pool import Workers
from sanql.execute.sources import Description, Source, describe, prepare

__all__ = ["Description", "Source", "Workers", "describe", "prepare"]
