"""A server that opens the wire over the demo hospital, and clients of PostgreSQL with tokens of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from sanql.server import ServerSettings
from support.hospitals import hospital_in
from support.serving import Served, served

Connect = Callable[..., psycopg.Connection[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    policy = hospital_in(tmp_path_factory.mktemp("hospital"))
    with served([policy], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        yield server


@pytest.fixture
def connect(hospital: Served) -> Iterator[Connect]:
    """Return what connects somebody; their connections end with the test."""
    opened: list[psycopg.Connection[tuple[Any, ...]]] = []

    def open_one(name: str = "ana", **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
        host, _, port = hospital.server.wire.rpartition(":")
        password = more.pop("password", None) or hospital.token(name, more.pop("role", "analyst"))
        chosen = {"dbname": "hospital", "autocommit": True, "connect_timeout": 30} | more
        opened.append(psycopg.connect(host=host, port=port, user=name, password=password, **chosen))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()
