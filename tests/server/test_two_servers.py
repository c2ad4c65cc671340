"""Two servers on one ledger in PostgreSQL: a budget of N questions gives exactly N answers."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from sanql.audit.ledger import verify_account
from sanql.policy import load
from server.campaign import make_town
from support.browsing import Browser, words
from support.commands import run
from support.postgres import PostgresServer
from support.serving import serve_process

pytestmark = pytest.mark.slow

QUESTIONS = 60
CLIENTS = 16


def test_sixteen_clients_of_two_servers_get_exactly_what_the_budget_holds(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    town = make_town(tmp_path / "town", postgres.url(postgres.new_database()))
    whole = town.policy.read_text(encoding="utf-8")
    assert "epsilon = 4.0" in whole
    town.policy.write_text(
        whole.replace("epsilon = 4.0", f"epsilon = {QUESTIONS / 100}"), encoding="utf-8"
    )
    token = run("user", "add", "ana", "--role", "analyst", "-p", town.policy).stdout.strip()
    with serve_process(town.policy) as one, serve_process(town.policy) as other:

        def ask(client: int) -> Counter[str]:
            told: Counter[str] = Counter()
            headers = {"authorization": f"Bearer {token}"}
            with httpx.Client(headers=headers, timeout=120) as http:
                for number in range(8):
                    url = (one if (client + number) % 2 else other).url
                    sql = f"SELECT COUNT(*) FROM people WHERE id <> {client * 100 + number}"
                    reply = http.post(f"{url}/v1/query", json={"sql": sql, "epsilon": 0.01})
                    told[str(reply.json().get("code", reply.status_code))] += 1
            return told

        with ThreadPoolExecutor(CLIENTS) as pool:
            told = sum(pool.map(ask, range(CLIENTS)), Counter[str]())
        for server in (one, other):
            assert server.stop() == 0
    verified = verify_account(load(town.policy))
    assert told == {"200": QUESTIONS, "budget_exceeded": 8 * CLIENTS - QUESTIONS}
    assert verified.sound and verified.accounts[0].charges == QUESTIONS


def test_whom_one_server_knows_the_other_knows_and_what_one_answered_the_other_repeats(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    town = make_town(tmp_path / "town", postgres.url(postgres.new_database()))
    token = run("user", "add", "ana", "--role", "analyst", "-p", town.policy).stdout.strip()
    body = {"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.01}
    with serve_process(town.policy) as one, serve_process(town.policy) as other:
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(headers=headers, timeout=60) as http:
            first = http.post(f"{one.url}/v1/query", json=body).json()
            again = http.post(f"{other.url}/v1/query", json=body).json()
            assert again["rows"] == first["rows"] and again["cached"] and not first["cached"]
            assert run("user", "revoke", "ana", "-p", town.policy).exit_code == 0
            assert http.post(f"{one.url}/v1/query", json=body).status_code == 401
            assert http.post(f"{other.url}/v1/query", json=body).status_code == 401


def test_a_browser_is_signed_in_at_one_server_and_finds_its_history_at_the_other(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """Why a balancer has to be sticky, as docs/web.md says."""
    town = make_town(tmp_path / "town", postgres.url(postgres.new_database()))
    token = run("user", "add", "ana", "--role", "analyst", "-p", town.policy).stdout.strip()
    with (
        serve_process(town.policy) as one,
        serve_process(town.policy) as other,
        Browser(one.url) as ana,
    ):
        assert ana.sign_in(token).status_code == 303
        ana.get("/ask")
        assert ana.ask("SELECT COUNT(*) AS asked_here FROM people").status_code == 200
        with Browser(other.url, cookies=dict(ana.client.cookies)) as moved:
            assert moved.get("/ask").status_code == 303
            assert moved.post("/sign-in", form_token=ana.form_token, token=token).is_error
            assert moved.sign_in(token).status_code == 303
            assert "asked_here" in words(moved.get("/history"))
            assert "asked_here" in words(moved.get("/history/1"))
