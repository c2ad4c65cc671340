"""One connection under its limits, over a pair of sockets with little room between them."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from sanql.server import RequestLimits, ServerSettings
from sanql.server.http.connection import limited_protocol
from support.raw_http import raw_connection, raw_request
from support.serving import served

LIMITS = RequestLimits(body_seconds=0.2, idle_seconds=0.2)


async def long_answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer with more than fits on the way, and less than the library waits for."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"a" * 40_000})


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["Connection: close", "Connection: keep-alive"])
def test_whoever_does_not_read_the_last_answer_is_let_go(asked: str) -> None:
    async def unread() -> None:
        here, there = socket.socketpair()
        with here, there:
            here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
            config = Config(long_answer, http=limited_protocol(LIMITS), log_config=None)
            config.timeout_keep_alive = 0
            state = ServerState()
            made = config.load() or config.http_protocol_class  # type: ignore[func-returns-value]
            await asyncio.get_running_loop().create_connection(
                lambda: made(config=config, server_state=state, app_state={}),  # type: ignore
                sock=here,
            )
            there.sendall(raw_request("/", asked))
            while state.total_requests == 0:
                await asyncio.sleep(0.01)
            while state.connections:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(unread(), 60))


def test_who_sends_no_body_makes_room_for_who_comes(policy: Path) -> None:
    settings = ServerSettings(port=0, limits=RequestLimits(connections=8))
    with served([policy], settings) as town, ExitStack() as stack:
        late = [stack.enter_context(raw_connection(town.url)) for _ in range(8)]
        token = town.token("ana", "analyst")
        for each in late:
            lines = (f"Authorization: Bearer {token}", "Content-Type: application/json")
            each.send(raw_request("/v1/query", *lines, "Content-Length: 9", method="POST"))
        with town.client("bo") as bo:
            for _ in range(3):
                assert bo.get("/v1/budget").status_code == 200
