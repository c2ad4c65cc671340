"""A server over the demo hospital, shared by the tests of a file that spend little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hospitals import hospital_in
from support.serving import Served, served


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    policy = hospital_in(tmp_path_factory.mktemp("hospital"))
    with served([policy]) as server:
        yield server


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return hospital_in(tmp_path / "hospital")
