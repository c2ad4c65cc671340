"""San on the data keeps what every door promises: the suite itself is checked by it."""

from __future__ import annotations

import pytest

from client.doors import Door, PythonDoor
from client.san_contract import PythonContract
from client.town import POOR
from sanql.san import San
from support.serving import Served

pytestmark = pytest.mark.slow


class TestLocalSan(PythonContract):
    @pytest.fixture
    def door(self, here: San) -> Door:
        return PythonDoor(here)

    @pytest.fixture
    def owner(self, here: San) -> Door:
        return PythonDoor(here)

    @pytest.fixture
    def poor(self, town: Served) -> Door:
        return PythonDoor(San(town.datasets[0].session, POOR))
