"""Rows of public tables on their way out: kept on disk, so that any number of them needs little memory.

The engine is free again as soon as it has written them, however slowly they are read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

from sanql.answer import MeasuredContent, check_plain
from sanql.ask.answer import public_answer
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.ask.time_steps import time_in_steps
from sanql.compile import compile_public_query
from sanql.question import PublicQuery
from sanql.results import Answer

if TYPE_CHECKING:
    import pyarrow

_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True)
class SpooledAnswer:
    """An answer without its rows, and the rows, some at a time; close it when they were read."""

    answer: Answer
    file: IO[bytes]

    def parts(self) -> Iterator[Answer]:
        """Yield the answer again and again, each time with the next rows; at least once."""
        import pyarrow

        self.file.seek(0)
        with pyarrow.ipc.open_stream(self.file) as reader:
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
    file = tempfile.TemporaryFile()  # noqa: SIM115  (whoever reads it closes it)
    try:
        with time_in_steps(), opened.workers.lease() as lease:  # it may wait for others
            schema = lease.stream(sent, lambda: _Spool(file))
        session.data.check(opened)
        names = [field.name for field in query.shown]
        empty = schema.empty_table().rename_columns(names)
        version = opened.version.number
        return SpooledAnswer(public_answer(session, request, query, empty, version), file)
    except BaseException:
        file.close()
        raise


class _Spool:
    """A collector that writes rows to a file as they come."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        self._file = file
        self._writer: pyarrow.RecordBatchStreamWriter | None = None
        self._schema: pyarrow.Schema | None = None

    def take(self, rows: pyarrow.Table) -> None:
        import pyarrow

        if self._writer is None:
            self._schema = rows.schema
            self._writer = pyarrow.ipc.new_stream(self._file, rows.schema)
        self._writer.write_table(rows, max_chunksize=_ROWS_AT_ONCE)

    def finish(self) -> pyarrow.Schema:
        assert self._writer is not None  # noqa: S101  (a result has at least its schema)
        self._writer.close()
        self._file.flush()
        return self._schema
