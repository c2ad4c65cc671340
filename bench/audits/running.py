"""Audits of a server in the process that plants the fault; several processes at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench.audits.faults import planted
from sanql.audit import Doors, SystemAudit, audit_system
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.open import ENGINE_KINDS, WORKERS
from sanql.server import ServerSettings, json_log, serving

AT_ONCE = 6


def audits_at_once(fault: str, sizes: list[int]) -> Iterator[SystemAudit]:
    """Yield audits as they end, several at a time: most of an audit is waiting for steps of time."""
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
        yield from pool.map(partial(audited, fault), sizes)


def audited(fault: str, people: int) -> SystemAudit:
    """Return an audit of a system with a fault; "" for none."""
    ENGINE_KINDS[WORKERS] = InProcessEngine  # what is audited is the same, and starts at once
    with planted(fault):
        return audit_system(_served, accounting="pure", people=people)


@contextmanager
def _served(policy: Path) -> Iterator[Doors]:
    settings = ServerSettings(port=0, wire=("127.0.0.1", 0))
    with serving([policy], settings, log=json_log(io.StringIO())) as server:
        yield Doors(server.url, server.wire)
