"""The engine of worker processes keeps what every engine keeps; `execute/` has what it keeps besides."""

from __future__ import annotations

import pytest

from engines.engine_contract import EngineContract

pytestmark = pytest.mark.slow


class TestWorkerEngine(EngineContract):
    """In processes that the operating system confines."""

    kind = "workers"
