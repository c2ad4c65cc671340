"""Questions over HTTP: answered, charged once, in every form, by whoever the credential says."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pyarrow
import pytest

from sanql.policy import load
from sanql.san import San
from sanql.server import RequestLimits, ServerSettings
from support.policies import dataset
from support.serving import COUNT, Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_an_answer_is_the_local_one_and_its_repeat_is_free(hospital: Served) -> None:
    with hospital.client() as ana:
        first = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1})
        again = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).json()
    assert first.status_code == 200 and first.headers["content-type"] == "application/json"
    session = hospital.datasets[0].session
    local = San(session, "ana").query(COUNT, epsilon=0.1).to_dict() | {"dataset": "hospital"}
    assert again == json.loads(json.dumps(local))
    assert again["cached"] and again["charge"]["epsilon"] == 0.0
    assert first.json()["rows"] == again["rows"]
    assert first.json()["charge"]["epsilon"] == 0.1 and not first.json()["cached"]


def test_csv_and_arrow_hold_what_the_local_answer_holds(hospital: Served) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    with hospital.client() as ana:
        body = {"sql": sql, "epsilon": "0.1"}
        csv = ana.post("/v1/query", json=body, headers={"accept": "text/csv"})
        arrow = ana.post(
            "/v1/query", json=body, headers={"accept": "application/vnd.apache.arrow.stream"}
        )
        none = ana.post("/v1/query", json=body, headers={"accept": "image/png"})
    local = San(hospital.datasets[0].session, "ana").query(sql, epsilon="0.1")
    assert csv.text == local.to_csv() and csv.headers["content-type"].startswith("text/csv")
    assert pyarrow.ipc.open_stream(io.BytesIO(arrow.content)).read_all() == local.table
    assert none.status_code == 406 and none.json()["code"] == "form_unknown"


def test_parameters_options_and_exact_decimals_are_read_as_anywhere(hospital: Served) -> None:
    sql = "SELECT COUNT(*) FROM people WHERE age > ? AND sex = ?"
    with hospital.client() as ana:
        text = json.dumps({"sql": sql, "parameters": [30, "F"], "confidence": 0.9})
        text = text[:-1] + ', "epsilon": 0.10000000000000000001}'
        headers = {"content-type": "application/json"}
        said = ana.post("/v1/query", content=text, headers=headers).json()
        explained = ana.post("/v1/explain", json={"sql": COUNT, "accuracy": "50"}).json()
    assert said["confidence"] == 0.9
    assert said["charge"]["epsilon"] > 0.1, (
        "rounded up from what was typed, not to the nearest float"
    )
    assert explained["fits"] and "text" in explained


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"sql": "SELECT * FROM people", "epsilon": 0.1}, 422, "returns_rows"),
        ({"sql": COUNT}, 422, "epsilon_needed"),
        ({"sql": COUNT, "epsilon": 50}, 402, "budget_exceeded"),
        ({"sql": COUNT, "epsilon": -1}, 422, "epsilon_invalid"),
        ({"sql": COUNT, "epsilon": 0.1, "analyst": "bo"}, 422, "option_unknown"),
        ({"sql": COUNT, "epsilon": 0.1, "dataset": "town"}, 404, "dataset_unknown"),
        ({"epsilon": 0.1}, 400, "body_invalid"),
        ({"sql": 7, "epsilon": 0.1}, 400, "body_invalid"),
        ({"sql": COUNT, "epsilon": [0.1]}, 400, "body_invalid"),
        ({"sql": COUNT, "epsilon": 0.1, "parameters": 7}, 400, "body_invalid"),
        ({"sql": COUNT, "epsilon": 0.1, "parameters": [{"date": "x"}]}, 400, "body_invalid"),
        ([], 400, "body_invalid"),
    ],
)
def test_what_is_wrong_is_said_in_one_shape(
    hospital: Served, body: object, status: int, code: str
) -> None:
    with hospital.client() as ana:
        said = ana.post("/v1/query", json=body)
    assert (said.status_code, said.json()["code"]) == (status, code), said.text
    assert said.headers["content-type"] == "application/problem+json"
    assert said.json()["status"] == status and said.json()["remedy"]
    assert said.json()["type"] == f"urn:sanql:error:{code}"


@pytest.mark.parametrize(
    "text",
    [
        b'{"sql": "SELECT 1", "epsilon": NaN}',
        b'{"sql": "SELECT 1", "epsilon": Infinity}',
        b'{"sql": "SELECT 1", "epsilon": 0.1, "epsilon": 10}',
        b'{"sql": "SELECT 1", "epsilon": 1e999999999}',
        b'{"sql": "SELECT 1", "epsilon": ' + b"9" * 5000 + b"}",
        b'{"sql": "\xff"}',
        b"[" * 100_000,
        b"",
        b"{",
    ],
)
def test_json_that_could_be_read_in_two_ways_is_refused(hospital: Served, text: bytes) -> None:
    with hospital.client() as ana:
        headers = {"content-type": "application/json"}
        said = ana.post("/v1/query", content=text, headers=headers)
    assert (said.status_code, said.json()["code"]) == (400, "body_invalid")


def test_a_refusal_carries_its_place_and_the_nearest_question(hospital: Served) -> None:
    with hospital.client() as ana:
        said = ana.post("/v1/query", json={"sql": "SELECT AVG(agee) FROM people", "epsilon": 1})
    assert said.json()["place"] == {"line": 1, "column": 12}
    assert (
        said.json()["nearest"] == "SELECT AVG(age) FROM people" and said.json()["kind"] == "refused"
    )


def test_only_analysts_ask(hospital: Served) -> None:
    with hospital.client("olga", "officer") as olga:
        for route in ("query", "explain", "questions"):
            said = olga.post(f"/v1/{route}", json={"sql": COUNT, "epsilon": 0.1})
            assert (said.status_code, said.json()["code"]) == (403, "role_needed")


def test_nothing_is_spent_by_reading(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("olga", "officer") as olga:
        before = hospital.datasets[0].session.ledger.length
        for client in (ana, olga):
            for route in ("datasets", "schema", "budget", "ledger", "verify", "query", "explain"):
                client.get(f"/v1/{route}", params={} if route != "query" else {"sql": COUNT})
        assert ana.get("/v1/query").status_code == 405
        assert hospital.datasets[0].session.ledger.length == before


def test_a_question_can_be_asked_now_and_read_later(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("bo") as bo:
        begun = ana.post("/v1/questions", json={"sql": COUNT, "epsilon": 0.2})
        assert begun.status_code == 202
        where = begun.headers["location"]
        assert bo.get(where).status_code == 404, "another's question is as if it were not there"
        assert bo.get(where).json()["code"] == ana.get("/v1/questions/none").json()["code"]
        deadline = time.monotonic() + 60
        while (state := ana.get(where).json())["status"] in ("queued", "running"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        repeat = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.2}).json()
        for form in ("text/csv", "application/vnd.apache.arrow.stream"):
            wanted = {"accept": form}
            later = ana.get(where, headers=wanted)
            again = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.2}, headers=wanted)
            assert later.headers["content-type"] == again.headers["content-type"]
            assert later.content == again.content
        assert ana.get(where, headers={"accept": "image/png"}).status_code == 406
    assert state["status"] == "answered" and state["answer"]["rows"] == repeat["rows"]


def test_a_question_that_fails_later_says_why_in_the_same_shape(hospital: Served) -> None:
    with hospital.client() as ana:
        where = ana.post(
            "/v1/questions", json={"sql": "SELECT * FROM people", "epsilon": 1}
        ).headers
        deadline = time.monotonic() + 60
        while (state := ana.get(where["location"]).json())["status"] in ("queued", "running"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        now = ana.post("/v1/query", json={"sql": "SELECT * FROM people", "epsilon": 1}).json()
    assert state["status"] == "failed" and state["error"] == now


@pytest.mark.slow
def test_a_long_public_answer_is_the_local_one_in_every_form(tmp_path: Path) -> None:
    import duckdb

    data = tmp_path / "data"
    data.mkdir()
    rows = (
        "SELECT i AS id, 'name ' || i AS name, i / 7.0 AS part, DATE '2024-01-01' + i::INT AS day"
    )
    duckdb.sql(f"COPY ({rows} FROM range(12_345) t(i)) TO '{data}/codes.parquet'")
    duckdb.sql(f"COPY (SELECT 1 AS id) TO '{data}/people.parquet'")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        dataset("data/")
        + '[table.codes]\npublic = true\n[table.people]\nprivacy_unit = "id"\nunique = true\n',
        encoding="utf-8",
    )
    sql = "SELECT * FROM codes ORDER BY id"
    with served([policy]) as town, town.client() as ana:
        session = town.datasets[0].session
        local = San(session, "ana").query(sql)
        said = ana.post("/v1/query", json={"sql": sql})
        expected = json.loads(local.to_json()) | {"dataset": session.policy.name}
        assert said.json() == expected and len(expected["rows"]) == 12_345
        csv = ana.post("/v1/query", json={"sql": sql}, headers={"accept": "text/csv"})
        assert csv.text == local.to_csv()
        stream = {"accept": "application/vnd.apache.arrow.stream"}
        arrow = ana.post("/v1/query", json={"sql": sql}, headers=stream)
        assert pyarrow.ipc.open_stream(io.BytesIO(arrow.content)).read_all().equals(local.table)
        none = ana.post("/v1/query", json={"sql": "SELECT * FROM codes WHERE id < 0"}).json()
        assert none["rows"] == [] and len(none["columns"]) == 4


def test_schema_is_what_the_owner_declares_and_no_statistic(hospital: Served) -> None:
    with hospital.client() as ana:
        said = ana.get("/v1/schema").json()
    people = next(table for table in said["tables"] if table["name"] == "people")
    policy = load(hospital.datasets[0].policy.path)
    assert {column["name"] for column in people["columns"]} == set(policy.tables["people"].columns)
    age = next(column for column in people["columns"] if column["name"] == "age")
    assert age == {"name": "age", "type": "integer", "bounds": [0, 110]}
    assert set(people) == {"name", "public", "privacy_unit", "limits", "columns"}


def test_analysts_see_their_own_account_and_officers_all(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("olga", "officer") as olga:
        assert [each["account"] for each in ana.get("/v1/budget").json()["accounts"]] == ["ana"]
        kinds = {each["kind"] for each in olga.get("/v1/budget").json()["accounts"]}
        assert kinds == {"dataset", "analyst", "coalition"}


def test_officers_read_and_verify_the_account_and_analysts_do_not(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("olga", "officer") as olga:
        ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1})
        records = olga.get("/v1/ledger").json()["records"]
        assert [record["sequence"] for record in records] == [*range(1, len(records) + 1)]
        later = olga.get("/v1/ledger", params={"after": 2, "limit": 1}).json()["records"]
        assert [record["sequence"] for record in later] == [3]
        assert olga.get("/v1/verify").json()["sound"]
        for route in ("ledger", "verify"):
            assert ana.get(f"/v1/{route}").status_code == 403


def test_only_owners_open_a_new_version(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana, town.client("otto", "owner") as otto:
        first = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).json()
        assert ana.post("/v1/refresh", json={}).status_code == 403
        assert otto.post("/v1/refresh", json={}).json() == {"dataset": "hospital", "version": 2}
        second = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).json()
    assert (first["version"], second["version"], second["cached"]) == (1, 2, False)


def test_somebody_who_asks_too_much_at_once_is_told_so(policy: Path) -> None:
    limits = RequestLimits(requests_per_second=1, failed_sign_ins_per_minute=3)
    with served([policy], ServerSettings(port=0, limits=limits)) as town, town.client() as ana:
        statuses = [ana.get("/v1/datasets").status_code for _ in range(4)]
        assert statuses[:2] == [200, 200] and 429 in statuses
        with town.client("bo") as bo:
            assert bo.get("/v1/datasets").status_code == 200, "others are not hurt"
