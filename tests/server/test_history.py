"""What somebody has asked, over HTTP: their own, free to read again; and one key is one charge."""

from __future__ import annotations

from pathlib import Path

from support.serving import COUNT, Served, served


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
