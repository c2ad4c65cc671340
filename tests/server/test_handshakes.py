"""Over TLS: whoever does not shake hands, or speaks something else, is in nobody's way."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from sanql.account import People, open_store
from sanql.errors import ServerError
from sanql.policy import load
from sanql.server import ServerSettings
from sanql.server.http.handshakes import tls_context
from sanql.server.running import serving
from sanql.server.settings import RequestLimits
from support.commands import run_process
from support.serving import COUNT

pytestmark = pytest.mark.usefixtures("in_this_process")

SECONDS = 60.0


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def issued(authority: trustme.CA, tmp_path: Path) -> tuple[Path, Path]:
    made = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
    key.write_bytes(made.private_key_pem.bytes())
    key.chmod(0o600)
    return certificate, key


@contextmanager
def secured(
    policy: Path, issued: tuple[Path, Path], authority: trustme.CA, **limits: float
) -> Iterator[tuple[int, httpx.Client]]:
    """Serve over TLS; give the port, and a client that trusts the certificate."""
    people = People(open_store(load(policy)))
    _, token = people.add("ana", "analyst")
    people.close()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    settings = ServerSettings("127.0.0.1", 0, *issued, limits=RequestLimits(**limits))  # type: ignore[arg-type]
    with serving([policy], settings) as server:
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=server.url, verify=context, headers=headers, timeout=SECONDS
        ) as ana:
            yield int(server.url.rpartition(":")[2]), ana


def test_questions_are_answered_one_after_another_on_one_connection(
    policy: Path, issued: tuple[Path, Path], authority: trustme.CA
) -> None:
    with secured(policy, issued, authority) as (_, ana):
        for number in range(3):
            body = {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.01}
            assert ana.post("/v1/query", json=body).status_code == 200


def test_what_comes_in_one_piece_with_the_end_of_the_handshake_is_heard(
    policy: Path, issued: tuple[Path, Path], authority: trustme.CA
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with secured(policy, issued, authority) as (port, _):
        inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        spoken = context.wrap_bio(inside, outside, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", port), SECONDS) as raw:
            while True:
                try:
                    spoken.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    raw.sendall(outside.read())
                    inside.write(raw.recv(65536))
            spoken.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            raw.sendall(outside.read())  # what ends the handshake, and the request
            said = b""
            while b"\r\n\r\n" not in said:
                inside.write(raw.recv(65536))
                try:
                    said += spoken.read(65536)
                except ssl.SSLWantReadError:
                    continue
            assert said.startswith(b"HTTP/1.1 200")


def test_hundreds_who_do_not_shake_hands_leave_room_and_the_first_of_them_go(
    policy: Path, issued: tuple[Path, Path], authority: trustme.CA
) -> None:
    with secured(policy, issued, authority) as (port, ana), ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), SECONDS))
            for _ in range(300)
        ]
        assert ana.get("/v1/datasets").status_code == 200
        assert is_gone(silent[0]) and is_gone(silent[150])
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):  # is still waited for
            silent[-1].recv(1)


def test_who_takes_too_long_for_it_is_let_go(
    policy: Path, issued: tuple[Path, Path], authority: trustme.CA
) -> None:
    with secured(policy, issued, authority, header_seconds=0.2) as (port, ana):
        with socket.create_connection(("127.0.0.1", port), SECONDS) as silent:
            assert is_gone(silent)
        assert ana.get("/v1/datasets").status_code == 200


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\0" * 99]
)
def test_who_speaks_something_else_is_let_go(
    said: bytes, policy: Path, issued: tuple[Path, Path], authority: trustme.CA
) -> None:
    with secured(policy, issued, authority) as (port, ana):
        with socket.create_connection(("127.0.0.1", port), SECONDS) as raw:
            raw.sendall(said)
            assert is_gone(raw)
        assert ana.get("/v1/datasets").status_code == 200


def test_a_certificate_that_is_none_is_named(policy: Path, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("none", encoding="ascii")
    (tmp_path / "key.pem").write_text("none", encoding="ascii")
    (tmp_path / "key.pem").chmod(0o600)
    done = run_process("serve", policy, "--tls", tmp_path / "cert.pem", tmp_path / "key.pem")
    assert done.returncode == 8
    assert "certificate_unusable" in done.stderr and "cert.pem" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_certificate_or_key_that_is_missing_is_named(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    for missing in (certificate, key):
        with pytest.raises(ServerError) as caught:
            tls_context(certificate, key)
        assert caught.value.code == "certificate_unusable"
        assert caught.value.message == f"{missing} cannot be used: No such file or directory"
        missing.write_text("none", encoding="ascii")


def is_gone(connection: socket.socket) -> bool:
    """Return whether the other end lets go of a connection, whatever it says first."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True
