"""Values of prepared statements beside their texts, on the pages of whoever asked and of officers."""

from __future__ import annotations

import html
from datetime import date
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from sanql.server import ServerSettings
from support.browsing import browser, words
from support.serving import served

pytestmark = pytest.mark.usefixtures("in_this_process")

HOSTILE = "it's <script>alert(1)</script>\u202e"
SHOWN = "$1 = 'it''s <script>alert(1)</script>\\u202e'"


@pytest.mark.slow
def test_values_are_shown_as_text_beside_the_question_until_it_is_erased(policy: Path) -> None:
    settings = ServerSettings(port=0, wire=("127.0.0.1", 0))
    with served([policy], settings) as town:
        host, _, port = town.server.wire.rpartition(":")
        login = {"host": host, "port": port, "user": "ana", "password": town.token("ana")}
        with psycopg.connect(**login, dbname="hospital", autocommit=True) as asked:  # type: ignore[arg-type]
            asked.execute("SET sanql.epsilon = 0.1")
            asked.execute("SELECT COUNT(*) FROM people WHERE district = %s", (HOSTILE,))
            asked.execute(
                "SELECT COUNT(*) FROM visits WHERE day > %s AND cost < %s AND kind <> %s",
                (date(2025, 3, 1), Decimal("100.50"), "surgery"),
            )
        with browser(town) as ana, browser(town, "olga", "officer") as olga:
            pages = [ana.get("/history"), olga.get("/ledger")]
            for page in pages:
                assert SHOWN in html.unescape(page.text) and "<script>alert" not in page.text
                assert "$1 = DATE '2025-03-01' $2 = 100.50 $3 = 'surgery'" in words(page)
            again = ana.get("/history/1")
            assert SHOWN in html.unescape(again.text) and "<script>alert" not in again.text
            with town.client() as program:
                first, _ = program.get("/v1/history").json()["questions"]
                assert first["parameters"] == [HOSTILE]
            with town.client("otto", "owner") as otto:
                otto.post("/v1/ledger/erase", json={"analyst": "ana"}).raise_for_status()
            for page in (ana.get("/history"), olga.get("/ledger")):
                assert "surgery" not in page.text and "it&#39;s" not in page.text
                assert words(page).count("erased") == 2 and "$1" not in words(page)
