"""Whatever comes over the wire: no crash, no byte of data, nobody else hurt, nothing charged."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pygwire.messages import (
    Bind,
    CancelRequest,
    CopyData,
    Execute,
    FunctionCall,
    Parse,
    PasswordMessage,
    Query,
    SASLInitialResponse,
    SSLRequest,
    StartupMessage,
    Sync,
    Terminate,
)

from sanql.server import ServerSettings
from sanql.server.settings import RequestLimits
from sanql.server.wire.frames import SIGN_IN_BYTES_MAX, STARTUP_BYTES_MAX
from support.hospitals import hospital_in
from support.serving import Served, served
from wire.conftest import Connect

pytestmark = pytest.mark.usefixtures("in_this_process")

SECONDS = 30


@pytest.fixture
def unhurt(hospital: Served, connect: Connect) -> Iterator[None]:
    """See that somebody who was there before goes on, and that nobody was charged."""
    ana = connect()
    ledger = hospital.datasets[0].session.ledger
    before = ledger.length
    yield
    assert len(ana.execute("SHOW sanql.budget").fetchall()) == 1
    assert connect("bo").execute("SHOW server_encoding").fetchall() == [("UTF8",)]
    assert ledger.length == before
    assert all(event["event"] != "fault" for event in hospital.events())


def spoken(hospital: Served, *parts: bytes, end: bool = True) -> bytes:
    """Return all that is answered to some bytes."""
    host, _, port = hospital.server.wire.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as wire:
        answered = b""
        try:
            for part in parts:
                wire.sendall(part)
            if end:
                wire.shutdown(socket.SHUT_WR)
            while more := wire.recv(65536):
                answered += more
        except (ConnectionError, TimeoutError):
            assert end
        return answered


STARTUP = StartupMessage({"user": "ana", "database": "hospital"}).to_wire()


@pytest.mark.parametrize(
    "parts",
    [
        (b"",),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",),
        (struct.pack("!I", 0),),
        (struct.pack("!I", 3) + b"x",),
        (struct.pack("!II", 8, 0x00020000),),
        (struct.pack("!II", 8, 0x00040000),),
        (struct.pack("!II", STARTUP_BYTES_MAX + 1, 0x00030000),),
        (struct.pack("!I", 0xFFFFFFFF),),
        (struct.pack("!II", 100, 0x00030000) + b"user",),
        (STARTUP[:-3],),
        (StartupMessage({}).to_wire(),),
        (StartupMessage({"user": "a\ufffd" * 100}).to_wire(),),
        (StartupMessage({"user": "ana", "_pq_.more": "1"}).to_wire(),),
        (SSLRequest().to_wire(), SSLRequest().to_wire(), SSLRequest().to_wire()),
        (CancelRequest(1, b"abcd").to_wire(),),
        (CancelRequest(1, b"").to_wire(),),
        (CancelRequest(0, b"x" * 256).to_wire(),),
        (STARTUP, b"p" + struct.pack("!I", SIGN_IN_BYTES_MAX + 1)),
        (STARTUP, b"p" + struct.pack("!I", 0xFFFFFFFF)),
        (STARTUP, Query("SELECT 1").to_wire()),
        (STARTUP, PasswordMessage("secret").to_wire()),
        (STARTUP, SASLInitialResponse("SCRAM-SHA-256", b"nonsense").to_wire()),
        (STARTUP, SASLInitialResponse("PLAIN", b"\0ana\0secret").to_wire()),
        (STARTUP, Terminate().to_wire()),
        (STARTUP, b"\0" * 100),
        (STARTUP, STARTUP),
    ],
)
def test_nobody_comes_in_by_what_is_no_beginning(
    hospital: Served, unhurt: None, parts: tuple[bytes, ...]
) -> None:
    answered = spoken(hospital, *parts)
    assert b"R\x00\x00\x00\x08\x00\x00\x00\x00" not in answered  # nobody is told that they are in
    assert b"Traceback" not in answered


def test_random_bytes_are_no_beginning_either(hospital: Served, unhurt: None) -> None:
    chance = random.Random(5)
    for _ in range(60):
        parts = [STARTUP] if chance.random() < 0.5 else []
        parts.append(chance.randbytes(chance.randrange(1, 300)))
        assert b"Traceback" not in spoken(hospital, *parts)


@pytest.mark.parametrize(
    "sent",
    [
        Query("").to_wire()[:-1],
        b"Q" + struct.pack("!I", 4),
        b"Q" + struct.pack("!I", 8) + b"\xff\xfe\xfd\0",
        b"Q" + struct.pack("!I", 1 << 30),
        b"Q" + struct.pack("!I", 0),
        b"z" + struct.pack("!I", 4),
        CopyData(b"x").to_wire(),
        FunctionCall(1, [], [b"x"], 0).to_wire(),
        PasswordMessage("again").to_wire(),
        Parse("", "SELECT 1", []).to_wire()[:-4],
        Bind("", "", [], [b"x"], []).to_wire()[:-2],
        Execute("", 0).to_wire(),
        Sync().to_wire(),
    ],
)
def test_whoever_is_in_is_told_and_let_go(
    hospital: Served, connect: Connect, unhurt: None, sent: bytes
) -> None:
    with connect() as ana:
        wire = socket.socket(fileno=socket.dup(ana.pgconn.socket))
        with wire:
            wire.settimeout(SECONDS)
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
            answered = b""
            try:
                while more := wire.recv(65536):
                    answered += more
            except (ConnectionError, BlockingIOError):
                pass
    assert b"Traceback" not in answered


def test_two_hundred_are_inside_at_once(hospital: Served, connect: Connect) -> None:
    inside = [connect() for _ in range(200)]
    for each in inside[::20]:
        assert len(each.execute("SHOW sanql.budget").fetchall()) == 1


def test_newer_protocols_are_negotiated_down(hospital: Served, unhurt: None) -> None:
    for minor, spoken_minor in ((1, 0), (3, 2), (9999, 2)):
        startup = STARTUP[:4] + struct.pack("!HH", 3, minor) + STARTUP[8:]
        answered = spoken(hospital, startup)
        assert answered.startswith(b"v" + struct.pack("!III", 12, spoken_minor, 0))
        assert b"SCRAM-SHA-256" in answered
    for minor in (0, 2):
        startup = STARTUP[:4] + struct.pack("!HH", 3, minor) + STARTUP[8:]
        assert spoken(hospital, startup).startswith(b"R")


@pytest.mark.slow
def test_whoever_waits_outside_longest_makes_room_and_nobody_takes_it_all(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "hospital")
    limits = RequestLimits(connections=40)  # a quarter of which is for the wire
    settings = ServerSettings(port=0, wire=("127.0.0.1", 0), limits=limits)
    with served([policy], settings) as hospital, ExitStack() as opened:
        host, _, port = hospital.server.wire.rpartition(":")
        outside = [
            opened.enter_context(socket.create_connection((host, int(port)), SECONDS))
            for _ in range(30)
        ]
        there = f"host={host} port={port} dbname=hospital"

        def inside(name: str) -> psycopg.Connection[tuple[Any, ...]]:
            token = hospital.token(name)
            connection = psycopg.connect(f"{there} user={name} password={token}", autocommit=True)
            return opened.enter_context(connection)

        assert outside[0].recv(1) == b""  # let go, though nothing was said
        mine = [inside("ana") for _ in range(5)]
        with pytest.raises(psycopg.OperationalError, match="connections of yours"):
            inside("ana")
        for each in (*mine, inside("bo")):
            assert len(each.execute("SHOW sanql.budget").fetchall()) == 1
