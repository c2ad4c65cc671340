"""A question sent again under its key while it runs is the same one: charged once, cancelled once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from client.town import make_town
from support.halting import halted, wait_until
from support.serving import COUNT, Served, served

pytestmark = pytest.mark.slow


@pytest.fixture
def town(policy: Path) -> Iterator[Served]:
    with served([policy]) as server:
        with server.client() as ana:
            ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.01})  # the worker is there
        yield server


def asked(town: Served, key: str, name: str = "ana", **body: object) -> httpx.Response:
    with town.client(name) as client:
        whole = {"sql": COUNT, "epsilon": 0.1, "fresh": True, **body}
        return client.post("/v1/query", json=whole, headers={"idempotency-key": key})


def running(town: Served) -> int:
    return len(town.server.service.kept._running)


def spent(town: Served) -> float:
    with town.client() as ana:
        (account,) = ana.get("/v1/budget").json()["accounts"]
        return float(account["spent_upper"]["epsilon"])


def test_two_of_a_key_are_one_question_charged_once(town: Served) -> None:
    before = spent(town)
    session = town.datasets[0].session
    with ThreadPoolExecutor() as pool:
        with halted(session):
            first = pool.submit(asked, town, "k1")
            wait_until(lambda: running(town) == 1)
            second = pool.submit(asked, town, "k1")
            other = pool.submit(asked, town, "k1", sql="SELECT AVG(age) FROM people").result()
            others = pool.submit(asked, town, "k1", "bo")  # whose keys are their own
            wait_until(lambda: running(town) == 2)
        assert first.result().status_code == 200
        assert first.result().content == second.result().content
        assert others.result().status_code == 200
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert spent(town) - before == pytest.approx(0.1), "once"
    wait_until(lambda: running(town) == 0)


def test_a_question_is_cancelled_by_its_key_and_only_by_whoever_asked_it(town: Served) -> None:
    before, session = spent(town), town.datasets[0].session
    with ThreadPoolExecutor() as pool, town.client() as ana, town.client("bo") as bo:
        with halted(session):
            first = pool.submit(asked, town, "k2")
            wait_until(lambda: running(town) == 1)
            wait_until(lambda: ana.get("/v1/questions/k2").json()["status"] == "running")
            assert bo.delete("/v1/questions/k2").status_code == 404
            assert ana.delete("/v1/questions/k2").status_code == 200
        ended = first.result()
    assert ended.json()["code"] == "question_cancelled"
    assert spent(town) == before, "it had not been charged yet"
    with town.client() as ana:
        assert ana.delete("/v1/questions/k2").status_code == 404


def test_rows_of_public_tables_under_one_key_are_whole_for_everybody(tmp_path: Path) -> None:
    sql, key = "SELECT * FROM regions ORDER BY name", {"idempotency-key": "k3"}
    with served([make_town(tmp_path)]) as town, town.client() as ana:
        ana.post("/v1/query", json={"sql": sql})  # the worker is there
        with ThreadPoolExecutor() as pool:
            with halted(town.datasets[0].session):
                sent = [
                    pool.submit(ana.post, "/v1/query", json={"sql": sql}, headers=key)
                    for _ in range(4)
                ]
                wait_until(lambda: running(town) == 1)
            rows = [response.result().json()["rows"] for response in sent]
    assert len(rows[0]) == 3 and rows == [rows[0]] * 4
