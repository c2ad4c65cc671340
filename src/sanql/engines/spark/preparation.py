"""A layout written by the executors of a cluster, from files that all of its machines reach.

For each table is one job: files are read in shares, rows go to the buckets of their units, and whoever
has all rows of a bucket writes it. Where a reference leads to the unit, rows first meet the keys of the
table that it leads to, whose buckets are written by then; so a chain of references is followed one table
after another, and no table is ever in one place. This process sees names, sizes and hashes of files.

What is written is named by its bytes, in a folder named by all that shapes it (`engines/layouts.py`), so
whoever begins again finds what there is: executors look at it, byte by byte, and do not write it anew.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.catalog import bind
from sanql.engines.failures import not_ready
from sanql.engines.layouts import (
    PLACE,
    buckets_for,
    clear,
    current_layout,
    files_of_layout,
    layout_folder,
    publish,
    writing_to,
)
from sanql.engines.preparation import PREPARATION_VERSION, entry_name, schema_of
from sanql.engines.segments import segment_names
from sanql.engines.spark.session import is_stopped, session_on, slots
from sanql.engines.spark.written_tables import (
    SHARE_BYTES,
    Written,
    WrittenTable,
    bucketed,
    buckets_in,
    candidates,
    check_references,
    in_order,
    not_attached,
    refers,
    shares_of,
    tables_to_write,
)
from sanql.entropy import OsEntropy
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    ChannelLost,
    CopiedTable,
    CopyFiles,
)
from sanql.kernel.buckets import (
    FRAME,
    PLACED,
    SEVERAL,
    BucketFile,
    BucketLayout,
    Chores,
    FindUnits,
    FindUnitsTask,
    LookTask,
    ShareOut,
    ShareOutKeys,
    ShareOutTask,
    SharingTask,
    SourceShare,
    Towards,
    WriteShares,
    WriteTask,
    own_versions,
)
from sanql.sources import changing_files, locate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sanql.catalog import Description
    from sanql.engines.protocol import Engine
    from sanql.policy import Policy
    from sanql.sources import Source, Stamped, Stamps

_BUCKETS_PER_TASK = 16
_LOOKS_PER_TASK = 64
_SECONDS_BETWEEN = 0.5  # two looks at how far it is

Progress = Callable[[str], None]


def spread_on_cluster(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    stamps: Stamps,
    buckets: int | None = None,
    progress: Progress | None = None,
    known: Description | None = None,
    engine: Engine | None = None,
) -> BucketLayout:
    """Have executors write a layout of files, unless it is there; PolicyError where they cannot."""
    assert policy.engine.spark is not None  # noqa: S101  (asked where there is a cluster)
    folder = layout_folder(policy)
    schema = schema_of(policy, source, stamped, known, engine)
    bound = bind(policy, source.formats(policy), schema)
    request = source.copying(policy, bound, schema, folder, stamps.bucket_secret())
    assert isinstance(request, CopyFiles)  # noqa: S101  (asked of files)
    if buckets is None:
        buckets = buckets_for(sum(path.stat().st_size for path in source.paths()))
    public = {bound[name].name for name, table in policy.tables.items() if table.public}
    names = segment_names(request, stamped, PREPARATION_VERSION)
    with writing_to(folder):
        current = current_layout(folder)
        tables = tables_to_write(request, names, public, buckets)
        check_references(tables)
        cluster = _Cluster(policy, folder, request, policy.engine.spark.master)
        there = cluster.look_at(tables, current)
        written: dict[str, Written] = {}
        total = sum(table.total() for table in tables.values())
        told = _Told(progress, written, total)
        for name in in_order(tables):
            cluster.write(tables, name, written, there[name], told)
        made = BucketLayout(
            entry_name(policy, stamped.hashes),
            buckets,
            tuple(bucketed(table, written[name]) for name, table in tables.items()),
            tuple(sorted(n for n, table in tables.items() if refers(table.copied))),
            {table: stamped.hashes[table] for table in sorted(stamped.hashes)},
        )
        if stamps.of(locate(policy)) != stamped:
            clear(folder, current)  # what was read may be of neither: nobody is to find it
            raise changing_files()
        if made != current:
            publish(folder, made)
        clear(folder, made, current)
        return made


class _Told:
    """Who is told how far it is: files that are there, of all that there will be."""

    def __init__(
        self, progress: Progress | None, written: Mapping[str, Written], total: int
    ) -> None:
        self._progress, self._written, self._total = progress, written, total
        self._last = ""

    def tell(self, now: int) -> None:
        """Say how many files there are, `now` more than are known, unless that was said before."""
        done = sum(map(len, self._written.values())) + now
        words = f"preparing buckets: {done} of {self._total}"
        if self._progress is not None and words != self._last:
            self._last = words
            self._progress(words)


class _Cluster:
    """The executors, and the jobs that they are given."""

    def __init__(self, policy: Policy, folder: Path, request: CopyFiles, master: str) -> None:
        self._folder = folder
        self._memory_bytes = policy.engine.memory_bytes
        self._secret = request.bucket_secret
        try:
            self._session: SparkSession = session_on(master)
        except ChannelLost:
            raise not_ready() from None
        self._tag = f"sanql-{OsEntropy().bytes(16).hex()}"

    def look_at(
        self, tables: Mapping[str, WrittenTable], current: BucketLayout | None
    ) -> dict[str, Written]:
        """Return what is there already of each table, with all of its bytes as they were written."""
        known = {file.path: file.sha256 for file in files_of_layout(current)}
        places: dict[str, tuple[str, int, int]] = {}
        files = []
        for name, table in tables.items():
            for number, segment in enumerate(table.segments):
                for bucket, path, sha256 in candidates(self._folder, segment, known):
                    places[path] = name, bucket, number
                    files.append((path, sha256))
        there: dict[str, Written] = {name: {} for name in tables}
        if files:
            task = LookTask(str(self._folder), tuple(files))
            shares = -(-len(files) // _LOOKS_PER_TASK)
            looked = self._session.range(0, len(files), 1, shares).mapInArrow(task, FRAME)
            for path, size, sha256 in self._collected(looked, lambda: None):
                name, bucket, number = places[path]
                there[name][bucket, number] = BucketFile(path, int(size), str(sha256))
        return there

    def write(
        self,
        tables: Mapping[str, WrittenTable],
        name: str,
        written: dict[str, Written],
        there: Written,
        told: _Told,
    ) -> None:
        """Write what is missing of a table, whose reference leads to what is `written`."""
        table = tables[name]
        missing = table.missing(there)
        written[name] = there
        if not missing:
            told.tell(0)
            return
        wanted = None if len(missing) == table.buckets else frozenset(missing)
        towards = Towards(table.buckets, self._secret, wanted)
        segments = {number for numbers in missing.values() for number in numbers}
        rows = self._rows(table, segments, tables, written, towards)
        request = WriteShares(
            self._folder, table.types, table.unit, table.segments, missing, self._memory_bytes
        )
        files = self._collected(
            self._written(rows, table.buckets, request),
            lambda: told.tell(max(0, self._count(table) - len(there))),
        )
        for bucket, number, path, size, sha256 in files:
            there[bucket, number] = BucketFile(path, int(size), str(sha256))
        if table.missing(there):
            raise _ended()
        told.tell(0)

    def _rows(
        self,
        table: WrittenTable,
        segments: set[int],
        tables: Mapping[str, WrittenTable],
        written: Mapping[str, Written],
        towards: Towards,
    ) -> DataFrame:
        """Return the rows of a table on the way to their buckets."""
        own = self._chores(shares_of(table, segments), table, towards)
        if not refers(table.copied):
            return self._shared_out(own)
        assert table.copied.reference is not None and table.unit is not None  # noqa: S101  (it refers)
        parent = tables[table.copied.reference.table]
        keys_there = written[parent.copied.name].values()
        size = sum(path.stat().st_size for path in table.files.paths)
        size = max(size, sum(file.bytes for file in keys_there))
        places = min(max(1, -(-size // SHARE_BYTES)), 1 << 12)
        by_key = Towards(places, self._secret)
        keys = self._keys(parent, table.copied, written[parent.copied.name], by_key)
        unit_type = table.types[table.unit]
        memory = self._memory_bytes
        apart = FindUnits(table.copied, table.unit, unit_type, by_key, memory, keys_only=True)
        told = self._met(self._shared_out(keys), places, apart).select("frame")
        if SEVERAL in self._frames(told, lambda: None):
            raise PolicyError([not_attached(table.copied.name)])
        own = self._chores(shares_of(table, segments), table, by_key)
        found = FindUnits(table.copied, table.unit, unit_type, towards, memory)
        return self._met(self._shared_out([*keys, *own]), places, found)

    def _chores(
        self, parts: Sequence[tuple[SourceShare, ...]], table: WrittenTable, towards: Towards
    ) -> list[SharingTask]:
        return [ShareOut(each, table.copied, towards, self._memory_bytes) for each in parts]

    def _keys(
        self, parent: WrittenTable, child: CopiedTable, written: Written, towards: Towards
    ) -> list[SharingTask]:
        """Return the chores that give away keys and units of a table that is written."""
        assert child.reference is not None and parent.unit is not None  # noqa: S101  (it is referred to)
        wanted = child.reference.key.lower()
        key = next(column for column in parent.types if column.lower() == wanted)
        unit = next(c for c in parent.types if c.lower() == str(parent.unit).lower())
        files = [written[place] for place in sorted(written)]
        return [
            ShareOutKeys(
                self._folder,
                tuple(files[first : first + _BUCKETS_PER_TASK]),
                parent.types,
                key,
                unit,
                towards,
                self._memory_bytes,
            )
            for first in range(0, len(files), _BUCKETS_PER_TASK)
        ]

    def _shared_out(self, chores: list[SharingTask]) -> DataFrame:
        packed = Chores(tuple(chores), own_versions()).packed()
        numbers = self._session.range(0, len(chores), 1, max(1, len(chores)))
        return numbers.mapInArrow(ShareOutTask(packed), PLACED)

    def _met(self, rows: DataFrame, places: int, request: FindUnits) -> DataFrame:
        """Return rows with the units that keys lead to; both come with the places of keys."""
        packed = Chores((request,), own_versions()).packed()
        together = rows.repartitionById(places, "place").sortWithinPartitions("place", "kind")
        return together.mapInArrow(FindUnitsTask(packed), PLACED)

    def _written(self, rows: DataFrame, buckets: int, request: WriteShares) -> DataFrame:
        """Return what is told of the files of all buckets, those of no rows among them."""
        marks = self._session.range(0, buckets, 1, 1).selectExpr(
            "CAST(id AS INT) AS place", "0 AS kind", "X'' AS frame"
        )
        tasks = min(buckets, max(slots(self._session), -(-buckets // _BUCKETS_PER_TASK)))
        packed = Chores((request,), own_versions()).packed()
        task = f"CAST(CAST(place AS BIGINT) * {tasks} DIV {buckets} AS INT)"
        placed = rows.union(marks).selectExpr("place", "kind", "frame", f"{task} AS task")
        together = placed.repartitionById(tasks, "task").select("place", "kind", "frame")
        return together.sortWithinPartitions("place", "kind").mapInArrow(WriteTask(packed), FRAME)

    def _count(self, table: WrittenTable) -> int:
        """Return how many files of a table there are by now, as far as can be seen."""
        with suppress(OSError):
            folders = (self._folder / segment for segment in table.segments)
            return sum(len(buckets_in(each)) for each in folders if each.is_dir())
        return 0

    def _collected(self, told: DataFrame, meanwhile: Callable[[], object]) -> list[list[Any]]:
        return [json.loads(frame) for frame in self._frames(told, meanwhile)]

    def _frames(self, told: DataFrame, meanwhile: Callable[[], object]) -> list[bytes]:
        """Return what a job tells; what the cluster says of a failure ends here."""
        found: list[bytes] = []
        done, failed = threading.Event(), threading.Event()

        def compute() -> None:
            try:
                self._session.addTag(self._tag)  # of this thread
                found.extend(bytes(row[0]) for row in told.collect())
            except BaseException:
                failed.set()
            finally:
                done.set()

        threading.Thread(target=compute, daemon=True).start()
        try:
            while not done.wait(_SECONDS_BETWEEN):
                meanwhile()
        finally:
            if not done.is_set():
                with suppress(Exception):
                    self._session.interruptTag(self._tag)
        if failed.is_set() or is_stopped(self._session):
            raise _ended()
        return found


def _ended() -> PolicyError:
    return PolicyError(
        [
            Fault(
                PLACE,
                "executors could not write the layout to the end",
                "see that all machines reach the files of the source and the folder of the layout by the "
                "same paths, and that there is room; then run `sanql prepare` again: it goes on from "
                "there. `--here` prepares on this machine",
            )
        ]
    )
