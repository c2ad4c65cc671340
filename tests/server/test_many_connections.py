"""Connections by the hundred that ask nothing: whoever asks is answered, also where files run out."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from sanql.account import People, open_store
from sanql.policy import load
from support.raw_http import RawConnection, raw_connection, raw_request
from support.serving import COUNT, ServedByProcess, serve_process

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _room() -> Iterator[None]:
    """This process has as many connections as the server, and may not have room for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2_000:
        pytest.skip("the system does not let so many connections be")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def token_of(policy: Path) -> str:
    people = People(open_store(load(policy)))
    _, token = people.add("ana", "analyst")
    people.close()
    return token


def answers(server: ServedByProcess, token: str, number: int) -> bool:
    headers = {"authorization": f"Bearer {token}"}
    body = {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.01}
    with httpx.Client(base_url=server.url, timeout=60, headers=headers) as ana:
        return ana.post("/v1/query", json=body).status_code == 200


def open_many(server: ServedByProcess, stack: ExitStack, count: int) -> list[RawConnection]:
    return [stack.enter_context(raw_connection(server.url)) for _ in range(count)]


def check_said(server: ServedByProcess) -> None:
    """Assert that nothing but the log, and what is being opened, was written, and no fault was met."""
    for line in server.said:
        assert "Traceback" not in line and '"event": "fault"' not in line, line


def test_a_thousand_connections_that_ask_nothing_are_held_and_others_answered(
    policy: Path,
) -> None:
    token = token_of(policy)
    with serve_process(policy) as server, ExitStack() as stack:
        idle = open_many(server, stack, 1_000)
        assert answers(server, token, 1)
        for each in idle[:5] + idle[-5:]:
            each.send(raw_request("/health"))
            reply = each.reply()
            assert reply is not None and reply.status == 200
        assert answers(server, token, 2)
        stack.close()
        assert answers(server, token, 3)
        server.stop()
        check_said(server)


def test_where_the_system_gives_few_files_whoever_asks_nothing_makes_room(
    policy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = token_of(policy)
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nulimit -n 300\nexec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(wrapper))
    with serve_process(policy) as server, ExitStack() as stack:
        monkeypatch.undo()
        open_many(server, stack, 400)
        assert answers(server, token, 1)
        open_many(server, stack, 200)
        assert answers(server, token, 2)
        server.stop()
        check_said(server)
