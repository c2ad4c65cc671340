"""Health, readiness and numbers for Prometheus: what the ledger and the clock say, and nothing else."""

from __future__ import annotations

import re
import time

import pytest

from support.serving import COUNT, Served

pytestmark = pytest.mark.usefixtures("in_this_process")

SAMPLE = re.compile(
    r'^(?P<name>[a-z_]+)(?P<labels>\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (?P<value>\S+)$'
)


def samples(text: str) -> dict[str, str]:
    """Return the samples of a page, read by the form that Prometheus reads; the clock is left out."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            matched = SAMPLE.match(line)
            assert matched is not None, line
            float(matched["value"])
            if matched["name"] != "sanql_time_seconds":
                found[f"{matched['name']}{matched['labels'] or ''}"] = matched["value"]
    return found


def test_health_and_readiness_need_no_credential_and_say_nothing_else(hospital: Served) -> None:
    with hospital.client() as ana:
        del ana.headers["authorization"]
        assert ana.get("/health").json() == {"status": "alive"}
        assert ana.get("/ready").json() == {"status": "ready"}
        assert ana.get("/metrics").status_code == 401


def test_metrics_are_for_owners_and_officers(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("otto", "owner") as otto:
        assert ana.get("/metrics").status_code == 403
        assert otto.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def test_what_is_refused_repeated_or_explained_changes_no_number(hospital: Served) -> None:
    with hospital.client() as ana, hospital.client("olga", "officer") as olga:
        ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1})
        before = samples(olga.get("/metrics").text)
        for body in (
            {"sql": COUNT, "epsilon": 0.1},
            {"sql": "SELECT * FROM people", "epsilon": 0.1},
            {"sql": COUNT, "epsilon": 1000},
        ):
            ana.post("/v1/query", json=body)
            ana.post("/v1/explain", json=body)
        assert samples(olga.get("/metrics").text) == before
        ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.2})
        after = samples(olga.get("/metrics").text)
    spent = 'sanql_spent_epsilon_upper{dataset="hospital",kind="analyst",account="ana"}'
    assert float(after[spent]) > float(before[spent])
    records = 'sanql_ledger_records{dataset="hospital"}'
    assert int(after[records]) == int(before[records]) + 2


def test_the_log_has_routes_and_names_and_nothing_that_was_typed(hospital: Served) -> None:
    typed = {"sql": "SELECT COUNT(*) FROM people WHERE sex = 'Zanzibar7'", "epsilon": 0.0123}
    with hospital.client() as ana:
        ana.post("/v1/query", json=typed)
        ana.post("/v1/query", json={"sql": "SELECT Zanzibar7 FROM people", "epsilon": 0.0123})
        ana.get("/Zanzibar7?x=Zanzibar7", headers={"x-anything": "Zanzibar7"})
    deadline = time.monotonic() + 30
    while "GET unknown" not in hospital.logged.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)  # a line is written after its answer has been sent
    text = hospital.logged.getvalue()
    for secret in ("Zanzibar7", "0.0123", "SELECT", hospital.token("ana"), "COUNT"):
        assert secret not in text
    last = [event for event in hospital.events() if event["event"] == "request"][-3:]
    assert [event["route"] for event in last] == ["POST query", "POST query", "GET unknown"]
    known = {"time", "event", "request", "route", "status", "code", "person", "dataset"}
    assert all(set(event) <= known for event in last)
