"""A load on loopback that costs little itself: one connection an analyst, requests written by hand."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

OK = b"HTTP/1.1 200"


@dataclass(frozen=True)
class Load:
    """What came of some questions: how many a second, and how long each took."""

    questions: int
    seconds: float
    taken: tuple[float, ...]

    @property
    def per_second(self) -> float:
        return self.questions / self.seconds

    def quantile(self, share: float) -> float:
        return self.taken[min(len(self.taken) - 1, int(share * len(self.taken)))]


def run_load(port: int, tokens: Sequence[str], questions: Sequence[Sequence[str]]) -> Load:
    """Ask each analyst's questions one after another, all analysts at once."""
    return asyncio.run(_run(port, tokens, questions))


async def _run(port: int, tokens: Sequence[str], questions: Sequence[Sequence[str]]) -> Load:
    taken: list[float] = []
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in tokens]
    started = time.perf_counter()
    await asyncio.gather(
        *(
            _ask_all(reader, writer, token, own, taken)
            for (reader, writer), token, own in zip(opened, tokens, questions, strict=True)
        )
    )
    seconds = time.perf_counter() - started
    for _, writer in opened:
        writer.close()
    return Load(len(taken), seconds, tuple(sorted(taken)))


async def _ask_all(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    token: str,
    questions: Sequence[str],
    taken: list[float],
) -> None:
    for sql in questions:
        body = json.dumps({"sql": sql, "epsilon": "0.01"}).encode()
        began = time.perf_counter()
        writer.write(
            b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer "
            + token.encode()
            + b"\r\ncontent-type: application/json\r\ncontent-length: "
            + str(len(body)).encode()
            + b"\r\n\r\n"
            + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        said = await reader.readexactly(length)
        if not head.startswith(OK):
            raise RuntimeError(said.decode())
        taken.append(time.perf_counter() - began)
