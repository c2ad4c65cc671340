"""Statement → exact cells: the places where the DuckDB kernel can run."""

from sanql.engines.failures import unavailable
from sanql.engines.leases import Lease
from sanql.engines.open import open_engine
from sanql.engines.pool import Pool
from sanql.engines.preparation import (
    Progress,
    describe,
    first_fingerprint,
    is_prepared,
    prepare,
)
from sanql.engines.protocol import Engine, ResultCollector, Server
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
    "first_fingerprint",
    "is_prepared",
    "open_engine",
    "prepare",
    "unavailable",
]
