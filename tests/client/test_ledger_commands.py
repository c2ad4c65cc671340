"""Officers and owners list and verify the account of a server by command, as they would beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import sanql
from sanql.errors import AccessDenied, Refused
from support.commands import run
from support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
TYPED = "SELECT COUNT(*) FROM people WHERE region = 'north\u202e[red]'"


@pytest.fixture(scope="module", autouse=True)
def asked(town: Served) -> None:
    """Have two people ask, once each, and one text erased."""
    for name in ("ana", "pat"):
        with town.client(name) as client:
            body = {"sql": TYPED, "epsilon": "0.1"}
            client.post("/v1/query", json=body).raise_for_status()
    with sanql.connect(town.url, token=town.token("otto", "owner")) as otto:
        assert otto.erase_texts(analyst="pat").numbers


@pytest.fixture
def olga(town: Served, tmp_path: Path) -> list[object]:
    file = tmp_path / "token"
    file.write_text(town.token("olga", "officer"))
    return ["--server", town.url, "--token-file", file]


@pytest.fixture
def officer(town: Served) -> Iterator[sanql.RemoteSan]:
    with sanql.connect(town.url, token=town.token("olga", "officer")) as san:
        yield san


@pytest.mark.parametrize(
    "command",
    [
        ["list"],
        ["list", "--format", "json"],
        ["list", "--questions"],
        ["list", "--questions", "--wide"],
        ["list", "--analyst", "ana", "--format", "json"],
        ["list", "--since", "2001-01-01", "--last", "1"],
        ["list", "--since", "2200-01-01"],
        ["list", "--since", "soon"],
        ["verify"],
        ["verify", "--format", "json"],
    ],
    ids=" ".join,
)
def test_a_command_says_the_same_of_a_servers_account(
    town_policy: Path, olga: list[object], command: list[str]
) -> None:
    there = run("ledger", *command, *olga)
    here = run("ledger", *command, "-p", town_policy)
    assert (there.exit_code, there.stdout, there.stderr) == (
        here.exit_code,
        here.stdout,
        here.stderr,
    )
    assert "\u202e" not in there.stdout


def test_the_table_has_who_asked_what_for_how_much_and_what_became_of_it(
    olga: list[object],
) -> None:
    lines = run("ledger", "list", "--questions", *olga).stdout.splitlines()
    mine = next(line for line in lines if " ana " in line)
    for words in ("http", "epsilon 0.1, delta 0", "answered", r"region = 'north\u202e[red]'"):
        assert words in mine
    assert "(text erased)" in next(line for line in lines if " pat " in line)


def test_records_come_page_by_page_and_all_of_them(
    officer: sanql.RemoteSan, olga: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(run("ledger", "list", "--format", "json", *olga).stdout)
    monkeypatch.setattr("sanql.client.remote_san.RECORDS_AT_ONCE", 2)
    assert officer.ledger_records() == whole
    texts = [record["question"]["sql"] for record in officer.ledger_records(questions=True)]
    assert texts == [TYPED, None]
    assert len(officer.ledger_records(last=1)) == 1
    assert officer.ledger_records(since=datetime(2200, 1, 1, tzinfo=UTC)) == []
    assert officer.verify_ledger()["texts"] == {"kept": 1, "erased": 1, "missing": 0}


def test_what_is_the_owners_or_the_officers_is_nobody_elses(
    town: Served, officer: sanql.RemoteSan
) -> None:
    with sanql.connect(town.url, token=town.token("ana")) as ana:
        for ask in (ana.ledger_records, ana.verify_ledger, lambda: ana.erase_texts(analyst="ana")):
            with pytest.raises(AccessDenied) as denied:
                ask()
            assert denied.value.code == "role_needed"
    with pytest.raises(AccessDenied):
        officer.erase_texts(analyst="ana")
    with sanql.connect(town.url, token=town.token("otto", "owner")) as otto:
        with pytest.raises(Refused) as refused:
            otto.erase_texts()
        assert refused.value.code == "erase_unclear"


def test_addresses_say_only_what_is_understood(town: Served) -> None:
    with town.client("olga", "officer") as olga:
        for wrong in ("questions=yes", "last=-1", "last=99999999", "who=ana", "since=soon"):
            assert olga.get(f"/v1/ledger?{wrong}").status_code in (400, 422), wrong
        shape = olga.get("/v1/ledger?questions=true&analyst=ana&limit=1").json()
        (record,) = shape["records"]
        assert (record["kind"], record["question"]["sql"]) == ("reserve", TYPED)
