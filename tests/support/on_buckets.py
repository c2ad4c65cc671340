"""A layout asked by processes of this machine: what executors do, without a cluster."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from sanql.catalog import PreparedSource
from sanql.engines import open_layout, prepare, spread_layout
from sanql.kernel import Statement
from sanql.kernel.buckets import BucketProcess, Given, OpenBuckets, read_layout
from sanql.kernel.buckets.messages import AddParts, ComputePart, FinishPublic, MergeParts
from sanql.policy import Policy, SparkCluster
from sanql.sources import Stamps, locate

MEMORY_BYTES = 512 << 20


def on_spark(policy: Policy, folder: Path, master: str = "local[2]") -> Policy:
    """Return a policy with nothing changed but its engine."""
    cluster = SparkCluster(master, str(folder))
    return replace(policy, engine=replace(policy.engine, spark=cluster))


def spread(policy: Policy, buckets: int) -> PreparedSource:
    """Return the layout of a policy's data, written."""
    source = locate(policy)
    stamped = Stamps(policy.ledger).of(source)
    copy = prepare(policy, stamped=stamped, source=source, copied=True)
    spread_layout(policy, copy, stamped, buckets)
    return open_layout(policy, source, stamped)


class Buckets:
    """A layout as an engine: every bucket is open in one process, another merges."""

    def __init__(self, folder: Path) -> None:
        self._layout = read_layout(folder)
        opened = OpenBuckets(folder, self._layout, MEMORY_BYTES)
        public = replace(opened, layout=self._layout.public_only())
        self._parts, self._here = BucketProcess(opened), BucketProcess(public)

    def run(self, sent: Statement, *, two_steps: bool = False) -> pa.Table:
        """Return the result of a statement.

        In `two_steps` parts are first added up in two heaps, as a cluster does with many.
        """
        if sent.partial is None:
            return _table(self._here.ask(sent, math.inf))
        found: list[list[bytes]] = [[] for _ in sent.public]
        for frame in self._here.ask(FinishPublic(sent), math.inf):
            found[int.from_bytes(frame[:4], "big")].append(frame[4:])
        pairs = zip(sent.public, found, strict=True)
        given = tuple(Given(table.name, tuple(frames)) for table, frames in pairs)
        parts = [
            frame
            for bucket in range(self._layout.buckets)
            for frame in self._parts.ask(ComputePart(sent, bucket, given), math.inf)
        ]
        if two_steps and sent.partial.several and not sent.greedy:
            halves = parts[::2], parts[1::2]
            asked = (self._parts.ask(AddParts(sent), math.inf, half) for half in halves if half)
            parts = [frame for frames in asked for frame in frames]
        return _table(self._here.ask(MergeParts(sent, given), math.inf, parts))

    def close(self) -> None:
        """End the processes."""
        self._parts.discard()
        self._here.discard()


def _table(frames: object) -> pa.Table:
    pieces = [pa.ipc.open_stream(frame).read_all() for frame in frames]  # type: ignore[attr-defined]
    return pa.concat_tables(pieces).combine_chunks()
