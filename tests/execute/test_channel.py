"""Messages arrive whole, in time and within their size, or the channel counts as lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from sanql.execute import worker
from sanql.execute.channel import ChannelLost, receive, send, send_parts
from sanql.execute.lockdown import connect, lock
from sanql.execute.messages import Query


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


def test_a_message_sent_in_parts_arrives_as_one(pipe: tuple[int, int]) -> None:
    read, write = pipe
    send_parts(write, [b"T", bytearray(b"ab"), b"", b"c"], soon())
    assert receive(read, 100, soon()) == b"Tabc"
    with pytest.raises(ChannelLost):
        send_parts(write, [b"ab", b"cd"], soon())
        receive(read, 3, soon())


def test_a_result_is_cut_off_in_the_worker_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "RESULT_BYTES_MAX", 1 << 20)
    connection = connect()
    lock(connection, files_confined=False)
    parts = worker._answer(connection, Query("SELECT range FROM range(1000)", ()))
    assert sum(map(len, parts)) > 8000
    with pytest.raises(MemoryError):
        worker._answer(connection, Query("SELECT range FROM range(1000000)", ()))
