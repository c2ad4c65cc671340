"""Statement → exact cells: the places where the DuckDB kernel can run."""

from sanql.engines.failures import unavailable
from sanql.engines.leases import Lease
from sanql.engines.open import engine_of, open_engine
from sanql.engines.pool import Pool
from sanql.engines.preparation import (
    Progress,
    describe,
    first_fingerprint,
    is_prepared,
    prepare,
)
from sanql.engines.protocol import Engine, ResultCollector, Server
from sanql.engines.spread import open_layout, spread_layout
from sanql.engines.trials import Trials

__all__ = [
    "Engine",
    "Lease",
    "Pool",
    "Progress",
    "ResultCollector",
    "Server",
    "Trials",
    "describe",
    "engine_of",
    "first_fingerprint",
    "is_prepared",
    "open_engine",
    "open_layout",
    "prepare",
    "spread_layout",
    "unavailable",
]
