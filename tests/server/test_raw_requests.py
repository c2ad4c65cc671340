"""What no client sends: each is refused in the one shape, or let go, and nobody else is hurt.

After each of them others are answered, nothing but JSON is logged, no fault is met, and the account has
neither lost nor gained a record but for an answer.
"""

from __future__ import annotations

import json
import logging
import select
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sanql.server import RequestLimits, ServerSettings
from support.hospitals import hospital_in
from support.raw_http import RawConnection, raw_connection, raw_question, raw_request
from support.serving import COUNT, Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

LIMITS = RequestLimits(
    header_bytes=2_000,
    header_seconds=0.5,
    body_bytes=10_000,
    body_seconds=1.0,
    idle_seconds=3.0,
    connections=20,
)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with little patience."""
    policy = hospital_in(tmp_path_factory.mktemp("hasty"))
    with served([policy], ServerSettings(port=0, limits=LIMITS)) as town:
        with town.client() as ana:
            assert ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.01}).status_code == 200
        yield town


@pytest.fixture(autouse=True)
def _unhurt(
    hasty: Served, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    before = hasty.datasets[0].session.ledger.length
    with hasty.client("olga", "officer") as olga:
        yield
        assert olga.get("/v1/budget").status_code == 200
        assert olga.get("/v1/verify").json()["sound"]
    assert hasty.datasets[0].session.ledger.length == before, "what was refused was not charged"
    assert not [event for event in hasty.events() if event["event"] == "fault"]
    assert capfd.readouterr().err == ""
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def said(town: Served, data: bytes) -> tuple[int, str] | None:
    """Return status and code of the first reply to some bytes; None where there is none."""
    with raw_connection(town.url) as raw:
        raw.send(data)
        reply = raw.reply()
    return None if reply is None else (reply.status, "" if reply.status < 400 else reply.code)


INVALID = (400, "request_invalid")
TOO_LARGE = (431, "header_too_large")
NO_ROUTE = (404, "route_unknown")
BAD_BYTES = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    "letters": b"hello\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a NUL in the target": raw_request("/hea\x00lth"),
    "a NUL in a value": raw_request("/health", "X-A: a\x00b"),
    "a NUL in a name": raw_request("/health", "X\x00A: a"),
    "letters outside ASCII in the target": raw_request("/h\xe9alth"),
    "a blank in the target": raw_request("/health or not"),
    "a method of 10,000 letters": raw_request(method="A" * 10_000),
    "a method in small letters": raw_request(method="get"),
    "a version that is none": b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "a length twice": raw_request("/health", "Content-Length: 5", "Content-Length: 6"),
    "the same length twice": raw_request("/health", "Content-Length: 5", "Content-Length: 5"),
    "lengths in a list": raw_request("/health", "Content-Length: 5, 5"),
    "a length below nothing": raw_request("/health", "Content-Length: -5"),
    "a length with a sign": raw_request("/health", "Content-Length: +5"),
    "a length of other digits": raw_request("/health", "Content-Length: \xb2"),
    "a length of a thousand digits": raw_request("/health", "Content-Length: " + "9" * 1_000),
    "length and chunks": raw_request(
        "/health", "Content-Length: 5", "Transfer-Encoding: chunked"
    ),
    "chunks and length": raw_request(
        "/health", "Transfer-Encoding: chunked", "Content-Length: 5"
    ),
    "chunks that are not last": raw_request("/health", "Transfer-Encoding: chunked, identity"),
    "another coding": raw_request("/health", "Transfer-Encoding: xchunked"),
    "a coding behind a vertical tab": raw_request("/health", "Transfer-Encoding: \x0bchunked"),
    "a folded header": raw_request("/health", "X-A: b\r\n c"),
    "bare line feeds": b"GET /health HTTP/1.1\nHost: localhost\n\n",
    "a bare carriage return": b"GET /health HTTP/1.1\rHost: localhost\r\r",
    "a blank before the colon": b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a header without a colon": raw_request("/health", "hello"),
    "a header without a name": raw_request("/health", ": hello"),
    "another's address as target": raw_request("http://evil.example/health"),
    "another's address with our name before": raw_request("http://localhost@evil.example/health"),
    "an address and no host": b"GET http://localhost/health HTTP/1.0\r\n\r\n",
    "a tunnel": raw_request("evil.example:443", method="CONNECT"),
    "a tunnel to ourselves": raw_request("localhost:80", method="CONNECT"),
    "a size of a chunk that is no number": raw_request(
        "/health", "Transfer-Encoding: chunked", method="POST"
    )
    + b"zz\r\n",
}  # fmt: skip


@pytest.mark.parametrize("data", BAD_BYTES.values(), ids=[*BAD_BYTES])
def test_what_is_no_request_is_refused_and_the_connection_closed(
    hasty: Served, data: bytes
) -> None:
    with raw_connection(hasty.url) as raw:
        raw.send(data)
        reply = raw.reply()
        assert reply is not None and (reply.status, reply.code) == INVALID
        assert reply.headers["connection"] == "close" and raw.reply() is None


ODD = {
    "HTTP/0.9": (b"GET /health\r\n\r\n", (421, "host_unknown")),
    "HTTP/1.0 without a host": (b"GET /health HTTP/1.0\r\n\r\n", (421, "host_unknown")),
    "TRACE": (raw_request("/health", method="TRACE"), (405, "method_unknown")),
    "OPTIONS": (raw_request("/v1/query", method="OPTIONS"), (405, "method_unknown")),
    "OPTIONS of all": (raw_request("*", method="OPTIONS"), NO_ROUTE),
    "PATCH": (raw_request("/v1/query", method="PATCH"), (405, "method_unknown")),
    "our own address as target": (raw_request("http://LOCALHOST/health"), (200, "")),
    "dots": (raw_request("/v1/../health"), NO_ROUTE),
    "escaped dots": (raw_request("/v1/%2e%2e/health"), NO_ROUTE),
    "two slashes": (raw_request("//evil.example/health"), NO_ROUTE),
    "an escaped slash": (raw_request("/v1%2fschema"), (401, "credential_wrong")),
    "an escaped NUL": (raw_request("/health%00"), NO_ROUTE),
    "escaped bytes that are no text": (raw_request("/health%ff%fe"), NO_ROUTE),
    "escapes that are none": (raw_request("/health%zz%"), NO_ROUTE),
    "escaped line ends": (raw_request("/%0d%0aX-A:%20b"), NO_ROUTE),
    "a last slash": (raw_request("/health/"), NO_ROUTE),
    "large letters": (raw_request("/HEALTH"), NO_ROUTE),
    "a giant target": (raw_request("/" + "a" * 5_000), TOO_LARGE),
    "a giant value": (raw_request("/health", "X-A: " + "a" * 5_000), TOO_LARGE),
    "a giant name": (raw_request("/health", "a" * 5_000 + ": a"), TOO_LARGE),
    "a thousand headers": (raw_request("/health", *["X-A: b"] * 1_000), TOO_LARGE),
    "a giant header without an end": (b"GET /health HTTP/1.1\r\nX: " + b"a" * 900_000, TOO_LARGE),
    "a giant target without an end": (b"GET /" + b"a" * 900_000, TOO_LARGE),
    "empty lines without an end": (b"\r\n" * 900_000, TOO_LARGE),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), ODD.values(), ids=[*ODD])
def test_what_is_odd_has_one_meaning(hasty: Served, data: bytes, expected: tuple[int, str]) -> None:
    assert said(hasty, data) == expected


def test_another_protocol_is_not_spoken_and_nothing_after_it_is_read(hasty: Served) -> None:
    asked = ("Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
    with raw_connection(hasty.url) as raw:
        raw.send(raw_request("/health", *asked) + raw_request("/v1/schema"))
        assert [reply.status for reply in raw.replies()] == [200]


def chunks(*bodies: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(body), body) for body in bodies)


def chunked(town: Served, *lines: str) -> bytes:
    whose = f"Authorization: Bearer {town.token('ana')}"
    return raw_request(
        "/v1/explain",
        whose,
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
        *lines,
        method="POST",
    )


QUESTION = json.dumps({"sql": COUNT, "epsilon": 0.1}).encode()


def test_a_body_in_chunks_is_a_body(hasty: Served) -> None:
    parts = [QUESTION[i : i + 1] for i in range(len(QUESTION))]
    assert said(hasty, chunked(hasty) + chunks(*parts, b"")) == (200, "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (chunks(b"a" * 6_000, b"a" * 6_000), (413, "body_too_large")),
        (b"20000\r\n" + b"a" * 0x20000, (413, "body_too_large")),
        (b"-5\r\nhello\r\n0\r\n\r\n", INVALID),
        (b"0x5\r\nhello\r\n0\r\n\r\n", INVALID),
        (b"5 \r\nhello\r\n0\r\n\r\n", INVALID),
        (b"fffffffffffffffff\r\nhello\r\n0\r\n\r\n", INVALID),
        (b"5\r\nhello!\r\n0\r\n\r\n", INVALID),
        (b"5\nhello\n0\n\n", INVALID),
        (b"5;" + b"a" * 30_000 + b"\r\nhello\r\n", (408, "body_slow")),
    ],
)
def test_chunks_that_are_too_large_or_none_are_refused(
    hasty: Served, body: bytes, expected: tuple[int, str]
) -> None:
    assert said(hasty, chunked(hasty) + body) == expected


@pytest.mark.parametrize("header", ["Authorization: Bearer {}", "Host: evil", "X-A: " + "a" * 3000])
def test_a_header_after_the_body_says_nothing(hasty: Served, header: str) -> None:
    anonymous = raw_request(
        "/v1/explain", "Content-Type: application/json", "Transfer-Encoding: chunked", method="POST"
    )
    trailer = header.format(hasty.token("ana")).encode()
    data = anonymous + chunks(QUESTION) + b"0\r\n" + trailer + b"\r\n\r\n"
    assert said(hasty, data) in ((401, "credential_wrong"), TOO_LARGE)


@pytest.mark.parametrize("size", [10_001, 10**9, 10**18])
def test_a_giant_body_is_refused_by_its_length_alone(hasty: Served, size: int) -> None:
    whose = f"Authorization: Bearer {hasty.token('ana')}"
    header = raw_request(
        "/v1/query", whose, "Content-Type: application/json", f"Content-Length: {size}",
        method="POST",
    )  # fmt: skip
    with raw_connection(hasty.url) as raw:
        raw.send(header)
        reply = raw.reply()
        assert reply is not None and (reply.status, reply.code) == (413, "body_too_large")
        raw.send(b"a")
        assert raw.reply() is None, "and whoever goes on sending it is let go"


def trickled(raw: RawConnection, data: bytes) -> int:
    """Send bytes one by one until the server has had enough; return how many were sent."""
    for count in range(len(data)):
        if not raw.send(data[count : count + 1]):
            return count
        time.sleep(0.01)
    return len(data)


def test_a_header_that_comes_byte_by_byte_is_not_waited_for(hasty: Served) -> None:
    with raw_connection(hasty.url) as raw:
        assert trickled(raw, raw_request("/health", "X-A: " + "a" * 1_500)) < 1_500


def test_a_body_that_comes_byte_by_byte_is_not_waited_for(hasty: Served) -> None:
    question = raw_question(hasty.token("ana"), {"sql": COUNT, "epsilon": 0.1, "other": "a" * 3000})
    header, _, body = question.partition(b"\r\n\r\n")
    with raw_connection(hasty.url) as raw:
        raw.send(header + b"\r\n\r\n")
        assert trickled(raw, body) < len(body)


@pytest.mark.parametrize("part", [b"", b"GET", b"GET /health HTTP/1.1\r\nHost: local"])
def test_half_a_request_is_waited_for_a_while_and_let_go(hasty: Served, part: bytes) -> None:
    with raw_connection(hasty.url) as raw:
        raw.send(part)
        reply = raw.reply()
        assert (reply is None) == (part == b"")
        assert reply is None or reply.code == "body_slow"
        assert raw.reply() is None


def test_half_a_request_and_an_end_is_let_go(hasty: Served) -> None:
    question = raw_question(hasty.token("ana"), {"sql": COUNT, "epsilon": 0.2})
    for cut in (1, 20, question.index(b"\r\n\r\n") + 4, len(question) - 1):
        with raw_connection(hasty.url) as raw:
            raw.send(question[:cut])
            raw.send_no_more()
            assert raw.reply() is None


def test_empty_lines_do_not_keep_a_connection(hasty: Served) -> None:
    with raw_connection(hasty.url) as raw:
        raw.send(raw_request("/health"))
        reply = raw.reply()
        assert reply is not None and reply.status == 200
        raw.send(b"\r\n")
        assert raw.reply() is None


def test_requests_at_once_are_answered_in_their_order(hasty: Served) -> None:
    targets = ["/health", "/ready", "/nothing", "/openapi.json"] * 10
    with raw_connection(hasty.url) as raw:
        raw.send(b"".join(map(raw_request, targets)) + b"GET /he")  # the last in part
        raw.send(b"alth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        replies = raw.replies()
    texts = [reply.body for reply in replies]
    assert len(texts) == 41 and texts[0:40:4] == [b'{"status": "alive"}'] * 10
    assert texts[1:40:4] == [b'{"status": "ready"}'] * 10
    assert [reply.status for reply in replies[2:40:4]] == [404] * 10
    assert {json.loads(text)["openapi"] for text in texts[3:40:4]} == {"3.1.0"}


@pytest.mark.parametrize(
    "after",
    [
        b"\x00\x01garbage",
        b"GET /" + b"a" * 5_000,
        b"GET /health HTTP/1.1\r\nX-A: slow",
        raw_request("/v1/query", "Content-Length: 100", method="POST"),
        raw_request("/health", "Transfer-Encoding: chunked") + b"zz",
        raw_request("http://evil.example/health"),
    ],
)  # fmt: skip
def test_no_refusal_is_taken_for_the_answer_to_another_request(hasty: Served, after: bytes) -> None:
    """Questions wait in a queue: what comes behind one is found to be wrong before it is answered."""
    with hasty.client() as ana:
        expected = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.01}).json()
    again = raw_question(hasty.token("ana"), {"sql": COUNT, "epsilon": 0.01})
    with raw_connection(hasty.url) as raw:
        raw.send(again + again + after)
        replies = raw.replies()
    assert [json.loads(reply.body) for reply in replies[:2]] == [expected, expected]
    assert all(reply.status >= 400 for reply in replies[2:])


def test_whoever_does_not_read_is_let_go(hasty: Served) -> None:
    with raw_connection(hasty.url) as raw:
        raw.socket.setblocking(False)
        room = select.poll()
        room.register(raw.socket, select.POLLOUT)
        while room.poll(1_000):  # until every buffer on the way, both ways, is full
            try:
                raw.socket.send(raw_request("/openapi.json") * 100)
            except BlockingIOError:
                pass
            except ConnectionError:
                return  # it has been let go already
        gone = select.poll()
        gone.register(raw.socket, select.POLLRDHUP)  # also where all it answered fits the buffers
        assert gone.poll(60_000), "the server still waits for somebody who never reads"


def test_whoever_has_nothing_more_to_say_and_does_not_read_is_let_go_too(hasty: Served) -> None:
    """All that was sent is read: then the end of a connection would wait behind answers nobody takes."""
    with raw_connection(hasty.url) as raw:
        raw.send(
            raw_request("/openapi.json") * 1_000
        )  # read at once; the answers fill every buffer
        gone = select.poll()
        gone.register(raw.socket, select.POLLRDHUP)
        assert gone.poll(60_000), "the connection is still there for somebody who never reads"


def test_a_newcomer_displaces_whoever_has_asked_nothing_for_longest(hasty: Served) -> None:
    with ExitStack() as opened:
        first = opened.enter_context(raw_connection(hasty.url))
        rest = [opened.enter_context(raw_connection(hasty.url)) for _ in range(30)]
        assert first.reply() is None
        rest[-1].send(raw_request("/health"))
        reply = rest[-1].reply()
        assert reply is not None and reply.status == 200
