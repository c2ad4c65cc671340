"""Pages of other sites: no name that leads here by a trick, and no form, makes a browser ask for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanql.server import ServerSettings
from support.hospitals import hospital_in
from support.raw_http import RawReply, raw_connection, raw_question
from support.serving import COUNT, Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

OURS = {"sql": COUNT, "epsilon": 0.1}


def asked(town: Served, *lines: str, host: str = "localhost") -> RawReply:
    """Return the reply to an explanation that is asked for with some headers."""
    data = raw_question(town.token("ana"), OURS, *lines, route="explain")
    with raw_connection(town.url) as raw:
        raw.send(data.replace(b"Host: localhost", f"Host: {host}".encode("latin-1"), 1))
        reply = raw.reply()
    assert reply is not None
    return reply


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:65535", "[::1]:80", "::1"])
def test_the_server_has_its_own_names_whatever_the_port(hospital: Served, host: str) -> None:
    assert (asked(hospital, host=host).status == 200) == (host != "::1")


FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "evil-localhost",
    "localhost.",
    "localhost:80@evil.example",
    "localhost@evil.example",
    "evil.example@localhost",
    "evil.example:localhost",
    "localhost:80:80",
    "localhost:",
    "localhost:port",
    "localhost:999999",
    "localhost:²",
    "[::1]evil.example",
    "[::1",
    "::1]",
    "[localhost]",
    "[::1]@evil.example",
    "localhost/evil.example",
    "localhost evil.example",
    "localhost,evil.example",
    "localhost\\@evil.example",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]",
    "%6cocalhost",
    "",
]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_is_not_the_servers_own_is_refused(hospital: Served, host: str) -> None:
    reply = asked(hospital, host=host)
    assert (reply.status, reply.code) == (421, "host_unknown")


def test_several_names_are_none(hospital: Served) -> None:
    for more in ("Host: localhost", "Host: evil.example"):
        assert asked(hospital, more).code == "host_unknown"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "localhost",
        "https://evil.example",
        "http://localhost.evil.example",
        "http://localhost:80@evil.example",
        "http://evil.example#localhost",
        "http://localhost:9999",  # a page of another program, maybe of another user
        "http://127.0.0.1",  # another name is another site
        "file://localhost",
        "chrome-extension://localhost",
        "http://[::1",
        "http://localhost http://localhost",
        "http:/localhost",
        "//localhost",
    ],
)
def test_a_page_of_another_site_is_refused(hospital: Served, origin: str) -> None:
    reply = asked(hospital, f"Origin: {origin}")
    assert (reply.status, reply.code) == (403, "origin_foreign")


def test_a_page_of_the_server_itself_may_ask(hospital: Served) -> None:
    assert asked(hospital, "Origin: http://LocalHost").status == 200
    same = ("Origin: http://127.0.0.1:81", "Sec-Fetch-Site: same-origin")
    assert asked(hospital, *same, host="127.0.0.1:81").status == 200


@pytest.mark.slow
def test_the_pages_of_a_proxy_in_front_may_ask_under_the_names_that_are_listed(
    tmp_path: Path,
) -> None:
    settings = ServerSettings(port=0, hosts=("san.example.org",))
    with served([hospital_in(tmp_path / "hospital")], settings) as town:
        assert asked(town, host="san.example.org").status == 200
        assert asked(town, "Origin: https://san.example.org", host="127.0.0.1:80").status == 200
        assert asked(town, "Origin: https://evil.example", host="san.example.org").status == 403


def test_what_a_form_of_another_site_can_send_is_refused(hospital: Served) -> None:
    shape = json.dumps(OURS)
    before = hospital.datasets[0].session.ledger.length
    for media in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
        "text/plain",
        "text/plain; application/json",
        "application/jsonp",
        "application/json, text/plain",
        "",
    ):
        with hospital.client() as ana:
            said = ana.post("/v1/query", content=shape, headers={"content-type": media})
        assert (said.status_code, said.json()["code"]) == (415, "body_form"), media
    for site in ("cross-site", "same-site", "evil", ""):
        reply = asked(hospital, f"Sec-Fetch-Site: {site}")
        assert (reply.status, reply.code) == (403, "origin_foreign"), site
    assert hospital.datasets[0].session.ledger.length == before


@pytest.mark.parametrize(
    "lines",
    [
        ("Authorization: Bearer a",),
        ("Content-Type: text/plain",),
        ("Origin: http://localhost", "Origin: https://evil.example"),
        ("Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"),
        ("Idempotency-Key: first", "Idempotency-Key: second"),
        ("Content-Encoding: identity", "Content-Encoding: gzip"),
    ],
)
def test_a_header_that_decides_is_there_once(hospital: Served, lines: tuple[str, ...]) -> None:
    assert asked(hospital, *lines).code == "header_twice"


@pytest.mark.parametrize(
    "encoding", ["gzip", "GZip", "deflate, gzip", "identity, gzip", "aws-chunked"]
)
def test_a_body_is_sent_as_it_is(hospital: Served, encoding: str) -> None:
    assert asked(hospital, f"Content-Encoding: {encoding}").code == "body_form"
    assert asked(hospital, "Content-Encoding: identity").status == 200


def test_no_answer_may_be_read_or_framed_by_another_page(hospital: Served) -> None:
    with hospital.client() as ana:
        for said in (ana.get("/health"), ana.get("/v1/none"), ana.get("/v1/schema")):
            assert not [name for name in said.headers if name.startswith("access-control")]
            assert said.headers["x-content-type-options"] == "nosniff"
            assert said.headers["cache-control"] == "no-store"
            assert "frame-ancestors 'none'" in said.headers["content-security-policy"]
            assert "set-cookie" not in said.headers
