"""HTTP by hand keeps what every door promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from client.doors import Door, HttpDoor
from client.san_contract import SanContract
from client.together_contract import ServedContract
from client.town import POOR
from support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


class TestHttp(SanContract, ServedContract):
    @pytest.fixture
    def door(self, town: Served) -> Iterator[Door]:
        with town.client("ana") as client:
            yield HttpDoor(client)

    @pytest.fixture
    def owner(self, town: Served) -> Iterator[Door]:
        with town.client("otto", "owner") as client:
            yield HttpDoor(client)

    @pytest.fixture
    def poor(self, town: Served) -> Iterator[Door]:
        with town.client(POOR) as client:
            yield HttpDoor(client)
