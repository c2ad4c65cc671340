"""Owners erase what was typed, over HTTP and by command, while others ask; nobody else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sanql
from support.commands import run
from support.hospitals import hospital_in
from support.serving import COUNT, served

pytestmark = pytest.mark.usefixtures("in_this_process")

NAMED = COUNT + " WHERE sex = 'miriam'"


def bytes_beside(policy: Path) -> bytes:
    return b"".join(path.read_bytes() for path in policy.parent.glob("*.ledger*"))


@pytest.mark.slow
def test_an_owner_erases_texts_while_analysts_ask_and_nobody_else_may(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana, town.client("otto", "owner") as otto:
        for sql in (NAMED, COUNT):
            ana.post("/v1/query", json={"sql": sql, "epsilon": 0.1}).raise_for_status()
        (record,) = [
            record["sequence"]
            for record in otto.get("/v1/ledger").json()["records"]
            if record["kind"] == "reserve"
        ][:1]
        body = {"numbers": [record]}
        with town.client("olga", "officer") as olga:
            for other in (ana, olga):
                assert other.post("/v1/ledger/erase", json=body).status_code == 403
        assert b"miriam" in bytes_beside(policy)
        done = otto.post("/v1/ledger/erase", json=body).json()
        assert done == {"dataset": "hospital", "erased": [record], "recorded": True, "left": ""}
        assert b"miriam" not in bytes_beside(policy)
        newest = otto.get("/v1/ledger").json()["records"][-1]
        assert (newest["kind"], newest["body"]["by"]) == ("erase", "otto")
        first, second = ana.get("/v1/history").json()["questions"]
        assert (first["sql"], second["sql"]) == (None, COUNT)
        refused = ana.get("/v1/history/1")
        assert (refused.status_code, refused.json()["code"]) == (422, "text_erased")
        again = ana.post("/v1/query", json={"sql": NAMED, "epsilon": 0.1}).json()
        assert again["cached"] and again["charge"]["epsilon"] == 0
        assert otto.get("/v1/verify").json()["sound"]
        for wrong, status, code in (
            ({"numbers": [1]}, 404, "erase_unknown"),
            ({}, 422, "erase_unclear"),
            ({"numbers": [record], "analyst": "ana"}, 422, "erase_unclear"),
            ({"before": "soon"}, 422, "time_invalid"),
            ({"numbers": ["3"]}, 400, "body_invalid"),
            ({"numbers": [True]}, 400, "body_invalid"),
            ({"numbers": [1.5]}, 400, "body_invalid"),
            ({"numbers": [1.0]}, 404, "erase_unknown"),
        ):
            reply = otto.post("/v1/ledger/erase", json=wrong)
            assert (reply.status_code, reply.json()["code"]) == (status, code), wrong
        with sanql.connect(town.url, token=town.token("otto", "owner")) as owner:
            assert owner.erase_texts(analyst="ana").recorded


@pytest.mark.slow
def test_the_command_asks_whether_one_is_sure_and_says_what_it_did(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "hospital")
    for sql in (NAMED, COUNT):
        assert run("query", "-p", policy, "-a", "ana", "-e", "0.1", sql).exit_code == 0
    erase = ["ledger", "erase", "-p", policy]
    for wrong in ([], ["7", "--analyst", "ana"], ["0"]):
        assert run(*erase, *wrong).exit_code == 2
    refused = run(*erase, "-a", "ana", stdin="n\n")
    assert refused.exit_code == 1 and "by ana will be erased for good" in refused.stderr
    nobody = run(*erase, "-a", "ana")
    assert nobody.exit_code == 2 and "nothing was erased: say --yes" in nobody.stderr
    assert b"miriam" in bytes_beside(policy)
    assert "time_invalid" in run(*erase, "--before", "soon", "--yes").stderr
    assert "no text was there" in run(*erase, "--before", "2001-01-01", "--yes").stdout
    done = run(*erase, "-a", "ana", stdin="y\n")
    assert done.exit_code == 0 and "the texts of 2 questions erased" in done.stdout
    assert "backups" in done.stderr
    assert b"miriam" not in bytes_beside(policy)
    again = json.loads(run(*erase, "-a", "ana", "--yes", "--format", "json").stdout)
    assert again == {"erased": [], "recorded": False, "left": ""}
    assert "(text erased)" in run("history", "-p", policy, "-a", "ana").stdout
    assert run("ledger", "verify", "-p", policy).exit_code == 0
    newest = run("ledger", "list", "-p", policy).stdout
    assert "what was typed with 2 questions is erased" in newest
