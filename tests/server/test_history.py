"""What somebody has asked, over HTTP: their own, free to read again; and one key is one charge."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.serving import COUNT, Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")


def ask(
    client: object, sql: str = COUNT, epsilon: float = 0.1, **headers: str
) -> dict[str, object]:
    body = {"sql": sql, "epsilon": epsilon}
    reply = client.post("/v1/query", json=body, headers=headers)  # type: ignore[attr-defined]
    return dict(reply.json())


def test_ones_own_questions_are_listed_with_text_door_price_and_outcome(hospital: Served) -> None:
    with hospital.client() as ana:
        answer = ask(ana)
        listed = ana.get("/v1/history").json()["questions"]
        entry = listed[-1]
        assert (entry["sql"], entry["door"], entry["outcome"]) == (COUNT, "http", "answered")
        assert entry["price"]["epsilon"] == 0.1 and entry["version"] == 1
        again = ana.get(f"/v1/history/{entry['id']}").json()
        assert again["rows"] == answer["rows"] and again["cached"]
        csv = ana.get(f"/v1/history/{entry['id']}", headers={"accept": "text/csv"})
        assert csv.text.startswith("count,count_low,count_high")
        certificate = ana.get(f"/v1/certificate/{entry['id']}").json()
        assert certificate == answer["certificate"]
        assert ana.get("/v1/history", params={"after": entry["id"]}).json()["questions"] == []


def test_limits_that_were_asked_for_here_came_through_http(hospital: Served) -> None:
    with hospital.client() as ana:
        ana.post("/v1/suggest", json={"table": "visits", "epsilon": 0.1}).raise_for_status()
        entry = ana.get("/v1/history").json()["questions"][-1]
        assert entry["sql"].startswith("suggest_limits(") and entry["door"] == "http"


def test_anothers_question_is_as_if_it_were_not_there(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("bo") as bo:
        ask(ana)
        assert bo.get("/v1/history").json()["questions"] == []
        for route in ("history", "certificate"):
            there = ana.get("/v1/history").json()["questions"][-1]["id"]
            assert bo.get(f"/v1/{route}/{there}").status_code == 404
            for number in ("999", "0", "-1", "1e3", "x", "١"):
                assert bo.get(f"/v1/{route}/{number}").status_code == 404


def test_reading_again_charges_nothing_also_after_a_new_version(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana, town.client("otto", "owner") as otto:
        first = ask(ana)
        number = ana.get("/v1/history").json()["questions"][-1]["id"]
        assert otto.post("/v1/refresh", json={}).status_code == 200
        length = town.datasets[0].session.ledger.length
        again = ana.get(f"/v1/history/{number}").json()
        assert (again["rows"], again["version"]) == (first["rows"], 1)
        assert town.datasets[0].session.ledger.length == length


def test_one_key_is_one_charge_also_for_a_question_asked_afresh(hospital: Served) -> None:
    with hospital.client() as ana:
        body = {"sql": COUNT, "epsilon": 0.05, "fresh": True}
        replies = [
            ana.post("/v1/query", json=body, headers={"idempotency-key": "one"}) for _ in range(3)
        ]
        assert [reply.status_code for reply in replies] == [200] * 3
        assert len({str(reply.json()["rows"]) for reply in replies}) == 1
        assert [reply.json()["cached"] for reply in replies] == [False, True, True]
        other = ana.post(
            "/v1/query", json=body | {"epsilon": 0.06}, headers={"idempotency-key": "one"}
        )
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_that_is_none_is_refused(hospital: Served, key: str) -> None:
    with hospital.client() as ana:
        reply = ana.post(
            "/v1/query", json={"sql": COUNT, "epsilon": 0.05}, headers={"idempotency-key": key}
        )
    assert reply.status_code == 422 and "idempotency" in reply.json()["code"]
