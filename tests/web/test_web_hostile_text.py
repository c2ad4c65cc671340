"""Text that a browser would run, wherever it comes from: names, values, what is typed or sent."""

from __future__ import annotations

import html
from collections.abc import Iterator

import httpx
import pytest

from support.browsing import Browser, browser, words
from support.hostile_town import COLUMN, HOSTILE, write_town
from support.serving import Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

DATASET = "<i onclick=alert(1)>town"
RUN = ["<script>alert", "<img src=x", "<svg onload", "<b onmouseover", "<i onclick", "7*7=49"]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served([write_town(tmp_path_factory.mktemp("town") / "town", DATASET)]) as server:
        yield server


def check_shown_as_text(reply: httpx.Response, *texts: str) -> None:
    for mark in RUN:
        assert mark not in reply.text, mark
    assert "49" not in words(reply).split() or "{{7*7}}" in words(reply)
    said = html.unescape(reply.text)
    for text in texts:
        assert text in said, text


def shown(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


@pytest.mark.slow
def test_keys_columns_and_aliases_are_shown_as_text(town: Served) -> None:
    with browser(town) as ana:
        alias = '"<script>alert(2)</script>"'
        for key in ("city", "street"):
            reply = ana.ask(
                f"SELECT {key}, COUNT(*) AS {alias} FROM people GROUP BY {key}", epsilon="9"
            )
            assert reply.status_code == 200, words(reply)
            check_shown_as_text(reply, *map(shown, HOSTILE), "<script>alert(2)</script>")
            number = len(ana.get("/history").text.split('href="/history/')) - 1
            check_shown_as_text(ana.get(f"/history/{number}"), *map(shown, HOSTILE))
        reply = ana.ask(f'SELECT AVG("{COLUMN}") FROM people', epsilon="9")
        check_shown_as_text(reply, COLUMN)


@pytest.mark.slow
def test_what_is_typed_comes_back_as_text(town: Served) -> None:
    with browser(town) as ana:
        for text in HOSTILE:
            for field in (
                "sql",
                "epsilon",
                "accuracy",
                "confidence",
                "max_groups_contributed",
                "max_rows_contributed",
            ):
                fields = {"epsilon": "1"} | {field: text}
                sql = fields.pop("sql", "SELECT COUNT(*) FROM people")
                for action in ("explain", "run"):
                    reply = ana.ask(sql, action, **fields)
                    assert reply.status_code == 422, (field, text, words(reply))
                    check_shown_as_text(reply, text.replace("\r\n", "\n"))


@pytest.mark.slow
def test_what_is_in_a_question_is_text_in_every_list(town: Served) -> None:
    with browser(town) as ana, browser(town, "olga", "officer") as olga:
        for text in HOSTILE[:6]:
            quoted = text.replace("'", "''")
            reply = ana.ask(f"SELECT COUNT(*) FROM people WHERE street = '{quoted}'", epsilon="0.5")
            assert reply.status_code == 200, words(reply)
        for page in (ana.get("/history"), olga.get("/ledger")):
            check_shown_as_text(page, *(text.replace("'", "''") for text in HOSTILE[:6]))


@pytest.mark.slow
def test_names_of_datasets_tables_and_columns_are_shown_as_text(town: Served) -> None:
    with browser(town) as ana, browser(town, "otto", "owner") as otto:
        check_shown_as_text(ana.get("/schema"), DATASET, COLUMN, *map(shown, HOSTILE))
        check_shown_as_text(ana.get("/ask"), DATASET)
        check_shown_as_text(otto.get("/policy"), DATASET, COLUMN)
        check_shown_as_text(otto.get("/budgets"), DATASET)
        for text in HOSTILE:
            check_shown_as_text(otto.send("/policy", action="check", policy=text))
            check_shown_as_text(otto.send("/people", action="add", name=text, role="officer"))
            check_shown_as_text(otto.send("/people", action="revoke", name=text))
            check_shown_as_text(otto.send("/people", action=text, name="otto"))


@pytest.mark.slow
def test_what_is_in_an_address_is_shown_as_text_and_sets_no_header(town: Served) -> None:
    with (
        browser(town) as ana,
        browser(town, "olga", "officer") as olga,
        Browser(town.url) as nobody,
    ):
        for text in HOSTILE:
            replies = [
                nobody.client.get("/sign-in", params={"next": text}),
                ana.client.get("/history", params={"before": text}),
                ana.client.get(f"/history/{_path(text)}"),
                ana.client.get(f"/questions/{_path(text)}"),
                olga.client.get("/ledger", params={"analyst": text}),
                olga.client.get("/meaning", params={"epsilon": text}),
                olga.client.get("/meaning", params={text: "1"}),
                ana.client.get(f"/static/{_path(text)}"),
            ]
            for reply in replies:
                check_shown_as_text(reply)
                assert "b=c" not in str(reply.headers)


def _path(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


@pytest.mark.slow
@pytest.mark.parametrize(
    "cookie", ["x", "0" * 64, "0" * 63 + "\xe4", "a; sanql=b", '"' + "0" * 64 + '"']
)
def test_a_cookie_that_is_nobodys_is_as_none(town: Served, cookie: str) -> None:
    with Browser(town.url) as nobody:
        reply = nobody.client.get("/ask", headers={"cookie": f"sanql={cookie}".encode("latin-1")})
        assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in?next=ask")


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [b"sql=1&sql=2", b"%ff=%fe", b"\xff", b"a&b", b"&".join([b"a=1"] * 100), b"{}", b"a=1;b=2"],
)
def test_a_form_that_cannot_be_read_is_refused(town: Served, body: bytes) -> None:
    with browser(town) as ana:
        headers = {"content-type": "application/x-www-form-urlencoded"}
        own = f"form_token={ana.form_token}&".encode()
        for sent in (body, own + body):
            reply = ana.client.post("/ask", content=sent, headers=headers)
            assert reply.status_code in (400, 403, 422), (body, reply.status_code)
        other = ana.client.post("/ask", content=own, headers={"content-type": "text/plain"})
        assert other.status_code == 400
