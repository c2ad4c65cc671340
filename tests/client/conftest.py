"""A town on a server, and San on its data beside it, for whoever compares the two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sanql
from client.town import make_town
from sanql.san import San
from support.serving import Served, served


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server over a town, shared by the tests of a file."""
    with served([make_town(tmp_path_factory.mktemp("town"))]) as server:
        yield server


@pytest.fixture(scope="module")
def town_policy(town: Served) -> Path:
    return town.datasets[0].policy.path


@pytest.fixture(scope="module")
def here(town: Served) -> San:
    """Return San on the data for ana."""
    return San(town.datasets[0].session, "ana")


@pytest.fixture(scope="module")
def ana(town: Served) -> Iterator[sanql.RemoteSan]:
    """Return the remote San of ana."""
    with sanql.connect(town.url, token=town.token("ana")) as san:
        yield san
