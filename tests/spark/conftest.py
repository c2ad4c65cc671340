"""Spark on this machine: two executors in processes of their own, over layouts of the fixtures."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from questions.asking import Shape, open_shape
from sanql.catalog import PreparedSource
from sanql.engines import Pool, engine_of
from support.on_buckets import on_spark, spread

MASTER = os.environ.get("SANQL_SPARK_MASTER", "local-cluster[2,1,1024]")
BUCKETS = 6
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs Spark where there is none, and say so."""
    missing = _missing()
    for item in items:
        if missing and _HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=missing))


def _missing() -> str:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "SPARK IS NOT INSTALLED: `make spark` installs it"
    return (
        "" if shutil.which("java") else "THERE IS NO JAVA RUNTIME: install openjdk-17-jre-headless"
    )


@pytest.fixture(scope="session", autouse=True)
def events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have Spark write down all that it ever writes down; return where."""
    folder = tmp_path_factory.mktemp("spark")
    log = folder / "events"
    log.mkdir()
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{log}\n"
        "spark.eventLog.compress false\nspark.ui.enabled false\n"
    )
    os.environ["SPARK_CONF_DIR"] = str(folder)
    yield log
    del os.environ["SPARK_CONF_DIR"]


class OnSpark:
    """A shape of the question fixtures, and the same one on the cluster."""

    def __init__(self, shape: Shape, source: PreparedSource, pool: Pool) -> None:
        self.here, self.source, self.pool = shape, source, pool


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], OnSpark]]:
    """Return a function that gives a shape by name."""
    opened: dict[str, OnSpark] = {}

    def by_name(name: str) -> OnSpark:
        if name not in opened:
            shape = open_shape(name, tmp_path_factory.mktemp(name))
            shape.san.session.data.open()  # before there is a copy, where the file is
            policy = on_spark(shape.policy, tmp_path_factory.mktemp(f"{name}-layout"), MASTER)
            policy = replace(policy, engine=replace(policy.engine, deadline_seconds=600))
            source = spread(policy, BUCKETS)
            opened[name] = OnSpark(
                shape, source, Pool(source, policy.engine, engine_of(policy.engine))
            )
        return opened[name]

    yield by_name
    for each in opened.values():
        each.pool.close()
        each.here.close()


def executors() -> list[int]:
    """Return the process ids of the executors that this process's session has."""
    return [pid for pid in _below(os.getpid()) if b"CoarseGrainedExecutorBackend" in _command(pid)]


def kill_an_executor(number: int = 0) -> int:
    """Kill one, as soon as there is one; return its process id."""
    deadline = time.monotonic() + 60
    while not (found := executors()):
        assert time.monotonic() < deadline, "no executor came"
        time.sleep(0.1)
    pid = found[number % len(found)]
    os.kill(pid, signal.SIGKILL)
    return pid


def bucket_processes() -> list[int]:
    """Return the process ids of the kernels that executors have started."""
    return [pid for pid in _below(os.getpid()) if b"sanql.kernel.buckets.worker" in _command(pid)]


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(place.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
