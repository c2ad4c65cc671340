"""Whatever is sent, the server stands, nobody else is hurt, and charges have answers or records."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sanql.audit.ledger import verify_account
from sanql.demo import make_hospital
from sanql.policy import load
from sanql.server import ServerSettings
from support.serving import Served, served
from support.volume import few_of
from wire.fuzzing import converse
from wire.talking import Talk, talk_to

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
STEPS = ("parse", "bind", "describe", "execute", "rows", "sync")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hospital(tmp_path_factory.mktemp("hospital"))


@pytest.fixture(scope="module")
def fuzzed(made: Path) -> Iterator[Served]:
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        yield server


@pytest.fixture
def unhurt(fuzzed: Served, made: Path) -> Iterator[None]:
    """See that somebody else goes on asking on one connection, and the account is sound afterwards."""
    with other(fuzzed) as bo:
        bo.execute("SET sanql.epsilon = 0.001")
        before = bo.execute("SELECT COUNT(*) FROM people").fetchall()
        yield
        assert bo.execute("SELECT COUNT(*) FROM people").fetchall() == before
        assert bo.execute("SELECT 1").fetchall() == [(1,)]
    assert not [each for each in fuzzed.events() if each["event"] == "fault"]
    assert verify_account(load(made)).sound


def other(server: Served) -> psycopg.Connection[tuple[Any, ...]]:
    host, _, port = server.server.wire.rpartition(":")
    return psycopg.connect(
        host=host, port=int(port), user="bo", password=server.token("bo"), dbname="hospital",
        autocommit=True,
    )  # fmt: skip


@pytest.mark.parametrize("seed", few_of(range(40), 2))
def test_conversations_that_nobody_would_have_hurt_nobody(
    seed: int, fuzzed: Served, unhurt: None
) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        with talk_to(fuzzed, "ana") as talk:
            had = converse(talk, chance)
        assert not had.faults, (had.sent, had.faults)


def one_question(talk: Talk, text: str, upto: str, read: bool) -> None:
    """Ask in steps, as far as one of them."""
    acts = {
        "parse": lambda: talk.parse("", text),
        "bind": lambda: talk.bind("p", "", [b"30"]),
        "describe": lambda: talk.describe("P", "p"),
        "execute": lambda: talk.execute("p", 1),
        "rows": lambda: talk.execute("p", 0),
        "sync": talk.sync,
    }
    for step, act in acts.items():
        act()
        if step == upto:
            break
    if read:
        talk.send("H")
        talk.receive()


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_whoever_leaves_at_any_step_leaves_an_answer_or_a_record(
    step: str, read: bool, fuzzed: Served, unhurt: None
) -> None:
    text = f"SELECT sex, COUNT(*) FROM people WHERE age > $1 AND age < {STEPS.index(step) + 100}"
    with talk_to(fuzzed, "ana") as talk:
        talk.simple("SET sanql.epsilon = 0.001")
        one_question(talk, f"{text} GROUP BY sex", step, read)
    with fuzzed.client("ana") as http:
        questions = http.get("/v1/history?limit=1000").json()["questions"]
    assert {each["outcome"] for each in questions} <= {"answered", "voided", "running"}


def test_ten_thousand_messages_that_nobody_reads_are_answered_as_they_are_read(
    fuzzed: Served, unhurt: None
) -> None:
    with talk_to(fuzzed, "ana") as talk:
        talk.socket.settimeout(5)
        with suppress(TimeoutError):  # it does not read what it could not answer
            for _ in range(10_000):
                talk.describe("S", "nobody").sync()
        with talk_to(fuzzed, "ana") as another:
            assert another.simple("SHOW sanql.epsilon")[-1] == ("Z", b"I")


def test_a_message_that_was_begun_must_come_to_its_end(tmp_path: Path) -> None:
    limits = ServerSettings(port=0, wire=("127.0.0.1", 0)).limits
    settings = ServerSettings(
        port=0, wire=("127.0.0.1", 0), limits=replace(limits, body_seconds=0.5)
    )
    with (
        served([make_hospital(tmp_path / "hospital")], settings) as server,
        talk_to(server, "ana") as talk,
    ):
        talk.socket.sendall(b"Q\0\0\0\x50SELECT")
        kind, body = talk.receive()
        assert kind == "E" and b"in time" in body
        with pytest.raises(ConnectionError):
            talk.receive()
