"""Every door says whom an answer protects and which accounts were charged, of several kinds of unit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import sanql
from sanql.server import ServerSettings
from support.kinds import hospital as write_hospital
from support.serving import Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

BOTH = "SELECT COUNT(*) FROM visits"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Served]:
    settings = ServerSettings(port=0, wire=("127.0.0.1", 0))
    with served([write_hospital(tmp_path)], settings) as server:
        yield server


@pytest.mark.slow
def test_http_and_the_remote_client_say_whom_and_which(clinic: Served) -> None:
    with clinic.client() as ana, clinic.client("olga", "officer") as olga:
        answered = ana.post("/v1/query", json={"sql": BOTH, "epsilon": 0.25}).json()
        ana.post("/v1/query", json={"sql": "SELECT COUNT(*) FROM doctors", "epsilon": 0.5})
        accounts = olga.get("/v1/budget").json()["accounts"]
        metrics = olga.get("/metrics").text
        refused = ana.post("/v1/query", json={"sql": BOTH, "epsilon": 0.5})
    assert answered["price"]["protects"] == ["doctor", "patient"]
    assert "one patient (person_id) or one doctor (doctor_id)" in answered["certificate"]["unit"]
    spent = {
        (each["kind"], each["protects"]): each["spent_upper"]["epsilon_exact"] for each in accounts
    }
    assert spent["dataset", "doctor"] == spent["analyst", "doctor"] == "3/4"
    assert spent["dataset", "patient"] == spent["analyst", "patient"] == "1/4"
    label = '{dataset="hospital",kind="dataset",account="hospital",protects="doctor"}'
    assert f"sanql_spent_epsilon_upper{label} 0.75" in metrics
    assert "of doctor units" in refused.text and "of patient units" not in refused.text
    with sanql.connect(clinic.url, token=clinic.token("ana")) as remote:
        again = remote.query(BOTH, epsilon=0.25)
        assert again.cached and again.charge.protects == ("doctor", "patient")
        assert {balance.protects for balance in remote.balances()} == {"doctor", "patient"}


@pytest.mark.slow
def test_the_wire_shows_an_account_for_each_kind(clinic: Served) -> None:
    host, _, port = clinic.server.wire.rpartition(":")
    with psycopg.connect(
        host=host,
        port=port,
        user="ana",
        password=clinic.token("ana"),
        dbname="hospital",
        autocommit=True,
    ) as wire:
        wire.execute("SET sanql.epsilon = 0.25")
        wire.execute(BOTH)
        shown = wire.execute("SHOW sanql.budget").fetchall()
    assert {(row[0], row[1]) for row in shown} == {("ana (doctor)", 0.25), ("ana (patient)", 0.25)}
