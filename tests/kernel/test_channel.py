"""Messages arrive whole, in time and within their size, or the channel counts as lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from sanql.kernel import worker
from sanql.kernel.channel import ChannelLost, receive, send
from sanql.kernel.cursors import QuestionCursors
from sanql.kernel.lockdown import connect, lock
from sanql.kernel.messages import Statement
from sanql.kernel.run import PIECE_BYTES


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    yield read, write
    for end in (read, write):
        try:
            os.close(end)
        except OSError:
            continue


def soon() -> float:
    return time.monotonic() + 5


def test_messages_of_any_size_arrive_in_order(pipe: tuple[int, int]) -> None:
    read, write = pipe
    messages = [b"", b"x", bytes(range(256)) * 40_000, b"last"]
    writer = threading.Thread(target=lambda: [send(write, each, soon()) for each in messages])
    writer.start()
    assert [bytes(receive(read, 1 << 30, soon())) for _ in messages] == messages
    writer.join()


def test_a_message_that_announces_too_much_is_not_read(pipe: tuple[int, int]) -> None:
    read, write = pipe
    send(write, b"12345", soon())
    with pytest.raises(ChannelLost):
        receive(read, 4, soon())


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\0\0\0\0\x05abc"])
def test_a_message_cut_short_by_silence_or_by_the_end_is_lost(
    sent: bytes, pipe: tuple[int, int]
) -> None:
    read, write = pipe
    os.write(write, sent)
    started = time.monotonic()
    with pytest.raises(ChannelLost):
        receive(read, 100, started + 0.1)
    assert 0.09 < time.monotonic() - started < 2
    os.close(write)
    with pytest.raises(ChannelLost):
        receive(read, 100, soon())


def test_a_reader_that_does_not_read_is_not_waited_for(pipe: tuple[int, int]) -> None:
    read, write = pipe
    with pytest.raises(ChannelLost):
        send(write, bytes(10_000_000), time.monotonic() + 0.1)
    os.close(read)
    with pytest.raises(ChannelLost):
        send(write, b"x", soon())


def frames(sql: str) -> list[pa.Table]:
    """Return what a worker would send of a result, piece by piece."""
    connection = connect()
    lock(connection, files_confined=False)
    found = worker._answer(QuestionCursors(connection), Statement(sql))
    return [pa.ipc.open_stream(frame).read_all() for frame in found]


@pytest.mark.parametrize(
    ("what", "rows"),
    [("range", 300_000), ("repeat('x', 5000)", 2_000), ("range(range % 300)", 20_000)],
)
def test_a_result_is_sent_in_pieces_of_a_bounded_size(what: str, rows: int) -> None:
    """Long rows too: a piece is about a megabyte, whatever the engine calls a batch."""
    sent = frames(f"SELECT range AS n, {what} AS wide FROM range({rows})")
    assert len(sent) > 2
    assert max(piece.nbytes for piece in sent) < 2 * PIECE_BYTES
    assert sorted(n for piece in sent for n in piece.column("n").to_pylist()) == list(range(rows))


def test_a_row_longer_than_a_piece_is_sent_whole() -> None:
    sent = frames("SELECT repeat('x', 3000000 + range::INTEGER) AS wide FROM range(5)")
    lengths = [len(text) for piece in sent for text in piece.column("wide").to_pylist()]
    assert sorted(lengths) == [3_000_000 + n for n in range(5)]
    assert [piece.num_rows for piece in sent] == [1] * 5


def test_no_rows_are_one_piece_that_has_the_names() -> None:
    (only,) = frames("SELECT 1 AS n WHERE false")
    assert (only.num_rows, only.column_names) == (0, ["n"])
