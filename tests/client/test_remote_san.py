"""The remote San keeps what every door promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sanql
from client.doors import Door, PythonDoor
from client.san_contract import PythonContract
from client.together_contract import ServedContract
from client.town import POOR
from support.serving import Served

pytestmark = pytest.mark.slow


class TestRemoteSan(PythonContract, ServedContract):
    @pytest.fixture
    def door(self, ana: sanql.RemoteSan) -> Door:
        return PythonDoor(ana)

    @pytest.fixture
    def owner(self, town: Served) -> Iterator[Door]:
        with sanql.connect(town.url, token=town.token("otto", "owner")) as san:
            yield PythonDoor(san)

    @pytest.fixture
    def poor(self, town: Served) -> Iterator[Door]:
        with sanql.connect(town.url, token=town.token(POOR)) as san:
            yield PythonDoor(san)
