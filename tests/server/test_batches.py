"""Several questions in one request: forms, keys, later answers, and whose account it is."""

from __future__ import annotations

import io
import time
from typing import Any

import httpx
import pyarrow
import pytest

from sanql.san import San
from support.serving import COUNT, Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

BY_SEX = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
OLD = {"sql": "SELECT COUNT(*) FROM people WHERE age > $least", "parameters": {"least": 60}}
DISTRICTS = "SELECT * FROM districts ORDER BY 1"
ARROW = "application/vnd.apache.arrow.stream"


def spent(served: Served, name: str = "ana") -> float:
    balances = San(served.datasets[0].session, name).balances()
    return float(balances[0].spent_upper.epsilon)


def asked(client: httpx.Client, key: str | None = None, **body: Any) -> httpx.Response:
    headers = {} if key is None else {"idempotency-key": key}
    whole = {"questions": [COUNT, BY_SEX, OLD], "epsilon": "0.2", **body}
    return client.post("/v1/batch", json=whole, headers=headers)


def test_a_batch_is_the_local_one_in_every_form(hospital: Served) -> None:
    local = San(hospital.datasets[0].session, "ana")
    with hospital.client() as ana:
        first = asked(ana)
        csv = ana.post(
            "/v1/batch",
            json={"questions": [COUNT, BY_SEX, OLD], "epsilon": "0.2"},
            headers={"accept": "text/csv"},
        )
        arrow = ana.post(
            "/v1/batch",
            json={"questions": [COUNT, BY_SEX, OLD], "epsilon": "0.2"},
            headers={"accept": ARROW},
        )
        assert asked(ana).json()["dataset"] == "hospital"
    answers = local.batch([COUNT, BY_SEX, (OLD["sql"], OLD["parameters"])], epsilon="0.2")  # type: ignore[list-item]
    assert all(answer.cached for answer in answers)
    assert [each["rows"] for each in first.json()["answers"]] == [
        [list(row) for row in answer.rows] for answer in answers
    ]
    assert csv.text == "\n".join(answer.to_csv() for answer in answers)
    stream = io.BytesIO(arrow.content)
    for answer in answers:
        with pyarrow.ipc.open_stream(stream) as reader:
            assert reader.read_all() == answer.table


def test_a_key_is_one_charge_whatever_is_sent_under_it(hospital: Served) -> None:
    before = spent(hospital)
    with hospital.client() as ana, hospital.client("bo") as bo:
        first = asked(ana, "b1", epsilon="0.15", fresh=True)
        again = asked(ana, "b1", epsilon="0.15", fresh=True)
        assert first.status_code == again.status_code == 200
        rows = [[each["rows"] for each in one.json()["answers"]] for one in (first, again)]
        assert rows[0] == rows[1]
        assert all(each["cached"] for each in again.json()["answers"])
        for other in (
            asked(ana, "b1", epsilon="0.15"),
            asked(ana, "b1", epsilon="0.15", fresh=True, questions=[COUNT, BY_SEX]),
            ana.post(
                "/v1/query",
                json={"sql": COUNT, "epsilon": "0.15"},
                headers={"idempotency-key": "b1"},
            ),
        ):
            assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
        assert spent(hospital) - before == pytest.approx(0.15)
        assert asked(bo, "b1", epsilon="0.15", fresh=True).status_code == 200
    assert spent(hospital) - before == pytest.approx(0.15), "bo's is bo's"


def test_a_batch_can_be_asked_now_and_read_later(hospital: Served) -> None:
    body = {"questions": [COUNT, BY_SEX], "epsilon": "0.25"}
    with hospital.client() as ana, hospital.client("bo") as bo:
        begun = ana.post("/v1/questions", json=body)
        where = begun.headers["location"]
        assert begun.status_code == 202 and bo.get(where).status_code == 404
        deadline = time.monotonic() + 60
        while (state := ana.get(where).json())["status"] in ("queued", "running"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        now = ana.post("/v1/batch", json=body).json()
        for form in ("text/csv", ARROW):
            later, again = (
                ana.get(where, headers={"accept": form}),
                ana.post("/v1/batch", json=body, headers={"accept": form}),
            )
            assert later.content == again.content
    assert state["status"] == "answered"
    assert [each["rows"] for each in state["answer"]["answers"]] == [
        each["rows"] for each in now["answers"]
    ]


def test_who_asks_is_said_by_the_credential_alone(hospital: Served) -> None:
    before = spent(hospital, "ana"), spent(hospital, "bo")
    with hospital.client("bo") as bo:
        refused = asked(bo, analyst="ana")
        assert (refused.status_code, refused.json()["code"]) == (422, "option_unknown")
        assert asked(bo, epsilon="0.11", fresh=True).status_code == 200
    assert spent(hospital, "ana") == before[0]
    assert spent(hospital, "bo") - before[1] == pytest.approx(0.11)
    for name, role in (("otto", "owner"), ("olga", "officer")):
        with hospital.client(name, role) as client:  # type: ignore[arg-type]
            for path in ("/v1/batch", "/v1/batch/explain"):
                denied = client.post(path, json={"questions": [COUNT], "epsilon": 1})
                assert (denied.status_code, denied.json()["code"]) == (403, "role_needed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"questions": [COUNT, 5]}, 400, "body_invalid"),
        ({"questions": [{"sql": COUNT, "epsilon": 1}]}, 400, "body_invalid"),
        ({"questions": COUNT}, 422, "batch_size"),
        ({"questions": None}, 422, "batch_size"),
        ({"questions": [COUNT], "sql": COUNT}, 422, "option_unknown"),
        ({"questions": [COUNT], "exact": True}, 422, "batch_option"),
        ({"questions": [COUNT, "SELECT * FROM people"]}, 422, "returns_rows"),
        ({"questions": [COUNT], "epsilon": 1e9}, 422, "epsilon_invalid"),
        ({"questions": [COUNT], "epsilon": "900"}, 402, "budget_exceeded"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_in_one_shape(
    hospital: Served, body: dict[str, Any], status: int, code: str
) -> None:
    with hospital.client() as ana:
        reply = asked(ana, **body)
    assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["remedy"]


def test_profiles_are_the_owners_to_take_and_everybodys_to_read(hospital: Served) -> None:
    body = {"tables": ["visits"], "epsilon": "0.2", "columns": ["kind"]}
    before = spent(hospital)
    for name, role in (("ana", "analyst"), ("olga", "officer")):
        with hospital.client(name, role) as client:  # type: ignore[arg-type]
            denied = client.post("/v1/profile", json=body)
            assert (denied.status_code, denied.json()["code"]) == (403, "role_needed")
    with hospital.client("otto", "owner") as otto:
        taken = otto.post("/v1/profile", json=body).json()
        assert taken["charge"]["epsilon"] == 0.2
        assert otto.post("/v1/profile", json=body).json()["charge"]["epsilon"] == 0.0
        lacking = otto.post("/v1/profile", json={"tables": ["visits"]})
        assert (lacking.status_code, lacking.json()["code"]) == (400, "body_invalid")
        unread = otto.post("/v1/profile", json=body | {"tables": "visits"})
        assert (unread.status_code, unread.json()["code"]) == (400, "body_invalid")
    for name, role in (("ana", "analyst"), ("olga", "officer"), ("otto", "owner")):
        with hospital.client(name, role) as client:  # type: ignore[arg-type]
            assert client.get("/v1/profiles").json()["profiles"] == taken["profiles"]
    assert spent(hospital) == before
    assert httpx.get(f"{hospital.url}/v1/profiles").status_code == 401
