"""The one Spark session of this process: begun when it is first needed, and gone with the process.

Nothing that Spark writes down on the way says anything about anybody: tasks are given one opaque text,
give away opaque frames, and fail in constant words. Its log is switched off here all the same, and so is
its page, unless the owner's own configuration (SPARK_CONF_DIR) asks for one.
"""

from __future__ import annotations

import atexit
import math
import os
import re
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.engines.failures import not_ready
from sanql.errors import Unavailable
from sanql.kernel import ChannelLost, show_modules
from sanql.kernel.buckets import FRAME, Versions, VersionTask, kernel_modules, own_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START_SECONDS_MAX = 300.0
_LOOPBACK = "127.0.0.1"
_PREFIX = "sanql-kernel-"
_CONFIGURATION = {
    "spark.app.name": "sanql",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    # a frame has about a megabyte, and a task holds as many as come together
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    # a part is the same whoever computes it, so a slow one may be computed by another too
    "spark.speculation.multiplier": "4",
}
_HERE = {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
_DEFAULTS = {"spark.ui.enabled": "false"}

_lock = threading.Lock()
_begun: dict[str, SparkSession] = {}
_beginning: dict[str, Future[SparkSession]] = {}


def session_on(master: str, deadline: float = math.inf) -> SparkSession:
    """Return the session on a master, begun if there is none; Unavailable where it cannot be.

    One that is being begun goes on so after the deadline, for whoever asks next; ChannelLost says that
    there is none yet.
    """
    with _lock:
        session = _begun.get(master)
        if session is not None and not is_stopped(session):
            return session
        _begun.pop(master, None)
        if _begun:
            raise Unavailable(
                "engine_not_ready",
                f"this process has a session on {next(iter(_begun))}, and Spark knows one only",
                "nothing was charged: give both policies one master, or each a process of its own",
            )
        if master not in _beginning or _beginning[master].done():
            _beginning[master] = _begin(master)
        beginning = _beginning[master]
    try:
        return beginning.result(max(0.0, min(deadline - time.monotonic(), _START_SECONDS_MAX)))
    except Unavailable:
        raise
    except TimeoutError:
        pass
    except Exception:
        raise not_ready() from None
    raise ChannelLost


def _begin(master: str) -> Future[SparkSession]:
    """Begin a session, in a thread that nobody waits for at the end."""
    begun: Future[SparkSession] = Future()

    def begin() -> None:
        try:
            session = _start(master)
            _check_versions(session)
            _begun[master] = session
            begun.set_result(session)
        except BaseException as fault:
            begun.set_exception(fault)

    threading.Thread(target=begin, daemon=True).start()
    return begun


def is_stopped(session: SparkSession) -> bool:
    """Return whether a session has come to its end, by whatever way."""
    try:
        if _is_remote(session):
            return bool(session.client.is_closed)
        context = session.sparkContext._jsc
        return context is None or bool(context.sc().isStopped())
    except Exception:
        return True


def slots(session: SparkSession) -> int:
    """Return how many tasks the cluster may run at once, as far as it says."""
    try:
        return max(1, int(session.sparkContext.defaultParallelism))
    except Exception:  # a remote session keeps that to itself
        return 16


def _start(master: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    remote = master.startswith("sc://")
    if not remote and (master.startswith("local") or _is_loopback(master)):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    # nothing that San does with Spark goes through pandas, but Spark looks whether it is there
    show_modules()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    builder = builder.remote(master) if remote else builder.master(_retrying(master))
    for name, value in _configuration(remote=remote).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    _ship(session, kernel_archive())
    return session


def _retrying(master: str) -> str:
    """Return a master that gives a failed task another chance, as clusters do; `local` would not.

    >>> _retrying("local[2]"), _retrying("spark://here:7077")
    ('local[2,4]', 'spark://here:7077')
    """
    found = re.fullmatch(r"local(?:\[(.+)\])?", master)
    return master if found is None else f"local[{found[1] or 1},4]"


def _configuration(*, remote: bool) -> dict[str, str]:
    if remote:  # the rest was decided where the session runs
        return {k: value for k, value in _CONFIGURATION.items() if k.startswith("spark.sql.")}
    here = _HERE if "SPARK_LOCAL_IP" in os.environ else {}
    return _CONFIGURATION | here | ({} if "SPARK_CONF_DIR" in os.environ else _DEFAULTS)


def _is_loopback(master: str) -> bool:
    return f"//{_LOOPBACK}:" in master or "//localhost:" in master


def _is_remote(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _ship(session: SparkSession, archive: Path) -> None:
    if _is_remote(session):
        session.addArtifacts(str(archive), pyfile=True)
    else:
        session.sparkContext.addPyFile(str(archive))
    atexit.register(archive.unlink, missing_ok=True)  # it is fetched as long as executors come


def kernel_archive() -> Path:
    """Return a new archive of the kernel's modules, which is all of San that executors need."""
    import zipfile  # where there is no cluster, nobody waits for it

    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=".zip")
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("sanql/__init__.py", "")
        for module, content in kernel_modules().items():
            archive.writestr(f"sanql/kernel/{module}", content)
    return Path(name)


def _check_versions(session: SparkSession) -> None:
    """Raise Unavailable where executors have another kernel, or other libraries for it.

    Those that come later are looked at by the tasks themselves.
    """
    tasks = session.range(0, 4, 1, 4).mapInArrow(VersionTask(), FRAME)
    for row in tasks.collect():
        there = Versions(*bytes(row["frame"]).decode().split("\n"))
        differences = own_versions().differences(there)
        if differences:
            raise Unavailable(
                "engine_not_ready",
                f"executors have {', '.join(differences)}",
                "nothing was charged: install the same sanql[kernel] there and here (docs/spark.md)",
            )
