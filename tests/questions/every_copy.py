"""One question over every kind of copy of the same rows, beside the database they are from.

    files      Parquet, several files of each table: a copy in segments, rows added up besides
    resumed    the same, made of a copy of other files, by a preparation that was killed and the next one
    encrypted  buckets, several of them, each encrypted
    spread     a cluster's layout of segments, from which a refresh has taken what it could

One secret decides what is drawn, so that all of them have the same cells to the bit.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from privacy.additivity import Violation, check_same
from questions.every_way import IN_PROCESS, adding_up_all
from sanql.catalog import PreparedSource
from sanql.engines import Pool, open_engine, prepare, prepare_encrypted
from sanql.engines.encrypted import copy as encrypted_copies
from sanql.engines.encrypted.engine import EncryptedEngine
from sanql.errors import PolicyError
from sanql.kernel import Statement
from sanql.kernel.buckets import WriteEncrypted
from sanql.kernel.buckets.encrypted_copy import EncryptedCopy
from sanql.kernel.lockdown import CATALOG, connect, quote_name
from sanql.plan.level import Level
from sanql.policy import Policy
from sanql.sources import Stamps, locate
from support.on_buckets import Buckets, on_spark, spread

PARTS = 3  # files of each table
SEVERAL = 6  # buckets, or some more
ROW_BYTES = 1_000  # that a row is taken to need of an encrypted copy's memory

Write = Callable[[PreparedSource], Statement | None]
"""How a level is written over a source; None where the source cannot be asked that."""


class EveryCopy:
    """The copies of a database's rows, each behind an engine."""

    def __init__(self, policy: Policy, folder: Path, rng: random.Random) -> None:
        """Make all that there can be; where a key leads to two rows, buckets cannot be."""
        self._closed = ExitStack()
        self.original = prepare(policy, engine=open_engine(IN_PROCESS))
        assert not self.original.buckets, "it is read where it is"
        self._first = self._pool(policy, self.original)
        database = policy.path.parent / policy.source
        self.copies: dict[str, tuple[PreparedSource, Callable[[Statement], pa.Table]]] = {}
        for name, make in (
            ("files", self._files),
            ("resumed", self._resumed),
            ("encrypted", self._encrypted),
            ("spread", self._spread),
        ):
            own = folder / name
            own.mkdir()
            moved = replace(policy, source=str(own / "data"), ledger=own / "own.ledger")
            write_parts(database, own / "data", policy)
            try:
                self.copies[name] = make(moved, rng)
            except PolicyError as refused:
                if name not in ("encrypted", "spread") or "has a key twice" not in str(refused):
                    raise

    def close(self) -> None:
        """Close everything."""
        self._closed.close()

    def compare(self, level: Level, write: Write) -> int:
        """Raise a Violation where a copy has other cells; return how many were compared."""
        sent = write(self.original)
        assert sent is not None
        first, compared = self._first(sent), 0
        for name, (source, run) in self.copies.items():
            sent = write(source)
            if sent is None:
                continue
            try:
                check_same(level, first, run(sent))
            except Violation as violation:
                raise Violation(f"{name}: {violation}") from None
            compared += 1
        return compared

    def _pool(self, policy: Policy, source: PreparedSource) -> Callable[[Statement], pa.Table]:
        pool = Pool(source, policy.engine, open_engine(IN_PROCESS))
        return self._closed.enter_context(pool).run

    def _files(self, policy: Policy, _: random.Random) -> object:
        source = prepare(adding_up_all(policy), engine=open_engine(IN_PROCESS))
        assert all(len(names) == PARTS for names in source.segments.values())
        return source, self._pool(policy, source)

    def _resumed(self, policy: Policy, rng: random.Random) -> object:
        """Return a copy of which a third is new, made after a preparation of it was killed."""
        wanted = adding_up_all(policy)
        with other_files(policy):
            before = prepare(wanted, engine=open_engine(IN_PROCESS))
        killed_preparation(wanted, rng)
        source = prepare(wanted, engine=open_engine(IN_PROCESS))
        assert any({*source.segments[t]} & {*before.segments[t]} for t in source.segments)
        return source, self._pool(policy, source)

    def _encrypted(self, policy: Policy, rng: random.Random) -> object:
        key = policy.ledger.with_name("key")
        key.write_text("bXkgc2VjcmV0LCBub3QgdG8gYmUgZm91bmQgYW55d2hlcmU=\n")
        key.chmod(0o600)
        policy = replace(policy, engine=replace(policy.engine, encryption_key_file=str(key)))
        located, stamps = locate(policy), Stamps(policy.ledger)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(encrypted_copies, "BucketProcess", WrittenHere)
            source = prepare_encrypted(policy, located, stamps.of(located), stamps)
        engine = EncryptedEngine(key, open_engine(IN_PROCESS))
        return source, self._closed.enter_context(Pool(source, policy.engine, engine)).run

    def _spread(self, policy: Policy, _: random.Random) -> object:
        policy = on_spark(policy, policy.ledger.with_name("layout"))
        with other_files(policy):
            spread(policy, SEVERAL)
        source = spread(policy, SEVERAL)
        buckets = Buckets(source.database.parent)
        self._closed.callback(buckets.close)
        return source, buckets.run


class WrittenHere:
    """What writes encrypted buckets, in this process, and with memory for a few rows of each."""

    def __init__(self, request: WriteEncrypted) -> None:
        rows = 0
        with duckdb.connect() as counting:
            for files in request.files:
                paths = [str(path) for path in files.paths]
                ((count,),) = counting.execute(
                    "SELECT count(*) FROM read_parquet(?)", [paths]
                ).fetchall()
                rows += count
        self._request = replace(request, memory_bytes=1 + rows * ROW_BYTES // SEVERAL)

    def told(self) -> Iterator[bytes]:
        """Yield what is told of each file."""
        with closing(connect()) as connection:
            connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
            for told in EncryptedCopy(connection, self._request).told():
                yield json.dumps(told).encode()

    def discard(self) -> None:
        """Nothing is left."""


def write_parts(database: Path, folder: Path, policy: Policy) -> None:
    """Write the tables of a database as several Parquet files each."""
    with duckdb.connect(str(database), read_only=True) as stored:
        for table in policy.tables:
            (folder / table).mkdir(parents=True)
            for part in range(PARTS):
                rows = f"SELECT * FROM {quote_name(table)} WHERE rowid % {PARTS} = {part}"
                stored.execute(f"COPY ({rows}) TO '{folder}/{table}/part{part}.parquet'")


@contextmanager
def other_files(policy: Policy) -> Iterator[None]:
    """Have another file in the place of one of each table, for a while: one that lacks half its rows."""
    folder = Path(policy.source)
    kept = folder.with_name("kept")
    with duckdb.connect() as halving:
        for table in folder.iterdir():
            whole = kept / table.name / "part1.parquet"
            whole.parent.mkdir(parents=True)
            (table / whole.name).rename(whole)
            rows = f"FROM read_parquet('{whole}', file_row_number = true) WHERE file_row_number % 2 = 0"
            half = f"SELECT * EXCLUDE (file_row_number) {rows}"
            halving.execute(f"COPY ({half}) TO '{table}/{whole.name}'")
    yield
    for path in kept.rglob("part1.parquet"):
        path.replace(folder / path.relative_to(kept))


def killed_preparation(policy: Policy, rng: random.Random) -> None:
    """Have a preparation killed, at any of its steps, or of their lines."""
    command = [sys.executable, "-c", KILLED, str(policy.path), policy.source, str(policy.ledger)]
    command.append(str(rng.randint(1, 400)))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(command, check=False, capture_output=True, env=environment)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr


KILLED = """
import os, sys
from dataclasses import replace
from pathlib import Path
from questions.every_way import adding_up_all
from sanql.engines import open_engine, prepare
from sanql.kernel import clustering, copy_files, steps, summed_tables
from sanql.policy import load

path, source, ledger, last = sys.argv[1:]
files = {module.__file__ for module in (clustering, copy_files, steps, summed_tables)}
left = int(last)
def trace(frame, event, _):
    global left
    if frame.f_code.co_filename not in files:
        return None
    left -= event == "line"
    if left == 0:
        os.kill(os.getpid(), 9)
    return trace
policy = replace(load(Path(path)), source=source, ledger=Path(ledger))
sys.settrace(trace)
prepare(adding_up_all(policy), engine=open_engine("in_process"))
"""
