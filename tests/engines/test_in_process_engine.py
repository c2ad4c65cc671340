"""The engine of this process keeps what every engine keeps."""

from __future__ import annotations

import pytest

from engines.engine_contract import EngineContract

pytestmark = pytest.mark.slow


class TestInProcessEngine(EngineContract):
    """On connections of this process."""

    kind = "in_process"
