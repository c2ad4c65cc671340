"""An owner's commands beside a running server: its ledger stays whole, and what they say holds."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from sanql.account import People, open_store
from sanql.audit.ledger import verify
from sanql.policy import load
from sanql.san import San
from support.commands import run_process
from support.serving import COUNT, serve_process

pytestmark = pytest.mark.slow

SECONDS = 30.0
COMMANDS = [
    ("check",),
    ("user", "list"),
    ("user", "add", "cy", "--role", "analyst"),
    ("budget",),
    ("account", "show"),
    ("ledger", "list"),
    ("ledger", "verify"),
    ("query", "-e", "0.1", "SELECT nothing FROM people"),
]


def token_of(policy: Path, name: str) -> str:
    people = People(open_store(load(policy)))
    _, token = people.add(name, "analyst")
    people.close()
    return token


def client_of(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60)


@pytest.mark.parametrize(("ended", "commands"), [("killed", COMMANDS), ("stopped", COMMANDS[1:3])])
def test_whatever_command_comes_and_goes_every_charge_is_kept(
    ended: str, commands: list[tuple[str, ...]], policy: Path
) -> None:
    token = token_of(policy, "ana")
    with serve_process(policy) as server, client_of(server.url, token) as ana:
        for number, command in enumerate(commands):
            done = run_process(*command, "-p", policy)
            assert "Traceback" not in done.stderr
            body = {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.01}
            assert ana.post("/v1/query", json=body).status_code == 200, command
        if ended == "killed":
            server.process.kill()
            server.process.wait()
        else:
            assert server.stop() == 0
    found = verify(load(policy).ledger)
    assert found.sound, found.fault
    with San(load(policy), analyst="ana") as san:
        kinds = Counter(record.kind for record in san.ledger.records())
    assert kinds["reserve"] == kinds["spend"] == len(commands)


def test_who_is_revoked_by_command_is_out_for_good(policy: Path) -> None:
    tokens = {name: token_of(policy, name) for name in ("ana", "bo")}
    with serve_process(policy) as server:
        with client_of(server.url, tokens["ana"]) as ana, client_of(server.url, tokens["bo"]) as bo:
            assert ana.get("/v1/budget").status_code == 200
            assert run_process("user", "list", "-p", policy).returncode == 0
            assert bo.get("/v1/budget").status_code == 200  # the server writes down when
            assert run_process("user", "revoke", "ana", "-p", policy).returncode == 0
            deadline = time.monotonic() + SECONDS
            while ana.get("/v1/budget").status_code != 401:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert server.stop() == 0
    with serve_process(policy) as server, client_of(server.url, tokens["ana"]) as ana:
        assert ana.get("/v1/budget").status_code == 401
