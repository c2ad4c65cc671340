"""A layout open in a cluster, as a server of a pool: each statement about somebody is one job.

A job has two stages. Tasks of the first compute what the units of their buckets add; the one task of the
second has all parts, and runs the rest of the statement over them. What comes back are the exact cells,
which the noise stage takes one piece after another, as it takes those of a worker of this machine. No
row of anybody, and no part of a bucket, is ever in this process. What reads only public tables is
computed by a process of this machine that sees nothing else, and sent to the tasks finished.

Spark repeats tasks whose executor is lost, and may run one twice: a part depends on the statement, its
secret and its bucket, so all runs of it give the same, and one of them is taken.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from sanql.engines.spark.session import is_stopped, session_on, slots
from sanql.entropy import OsEntropy
from sanql.kernel import ChannelClosed, ChannelLost, Serve, Statement, stamp
from sanql.kernel.buckets import (
    FRAME,
    PARTS,
    AddTask,
    Assignment,
    BucketLayout,
    BucketProcess,
    FinishPublic,
    Given,
    MergeTask,
    OpenBuckets,
    PartTask,
    own_versions,
    read_layout,
)

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

_SECONDS_AT_MOST = 86_400.0
_BUCKETS_PER_TASK = (
    16  # at most, so that what one machine loses is little; each task costs 0.2 s besides
)
_BUCKETS_MERGED_AT_ONCE = 64  # parts of more are added up in two steps, and groups may be many
_PLACE_BYTES = 4


class SparkServer:
    """A layout, and the right to run one job at a time."""

    def __init__(self, serve: Serve, master: str) -> None:
        self._serve = serve
        self._master = master
        self._folder = serve.database.parent
        self._session: SparkSession | None = None
        self._layout: BucketLayout | None = None
        self._public: BucketProcess | None = None
        self._tag = f"sanql-{OsEntropy().bytes(16).hex()}"
        self._killed = threading.Event()

    @property
    def pid(self) -> int:
        """The id of this process: those that compute are elsewhere."""
        return os.getpid()

    def alive(self) -> bool:
        """Return whether nobody has ended it, and its session goes on."""
        return not self._killed.is_set() and (
            self._session is None or not is_stopped(self._session)
        )

    def await_ready(self, deadline: float = math.inf) -> None:
        """Return once there is a session, and the layout is the one that was opened."""
        self._check_layout()
        if self._session is None:
            self._session = session_on(self._master, deadline)
        if not self.alive():
            raise ChannelLost

    def confirm(self) -> None:
        """Return once the layout has been looked at again."""
        self.await_ready()

    def run(
        self,
        statement: Statement,
        deadline: float,
        take: Callable[[pyarrow.Table], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Give the result to `take` as it comes; `meanwhile` is done here while the cluster is busy."""
        self.await_ready(deadline)
        if statement.partial is None:
            if meanwhile is not None:
                meanwhile()
            for frame in self._public_process().ask(statement, deadline):
                take(_rows(frame))
            return
        question = self._question(statement, deadline)
        adds = bool(statement.partial.several) and not statement.greedy
        frames = self._job(question, deadline, meanwhile, adds=adds)
        for frame in frames:
            if time.monotonic() > deadline:
                raise ChannelLost
            take(_rows(frame))

    def ended_by_others(self) -> bool:
        """Return whether the session was ended from outside, and not by what was asked of it."""
        return not self._killed.is_set()

    def kill(self) -> None:
        """End the job that runs, and take no other."""
        self._killed.set()
        self._interrupt()
        if self._public is not None:
            self._public.kill()

    def discard(self) -> None:
        """Let go of the processes of this machine; the session is for others too."""
        self._killed.set()
        self._interrupt()
        public, self._public = self._public, None
        if public is not None:
            public.discard()

    def _check_layout(self) -> None:
        try:
            if stamp([self._serve.database]) == self._serve.stamp:
                if self._layout is None:
                    self._layout = read_layout(self._folder)
                return
        except Exception:  # noqa: S110  (whatever it is, the layout is not the one that was opened)
            pass
        raise ChannelLost

    def _question(self, statement: Statement, deadline: float) -> bytes:
        assert self._layout is not None  # noqa: S101  (it is ready)
        given = self._finished(statement, deadline)
        opened = OpenBuckets(self._folder, self._layout, self._serve.memory_bytes)
        seconds = min(max(0.0, deadline - time.monotonic()), _SECONDS_AT_MOST)
        return Assignment(opened, statement, given, own_versions(), seconds).packed()

    def _finished(self, statement: Statement, deadline: float) -> tuple[Given, ...]:
        """Return the public tables that a statement needs, computed once for all buckets."""
        if not statement.public:
            return ()
        found: list[list[bytes]] = [[] for _ in statement.public]
        request = FinishPublic(statement)
        for frame in self._public_process().ask(request, deadline):
            found[int.from_bytes(frame[:_PLACE_BYTES], "big")].append(frame[_PLACE_BYTES:])
        named = zip(statement.public, found, strict=True)
        return tuple(Given(table.name, tuple(frames)) for table, frames in named)

    def _public_process(self) -> BucketProcess:
        assert self._layout is not None  # noqa: S101  (it is ready)
        if self._public is None:
            public = self._layout.public_only()
            self._public = BucketProcess(
                OpenBuckets(self._folder, public, self._serve.memory_bytes)
            )
        return self._public

    def _job(
        self,
        question: bytes,
        deadline: float,
        meanwhile: Callable[[], object] | None,
        *,
        adds: bool,
    ) -> list[bytes]:
        """Return the frames of a result; what the cluster says of a failure ends here."""
        done = threading.Event()
        found: list[bytes] = []
        failed: list[bool] = []

        def compute() -> None:
            try:
                found.extend(self._collected(question, adds=adds))
            except BaseException:
                failed.append(True)
            finally:
                done.set()

        job = threading.Thread(target=compute, daemon=True)
        job.start()
        try:
            if meanwhile is not None:
                meanwhile()
            while not done.wait(0.2 if deadline == math.inf else _left(deadline)):
                if self._killed.is_set() or time.monotonic() > deadline:
                    raise ChannelLost
        finally:
            if not done.is_set():
                self._interrupt()
        if self._session is None or is_stopped(self._session):
            raise ChannelClosed  # the session was taken away: it can be begun anew
        if failed or self._killed.is_set() or time.monotonic() > deadline:
            raise ChannelLost
        return found

    def _collected(self, question: bytes, *, adds: bool) -> list[bytes]:
        """Return the frames of a result; parts of many buckets that may be added are, in two steps."""
        assert self._session is not None and self._layout is not None  # noqa: S101  (it is ready)
        session, buckets = self._session, self._layout.buckets
        session.addTag(self._tag)  # of this thread
        tasks = min(buckets, max(slots(session), -(-buckets // _BUCKETS_PER_TASK)))
        parts = session.range(0, buckets, 1, tasks).mapInArrow(PartTask(question), PARTS)
        if buckets > _BUCKETS_MERGED_AT_ONCE and adds:
            # where a part goes is said by its bucket: one that is computed again goes where it went
            some = math.isqrt(buckets)
            placed = parts.selectExpr("bucket", "frame", f"bucket % {some} AS place")
            together = placed.repartitionById(some, "place").select("frame")
            parts = together.mapInArrow(AddTask(question), FRAME)
        merged = parts.repartition(1).mapInArrow(MergeTask(question), FRAME)
        return [bytes(row[0]) for row in merged.collect()]

    def _interrupt(self) -> None:
        if self._session is not None:
            with suppress(Exception):
                self._session.interruptTag(self._tag)


def _left(deadline: float) -> float:
    return max(0.0, min(0.2, deadline - time.monotonic()))


def _rows(frame: bytes) -> pyarrow.Table:
    import pyarrow

    table = pyarrow.ipc.open_stream(pyarrow.py_buffer(frame)).read_all()
    table.validate(full=True)
    return table.combine_chunks()
