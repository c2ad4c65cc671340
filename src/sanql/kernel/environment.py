"""What a process that touches rows is told when it is started."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from sanql.kernel.affinity import PROCESSORS, processors_at_first


def worker_environment() -> dict[str, str]:
    """Return all a worker needs to know: where its modules are. No secret of the parent's."""
    specs = (importlib.util.find_spec(name) for name in ("sanql", "duckdb", "pyarrow"))
    roots = (
        str(Path(place).parent)
        for spec in specs
        if spec
        for place in spec.submodule_search_locations or ()
    )
    return {
        # Arrow's own allocator would claim a gigabyte at once, which counts against the limit.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        # DuckDB's would keep the address space of what it has freed, which counts against it too: a
        # question that spills as it should would be refused memory that nobody holds.
        "DUCKDB_JE_MALLOC_CONF": "retain:false",
        # And so would the system's, of whatever is no larger than something that was freed before.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 19),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 22),
        # A server stays on one processor; who touches rows has all that the server was given.
        PROCESSORS: processors_at_first(),
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(roots)),
    }
