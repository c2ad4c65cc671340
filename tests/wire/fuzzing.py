"""Conversations over the wire that nobody would have: messages at random, cut, giant, in any order.

`converse` has one of them on a connection that has signed in, and says what came back. Whatever it sends,
what comes back are messages of the protocol, and nothing of San's inside.
"""

from __future__ import annotations

import random
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

from wire.talking import Talk

TEXTS = (
    "SELECT COUNT(*) FROM people WHERE age > $1",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT 1",
    "SELECT relname FROM pg_class WHERE relname = $1",
    "SHOW sanql.epsilon",
    "SET sanql.epsilon = 0.001",
    "SET sanql.intervals = columns",
    "RESET ALL",
    "BEGIN",
    "ROLLBACK",
    "DEALLOCATE ALL",
    "EXPLAIN SELECT COUNT(*) FROM people",
    "SELECT income FROM people",
    "COPY people TO STDOUT",
    "",
    ";;",
    "SELECT $1, $1, $99999",
    "SELECT COUNT(*) FROM people WHERE age > $0",
    "\u0000",
    "'" * 999,
    "(" * 3_000,
    "SELECT COUNT(*) FROM people WHERE sex = '\U0001f600'",
)
VALUES = (
    None,
    b"",
    b"1",
    b"F",
    b"\x00\x00\x00\x01",
    b"\xff" * 8,
    b"NaN",
    b"9" * 400,
    b"2020-01-01",
)
NAMES = ("", "a", "b", "\u00e4", "x" * 250)
KINDS = "PBDECHSQXFcdfp"
FORBIDDEN = (b"Traceback", b'File "', b"sqlglot", b"duckdb.", b"/tmp/", b"psycopg")


@dataclass
class Conversation:
    """What was sent and what came back; `faults` is what should not have."""

    sent: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def converse(talk: Talk, chance: random.Random, steps: int = 12) -> Conversation:
    """Have one conversation; it ends with a question whether the other side still keeps the protocol."""
    had = Conversation()
    talk.socket.settimeout(20)
    try:
        for _ in range(steps):
            had.sent.append(_say(talk, chance))
        if chance.random() < 0.3:
            had.sent.append("end")
            return had  # without a word
        talk.sync()
        _hear(talk, had)
    except TimeoutError:
        had.faults.append("nothing came")
    except (ConnectionError, OSError):
        had.replies.append("ended")
    return had


def _say(talk: Talk, chance: random.Random) -> str:
    """Send one message, proper or not."""
    name, other, text = (chance.choice(each) for each in (NAMES, NAMES, TEXTS))
    match chance.randrange(14):
        case 0 | 1:
            talk.parse(
                name, text, [chance.choice((0, 20, 25, 701, 1184, 2**31))] * chance.randrange(3)
            )
            return f"parse {text[:40]!r}"
        case 2 | 3:
            values = [chance.choice(VALUES) for _ in range(chance.randrange(3))]
            talk.bind(name, other, values, [chance.choice((0, 1, 7))] * chance.randrange(3))
            return f"bind {values!r}"
        case 4:
            talk.describe(chance.choice("SPX"), name)
            return "describe"
        case 5 | 6:
            talk.execute(name, chance.choice((0, 1, 2, 2**31)))
            return "execute"
        case 7:
            talk.close(chance.choice("SPQ"), name)
            return "close"
        case 8 | 9:
            talk.sync()
            return "sync"
        case 10:
            talk.send("Q", text.encode() + b"\0")
            return f"query {text[:40]!r}"
        case 11:
            kind, size = chance.choice(KINDS), chance.randrange(60)
            talk.send(kind, chance.randbytes(size))
            return f"random {kind} of {size}"
        case 12:
            return _broken(talk, chance)
        case _:
            talk.send("H")
            return "flush"


def _broken(talk: Talk, chance: random.Random) -> str:
    """Send what is no message: a length that is too large, too small, or of more than follows."""
    length = chance.choice((0, 3, 4, 2**31 - 1, 2**32 - 1, 70_000, 200))
    talk.socket.sendall(chance.choice(KINDS).encode() + struct.pack("!I", length) + b"x" * 20)
    if length in (70_000, 200) or chance.random() < 0.5:  # or it would be waited for
        with suppress(OSError):
            talk.socket.shutdown(socket.SHUT_WR)
    return f"length {length}"


def _hear(talk: Talk, had: Conversation) -> None:
    """Read until the last invitation, or the end."""
    while True:
        talk.socket.settimeout(2 if had.replies[-1:] == ["Z"] else 20)
        try:
            kind, body = talk.receive()
        except TimeoutError:
            if had.replies[-1:] == ["Z"]:
                return
            raise
        had.replies.append(kind)
        had.faults += [repr(body[:200]) for word in FORBIDDEN if word in body]
        if kind == "E" and b"[internal]" in body:
            had.faults.append(repr(body[:200]))
