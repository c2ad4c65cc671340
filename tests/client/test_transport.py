"""The connection to a server: whom the token is sent to, and what happens where lines break."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
import trustme

import sanql
from client.scripted import answering, cut, reset, saying, scripted
from sanql.client import transport
from sanql.client.address import parse_server_address
from sanql.client.transport import Transport
from sanql.errors import ServerError
from support.interrupts import interrupted_at

TOKEN = "san_secret"
BUDGET = {"dataset": "d", "accounts": []}


def connected(url: str, verify: bool | str | Path = True) -> sanql.RemoteSan:
    return sanql.connect(url, token=TOKEN, verify=verify)


@pytest.mark.parametrize(
    "typed",
    ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1/", "https://example.org/san/"],
)
def test_an_address_on_this_machine_or_encrypted_is_taken(typed: str) -> None:
    assert parse_server_address(typed).url == typed.rstrip("/")


@pytest.mark.parametrize(
    "typed",
    ["http://example.org", "http://127.0.0.1.example.org", "http://10.0.0.1", "http://0.0.0.0:80"],
)
def test_a_token_is_not_sent_in_clear_text_to_another_machine(typed: str) -> None:
    with pytest.raises(ServerError, match="clear text") as caught:
        connected(typed)
    assert caught.value.code == "address_insecure"
    assert sanql.connect(typed, token=TOKEN, insecure=True)  # as whoever says so takes it on


@pytest.mark.parametrize(
    "typed",
    ["", "example.org", "ftp://example.org", "https://", "https://a:b@example.org", "https://x/?q=1",
     "https://x#y", "https://[::1", "https://x:99999"],
)  # fmt: skip
def test_what_is_no_address_is_refused(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANQL_SERVER", raising=False)
    with pytest.raises(ServerError) as caught:
        connected(typed)
    assert caught.value.code in ("server_address_invalid", "server_needed")
    assert ":b@" not in str(caught.value)


def test_what_follows_an_address_is_left_out_of_it() -> None:
    for typed in ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/query"):
        with pytest.raises(ServerError) as caught:
            connected(typed)
        assert caught.value.code == "server_address_invalid"
        assert caught.value.remedy == "write it without /v1: http://127.0.0.1:1"


@pytest.mark.parametrize("token", ["a b", "a\r\nx-evil: 1", "ü", "a" * 5000, "\x00", "", " \n"])
def test_what_is_no_token_is_refused_and_not_repeated(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANQL_TOKEN", TOKEN)  # which is not taken in its place
    with pytest.raises(ServerError) as caught:
        sanql.connect("https://example.org", token=token)
    assert caught.value.code == "token_invalid"
    assert not token.strip() or token not in str(caught.value)


def test_server_and_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANQL_TOKEN", raising=False)
    with scripted(answering(BUDGET)) as server:
        monkeypatch.setenv("SANQL_SERVER", server.url)
        with pytest.raises(ServerError, match="token"):
            sanql.connect()
        monkeypatch.setenv("SANQL_TOKEN", TOKEN)
        with sanql.connect() as san:
            assert san.budget() == []
    assert server.received[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_redirect_is_not_followed_and_the_token_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(answering(BUDGET)) as elsewhere:
        away = answering({}, 307, location=f"{elsewhere.url}/v1/budget")
        with scripted(away) as server, pytest.raises(ServerError) as caught:
            connected(server.url).budget()
    assert caught.value.code == "server_redirects"
    assert elsewhere.received == []


def test_what_is_not_encrypted_goes_through_nobodys_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(answering(BUDGET)) as proxy, scripted(answering(BUDGET)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        connected(server.url).budget()
    assert proxy.received == [] and len(server.received) == 1


def asked(san: sanql.RemoteSan) -> None:
    san.query("SELECT COUNT(*) FROM people", epsilon=0.1)


def test_a_question_whose_connection_is_reset_is_sent_once_more_under_its_key() -> None:
    problem = answering(PROBLEM, 422)
    with scripted(reset, problem) as server, pytest.raises(sanql.Refused):
        asked(connected(server.url))
    first, second = server.received
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert len(first.headers["idempotency-key"]) >= 32 and first.body == second.body


def test_every_question_has_a_key_of_its_own() -> None:
    problem = answering(PROBLEM, 422)
    with scripted(problem, problem) as server:
        for _ in range(2):
            with pytest.raises(sanql.Refused):
                asked(connected(server.url))
    first, second = server.received
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_a_question_that_is_reset_again_is_given_up() -> None:
    with scripted(reset, reset, answering({})) as server, pytest.raises(ServerError) as caught:
        asked(connected(server.url))
    assert caught.value.code == "connection_lost" and len(server.received) == 2
    assert "may have been charged" in caught.value.message


def test_an_answer_that_ends_in_the_middle_is_not_asked_for_again() -> None:
    with scripted(cut, answering({})) as server, pytest.raises(ServerError) as caught:
        asked(connected(server.url))
    assert caught.value.code == "connection_lost" and len(server.received) == 1


def test_what_has_no_key_and_changes_something_is_sent_once() -> None:
    with scripted(reset, answering({"version": 2})) as server, pytest.raises(ServerError) as caught:
        connected(server.url).refresh()
    assert caught.value.code == "connection_lost" and len(server.received) == 1


def test_what_only_reads_is_sent_again() -> None:
    with scripted(reset, answering(BUDGET)) as server:
        assert connected(server.url).budget() == []


CANCELLED = "interrupted; the question is cancelled on the server, and what it was charged stays"
PROBLEM = {
    "type": "urn:sanql:error:x",
    "status": 422,
    "detail": "no",
    "code": "x",
    "kind": "refused",
    "remedy": "ask otherwise",
}


@pytest.mark.parametrize(
    "act",
    [
        saying(b"<html>Bad gateway</html>", 502),
        saying(b"hello"),
        answering([1]),
        answering({}, 500),
    ],
)
def test_an_answer_that_is_not_sans_is_told_as_such(act: object) -> None:
    with scripted(act) as server, pytest.raises(ServerError) as caught:  # type: ignore[arg-type]
        connected(server.url).budget()
    assert caught.value.code == "server_foreign"


def test_an_answer_of_another_form_is_told_as_such() -> None:
    with scripted(answering({"rows": []})) as server, pytest.raises(ServerError) as caught:
        asked(connected(server.url))
    assert caught.value.code == "answer_unreadable"


def test_a_server_that_is_not_there_is_told_by_name() -> None:
    with scripted() as gone:
        pass
    with pytest.raises(ServerError) as caught:
        connected(gone.url).budget()
    assert (caught.value.code, caught.value.exit_code) == ("server_unreachable", 8)
    assert caught.value.message == f"{gone.url.removeprefix('http://')} cannot be reached"
    assert parse_server_address("https://[::1]").place == "[::1]:443"


def test_a_token_that_is_not_taken_is_told_in_a_clients_words() -> None:
    sent = PROBLEM | {"kind": "people", "code": "credential_wrong", "detail": "no header"}
    with scripted(answering(sent, 401)) as server, pytest.raises(sanql.AccessDenied) as caught:
        connected(server.url).budget()
    assert caught.value.code == "credential_wrong" and "header" not in str(caught.value)
    for words in (server.url.removeprefix("http://"), "SANQL_TOKEN", "expired", "data owner"):
        assert words in str(caught.value)


def test_a_server_without_tls_is_not_taken_for_one_with_a_wrong_certificate() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(ServerError) as caught:
            connected(f"https://{place}").budget()
        thread.join(10)
    assert caught.value.code == "tls_not_spoken" and f"http://{place}" in caught.value.remedy


def test_the_environment_may_name_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "own.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    with scripted(answering(BUDGET), context=context) as server:
        assert connected(server.url).budget() == []


def test_a_certificate_is_checked(tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    for name, ca in (("own.pem", authority), ("other.pem", other)):
        ca.cert_pem.write_to_path(str(tmp_path / name))
    act = answering(BUDGET)
    with scripted(act, act, act, context=context) as server:
        for untrusted in (True, tmp_path / "other.pem"):
            with pytest.raises(ServerError) as caught:
                connected(server.url, untrusted).budget()
            assert caught.value.code == "certificate_untrusted"
            assert "SSL_CERT_FILE" in caught.value.remedy
        assert server.received == []
        assert connected(server.url, tmp_path / "own.pem").budget() == []
    with pytest.raises(ServerError, match="no file of certificates"):
        connected(server.url, tmp_path / "none.pem")


def test_certificates_are_left_unchecked_only_by_somebodys_word() -> None:
    with pytest.raises(ServerError) as caught:
        sanql.connect("https://example.org", token=TOKEN, verify=False)
    assert caught.value.code == "verify_needed"
    assert sanql.connect("https://example.org", token=TOKEN, verify=False, insecure=True)


def test_the_token_is_in_nothing_that_is_shown() -> None:
    san = connected("https://example.org")
    assert TOKEN not in repr(san) and TOKEN not in repr(vars(san))
    assert TOKEN not in repr(vars(san._transport))


def test_a_closed_san_is_not_asked() -> None:
    san = connected("https://example.org")
    san.close()
    for ask in (lambda: asked(san), san.budget, san.refresh, lambda: san.certificate(1)):
        with pytest.raises(sanql.Refused) as caught:
            ask()
        assert caught.value.code == "closed"


def test_a_question_the_server_answers_later_is_followed_until_it_has_an_answer() -> None:
    told: list[str] = []
    running = {"id": "7", "status": "running", "progress": "charged"}
    failed = {**running, "status": "failed", "error": PROBLEM | {"kind": "unavailable"}}
    acts = [answering(running, 202), answering(running), answering(running), answering(failed)]
    with scripted(*acts) as server, pytest.raises(sanql.Unavailable):
        san = sanql.connect(server.url, token=TOKEN, progress=told.append)
        asked(san)
    paths = [request.path for request in server.received]
    assert paths == ["/v1/query", *["/v1/questions/7"] * 3]
    assert told == ["charged"]


RUNNING = {"id": "7", "status": "running", "progress": "charged"}


def test_an_interrupt_while_it_waits_cancels_the_question_on_the_server() -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    acts = [answering(RUNNING, 202), answering(RUNNING), answering(RUNNING)]
    with scripted(*acts) as server, pytest.raises(KeyboardInterrupt) as caught:
        asked(sanql.connect(server.url, token=TOKEN, progress=interrupt))
    first, _, ended = server.received
    key = first.headers["idempotency-key"]
    assert (ended.method, ended.path) == ("DELETE", f"/v1/questions/{key}")
    assert caught.value.__notes__ == [CANCELLED]


@pytest.mark.parametrize("line", [1, 5, 10])  # as it is sent, and as the answer is read
def test_an_interrupt_before_it_has_a_number_cancels_it_too(line: int) -> None:
    state = answering(RUNNING, 202)
    with scripted(*[state] * 3) as server, pytest.raises(KeyboardInterrupt) as caught:
        san = connected(server.url)
        with interrupted_at(line, transport):
            asked(san)
    assert [request.method for request in server.received][-1] == "DELETE"
    assert caught.value.__notes__ == [CANCELLED]


def test_an_interrupt_of_what_does_not_run_says_so() -> None:
    unknown = PROBLEM | {"kind": "people", "code": "question_unknown"}
    with (
        scripted(answering(unknown, 404)) as server,
        pytest.raises(KeyboardInterrupt) as caught,
    ):
        san = connected(server.url)
        with interrupted_at(5, transport):
            asked(san)
    assert "no such question runs" in caught.value.__notes__[0]


def test_an_interrupt_that_the_server_cannot_be_told_of_says_so() -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    acts = [answering(RUNNING, 202), answering(RUNNING), reset, reset]
    with scripted(*acts) as server, pytest.raises(KeyboardInterrupt) as caught:
        asked(sanql.connect(server.url, token=TOKEN, progress=interrupt))
    assert len(server.received) == 4
    assert caught.value.__notes__ == [
        "interrupted; the server could not be told, and what the question was charged stays"
    ]


def test_no_library_for_http_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(sanql.Refused, match="httpx is not installed") as caught:
        Transport(parse_server_address("https://example.org"), TOKEN, True)
    assert "sanql[client]" in caught.value.remedy
