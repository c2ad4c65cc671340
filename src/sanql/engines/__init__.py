"""Statement → exact cells: the places where the DuckDB kernel can run."""

from sanql.engines.encrypted.copy import check_no_snapshot, prepare_encrypted
from sanql.engines.encrypted.key import key_file
from sanql.engines.failures import unavailable
from sanql.engines.layouts import open_layout
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
from sanql.engines.spark.preparation import spread_on_cluster
from sanql.engines.spread import spread_layout
from sanql.engines.trials import Trials

__all__ = [
    "Engine",
    "Lease",
    "Pool",
    "Progress",
    "ResultCollector",
    "Server",
    "Trials",
    "check_no_snapshot",
    "describe",
    "engine_of",
    "first_fingerprint",
    "is_prepared",
    "key_file",
    "open_engine",
    "open_layout",
    "prepare",
    "prepare_encrypted",
    "spread_layout",
    "spread_on_cluster",
    "unavailable",
]
