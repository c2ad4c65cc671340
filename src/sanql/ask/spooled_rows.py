"""Rows of public tables on their way out: kept on disk, so that any number of them needs little memory.

The engine is free again as soon as it has written them, however slowly they are read. They are free of
charge, so that there is a limit to how much room they take: for one question, and for all together.
"""

from __future__ import annotations

import errno
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Literal

from sanql.answer import MeasuredContent, check_plain
from sanql.ask.answer import public_answer
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.time_steps import time_in_steps
from sanql.compile import compile_public_query
from sanql.engines import Lease
from sanql.errors import Refused, Unavailable
from sanql.interrupts import cancelled, is_cancelled, stoppable
from sanql.kernel import Statement
from sanql.question import PublicQuery
from sanql.results import Answer

if TYPE_CHECKING:
    import pyarrow

_ROWS_AT_ONCE = 5_000
ANSWER_BYTES_MAX = 1 << 30
ALL_BYTES_MAX = 4 << 30


class SpoolFile:
    """A file without a name for the rows of one answer, which counts against the room for all."""

    _mutex = threading.RLock()  # what nobody reads any more may be collected anywhere
    _all = 0

    def __init__(self) -> None:
        self.rows: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (`close` closes it)
        self._size = 0
        self.full: Literal["", "answer", "all"] = ""

    def begin(self) -> None:
        """Forget what was written."""
        self.rows.seek(0)
        self.rows.truncate()
        self._grow(-self._size)

    def count(self, size: int) -> None:
        """Take note that more is written; OSError where there is no room for it."""
        with SpoolFile._mutex:
            if self._size + size > ANSWER_BYTES_MAX:
                self.full = "answer"
            elif SpoolFile._all + size > ALL_BYTES_MAX:
                self.full = "all"
            if self.full:
                raise OSError(errno.EFBIG, "no room for these rows")
            self._grow(size)

    def close(self) -> None:
        """Let go of the rows, and of their room."""
        self.rows.close()
        self._grow(-self._size)

    def __del__(self) -> None:
        if hasattr(self, "rows"):  # which may not have been made
            self.close()

    def _grow(self, size: int) -> None:
        with SpoolFile._mutex:
            self._size += size
            SpoolFile._all += size


@dataclass(frozen=True)
class SpooledAnswer:
    """An answer without its rows, and the rows, some at a time; close it when they were read."""

    answer: Answer
    file: SpoolFile

    def parts(self) -> Iterator[Answer]:
        """Yield the answer again and again, each time with the next rows; at least once."""
        import pyarrow

        self.file.rows.seek(0)
        with pyarrow.ipc.open_stream(self.file.rows) as reader:
            for batch in reader:
                rows = pyarrow.Table.from_batches([batch])
                named = rows.rename_columns(self.answer.columns)
                yield replace(self.answer, content=MeasuredContent(named, {}))

    def close(self) -> None:
        """Let go of the rows."""
        self.file.close()


def spool_publicly(session: Session, request: Request, query: PublicQuery) -> SpooledAnswer:
    """Return rows of public tables as they are, kept on disk; nothing is charged."""
    check_plain(request.display)
    opened = session.data.open()
    sent = compile_public_query(query, opened.source, session.tables)
    file = SpoolFile()  # whoever reads it closes it
    try:
        with (
            time_in_steps(),  # it may wait for others
            opened.workers.lease() as lease,
            stoppable("the engine reads public rows", lease.stop),
        ):
            schema = _streamed(lease, sent, file)
        session.data.check(opened)
        names = [field.name for field in query.shown]
        empty = schema.empty_table().rename_columns(names)
        version = opened.version.number
        return SpooledAnswer(public_answer(session, request, query, empty, version), file)
    except BaseException:
        file.close()
        raise


def _streamed(lease: Lease, sent: Statement, file: SpoolFile) -> pyarrow.Schema:
    """Return the schema of rows that were written to a file; nothing is charged where that fails."""
    try:
        return lease.stream(sent, lambda: _Spool(file))
    except Unavailable:
        if is_cancelled():
            raise cancelled(charged=False) from None
        if file.full == "answer":
            raise Refused(
                "public_rows_too_many",
                f"the answer has more than {ANSWER_BYTES_MAX >> 20:,} MiB of rows",
                "add a condition or a LIMIT",
            ) from None
        raise Unavailable(
            "public_rows_unavailable",
            "the engine could not read these rows in time, or there is no room for them at present;"
            " nothing was charged",
            "ask for fewer rows, or again in a while",
        ) from None


class _Spool:
    """A collector that writes rows to a file as they come."""

    def __init__(self, file: SpoolFile) -> None:
        file.begin()
        self._file = file
        self._writer: pyarrow.RecordBatchStreamWriter | None = None
        self._schema: pyarrow.Schema | None = None

    def take(self, rows: pyarrow.Table) -> None:
        import pyarrow

        if self._writer is None:
            self._schema = rows.schema
            self._writer = pyarrow.ipc.new_stream(self._file.rows, rows.schema)
        self._file.count(rows.nbytes)
        self._writer.write_table(rows, max_chunksize=_ROWS_AT_ONCE)

    def finish(self) -> pyarrow.Schema:
        assert self._writer is not None  # noqa: S101  (a result has at least its schema)
        self._writer.close()
        self._file.rows.flush()
        return self._schema
