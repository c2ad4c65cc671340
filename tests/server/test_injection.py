"""Hostile text in every place that takes text: it is data, in answers, in headers and in the log.

Of what is typed nothing reaches the log, and of tokens nothing leaves: every line is one object of names
that San gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from sanql.server import RequestLimits, ServerSettings
from support.hospitals import hospital_in
from support.raw_http import raw_connection, raw_request
from support.serving import COUNT, Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

HOSTILE = [
    "'; DROP TABLE people; --",
    '" OR "1"="1',
    "people; SELECT * FROM people",
    "${jndi:ldap://127.0.0.1/a}",
    "{{7*7}}",
    "%s%n%x",
    "<script>alert(1)</script>",
    "\r\nX-Injected: yes\r\n\r\n<b>",
    '\n{"event": "ready"}',
    "\x00",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "\u2028\u2029\ufeff\u200b",
    "\ud800",
    "💩" * 50,
    "Ａ１",
    "../../../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "a" * 50_000,
    "",
]
HEADERS = {
    "date",
    "content-length",
    "content-type",
    "cache-control",
    "content-security-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
    "x-request-id",
}
MORE_HEADERS = {"allow", "location", "retry-after", "www-authenticate", "connection"}

PLACES: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "the question": lambda t: ("explain", {"sql": t, "epsilon": 0.1}),
    "a literal": lambda t: ("explain", {"sql": f"{COUNT} WHERE sex = '{t}'", "epsilon": 0.1}),
    "a name": lambda t: ("explain", {"sql": f'SELECT COUNT(*) AS "{t}" FROM people', "epsilon": 1}),
    "a column": lambda t: ("explain", {"sql": f'SELECT COUNT("{t}") FROM people', "epsilon": 0.1}),
    "a table": lambda t: ("explain", {"sql": f'SELECT COUNT(*) FROM "{t}"', "epsilon": 0.1}),
    "a comment": lambda t: ("explain", {"sql": f"{COUNT} /* {t} */", "epsilon": 0.1}),
    "the price": lambda t: ("explain", {"sql": COUNT, "epsilon": t}),
    "the accuracy": lambda t: ("explain", {"sql": COUNT, "accuracy": t}),
    "the confidence": lambda t: ("explain", {"sql": COUNT, "epsilon": 0.1, "confidence": t}),
    "the other row": lambda t: ("explain", {"sql": COUNT, "epsilon": 0.1, "other": t}),
    "a number of groups": lambda t: (
        "explain",
        {"sql": COUNT, "epsilon": 0.1, "max_groups_contributed": t},
    ),
    "an option": lambda t: ("explain", {"sql": COUNT, "epsilon": 0.1, t: 1}),
    "the dataset": lambda t: ("explain", {"sql": COUNT, "epsilon": 0.1, "dataset": t}),
    "a parameter": lambda t: (
        "explain",
        {"sql": f"{COUNT} WHERE sex = ?", "epsilon": 0.1, "parameters": [t]},
    ),
    "a parameter's name": lambda t: (
        "explain",
        {"sql": f"{COUNT} WHERE sex = $x", "epsilon": 0.1, "parameters": {t: "F"}},
    ),
    "a date": lambda t: (
        "explain",
        {"sql": f"{COUNT} WHERE sex = ?", "epsilon": 0.1, "parameters": [{"date": t}]},
    ),
    "a type": lambda t: (
        "explain",
        {"sql": f"{COUNT} WHERE sex = ?", "epsilon": 0.1, "parameters": [{t: "1"}]},
    ),
    "a table to suggest for": lambda t: ("suggest", {"table": t, "epsilon": 0.1}),
    "a column to suggest by": lambda t: ("suggest", {"table": "people", "by": t, "epsilon": 0.1}),
    "the price of a suggestion": lambda t: ("suggest", {"table": "people", "epsilon": t}),
}  # fmt: skip


@pytest.fixture(scope="module")
def logging_town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = RequestLimits(failed_sign_ins_per_minute=10_000)
    policy = hospital_in(tmp_path_factory.mktemp("injection"))
    with served([policy], ServerSettings(port=0, limits=limits)) as town:
        yield town


@pytest.fixture(scope="module")
def ana(logging_town: Served) -> Iterator[httpx.Client]:
    with logging_town.client() as client:
        yield client


def check(reply: httpx.Response) -> None:
    """Assert that a reply is one of ours, whatever was sent."""
    assert reply.status_code < 500, reply.text
    assert set(reply.headers) <= HEADERS | MORE_HEADERS
    assert reply.headers["content-type"] in ("application/json", "application/problem+json")
    assert reply.content.isascii() and not [b for b in reply.content if b < 32]
    reply.json()


@pytest.mark.parametrize("place", PLACES)
def test_text_is_data_wherever_it_is_typed(
    ana: httpx.Client, logging_town: Served, place: str
) -> None:
    before = logging_town.datasets[0].session.ledger.length
    for text in HOSTILE:
        route, body = PLACES[place](text)
        headers = {"content-type": "application/json"}
        reply = ana.post(f"/v1/{route}", content=json.dumps(body), headers=headers)
        check(reply)
        assert reply.status_code == 200 or len(reply.content) < 5_000, (
            "what is typed is quoted in part"
        )
    assert logging_town.datasets[0].session.ledger.length == before


def test_text_is_data_in_addresses_and_headers(ana: httpx.Client) -> None:
    for text in HOSTILE:
        if "\ud800" in text or len(text) > 10_000:
            continue
        for route in ("schema", "budget", "ledger", "verify", "datasets"):
            check(ana.get(f"/v1/{route}", params={"dataset": text}))
            check(ana.get(f"/v1/{route}", params={text: "1"}))
        check(ana.get("/v1/ledger", params={"after": text}))
        quoted = httpx.QueryParams({"a": text}).__str__()[2:]
        check(ana.get(f"/v1/questions/{quoted}"))
        check(ana.delete(f"/v1/questions/{quoted}"))
        check(ana.get(f"/nothing/{quoted}"))
        try:
            value = text.encode("utf-8")
            for name in ("accept", "idempotency-key", "user-agent", "content-type", "x-request-id"):
                check(ana.post("/v1/explain", content=b"{}", headers={name: value}))
        except httpx.LocalProtocolError:
            continue  # no client sends it; raw bytes are tried elsewhere


def test_line_ends_in_headers_inject_nothing(logging_town: Served) -> None:
    for line in (
        "Accept: text/csv\rX-Injected: yes",
        "Accept: text/csv\nX-Injected: yes",
        "Idempotency-Key: a\x85b\u2028".encode().decode("latin-1"),
        "Accept: \xe2\x80\xa8X-Injected: yes",
    ):
        with raw_connection(logging_town.url) as raw:
            raw.send(raw_request("/health", line, "Connection: close"))
            reply = raw.reply()
        assert reply is not None and "x-injected" not in reply.headers


def test_nothing_that_is_typed_reaches_the_log(ana: httpx.Client, logging_town: Served) -> None:
    mark = "Zqxj7"
    body = {"sql": f"{COUNT} WHERE sex = '{mark}' AND age > ?", "epsilon": 0.0134217728}
    asked = body | {"parameters": [864208642086420]}  # too long to be part of a random name
    for route in ("query", "explain", "questions"):
        assert ana.post(f"/v1/{route}", json=asked).status_code < 300
    for place in PLACES.values():
        route, shape = place(mark)
        ana.post(f"/v1/{route}", json=shape)
    wrong = f"san_{mark.lower()}"
    for headers in (
        {"authorization": f"Bearer {wrong}"},
        {"authorization": mark},
        {"accept": mark, "user-agent": mark, "x-request-id": mark, "idempotency-key": mark},
        {"host": mark},
        {"origin": f"http://{mark}"},
        {"content-type": mark},
        {"x-forwarded-for": mark},
    ):
        ana.post("/v1/explain", content=mark, headers=headers)
        ana.get(f"/v1/questions/{mark}?{mark}={mark}", headers=headers)
        ana.get(f"/{mark}", headers=headers)
    with raw_connection(logging_town.url) as raw:
        raw.send(f"{mark} /{mark} HTTP/1.1\r\n{mark}: {mark}\r\n\r\n".encode())
        raw.replies()
    token = logging_town.token("ana")
    text = logging_town.logged.getvalue()
    _, name, secret = token.split("_")
    for typed in (
        mark,
        mark.lower(),
        "864208642086420",
        "0.0134217728",
        "SELECT",
        "sex",
        name,
        secret,
    ):
        assert typed not in text, typed
    for part in range(0, len(secret) - 8, 4):
        assert secret[part : part + 8] not in text


KNOWN = {"time", "event", "request", "route", "status", "code", "person", "dataset", "url"}


def test_a_line_of_the_log_is_one_object_of_known_names(logging_town: Served) -> None:
    lines = logging_town.logged.getvalue().split("\n")
    assert lines.pop() == "" and len(lines) > 100
    for line in lines:
        shape = json.loads(line)
        assert set(shape) <= KNOWN, shape
        assert shape["event"] in ("listening", "ready", "request"), shape
        assert line.isascii() and len(line) < 500
